// Where work runs. Posting allocates nothing and never throws: the memory of a piece of work is its owner's, so a
// thread that gives something back can always resume the one that waits for it.
#pragma once

namespace gpuhist::async {

/// A piece of work. It stays valid, and is posted nowhere else, until it has run.
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

  void push(work_item& last) noexcept {
    last.next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = &last;
    last_ = &last;
  }

  /// Precondition: not empty.
  [[nodiscard]] work_item& front() const noexcept { return *first_; }

  /// Precondition: not empty.
  work_item& pop() noexcept {
    work_item& taken = *first_;
    first_ = taken.next_;
    return taken;
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

  /// Runs it soon, never within this call.
  virtual void post(work_item& what) noexcept = 0;

  /// A coroutine that was spawned here begins, and has ended: an executor is not finished before all have.
  virtual void note_task_begins() noexcept = 0;
  virtual void note_task_ended() noexcept = 0;
};

}  // namespace gpuhist::async
