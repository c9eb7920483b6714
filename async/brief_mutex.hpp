// A mutex that is held for microseconds. To be woken takes ten times as long, and the mutex is free meanwhile: with 16
// threads and very many small inputs, half of their time was spent so (docs/tuning.md). So a thread tries for about as
// long as others hold the mutex before it sleeps.
#pragma once

#include <mutex>

namespace gpuhist::async {

class brief_mutex {
 public:
  brief_mutex() = default;
  brief_mutex(const brief_mutex&) = delete;
  brief_mutex& operator=(const brief_mutex&) = delete;

  void lock() {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // Tens of cycles, in which the core leaves the cache line to the others.
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  std::mutex mutex_;
};

}  // namespace gpuhist::async
