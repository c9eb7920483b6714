#include "gpu/cuda/batch.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace gpuhist::gpu::cuda {
namespace {

constexpr std::size_t values = 256;
constexpr std::uint32_t alignment = 256;
constexpr std::size_t max_jobs = 1024;  // the constructor reserves pointers for this number of jobs

std::uint32_t aligned(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + alignment - 1) / alignment * alignment);
}

/// Consecutive byte values of one class.
struct value_run {
  std::uint16_t begin = 0;
  std::uint16_t end = 0;
  std::uint8_t to = 0;
};

/// Has no heap memory, because rows are written where an allocation must not fail.
class value_runs {
 public:
  explicit value_runs(const partition& counted) {
    for (std::uint16_t value = 0; value < values; ++value) {
      const std::uint8_t to = counted.class_of[value];
      if (count_ == 0 || runs_[count_ - 1].to != to) runs_[count_++] = {.begin = value, .end = value, .to = to};
      ++runs_[count_ - 1].end;
    }
  }

  [[nodiscard]] const value_run* begin() const { return runs_.data(); }
  [[nodiscard]] const value_run* end() const { return runs_.data() + count_; }

 private:
  std::array<value_run, values> runs_{};
  std::size_t count_ = 0;
};

}  // namespace

batch::batch(runtime& api, std::uint32_t max_bytes, std::uint32_t max_extents)
    : max_bytes_(device_bytes(max_bytes)),
      max_extents_(max_extents),
      extents_(api, max_extents * sizeof(extent)),
      rows_(api, max_extents * values * sizeof(std::uint32_t)) {
  jobs_.reserve(max_jobs);
  pieces_.reserve(max_jobs);
}

std::uint32_t batch::device_bytes(std::uint32_t max_bytes) { return aligned(max_bytes); }

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

std::span<std::uint32_t> batch::rows() const { return {rows_.as<std::uint32_t>(), extent_count_ * values}; }

std::uint32_t batch::span_bytes() const { return pieces_.empty() ? 0 : pieces_.back().at + pieces_.back().size; }

std::uint64_t batch::text_bytes() const {
  std::uint64_t sum = 0;
  for (const counting_job* job : jobs_) sum += job->bytes.size();
  return sum;
}

// For short segments this is most of the work of a lane. Each class is summed run by run, which the compiler
// vectorizes. Summing value by value would make each addition wait for the previous one.
void batch::write_rows(const partition& counted) const noexcept {
  const value_runs runs(counted);
  const std::uint32_t* row = rows_.as<std::uint32_t>();
  for (const counting_job* job : jobs_) {
    std::uint32_t* to = job->rows.data();
    for (std::size_t i = 0; i < job->extents.size(); ++i) {
      if (counted.classes == values) {
        for (const value_run& each : runs) to[each.to] = row[each.begin];
      } else {
        std::fill_n(to, counted.classes, 0U);
        for (const value_run& each : runs) to[each.to] += std::reduce(row + each.begin, row + each.end);
      }
      row += values;
      to += counted.classes;
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
