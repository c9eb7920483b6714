// `--engine auto` where there is a device: counting begins on the host at once; a device is woken in the background,
// and only when the cores fall short; from then on chunks go to whoever is free. A device that fails costs nothing:
// what was on it is still in its slots and is counted again on the host. Where there is no memory to queue a job, or to
// post a task for it, the thread that came with it counts it; where the device cannot be woken, the host counts all.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/engines.hpp"
#include "gpu/host/host_engine.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpuhist::gpu {

class automatic_engine final : public engine {
 public:
  struct settings {
    std::function<std::unique_ptr<engine>()> wake;  ///< makes the device's engine; on a thread of its own; may throw
    /// A run shorter than this never wakes the device: waking costs more than it could gain.
    std::chrono::milliseconds patience{100};
    /// What the host will have counted sooner than this wakes no device either: that takes longer to be ready, and the
    /// cores' time meanwhile.
    std::chrono::milliseconds worthwhile{500};
    std::uint64_t max_device_bytes = 0;  ///< with the device at once
    /// Of the time of all cores that decompression could use: counting more than this wakes a device. (A few classes
    /// take 0.03 to 0.05, all 256 values 0.15 to 0.2; a device costs the decoders about as much as the former.)
    double counting_share = 0.1;
    /// Chunks of extents that are shorter than this on average are the host's: a device spends its time on their rows.
    std::uint32_t min_extent = 1024;
  };

  automatic_engine(const engine_request& request, settings how);

  /// Does not wait for a device that is still waking: it is put to sleep again by the thread that wakes it, and
  /// is_waking() stays true in the meantime.
  ~automatic_engine() override;

  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] const partition& row_partition() const override { return request_.counted; }
  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override;

  /// Takes every job: does not throw.
  void submit(counting_job& job) noexcept override;

  /// Until a device is awake: from then on the cores are left to whoever wants them.
  [[nodiscard]] bool counts_here() const override;
  [[nodiscard]] engine_stats stats() const override;

 private:
  enum class device_state { asleep, waking, awake, failed };
  struct awakening;
  struct registration {
    std::span<std::byte> memory;
    std::shared_ptr<const void> owner;
  };
  struct device_job;

  bool queue(counting_job& job) noexcept;
  void wake_if_cores_fall_short() noexcept;
  [[nodiscard]] bool begins_waking();
  void start_waking();
  [[nodiscard]] bool cores_fall_short(std::chrono::duration<double> elapsed) const;  // with the lock
  [[nodiscard]] bool is_worthwhile(std::chrono::duration<double> elapsed) const;     // with the lock
  void woken(std::unique_ptr<engine> device) noexcept;
  void could_not_wake(const std::exception_ptr& why) noexcept;
  void feed_device() noexcept;
  void hand_to_device(device_job& what) noexcept;
  void answered(device_job& of, std::exception_ptr failure) noexcept;
  void note_failure(const std::exception_ptr& why) noexcept;
  void post_host_task() noexcept;
  void post_host_task_for(counting_job& job) noexcept;
  void count_one_on_host() noexcept;
  void end_host_task(counting_job* job) noexcept;
  void count_now(counting_job& job) noexcept;
  [[nodiscard]] std::exception_ptr try_count(const counting_job& job) noexcept;
  device_job* take_for_device() noexcept;  // a chain; null: nothing
  [[nodiscard]] bool is_for_host(const counting_job& job) const;
  counting_job* take_waiting();                // with the lock; null: none waits
  device_job* spare_device_job() noexcept;     // with the lock; null: no memory for one
  void return_device_job(device_job& unused);  // with the lock
  [[nodiscard]] std::string note() const;
  [[nodiscard]] std::string warning() const;

  const engine_request request_;
  const settings how_;
  host::host_engine host_;
  std::vector<registration> registrations_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<counting_job*> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::size_t host_tasks_ = 0;  // posted and not yet ended
  device_state state_ = device_state::asleep;
  std::chrono::steady_clock::time_point first_submit_{};
  std::shared_ptr<awakening> awakening_;
  std::unique_ptr<engine> device_;
  std::uint64_t on_device_ = 0;                           // bytes
  std::vector<std::unique_ptr<device_job>> device_jobs_;  // all that were ever needed at a time
  device_job* spare_ = nullptr;                           // the first of those not in use
  std::vector<std::string> failures_;                     // of devices that counted until then, each text once
  bool has_unreported_failure_ = false;                   // there was no memory for its text
  std::string why_not_;                                   // a device could not be woken
  bool is_lost_ = false;                                  // it failed then so that it must not be called any more
};

}  // namespace gpuhist::gpu
