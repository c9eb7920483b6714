// The engine without a device: counts each chunk as one task of the pipeline's own pool, or where it was filled.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/engines.hpp"
#include "gpu/host/kernel.hpp"

#include <atomic>
#include <cstdint>

namespace gpuhist::gpu::host {

class host_engine final : public engine {
 public:
  /// request.kernel, or the best one for request.counted. Throws engine_error where there is no such kernel, or it does
  /// not apply.
  explicit host_engine(const engine_request& request);

  /// A kernel of the caller's choice. Throws engine_error where it does not apply to request.counted.
  host_engine(const engine_request& request, const kernel& forced);

  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] const partition& row_partition() const override { return what_.counted; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  void submit(counting_job& job) override;
  [[nodiscard]] bool counts_here() const override { return true; }
  [[nodiscard]] engine_stats stats() const override;

  /// Of all threads together, so far.
  [[nodiscard]] double busy_seconds() const { return static_cast<double>(busy_nanoseconds_) * 1e-9; }

  /// Counts on the calling thread; job.done is not called. Throws engine_error for a job that is wrong.
  void count(const counting_job& job);

 private:
  void answer(counting_job& job) noexcept;
  void count_rows(const counting_job& job) const;

  prepared_partition what_;
  const kernel& kernel_;
  executor run_;
  unsigned threads_;
  std::atomic<std::uint64_t> jobs_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> busy_nanoseconds_{0};
};

}  // namespace gpuhist::gpu::host
