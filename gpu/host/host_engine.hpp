// The host engine: counts each chunk in one task of the thread pool of the pipeline, or on the submitting thread.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/engines.hpp"
#include "gpu/host/kernel.hpp"
#include "gpu/host/pairs.hpp"

#include <atomic>
#include <cstdint>
#include <optional>

namespace gpuhist::gpu::host {

class host_engine final : public engine {
 public:
  /// Uses request.kernel, or the best kernel for request.counted. Throws engine_error if the kernel does not exist or
  /// does not apply.
  explicit host_engine(const engine_request& request);

  /// Uses a given kernel. Throws engine_error if it does not apply to request.counted.
  host_engine(const engine_request& request, const kernel& forced);

  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] const row_layout& layout() const override { return layout_; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override {}
  void submit(counting_job& job) override;
  [[nodiscard]] bool counts_here() const override { return true; }
  [[nodiscard]] bool counts_lent_bytes() const override { return true; }
  [[nodiscard]] engine_stats stats() const override;

  /// Sum over all threads so far.
  [[nodiscard]] double busy_seconds() const { return static_cast<double>(busy_nanoseconds_) * 1e-9; }

  /// Counts on the calling thread; does not call job.on_complete. Throws engine_error for an invalid job.
  void count(const counting_job& job);

 private:
  void complete(counting_job& job) noexcept;
  void count_rows(const counting_job& job) const;

  row_layout layout_;
  prepared_partition prepared_;
  std::optional<prepared_pairs> pairs_;
  const kernel& kernel_;
  executor run_;
  unsigned threads_;
  std::atomic<std::uint64_t> jobs_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> busy_nanoseconds_{0};
};

}  // namespace gpuhist::gpu::host
