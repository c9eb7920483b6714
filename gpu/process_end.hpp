// What the end of the process must take into account of devices, whatever became of the engines that used them.
#pragma once

namespace gpuhist::gpu {

/// Whether the process must end without exit handlers and destructors (std::_Exit): a detached thread is waking a
/// device or putting one to sleep, or a device was lost. What a device's runtime does at exit could race with the
/// former and hang on the latter. Valid also where no engine could be made, and after an engine is gone. Thread-safe.
[[nodiscard]] bool must_end_at_once() noexcept;

/// A device failed so that it must not be called any more, in this process. Thread-safe.
void note_lost_device() noexcept;

/// Held by a detached thread for as long as it may call a device's runtime. Made by the thread that starts it.
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
