// Buffers for kept text that readers of units use in turn: new pages cost more than the copy that fills them.
#pragma once

#include "report/units/kept_text.hpp"

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::pipeline::units {

/// Thread-safe.
class kept_buffers {
 public:
  /// `limit`: bytes of buffers that are not in use; more are freed.
  explicit kept_buffers(std::size_t limit) : limit_(limit) {}

  /// An empty buffer, with room if one was given back.
  [[nodiscard]] kept_text::buffer take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return {};
    kept_text::buffer taken = std::move(free_.back());
    free_.pop_back();
    bytes_ -= taken.capacity();
    return taken;
  }

  void give_back(kept_text::buffer used) noexcept {
    const std::scoped_lock lock(mutex_);
    if (used.capacity() == 0 || bytes_ + used.capacity() > limit_ || free_.size() == free_.capacity()) return;
    used.clear();
    bytes_ += used.capacity();
    free_.push_back(std::move(used));
  }

 private:
  static constexpr std::size_t max_buffers = 256;

  static std::vector<kept_text::buffer> with_room() {
    std::vector<kept_text::buffer> made;
    made.reserve(max_buffers);
    return made;
  }

  const std::size_t limit_;
  std::mutex mutex_;
  std::vector<kept_text::buffer> free_ = with_room();
  std::size_t bytes_ = 0;  // of free_
};

}  // namespace gpuhist::pipeline::units
