// A run over files on a thread of its own, whose windows or units another thread takes one by one.
#pragma once

#include <gpuhist/files.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::python {

/// The items are bounded: the run waits while the consumer is slow, so memory does not grow. Any thread may call the
/// members; none of them needs the GIL, and the thread of the run never takes it.
template <class Item>
class file_stream {
 public:
  using callback = std::function<void(const Item&)> counting_events::*;

  file_stream(file_options options, callback kind) {
    options.counting.stop = stop_.get_token();
    thread_ = std::thread([this, kind, chosen = std::move(options)] { run(chosen, kind); });
  }
  file_stream(const file_stream&) = delete;
  file_stream& operator=(const file_stream&) = delete;
  ~file_stream() { close(); }

  /// What the run has found since the last call; waits up to `patience` for the first of it. Nothing and ended(): there
  /// is no more.
  [[nodiscard]] std::vector<Item> take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return !items_.empty() || ended_; });
    std::vector<Item> taken = std::exchange(items_, {});
    changed_.notify_all();
    return taken;
  }

  [[nodiscard]] bool ended() const {
    const std::lock_guard lock(mutex_);
    return ended_ && items_.empty();
  }

  /// Ends the run, and waits for its thread. Items that were not taken are discarded.
  void close() noexcept {
    stop_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      items_.clear();
      changed_.notify_all();
    }
    const std::lock_guard one_at_a_time(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

  /// After the end: the outcome. Throws what ended the run.
  [[nodiscard]] file_outcome outcome() const {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return outcome_.value();
  }

 private:
  static constexpr std::size_t most_items = 1024;

  void run(const file_options& options, callback kind) noexcept {
    file_events events;
    events.*kind = [this](const Item& item) { push(item); };
    std::optional<file_outcome> outcome;
    std::exception_ptr failure;
    try {
      outcome = count_files(options, events);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    failure_ = failure;
    ended_ = true;
    changed_.notify_all();
  }

  void push(const Item& item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return items_.size() < most_items || closed_; });
    if (closed_) return;
    items_.push_back(item);
    if (items_.size() == 1) changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item> items_;
  bool ended_ = false;
  bool closed_ = false;
  std::optional<file_outcome> outcome_;
  std::exception_ptr failure_;
  std::mutex join_mutex_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace gpuhist::python
