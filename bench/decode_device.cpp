#include "bench/decode_device.hpp"

#include "bench/cuda.hpp"
#include "bench/decode_peer.hpp"
#include "bench/schedule.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/frames/decode.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace gpuhist::bench {
namespace {

namespace deflate = gpu::cuda::deflate;
namespace frames = gpu::cuda::frames;
namespace zstd = gpu::cuda::zstd;

static_assert(decode_phases.size() == frames::phase_count);

/// Pages are locked while this exists.
class pinned {
 public:
  explicit pinned(std::span<std::byte> memory) : memory_(memory) {
    check(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable));
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned() { cudaHostUnregister(memory_.data()); }

 private:
  std::span<std::byte> memory_;
};

/// The buffers of a batch in device memory. They are cleared once: what a decode writes, the next one finds.
class device_batch {
 public:
  device_batch(const batch_plan& plan, const pipeline::encoded_frames& listed)
      : plan_(plan),
        compressed_(plan.compressed_bytes + batch_plan::readable_beyond),
        frames_(plan.frames * sizeof(zstd::encoded_frame)),
        blocks_(plan.blocks * sizeof(zstd::encoded_block)),
        codes_(plan.blocks * sizeof(zstd::block_codes)),
        decoded_(plan.blocks * sizeof(zstd::decoded_block)),
        portions_(plan.blocks * sizeof(deflate::portion_block)),
        literals_(plan.literal_room),
        sequences_(plan.sequence_room * sizeof(zstd::sequence_entry)),
        text_(plan.text_room),
        results_(plan.frames * sizeof(zstd::decoded_frame)),
        used_(used_bytes),
        symbols_(symbol_room * sizeof(std::int32_t)),
        progress_(sizeof(zstd::part_progress)) {
    std::vector<zstd::encoded_frame> frames = listed.frames;
    for (std::uint32_t i = 0; i < frames.size(); ++i) {
      portion_count_ += frames[i].portions;
      if (!zstd::is_faster_in_parts(frames[i], plan.text_bytes, symbol_room)) continue;
      frames[i].is_in_parts = 1;
      in_parts_.push_back(zstd::part_segment::of(frames[i], i));
    }
    check(cudaMemset(compressed_.as(), 0, plan.compressed_bytes + batch_plan::readable_beyond));
    check(cudaMemset(codes_.as(), 0, plan.blocks * sizeof(zstd::block_codes)));
    check(cudaMemset(decoded_.as(), 0, plan.blocks * sizeof(zstd::decoded_block)));
    check(cudaMemset(portions_.as(), 0, plan.blocks * sizeof(deflate::portion_block)));
    check(cudaMemset(literals_.as(), 0, plan.literal_room));
    check(cudaMemset(sequences_.as(), 0, plan.sequence_room * sizeof(zstd::sequence_entry)));
    check(cudaMemset(text_.as(), 0, plan.text_room));
    check(cudaMemset(results_.as(), 0xff, plan.frames * sizeof(zstd::decoded_frame)));  // no verdict
    check(cudaMemcpy(frames_.as(), frames.data(), plan.frames * sizeof(zstd::encoded_frame), cudaMemcpyHostToDevice));
    check(cudaMemcpy(blocks_.as(), listed.blocks.data(), plan.blocks * sizeof(zstd::encoded_block),
                     cudaMemcpyHostToDevice));
    check(cudaDeviceSynchronize());
  }

  [[nodiscard]] zstd::batch_buffers buffers() const {
    const bool are_members = plan_.coded == codec::gzip;
    return {.compressed = compressed_.as<const std::uint32_t>(),
            .frames = frames_.as<const zstd::encoded_frame>(),
            .blocks = blocks_.as<const zstd::encoded_block>(),
            .frame_count = static_cast<std::uint32_t>(plan_.frames),
            .member_count = are_members ? static_cast<std::uint32_t>(plan_.frames) : 0,
            .portion_count = portion_count_,
            .text_room = static_cast<std::uint32_t>(plan_.text_room),
            .block_count = static_cast<std::uint32_t>(plan_.blocks),
            .literal_room = static_cast<std::uint32_t>(plan_.literal_room),
            .sequence_room = static_cast<std::uint32_t>(plan_.sequence_room),
            .codes = codes_.as<zstd::block_codes>(),
            .decoded = decoded_.as<zstd::decoded_block>(),
            .literals = literals_.as<std::uint8_t>(),
            .sequences = sequences_.as<zstd::sequence_entry>(),
            .text = text_.as<std::uint8_t>(),
            .results = results_.as<zstd::decoded_frame>(),
            .used = used_.as<std::uint64_t>(),
            .portions = portions_.as<deflate::portion_block>(),
            .symbols = symbols_.as<std::int32_t>(),
            .symbol_room = symbol_room,
            .progress = progress_.as<zstd::part_progress>()};
  }
  [[nodiscard]] std::span<const zstd::part_segment> in_parts() const { return in_parts_; }

  /// Queues copies of the frames, repeated until the batch is full.
  void copy_compressed(std::span<const std::byte> frames, const stream& on) const {
    for (std::uint64_t at = 0; at < plan_.compressed_bytes; at += frames.size()) {
      const std::uint64_t size = std::min<std::uint64_t>(frames.size(), plan_.compressed_bytes - at);
      check(cudaMemcpyAsync(compressed_.as() + at, frames.data(), size, cudaMemcpyHostToDevice, on.get()));
    }
  }

  void clear_used(const stream& on) const { check(cudaMemsetAsync(used_.as(), 0, used_bytes, on.get())); }

 private:
  static constexpr std::size_t used_bytes = 2 * sizeof(std::uint64_t);
  static constexpr std::uint32_t symbol_room = 512 * zstd::part_segment::symbols_of_part;

  batch_plan plan_;
  device_bytes compressed_, frames_, blocks_, codes_, decoded_, portions_, literals_, sequences_, text_, results_,
      used_, symbols_, progress_;
  std::vector<zstd::part_segment> in_parts_;
  std::uint32_t portion_count_ = 0;
};

template <class T>
std::vector<T> copied_back(const T* from, std::size_t count) {
  std::vector<T> values(count);
  check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

// Sets the times of the decoder: of each phase alone, and of all together. The first decode is not counted.
void time_phases(const device_batch& batch, unsigned rounds, const stream& on, decode_row& row) {
  std::array<event, frames::phase_count + 1> marks;
  std::array<std::vector<double>, frames::phase_count> phases;
  std::vector<double> whole;
  event end;
  for (unsigned round = 0; round <= rounds; ++round) {
    batch.clear_used(on);
    for (unsigned i = 0; i < frames::phase_count; ++i) {
      marks[i].record(on);
      check(frames::launch_phase(static_cast<frames::phase>(i), batch.buffers(), batch.in_parts(), on.get()));
    }
    marks.back().record(on);
    batch.clear_used(on);
    check(frames::launch_decode(batch.buffers(), batch.in_parts(), on.get()));
    end.record(on);
    on.wait();
    if (round == 0) continue;
    for (unsigned i = 0; i < frames::phase_count; ++i) phases[i].push_back(marks[i + 1].seconds_since(marks[i]));
    whole.push_back(end.seconds_since(marks.back()));
  }
  for (unsigned i = 0; i < frames::phase_count; ++i) row.phase_seconds[i] = median(phases[i]);
  row.seconds = median(whole);
}

double time_copies(const device_batch& batch, std::span<const std::byte> frames, unsigned rounds, const stream& on) {
  event begin;
  event end;
  std::vector<double> seconds;
  for (unsigned round = 0; round <= rounds; ++round) {
    begin.record(on);
    batch.copy_compressed(frames, on);
    end.record(on);
    on.wait();
    if (round > 0) seconds.push_back(end.seconds_since(begin));
  }
  return median(seconds);
}

void verify(const device_batch& batch, const framed_text& from, const batch_plan& plan,
            const pipeline::encoded_frames& listed) {
  const zstd::batch_buffers buffers = batch.buffers();
  const auto results = copied_back(buffers.results, plan.frames);
  if (const std::string rejected = rejected_frame(listed.frames, results); !rejected.empty()) {
    throw std::runtime_error(rejected);
  }
  const auto text = copied_back(buffers.text, distinct_text_end(from, plan));
  if (const std::string different = different_frame(from, listed, text); !different.empty()) {
    throw std::runtime_error(different);
  }
}

void measure_device(framed_text& from, const batch_plan& plan, const pipeline::encoded_frames& listed, unsigned rounds,
                    decode_row& row) {
  const stream queue;
  const device_batch batch(plan, listed);
  const pinned locked(from.compressed);
  row.copy_seconds = time_copies(batch, from.compressed, rounds, queue);
  time_phases(batch, rounds, queue, row);
  verify(batch, from, plan, listed);
  row.content = content_of(plan, listed.blocks, copied_back(batch.buffers().decoded, plan.blocks));
}

double host_median(const framed_text& from, unsigned rounds, unsigned threads) {
  std::vector<double> seconds(rounds);
  for (double& each : seconds) each = decompress_on_host(from, threads);
  return median(seconds);
}

/// Measures the configurations of one text.
class text_measurement {
 public:
  text_measurement(const decode_options& options, unsigned host_threads, const peer_decoder* peer)
      : options_(options), host_threads_(host_threads), peer_(peer) {}

  void measure(const std::string& name, std::span<const std::uint8_t> text,
               const std::function<void(const decode_row&)>& report) const {
    for (const std::uint64_t frame_bytes : options_.frame_sizes) {
      decode_configuration configuration{.data = name,
                                         .coded = options_.coded,
                                         .level = options_.level.value_or(options_.coded == codec::zstd ? 3 : 6),
                                         .frame_bytes = frame_bytes,
                                         .in_flight = options_.in_flight.front()};
      try {
        framed_text framed =
            compress_frames(text, frame_bytes, configuration.coded, configuration.level, host_threads_);
        const double host_seconds = host_median(framed, options_.rounds, host_threads_);
        for (const std::uint64_t in_flight : options_.in_flight) {
          configuration.in_flight = in_flight;
          decode_row row;
          row.configuration = configuration;
          row.host_seconds = host_seconds;
          row.host_text_bytes = text.size();
          measure_batch(framed, row);
          report(row);
        }
      } catch (const std::exception& error) {
        throw std::runtime_error(name_of(configuration) + ": " + error.what());
      }
    }
  }

 private:
  void measure_batch(framed_text& from, decode_row& row) const {
    const batch_plan plan = plan_batch(from, row.configuration.in_flight, available_device_bytes());
    const pipeline::encoded_frames listed = list_batch(from, plan);
    measure_device(from, plan, listed, options_.rounds, row);
    if (peer_ != nullptr) row.peer_seconds = peer_->measure(from, plan, listed, options_.rounds);
  }

  const decode_options& options_;
  unsigned host_threads_;
  const peer_decoder* peer_;
};

}  // namespace

void measure_decode(const decode_options& options, unsigned host_threads,
                    const std::function<void(const decode_row&)>& report) {
  const auto peer = options.peer.empty() ? nullptr : std::make_unique<peer_decoder>(options.peer);
  const text_measurement measurement(options, host_threads, peer.get());
  for (const data_set each : options.data) {
    measurement.measure(std::string(name_of(each)), make_data(each, options.distinct_bytes), report);
  }
  if (!options.file.empty()) {
    measurement.measure(options.file.string(), read_data(options.file, options.distinct_bytes), report);
  }
}

}  // namespace gpuhist::bench
