// Executors, and the queue of their work items. Posting allocates nothing and never throws: the owner of an item
// provides its memory. So a thread that releases something can always resume the coroutine that waits for it.
#pragma once

#include <utility>

namespace gpuhist::async {

/// An item stays valid until it has run. Until then it is not posted again.
class work_item {
 public:
  work_item() = default;
  work_item(const work_item&) = delete;
  work_item& operator=(const work_item&) = delete;

  virtual void run() noexcept = 0;

 protected:
  ~work_item() = default;

 private:
  friend class work_queue;
  work_item* next_ = nullptr;
};

/// First in, first out. Not thread-safe.
class work_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void push(work_item& item) noexcept {
    item.next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = &item;
    last_ = &item;
  }

  /// Precondition: not empty.
  [[nodiscard]] work_item& front() const noexcept { return *first_; }

  /// Precondition: not empty.
  work_item& pop() noexcept {
    work_item& taken = *first_;
    first_ = taken.next_;
    return taken;
  }

  /// Takes the item out of the queue, wherever it is. Returns false if it is not in the queue.
  bool remove(work_item& removed) noexcept {
    work_item* before = nullptr;
    for (work_item* each = first_; each != nullptr; before = std::exchange(each, each->next_)) {
      if (each != &removed) continue;
      (before == nullptr ? first_ : before->next_) = removed.next_;
      if (last_ == &removed) last_ = before;
      return true;
    }
    return false;
  }

 private:
  work_item* first_ = nullptr;
  work_item* last_ = nullptr;
};

/// All members are thread-safe.
class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  virtual ~executor() = default;

  /// Queues the item. Never runs it within this call.
  virtual void post(work_item& item) noexcept = 0;

  /// Called when a coroutine that was spawned here begins, and after it has ended. The executor waits until all have
  /// ended.
  virtual void note_task_begins() noexcept = 0;
  virtual void note_task_ended() noexcept = 0;
};

}  // namespace gpuhist::async
