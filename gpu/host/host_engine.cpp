#include "gpu/host/host_engine.hpp"

#include "gpu/job_check.hpp"
#include "gpu/stage_range.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace gpuhist::gpu::host {
namespace {

const kernel& kernel_for(const engine_request& request) {
  if (request.kernel.empty()) return best_kernel(prepare(request.counted));
  const auto named = std::ranges::find(kernels(), request.kernel, &kernel::name);
  if (named == kernels().end()) throw engine_error("there is no host kernel '" + request.kernel + "'");
  return *named;
}

}  // namespace

host_engine::host_engine(const engine_request& request) : host_engine(request, kernel_for(request)) {}

host_engine::host_engine(const engine_request& request, const kernel& forced)
    : layout_(request.layout()),
      prepared_(prepare(request.counted)),
      kernel_(forced),
      run_(request.run),
      threads_(request.threads) {
  if (layout_.pairs) pairs_.emplace(*layout_.pairs);
  if (!kernel_.applies(prepared_)) {
    throw engine_error("the host kernel '" + std::string(kernel_.name) + "' cannot count these classes");
  }
}

void host_engine::submit(counting_job& job) {
  if (job.count_here || job.bytes_are_lent) return complete(job);
  try {
    run_([this, &job] { complete(job); });  // two pointers: std::function keeps them without an allocation
  } catch (...) {
    complete(job);  // counting needs no memory
  }
}

void host_engine::complete(counting_job& job) noexcept {
  std::exception_ptr failure;
  try {
    count(job);
  } catch (...) {
    failure = std::current_exception();
  }
  job.on_complete(job, std::move(failure));  // last: once all jobs are completed, the engine may be destroyed
}

void host_engine::count(const counting_job& job) {
  const stage_range range("count");
  const auto start = std::chrono::steady_clock::now();
  count_rows(job);
  const std::chrono::nanoseconds busy = std::chrono::steady_clock::now() - start;
  busy_nanoseconds_ += static_cast<std::uint64_t>(busy.count());
  bytes_ += job.bytes.size();
  ++jobs_;
}

void host_engine::count_rows(const counting_job& job) const {
  check_job(job, layout_);
  std::uint32_t* row = job.rows.data();
  for (const extent& part : job.extents) {
    const auto text = job.bytes.subspan(part.begin, part.size());
    kernel_.count(text, prepared_, row);
    if (pairs_) {
      count_pairs(text, *pairs_, row + layout_.pairs_at());
      row[layout_.edges_at()] = edges_of(text, *layout_.pairs);
    }
    row += layout_.columns();
  }
}

engine_stats host_engine::stats() const {
  return {.kernel = kernel_.full_name(),
          .device = {},
          .workers = threads_,
          .startup_seconds = 0,
          .jobs = jobs_,
          .bytes = bytes_,
          .busy_seconds = busy_seconds(),
          .timeline = std::nullopt};
}

}  // namespace gpuhist::gpu::host
