// State of devices that determines how the process must end. It outlives the engines.
#pragma once

namespace gpuhist::gpu {

/// Whether the process must end without exit handlers and destructors (std::_Exit). This is so while a detached thread
/// initializes or releases a device, and after a device was lost. At exit, the runtime of the device could race with
/// that thread, and hang on a lost device. Valid also before an engine is made and after it is destroyed. Thread-safe.
[[nodiscard]] bool must_end_at_once() noexcept;

/// Records that a device failed and must not be called again in this process. Thread-safe.
void note_lost_device() noexcept;

/// Held by a detached thread while it may call the runtime of a device. Constructed by the thread that starts it.
class detached_waker {
 public:
  detached_waker() noexcept;
  detached_waker(detached_waker&& other) noexcept;
  detached_waker& operator=(detached_waker&&) = delete;
  ~detached_waker();

 private:
  bool counts_ = true;  // false: moved from
};

}  // namespace gpuhist::gpu
