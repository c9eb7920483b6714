#include "tests/pipeline/device_run.hpp"

#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "support/fake_runtime.hpp"
#include "support/sparing_runtime.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>

using namespace gpuhist::pipeline;

namespace gpuhist::test {
namespace {

using gpu::cuda::planned_failure;

// The automatic engine, with a device wanted from the first chunk on. submit() waits until the device is awake or has
// failed, so that the device takes part in every run.
class awaited_engine final : public gpu::engine {
 public:
  explicit awaited_engine(std::unique_ptr<gpu::automatic_engine> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  const gpu::row_layout& layout() const override { return inner_->layout(); }
  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override {
    inner_->register_memory(memory, std::move(owner));
  }
  void submit(gpu::counting_job& job) override {
    inner_->submit(job);
    const spared own;
    while (inner_->stats().still_waking) std::this_thread::yield();
  }
  bool counts_here() const override { return inner_->counts_here(); }
  gpu::engine_stats stats() const override { return inner_->stats(); }
  bool can_count() const override { return inner_->can_count(); }

 private:
  std::unique_ptr<gpu::automatic_engine> inner_;
};

// The objects that are made for one run. Outlives the run.
class machine {
 public:
  machine(engine_kind kind, bool is_for_the_device, std::shared_ptr<planned_failure> plan)
      : kind_(kind), is_for_the_device_(is_for_the_device), plan_(std::move(plan)) {}
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  ~machine() {  // waits for a thread that wakes a device
    in_use_.reset();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_unused_; });
  }

  gpu::engine_choice make(gpu::engine_request request) const {
    request.streams = 2;
    request.forecast = {};
    request.all_devices = kind_ == engine_kind::two_devices;
    request.max_copy = 2 * scenario_chunk_bytes;
    if (kind_ != engine_kind::automatic) return {.taken = make_cuda(request), .reason = {}};
    request.threads = 0;
    request.load = {.busy_decoders = is_for_the_device_ ? &busy_decoders_ : nullptr};
    const gpu::automatic_engine::settings wanted_at_once{
        .wake = [this, request, in_use = in_use_] { return make_cuda(request); },
        .patience = std::chrono::milliseconds(0),
        .max_device_bytes = std::uint64_t{1} << 40U,
        .min_extent = 0};
    return {.taken = std::make_unique<awaited_engine>(std::make_unique<gpu::automatic_engine>(request, wanted_at_once)),
            .reason = {}};
  }

  [[nodiscard]] std::vector<std::string> misuses() const { return ledger_->misuses(); }

 private:
  std::unique_ptr<gpu::engine> make_cuda(const gpu::engine_request& request) const {
    std::unique_ptr<gpu::cuda::runtime> api;
    {
      const spared own;
      const std::size_t devices = kind_ == engine_kind::two_devices ? 2 : 1;
      api = gpu::cuda::make_fake_runtime(ledger_,
                                         std::vector<gpu::cuda::device_properties>(devices, gpu::cuda::fake_device()));
      ledger_->may_be_lost = plan_ != nullptr;
      ledger_->before_kernel = [](int) { static thread_local const spared kernels_request_nothing; };
      if (plan_) api = gpu::cuda::make_failing_runtime(std::move(api), plan_);
      api = make_sparing_runtime(std::move(api));
    }
    return std::make_unique<gpu::cuda::cuda_engine>(std::move(api), request);
  }

  engine_kind kind_;
  bool is_for_the_device_;
  std::atomic<std::uint64_t> busy_decoders_ = 0;  // as many as the request has threads
  std::shared_ptr<planned_failure> plan_;
  std::shared_ptr<gpu::cuda::ledger> ledger_ = std::make_shared<gpu::cuda::ledger>();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_unused_ = false;
  std::shared_ptr<machine> in_use_{this, [](machine* owner) {  // held by all that may still make an engine
                                     const std::scoped_lock lock(owner->mutex_);
                                     owner->is_unused_ = true;
                                     owner->changed_.notify_all();
                                   }};
};

// While this exists, standard output of this process goes into memory.
class captured_output {
 public:
  captured_output() : before_(::dup(STDOUT_FILENO)), memory_(::memfd_create("output", MFD_CLOEXEC)) {
    std::fflush(stdout);
    ::dup2(memory_, STDOUT_FILENO);
  }
  captured_output(const captured_output&) = delete;
  captured_output& operator=(const captured_output&) = delete;
  ~captured_output() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(memory_);
  }

  [[nodiscard]] std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(memory_, 0, SEEK_END)), '\0');
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(memory_, all.data(), all.size(), 0))));
    return all;
  }

 private:
  int before_;
  int memory_;
};

run_hooks hooks_for(const device_scenario& tested, const machine& setup) {
  run_hooks hooks;
  hooks.make_engine = [&](std::string_view, const gpu::engine_request& request) { return setup.make(request); };
  if (tested.planned.windows) hooks.window = [](const closed_window&) { return false; };
  if (tested.planned.snapshot_every) hooks.snapshot = [](const run_counts&) {};
  return hooks;
}

std::uint64_t device_bytes_of(const outcome& finished) {
  return finished.stats ? finished.stats->counting.device_bytes : 0;
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const unclean_end& end) {
    return message_of(end.cause());
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

}  // namespace

ended_run run_once(const device_scenario& tested, engine_kind kind, const std::shared_ptr<planned_failure>& plan,
                   failing_resource* failing) {
  ended_run ended;
  std::optional<failing_resource::scope> armed;
  if (tested.prepare) tested.prepare();
  const machine setup(kind, tested.is_for_the_device, plan);
  const run_hooks hooks = hooks_for(tested, setup);
  const captured_output output;
  if (failing != nullptr && plan) plan->on_failure = [&] { armed.emplace(*failing); };
  if (failing != nullptr && !plan) armed.emplace(*failing);
  std::exception_ptr error;
  try {
    ended.finished = run(tested.planned, hooks);
  } catch (...) {
    error = std::current_exception();
  }
  const spared own;
  if (error) ended.error = message_of(error);
  if (ended.finished) ended.device_bytes = device_bytes_of(*ended.finished);
  ended.forwarded = output.text();
  ended.misuses = setup.misuses();
  return ended;
}

}  // namespace gpuhist::test
