#include "bench/decode_peer.hpp"

#include "bench/cuda.hpp"
#include "bench/schedule.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuhist::bench {
namespace {

// The C interface of nvCOMP 5 and 6, as far as it is used. Options are passed by value; zero is the default.
struct peer_options {
  int backend = 0;
  char reserved[60] = {};
};

using decompress_function = int (*)(const void* const* compressed, const std::size_t* compressed_bytes,
                                    const std::size_t* room, std::size_t* text_bytes, std::size_t count, void* scratch,
                                    std::size_t scratch_bytes, void* const* text, peer_options, int* statuses,
                                    cudaStream_t);
using scratch_function_5 = int (*)(std::size_t count, std::size_t max_text, peer_options, std::size_t* bytes,
                                   std::size_t all_text);
using scratch_function_6 = int (*)(std::size_t count, std::size_t max_text, peer_options, std::size_t* bytes,
                                   std::size_t all_text, cudaStream_t);

constexpr std::string_view decompress_name = "DecompressAsync";
constexpr std::string_view scratch_name_5 = "DecompressGetTempSizeAsync";
constexpr std::string_view scratch_name_6 = "DecompressGetTempSize";
// Earlier versions have functions of the same names with other parameters, but not this one.
constexpr std::string_view since_5 = "DecompressGetRequiredAlignments";

std::string full_name(codec of, std::string_view name) {
  return (of == codec::zstd ? "nvcompBatchedZstd" : "nvcompBatchedGzip") + std::string(name);
}

// Its documentation says that buffers aligned to 16 or 32 bytes may be faster than unaligned ones.
constexpr std::uint64_t input_alignment = 32;

void check_status(int status, std::string_view what) {
  if (status != 0)
    throw std::runtime_error("peer: " + std::string(what) + " returned status " + std::to_string(status));
}

template <class Function>
Function function_of(void* library, codec of, std::string_view name) {
  return reinterpret_cast<Function>(dlsym(library, full_name(of, name).c_str()));
}

std::size_t scratch_bytes(void* library, codec of, std::size_t count, std::size_t max_text, std::size_t all_text,
                          const stream& on) {
  std::size_t bytes = 0;
  if (const auto ask = function_of<scratch_function_5>(library, of, scratch_name_5)) {
    check_status(ask(count, max_text, {}, &bytes, all_text), scratch_name_5);
  } else {
    const auto ask_newer = function_of<scratch_function_6>(library, of, scratch_name_6);
    check_status(ask_newer(count, max_text, {}, &bytes, all_text, on.get()), scratch_name_6);
  }
  return bytes;
}

template <class T>
class device_array {
 public:
  explicit device_array(const std::vector<T>& values) : memory_(values.size() * sizeof(T)), size_(values.size()) {
    check(cudaMemcpy(memory_.as(), static_cast<const void*>(values.data()), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] T* get() const { return memory_.as<T>(); }
  [[nodiscard]] std::vector<T> copied_back() const {
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), memory_.as(), size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  device_bytes memory_;
  std::size_t size_;
};

/// The frames of a batch, each at its own aligned place.
struct aligned_frames {
  std::vector<std::byte> distinct;
  std::vector<std::uint64_t> at;  ///< of each distinct frame; then the end

  explicit aligned_frames(const framed_text& from) {
    for (std::size_t i = 0; i < from.frames(); ++i) {
      at.push_back(distinct.size());
      const auto frame = from.frame(i);
      distinct.insert(distinct.end(), frame.begin(), frame.end());
      distinct.resize((distinct.size() + input_alignment - 1) / input_alignment * input_alignment);
    }
    at.push_back(distinct.size());
  }
};

/// The arguments of the decompression, on the host.
struct peer_lists {
  std::vector<const void*> compressed;
  std::vector<std::size_t> compressed_bytes, room;
  std::vector<void*> text;
};

peer_lists list_arguments(const framed_text& from, const aligned_frames& frames, const std::byte* compressed,
                          const pipeline::encoded_frames& listed, std::uint8_t* text) {
  peer_lists lists;
  for (std::size_t i = 0; i < listed.frames.size(); ++i) {
    const std::size_t index = i % from.frames();
    const std::uint64_t repeated = i / from.frames() * frames.distinct.size();
    lists.compressed.push_back(compressed + repeated + frames.at[index]);
    lists.compressed_bytes.push_back(from.frame(index).size());
    lists.room.push_back(from.text_of(index).size());
    lists.text.push_back(text + listed.frames[i].text_at);
  }
  return lists;
}

/// The compressed bytes and the text of a batch in device memory. The text is cleared once.
struct peer_memory {
  device_bytes compressed;
  device_bytes text;

  peer_memory(const aligned_frames& frames, std::size_t copies, std::uint64_t text_room)
      : compressed(copies * frames.distinct.size()), text(text_room) {
    for (std::size_t i = 0; i < copies; ++i) {
      check(cudaMemcpy(compressed.as() + i * frames.distinct.size(), frames.distinct.data(), frames.distinct.size(),
                       cudaMemcpyHostToDevice));
    }
    check(cudaMemset(text.as(), 0, text_room));
    check(cudaDeviceSynchronize());
  }
};

class peer_batch {
 public:
  peer_batch(const peer_lists& lists, std::size_t scratch_bytes)
      : room_(lists.room),
        inputs_(lists.compressed),
        input_bytes_(lists.compressed_bytes),
        rooms_(lists.room),
        outputs_(lists.text),
        text_bytes_(std::vector<std::size_t>(room_.size())),
        statuses_(std::vector<int>(room_.size(), -1)),
        scratch_bytes_(scratch_bytes),
        scratch_(std::max<std::size_t>(scratch_bytes, 1)) {}

  void decompress(decompress_function call, const stream& on) const {
    check_status(call(inputs_.get(), input_bytes_.get(), rooms_.get(), text_bytes_.get(), room_.size(), scratch_.as(),
                      scratch_bytes_, outputs_.get(), {}, statuses_.get(), on.get()),
                 decompress_name);
  }

  void check_results() const {
    for (const int each : statuses_.copied_back()) check_status(each, "a frame");
    if (text_bytes_.copied_back() != room_) throw std::runtime_error("peer: a frame has another size");
  }

 private:
  std::vector<std::size_t> room_;
  device_array<const void*> inputs_;
  device_array<std::size_t> input_bytes_, rooms_;
  device_array<void*> outputs_;
  device_array<std::size_t> text_bytes_;
  device_array<int> statuses_;
  std::size_t scratch_bytes_;
  device_bytes scratch_;
};

}  // namespace

peer_decoder::peer_decoder(const std::filesystem::path& library) : library_(dlopen(library.c_str(), RTLD_NOW)) {
  if (library_ == nullptr)
    throw std::runtime_error(std::string("--peer: ") +
                             dlerror());  // NOLINT(concurrency-mt-unsafe): one thread loads libraries
  const auto has = [&](std::string_view name) {
    return dlsym(library_, full_name(codec::zstd, name).c_str()) != nullptr;
  };
  if (has(since_5) && has(decompress_name) && (has(scratch_name_5) || has(scratch_name_6))) return;
  dlclose(library_);
  throw std::runtime_error("--peer: " + library.string() + ": is not libnvcomp.so of version 5 or 6");
}

peer_decoder::~peer_decoder() { dlclose(library_); }

double peer_decoder::measure(const framed_text& from, const batch_plan& plan, const pipeline::encoded_frames& listed,
                             unsigned rounds) const {
  const stream queue;
  const aligned_frames frames(from);
  const peer_memory memory(frames, (plan.frames + from.frames() - 1) / from.frames(), plan.text_room);
  const peer_batch batch(
      list_arguments(from, frames, memory.compressed.as(), listed, memory.text.as<std::uint8_t>()),
      scratch_bytes(library_, from.coded, plan.frames, from.text_of(0).size(), plan.text_bytes, queue));
  event begin;
  event end;
  std::vector<double> seconds;
  for (unsigned round = 0; round <= rounds; ++round) {
    begin.record(queue);
    batch.decompress(function_of<decompress_function>(library_, from.coded, decompress_name), queue);
    end.record(queue);
    queue.wait();
    if (round > 0) seconds.push_back(end.seconds_since(begin));
  }
  batch.check_results();
  std::vector<std::uint8_t> decoded(distinct_text_end(from, plan));
  check(cudaMemcpy(decoded.data(), memory.text.as(), decoded.size(), cudaMemcpyDeviceToHost));
  if (const std::string different = different_frame(from, listed, decoded); !different.empty()) {
    throw std::runtime_error("peer: " + different);
  }
  return median(seconds);
}

}  // namespace gpuhist::bench
