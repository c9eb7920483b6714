#include "bench/encoded_batch.hpp"

#include "bench/parallel.hpp"
#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "io/zstd/zstd_compressor.hpp"

#include <isa-l/igzip_lib.h>
#define ZLIB_CONST  // input is const
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

namespace gpuhist::bench {
namespace {

namespace deflate = gpu::cuda::deflate;
namespace zstd = gpu::cuda::zstd;

// Buffers of the device begin at multiples of this.
constexpr std::uint64_t allocation_unit = 512;
constexpr std::uint64_t literal_alignment = deflate::member_room::literal_alignment;  // and of zstd blocks

struct context_deleter {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

/// Of one thread.
class host_decompressor {
 public:
  explicit host_decompressor(codec with) {
    if (with == codec::gzip) {
      member_ = std::make_unique<inflate_state>();
    } else if (frame_.reset(ZSTD_createDCtx()); frame_ == nullptr) {
      throw std::bad_alloc();
    }
  }

  void decompress(std::span<const std::byte> from, std::span<std::byte> to) const {
    member_ != nullptr ? decompress_member(from, to) : decompress_frame(from, to);
  }

 private:
  void decompress_frame(std::span<const std::byte> from, std::span<std::byte> to) const {
    const std::size_t produced = ZSTD_decompressDCtx(frame_.get(), to.data(), to.size(), from.data(), from.size());
    if (ZSTD_isError(produced) != 0) {
      throw std::runtime_error(std::string("libzstd rejects a frame: ") + ZSTD_getErrorName(produced));
    }
    if (produced != to.size()) throw std::runtime_error("libzstd decompresses a frame to another size");
  }

  void decompress_member(std::span<const std::byte> from, std::span<std::byte> to) const {
    isal_inflate_init(member_.get());
    member_->crc_flag = ISAL_GZIP;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): ISA-L only reads it
    member_->next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(from.data()));
    member_->avail_in = static_cast<std::uint32_t>(from.size());
    member_->next_out = reinterpret_cast<std::uint8_t*>(to.data());
    member_->avail_out = static_cast<std::uint32_t>(to.size());
    const bool is_valid = isal_inflate(member_.get()) == ISAL_DECOMP_OK;
    if (!is_valid || member_->block_state != ISAL_BLOCK_FINISH) throw std::runtime_error("ISA-L rejects a member");
  }

  std::unique_ptr<ZSTD_DCtx, context_deleter> frame_;
  std::unique_ptr<inflate_state> member_;
};

std::vector<std::byte> zstd_frame_of(std::span<const std::uint8_t> text, io::zstd_compressor& compressor) {
  std::vector<std::byte> frame(io::zstd_compressor::bound(text.size()));
  frame.resize(compressor.compress(std::as_bytes(text), frame));
  return frame;
}

std::vector<std::byte> gzip_member_of(std::span<const std::uint8_t> text, int level) {
  constexpr int gzip_window = 15 + 16;
  constexpr int usual_memory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, usual_memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::vector<std::byte> member(deflateBound(&stream, static_cast<uLong>(text.size())));
  stream.next_in = text.data();
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(member.data());
  stream.avail_out = static_cast<uInt>(member.size());
  const bool is_whole = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  member.resize(stream.total_out);
  deflateEnd(&stream);
  if (!is_whole) throw std::runtime_error("zlib does not compress a member");
  return member;
}

// Adds frame `index` of `from` to the plan.
void add(batch_plan& to, const framed_text& from, std::size_t index) {
  const auto& frames = from.listed.frames;
  const zstd::encoded_frame& frame = frames[index];
  const std::uint64_t next_at = index + 1 < frames.size() ? frames[index + 1].text_at : from.listed.text_room;
  const std::uint64_t text_room = next_at - frame.text_at;
  const auto of_member = deflate::member_room::of(frame);
  const bool is_member = from.coded == codec::gzip;
  to.frames += 1;
  to.blocks += frame.block_count;
  to.text_bytes += from.text_of(index).size();
  to.text_room += text_room;
  to.compressed_bytes += from.frame(index).size();
  to.literal_room += (is_member ? of_member.literals : text_room) + literal_alignment * frame.block_count;
  to.sequence_room += is_member ? of_member.entries : text_room / 8 + 4 * std::uint64_t{frame.block_count};
}

}  // namespace

std::string_view name_of(codec which) { return which == codec::zstd ? "zstd" : "gzip"; }

std::span<const std::byte> framed_text::frame(std::size_t index) const {
  const std::uint64_t begin = index == 0 ? 0 : ends[index - 1];
  return std::span(compressed).subspan(begin, ends[index] - begin);
}

std::span<const std::uint8_t> framed_text::text_of(std::size_t index) const {
  const std::uint64_t length = listed.frames.front().content_bytes;  // only the last one may be shorter
  return text.subspan(index * length, std::min<std::uint64_t>(length, text.size() - index * length));
}

framed_text compress_frames(std::span<const std::uint8_t> text, std::uint64_t frame_bytes, codec with, int level,
                            unsigned threads) {
  std::vector<std::vector<std::byte>> frames((text.size() + frame_bytes - 1) / frame_bytes);
  std::atomic<std::size_t> next{0};
  run_in_parallel(threads, [&](unsigned) {
    std::optional<io::zstd_compressor> compressor;
    if (with == codec::zstd) compressor.emplace(level);
    for (std::size_t i = next++; i < frames.size(); i = next++) {
      const std::uint64_t begin = i * frame_bytes;
      const auto part = text.subspan(begin, std::min(frame_bytes, text.size() - begin));
      frames[i] = compressor ? zstd_frame_of(part, *compressor) : gzip_member_of(part, level);
    }
  });
  framed_text made{.coded = with, .text = text, .compressed = {}, .ends = {}, .listed = {}};
  for (const auto& each : frames) made.ends.push_back((made.ends.empty() ? 0 : made.ends.back()) + each.size());
  made.compressed.reserve(made.ends.back());
  for (const auto& each : frames) made.compressed.insert(made.compressed.end(), each.begin(), each.end());
  auto listed = pipeline::list_frames(io::access_to(made.compressed));
  if (!listed || listed->frames.size() != frames.size()) throw std::runtime_error("devices do not decode these frames");
  made.listed = *std::move(listed);
  return made;
}

double decompress_on_host(const framed_text& from, unsigned threads) {
  // written before the threads start, so that no page is new to the first frame
  std::vector<std::vector<std::byte>> buffers(threads, std::vector<std::byte>(from.text_of(0).size()));
  std::atomic<std::size_t> next{0};
  return run_in_parallel(threads, [&](unsigned thread) {
    const host_decompressor decompressor(from.coded);
    for (std::size_t i = next++; i < from.frames(); i = next++) {
      decompressor.decompress(from.frame(i), std::span(buffers[thread]).first(from.text_of(i).size()));
    }
  });
}

std::uint64_t batch_plan::device_bytes() const {
  const std::array parts{compressed_bytes + readable_beyond,
                         frames * sizeof(zstd::encoded_frame),
                         frames * sizeof(zstd::decoded_frame),
                         blocks * sizeof(zstd::encoded_block),
                         blocks * sizeof(zstd::block_codes),
                         blocks * sizeof(zstd::decoded_block),
                         blocks * sizeof(deflate::portion_block),
                         literal_room,
                         sequence_room * sizeof(zstd::sequence_entry),
                         text_room,
                         2 * sizeof(std::uint64_t)};
  std::uint64_t sum = 0;
  for (const std::uint64_t each : parts) sum += (each + allocation_unit - 1) / allocation_unit * allocation_unit;
  return sum;
}

batch_plan plan_batch(const framed_text& from, std::uint64_t text_bytes, std::uint64_t device_bytes) {
  constexpr std::uint64_t max_offset = std::numeric_limits<std::uint32_t>::max() - batch_plan::readable_beyond;
  batch_plan plan{.coded = from.coded};
  for (std::size_t i = 0;; i = (i + 1) % from.frames()) {
    batch_plan larger = plan;
    add(larger, from, i);
    if (larger.text_bytes > text_bytes || larger.compressed_bytes > max_offset || larger.literal_room > max_offset ||
        larger.sequence_room > max_offset || larger.device_bytes() > device_bytes) {
      break;
    }
    plan = larger;
  }
  if (plan.frames == 0) throw std::runtime_error("not one frame fits into the text in flight and the free memory");
  return plan;
}

pipeline::encoded_frames list_batch(const framed_text& from, const batch_plan& plan) {
  const auto copy = [&](std::uint64_t at, std::span<std::byte> to) {
    while (!to.empty()) {
      const auto rest = std::span(from.compressed).subspan(at % from.compressed.size());
      const std::size_t size = std::min(rest.size(), to.size());
      std::copy_n(rest.begin(), size, to.begin());
      to = to.subspan(size);
      at += size;
    }
  };
  auto listed = pipeline::list_frames({.size = plan.compressed_bytes, .copy = copy});
  if (!listed || listed->frames.size() != plan.frames) throw std::runtime_error("the batch is not whole frames");
  std::array<std::uint64_t, 2> taken{};
  for (zstd::encoded_frame& each : listed->frames) {
    if (from.coded == codec::gzip) deflate::place_member(each, taken);
  }
  return *std::move(listed);
}

double batch_content::ratio() const { return static_cast<double>(text_bytes) / static_cast<double>(compressed_bytes); }

std::optional<double> batch_content::text_per_sequence() const {
  if (sequences == 0) return std::nullopt;
  return static_cast<double>(text_bytes) / static_cast<double>(sequences);
}

double batch_content::huffman_share() const {
  return static_cast<double>(huffman_bytes) / static_cast<double>(text_bytes);
}

batch_content content_of(const batch_plan& plan, std::span<const zstd::encoded_block> blocks,
                         std::span<const zstd::decoded_block> decoded) {
  batch_content content{.frames = plan.frames,
                        .blocks = plan.blocks,
                        .text_bytes = plan.text_bytes,
                        .compressed_bytes = plan.compressed_bytes};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].type != zstd::block_type::compressed && blocks[i].type != zstd::block_type::member) continue;
    content.sequences += decoded[i].sequence_count;
    if (decoded[i].literals == zstd::literals_type::huffman) content.huffman_bytes += decoded[i].literal_bytes;
  }
  return content;
}

std::string rejected_frame(std::span<const zstd::encoded_frame> frames, std::span<const zstd::decoded_frame> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    zstd::verdict is = results[i].is;
    const bool is_checked = deflate::is_member(frames[i]) && is == zstd::verdict::decoded;
    if (is_checked && !deflate::has_stated_crc32(frames[i], results[i])) is = zstd::verdict::checksum;
    if (is == zstd::verdict::decoded) continue;
    return "frame " + std::to_string(i) + ", block " + std::to_string(results[i].block) + ": rejected as " +
           name_of(is);
  }
  return "";
}

std::string different_frame(const framed_text& from, const pipeline::encoded_frames& listed,
                            std::span<const std::uint8_t> decoded) {
  const std::size_t frames = std::min(from.frames(), listed.frames.size());
  for (std::size_t i = 0; i < frames; ++i) {
    const auto expected = from.text_of(i);
    const auto actual = decoded.subspan(listed.frames[i].text_at, expected.size());
    if (std::memcmp(expected.data(), actual.data(), expected.size()) != 0) {
      return "frame " + std::to_string(i) + ": the text is not the original";
    }
  }
  return "";
}

std::size_t distinct_frames(const framed_text& from, const batch_plan& plan) {
  return std::min<std::size_t>(from.frames(), plan.frames);
}

std::uint64_t distinct_text_end(const framed_text& from, const batch_plan& plan) {
  const std::size_t last = distinct_frames(from, plan) - 1;
  return from.listed.frames[last].text_at + from.text_of(last).size();
}

}  // namespace gpuhist::bench
