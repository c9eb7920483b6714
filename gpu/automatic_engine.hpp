// `--engine auto` on a machine with devices. Counting starts on the host at once. A device is woken in the background,
// only if the cores are saturated; after that the host and the device both take waiting chunks. If a device fails, no
// bytes are lost: its chunks are still in their slots and are counted again on the host. If there is no memory to queue
// a job or to post a task for it, the submitting thread counts it. If the device cannot be woken, the host counts
// everything.
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
#include <thread>
#include <vector>

namespace gpuhist::gpu {

class automatic_engine final : public engine {
 public:
  struct settings {
    std::function<std::unique_ptr<engine>()>
        wake;  ///< makes the engine of the device; runs on a separate thread; may throw
    /// A run shorter than this never wakes the device: waking costs more than it could gain.
    std::chrono::milliseconds patience{100};
    /// A device is not woken if the host will count the remaining input in less than this: waking takes longer, and
    /// uses time of the cores.
    std::chrono::milliseconds worthwhile{500};
    std::uint64_t max_device_bytes = 0;  ///< maximum submitted to the device at any time
    /// A share of the time of all cores. If decompression could use the cores and counting takes more than this share,
    /// a device is woken. (Counting a few classes takes 0.03 to 0.05, all 256 values 0.15 to 0.2. Using a device costs
    /// the decoders about as much as counting a few classes.)
    double counting_share = 0.1;
    /// A device is woken to decode frames if the host would take longer than this for the compressed bytes that are
    /// left, at the rate of a thread. Waking and the memory for decoding take 0.4 s.
    std::chrono::milliseconds worthwhile_decoding{500};
    double decoded_by_thread = 150e6;  ///< compressed bytes a second: log text of zstd, level 3
    /// A device is woken to decode one frame if the host would take longer than this, whose threads decode one frame as
    /// fast as `threads_of_frame` of them at most.
    std::chrono::milliseconds worthwhile_frame{1500};
    double text_by_thread = 700e6;  ///< bytes of text a second
    unsigned threads_of_frame = 4;
    /// If the extents of a chunk are shorter than this on average, the host counts it: a device would spend its time on
    /// the rows.
    std::uint32_t min_extent = 1024;
  };

  automatic_engine(const engine_request& request, settings with);

  /// Does not wait for a device that is still being woken, unless engine_request::joins_waker: the waking thread
  /// releases it. Until then must_end_at_once() is true.
  ~automatic_engine() override;

  [[nodiscard]] std::string_view name() const override { return "auto"; }
  [[nodiscard]] const row_layout& layout() const override { return host_.layout(); }
  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override;

  /// Accepts every job.
  void submit(counting_job& job) noexcept override;

  /// True until a device is awake. After that the cores are left to other work.
  [[nodiscard]] bool counts_here() const override;
  [[nodiscard]] bool counts_lent_bytes() const override { return true; }
  [[nodiscard]] bool is_waking() const override;

  /// Null until a device is awake. A call wakes one if the compressed bytes that are left make that worthwhile; such a
  /// device only decodes, and the host counts what it decodes itself.
  [[nodiscard]] frame_decoder* decoder() override;

  [[nodiscard]] bool await_decoder(std::uint64_t text_of_frame, const std::function<void()>& then) override;

  [[nodiscard]] engine_stats stats() const override;

 private:
  enum class device_state {
    asleep,
    waking,
    awake,    ///< decodes, and counts chunks
    decodes,  ///< was woken to decode, and gets no chunks
    failed,
  };
  struct awakening;
  struct registration {
    std::span<std::byte> memory;
    std::shared_ptr<const void> owner;
  };
  struct device_job;

  [[nodiscard]] engine* woken_device() const;  // null: none
  bool queue(counting_job& job) noexcept;
  void wake_if_cores_are_saturated() noexcept;
  [[nodiscard]] bool begins_waking();
  [[nodiscard]] bool begins_waking_to_decode();
  [[nodiscard]] bool pays_to_decode() const;  // with the lock
  [[nodiscard]] bool is_long_frame(std::uint64_t text_bytes) const;
  void try_to_wake(device_state as) noexcept;
  void end_waits() noexcept;
  void start_waking(device_state as);
  [[nodiscard]] bool cores_are_saturated(std::chrono::duration<double> elapsed) const;  // with the lock
  [[nodiscard]] bool is_worthwhile(std::chrono::duration<double> elapsed) const;        // with the lock
  void woken(std::unique_ptr<engine> device, device_state as) noexcept;
  void could_not_wake(const std::exception_ptr& why) noexcept;
  void note_why_not(const std::exception_ptr& why) noexcept;
  void feed_device() noexcept;
  void submit_to_device(device_job& sent) noexcept;
  void answered(device_job& answer, std::exception_ptr failure) noexcept;
  void note_failure(const std::exception_ptr& why) noexcept;
  void post_host_task() noexcept;
  void post_host_task_for(counting_job& job) noexcept;
  void count_one_on_host() noexcept;
  void end_host_task(counting_job* job) noexcept;
  void count_now(counting_job& job) noexcept;
  [[nodiscard]] std::exception_ptr try_count(const counting_job& job) noexcept;
  device_job* take_for_device() noexcept;  // a linked list; null: none
  [[nodiscard]] bool is_for_host(const counting_job& job) const;
  counting_job* take_waiting();                // with the lock; null: the queue is empty
  device_job* spare_device_job() noexcept;     // with the lock; null: no memory for one
  void return_device_job(device_job& unused);  // with the lock
  [[nodiscard]] std::string note() const;
  [[nodiscard]] std::string warning() const;

  const engine_request request_;
  const settings settings_;
  host::host_engine host_;
  std::vector<registration> registrations_;

  mutable std::mutex mutex_;  // protects all members below
  std::condition_variable changed_;
  std::deque<counting_job*> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::size_t host_tasks_ = 0;  // posted but not finished
  device_state state_ = device_state::asleep;
  std::vector<std::function<void()>> awaited_;  // of await_decoder(), while a device is waking
  std::chrono::steady_clock::time_point first_submit_{};
  std::shared_ptr<awakening> awakening_;
  std::thread waker_;  // with engine_request::joins_waker
  std::unique_ptr<engine> device_;
  std::uint64_t on_device_ = 0;                           // bytes
  std::vector<std::unique_ptr<device_job>> device_jobs_;  // as many as were in use at the same time
  device_job* spare_ = nullptr;                           // linked list of the unused ones
  std::vector<std::string> failures_;                     // of devices that had been woken; each text once
  bool has_unreported_failure_ = false;                   // no memory for its text
  std::string why_not_;                                   // why no device could be woken
  bool is_lost_ = false;                                  // and that device must not be called again
};

}  // namespace gpuhist::gpu
