// Work that the threads of the pool do ahead of the thread that needs its results, which helps them instead of waiting.
// So the work needs no thread of its own, and is done by a pool of one thread, too.
//
//     pool thread     job: one piece ─► the next one ...     other items of the pool take their turn between two pieces
//     the caller      help_or_wait(): a piece, or a wait for the end of another one
#pragma once

#include "async/executor.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Pieces that are in progress or wait for their turn: half as many as threads are ready before it, so that no thread
/// waits for the reader of the results.
constexpr std::size_t pieces_ahead(unsigned threads) { return threads + threads / 2 + 1; }

/// Objects that are not in use and are kept for the next user. Not thread-safe.
template <typename T>
class idle_objects {
 public:
  /// Null: there is none.
  std::unique_ptr<T> take() noexcept {
    if (idle_.empty()) return nullptr;
    std::unique_ptr<T> taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }

  /// Destroys the object if there is no memory for keeping it. Null is not kept.
  void keep(std::unique_ptr<T> object) noexcept {
    if (!object) return;
    try {
      idle_.push_back(std::move(object));
    } catch (const std::bad_alloc&) {
      object.reset();
    }
  }

 private:
  std::vector<std::unique_ptr<T>> idle_;
};

/// A base of queues. The queue owns it by a shared pointer, and the jobs of the pool do, too: they may run after the
/// queue was destroyed.
class shared_work : public std::enable_shared_from_this<shared_work> {
 public:
  /// `max_jobs`: threads of the pool that work at the same time. Borrows the pool until the last job has run.
  shared_work(async::executor& pool, unsigned max_jobs) : pool_(pool), max_jobs_(max_jobs) {}
  shared_work(const shared_work&) = delete;
  shared_work& operator=(const shared_work&) = delete;
  virtual ~shared_work() = default;

  /// Waits for threads that do a piece. No piece is begun afterwards.
  void close() noexcept;

 protected:
  using locked = std::unique_lock<std::mutex>;

  /// The pieces that can be done now. Under the lock.
  [[nodiscard]] virtual std::size_t ready_pieces() const noexcept = 0;

  /// Does the oldest piece, of which there is one. Under the lock, which it releases meanwhile.
  virtual void do_oldest_piece(locked& lock) noexcept = 0;

  /// To be called when pieces have become ready. Without memory for a job, help_or_wait() does the work. Under the
  /// lock.
  void post_jobs() noexcept;

  /// Does a piece if one is ready; else waits until another thread has done one. Under the lock.
  void help_or_wait(locked& lock);

  /// Waits until another thread has done a piece. Precondition: running() > 0. Under the lock.
  void wait(locked& lock) { changed_.wait(lock); }

  /// Wakes the threads that wait, as the end of a piece does. Under the lock.
  void wake_waiting() noexcept { changed_.notify_all(); }

  /// Whether no piece may be begun. Under the lock.
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

  /// Threads that do a piece. Under the lock.
  [[nodiscard]] unsigned running() const noexcept { return running_; }

  std::mutex mutex_;

 private:
  class job;

  bool run_one(locked& lock) noexcept;

  async::executor& pool_;
  const unsigned max_jobs_;
  std::condition_variable changed_;
  unsigned jobs_ = 0;          // posted to the pool, or running there
  unsigned waiting_jobs_ = 0;  // of these, those that have not begun
  unsigned running_ = 0;       // threads that do a piece
  bool closed_ = false;
};

}  // namespace gpuhist::pipeline
