// A shuffling engine with a decoder of frames: it decodes on a thread of its own, in random order, and can reject
// groups and fail at random.
#pragma once

#include "gpu/cuda/kernels_on_host.hpp"
#include "gpu/frame_decoder.hpp"
#include "tests/support/shuffling_engine.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::test {

class shuffling_decoder final : public gpu::frame_decoder {
 public:
  struct settings {
    unsigned seed = 1;
    unsigned rejects_one_of = 0;  ///< 0: rejects only what it cannot decode
    unsigned fails_one_of = 0;    ///< 0: never
    unsigned made_after = 0;      ///< calls of engine::decoder(), which return none
    std::size_t begins_with = 1;  ///< the first job is decoded when so many are submitted
    limits most{.compressed_bytes = 1U << 20U, .text_bytes = 4U << 20U, .frames = 1000, .blocks = 2000, .slices = 1000};
  };

  shuffling_decoder(const gpu::partition& counted, const settings& with)
      : counted_(counted),
        with_(with),
        random_(with.seed),
        worker_([this](const std::stop_token& stop) { work(stop); }) {}

  [[nodiscard]] limits max_job() const override { return with_.most; }

  void submit(gpu::frame_job& job) override {
    {
      const std::scoped_lock lock(mutex_);
      pending_.push_back(&job);
    }
    changed_.notify_one();
  }

  [[nodiscard]] gpu::frame_decoder_stats stats() const override {
    const std::scoped_lock lock(mutex_);
    return stats_;
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (std::size_t least = with_.begins_with; changed_.wait(lock, stop, [&] { return pending_.size() >= least; });
         least = 1) {
      std::swap(pending_[random_() % pending_.size()], pending_.back());
      gpu::frame_job& job = *pending_.back();
      pending_.pop_back();
      const bool fails = with_.fails_one_of != 0 && random_() % with_.fails_one_of == 0;
      const bool rejects = with_.rejects_one_of != 0 && random_() % with_.rejects_one_of == 0;
      const bool fails_late = fails && random_() % 2 == 0;  // when the rows have memory
      lock.unlock();
      if (fails_late || (!fails && !rejects)) decode(job);
      if (fails) job.decoded = false;
      lock.lock();
      stats_.lanes = 1;
      if (job.decoded && !job.measures_only) ++stats_.groups;
      if (job.decoded && !job.measures_only) stats_.frames += job.frames.size();
      if (!job.decoded && !fails) ++stats_.rejected_groups;
      lock.unlock();
      const auto on_complete = std::move(job.on_complete);
      // on its own line: the temporary shares its text with the exception, and must not be destroyed after the call
      std::exception_ptr failure;
      if (fails) failure = std::make_exception_ptr(std::runtime_error("the device fell off the bus"));
      on_complete(job, std::move(failure));
      lock.lock();
    }
  }

  void decode(gpu::frame_job& job) const {
    namespace zstd = gpu::cuda::zstd;
    constexpr std::size_t words_beyond = 4;
    std::vector<std::uint32_t> compressed(job.compressed_bytes() / sizeof(std::uint32_t) + 1 + words_beyond);
    auto* to = reinterpret_cast<std::byte*>(compressed.data());
    for (const auto& piece : job.pieces) to = std::copy(piece.begin(), piece.end(), to);
    std::vector<zstd::block_codes> codes(job.blocks.size() + 1);
    std::vector<zstd::decoded_block> decoded(job.blocks.size() + 1);
    std::vector<std::uint8_t> literals(job.text_room + 16 * job.blocks.size() + 16);
    std::vector<zstd::sequence_entry> sequences(job.text_room + 2 * job.blocks.size() + 1);
    std::vector<std::uint8_t> text(job.text_room + 64);
    std::vector<zstd::decoded_frame> results(job.frames.size());
    std::uint64_t used[2] = {};
    zstd::decode_on_host({.compressed = compressed.data(),
                          .frames = job.frames.data(),
                          .blocks = job.blocks.data(),
                          .frame_count = static_cast<std::uint32_t>(job.frames.size()),
                          .block_count = static_cast<std::uint32_t>(job.blocks.size()),
                          .literal_room = static_cast<std::uint32_t>(literals.size()),
                          .sequence_room = static_cast<std::uint32_t>(sequences.size()),
                          .codes = codes.data(),
                          .decoded = decoded.data(),
                          .literals = literals.data(),
                          .sequences = sequences.data(),
                          .text = text.data(),
                          .results = results.data(),
                          .used = used});
    job.decoded = std::ranges::all_of(results, [](const auto& each) { return each.is == zstd::verdict::decoded; });
    if (!job.decoded) return;
    std::vector<std::uint8_t> whole;
    for (std::size_t frame = 0; frame < results.size(); ++frame) {
      const std::uint8_t* const begin = text.data() + job.frames[frame].text_at;
      whole.insert(whole.end(), begin, begin + results[frame].text_bytes);
    }
    job.text_bytes = whole.size();
    count_slices(job, whole);
    if (job.units != nullptr) measure(job, text, results);
  }

  // Byte by byte.
  void count_slices(gpu::frame_job& job, const std::vector<std::uint8_t>& text) const {
    std::ranges::fill(job.rows, 0U);
    std::ranges::fill(job.last_bytes, std::uint8_t{0});
    const std::size_t columns = job.rows.size() / job.slices();
    std::uint64_t reached = 0;  // in the unit of the cuts
    std::size_t slice = 0;
    for (const std::uint8_t byte : text) {
      ++job.rows[slice * columns + counted_.class_of[byte]];
      if (job.cuts == nullptr) continue;
      job.last_bytes[slice] = byte;
      reached += job.cuts->unit == gpu::cuda::zstd::cut_unit::bytes || byte == '\n' ? 1U : 0U;
      if (slice < job.cuts->after.size() && reached == job.cuts->after[slice]) ++slice;
    }
  }

  // With rows in memory of their own.
  static void measure(gpu::frame_job& job, const std::vector<std::uint8_t>& text,
                      const std::vector<gpu::cuda::zstd::decoded_frame>& results) {
    namespace units = gpu::cuda::units;
    std::vector<gpu::extent> extents;
    for (std::size_t frame = 0; frame < results.size(); ++frame) {
      const auto begin = static_cast<std::uint32_t>(job.frames[frame].text_at);
      extents.push_back({begin, begin + static_cast<std::uint32_t>(results[frame].text_bytes)});
    }
    const units::class_table table = job.units->table();
    const auto room = static_cast<std::uint32_t>(job.text_room);
    std::vector<std::uint32_t> tiles(units::tiles_in(room) + 1);
    std::vector<std::uint32_t> pieces(extents.size() + 1);
    const std::uint64_t row_room = job.text_bytes + extents.size() * 2 * job.units->edge_bytes();
    std::vector<std::uint32_t> rows(row_room * job.units->words_of_row());
    const bool selects = job.units->selects_rows();
    std::vector<std::uint32_t> tile_rows(tiles.size());
    std::vector<std::uint32_t> extent_rows(pieces.size());
    std::vector<std::uint32_t> selected(rows.size());
    units::measure_on_host({.text = text.data(),
                            .extents = extents.data(),
                            .extent_count = static_cast<std::uint32_t>(extents.size()),
                            .text_room = room,
                            .classes = table.data(),
                            .counters = job.units->counters,
                            .delimiter = std::to_integer<std::uint8_t>(job.units->delimiter),
                            .tile_pieces = tiles.data(),
                            .extent_pieces = pieces.data(),
                            .rows = rows.data(),
                            .row_room = static_cast<std::uint32_t>(row_room),
                            .selection = {.condition = job.units->condition,
                                          .tile_rows = tile_rows.data(),
                                          .extent_rows = extent_rows.data(),
                                          .rows = selected.data()},
                            .strings = job.units->strings ? &*job.units->strings : nullptr,
                            .edge_bytes = job.units->edge_bytes()});
    job.unit_pieces = (selects ? extent_rows : pieces).back();
    const auto bytes =
        std::as_bytes(std::span(selects ? selected : rows)).first(job.unit_pieces * job.units->bytes_of_row());
    if (bytes.empty()) return;
    job.decoded = job.take_row_memory(job, bytes.size(), false) || job.take_row_memory(job, bytes.size(), true);
    if (!job.decoded) return;
    std::size_t at = 0;
    for (const std::span<std::byte> part : job.unit_rows) {
      const auto next = bytes.subspan(at, std::min(part.size(), bytes.size() - at));
      std::ranges::copy(next, part.begin());
      at += next.size();
    }
  }

  const gpu::partition counted_;
  const settings with_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<gpu::frame_job*> pending_;
  gpu::frame_decoder_stats stats_;
  std::minstd_rand random_;
  std::jthread worker_;
};

class shuffling_device : public shuffling_engine {
 public:
  shuffling_device(const gpu::partition& counted, const shuffling_decoder::settings& decoding, unsigned seed = 1,
                   std::optional<std::uint64_t> failing_job = {})
      : shuffling_engine(counted, seed, failing_job), decoder_(counted, decoding), made_after_(decoding.made_after) {}

  [[nodiscard]] gpu::frame_decoder* decoder() override {
    if (made_after_ == 0) return &decoder_;
    --made_after_;
    return nullptr;
  }

  [[nodiscard]] bool is_waking() const override { return made_after_ > 0; }

  gpu::engine_stats stats() const override {
    gpu::engine_stats all;
    all.decoded = decoder_.stats();
    return all;
  }

 private:
  shuffling_decoder decoder_;
  std::atomic<unsigned> made_after_;  // calls that are left; they come from one thread at a time
};

}  // namespace gpuhist::test
