#include "gpu/cuda/batch.hpp"
#include "gpu/value_runs.hpp"

#include <algorithm>

namespace gpuhist::gpu::cuda {
namespace {

constexpr std::size_t values = 256;
constexpr std::uint32_t alignment = 256;

std::uint32_t aligned(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + alignment - 1) / alignment * alignment);
}

}  // namespace

batch::batch(runtime& api, std::uint32_t max_bytes, std::uint32_t max_extents, std::size_t pair_columns)
    : max_bytes_(device_bytes(max_bytes)),
      max_extents_(max_extents),
      pair_columns_(pair_columns),
      extents_(api, max_extents * sizeof(extent)),
      rows_(api, row_bytes(max_extents, pair_columns)) {
  jobs_.reserve(max_jobs);
  pieces_.reserve(max_jobs);
}

std::uint32_t batch::device_bytes(std::uint32_t max_bytes) { return aligned(max_bytes); }

std::size_t batch::row_bytes(std::uint32_t extents, std::size_t pair_columns) {
  return extents * (values + pair_columns) * sizeof(std::uint32_t);
}

bool batch::has_room_for(const counting_job& job) const {
  return jobs_.size() < max_jobs && std::uint64_t{room_taken_} + aligned(job.bytes.size()) <= max_bytes_ &&
         extent_count_ + job.extents.size() <= max_extents_;
}

void batch::add(counting_job& job) noexcept {
  jobs_.push_back(&job);
  room_taken_ += aligned(job.bytes.size());
  extent_count_ += static_cast<std::uint32_t>(job.extents.size());
}

void batch::arrange() noexcept {
  std::sort(jobs_.begin(), jobs_.end(), [](const counting_job* a, const counting_job* b) {
    return std::less<>{}(a->bytes.data(), b->bytes.data());
  });
  auto* next = extents_.as<extent>();
  for (const counting_job* job : jobs_) {
    const std::byte* const from = job->bytes.data();
    const auto size = static_cast<std::uint32_t>(job->bytes.size());
    if (pieces_.empty() || pieces_.back().from + pieces_.back().size != from) {
      pieces_.push_back({.from = from, .at = aligned(span_bytes()), .size = 0});
    }
    piece& last = pieces_.back();
    const std::uint32_t begin = last.at + last.size;
    last.size += size;
    for (const extent& each : job->extents) *next++ = {.begin = begin + each.begin, .end = begin + each.end};
  }
}

std::span<std::uint32_t> batch::rows() const {
  return {rows_.as<std::uint32_t>(), extent_count_ * (values + pair_columns_)};
}

std::size_t batch::pair_rows_at() const { return extent_count_ * values; }

std::uint32_t batch::span_bytes() const { return pieces_.empty() ? 0 : pieces_.back().at + pieces_.back().size; }

std::uint64_t batch::text_bytes() const {
  std::uint64_t sum = 0;
  for (const counting_job* job : jobs_) sum += job->bytes.size();
  return sum;
}

// The edges are taken from the text in host memory, which the job keeps until it is completed.
void batch::write_rows(const row_layout& layout) const noexcept {
  const value_runs runs(layout.counted);
  const std::uint32_t* row = rows_.as<std::uint32_t>();
  const std::uint32_t* pairs = row + pair_rows_at();
  for (const counting_job* job : jobs_) {
    std::uint32_t* to = job->rows.data();
    for (const extent& each : job->extents) {
      runs.fold(row, layout.counted.classes, to);
      if (layout.pairs) {
        std::copy_n(pairs, pair_columns_, to + layout.pairs_at());
        to[layout.edges_at()] = edges_of(job->bytes.subspan(each.begin, each.size()), *layout.pairs);
      }
      row += values;
      pairs += pair_columns_;
      to += layout.columns();
    }
  }
}

void batch::clear() noexcept {
  jobs_.clear();
  pieces_.clear();
  room_taken_ = 0;
  extent_count_ = 0;
}

}  // namespace gpuhist::gpu::cuda
