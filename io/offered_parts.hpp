// The parts that a decoder was offered (decoder::offer), and the one whose block it takes over.
#pragma once

#include "io/part_decoder.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace gpuhist::io {

/// `Part` is the decoded_part of the format. Part::is_before(position): none of its blocks begins there or later.
/// Positions are those of the format, in bytes or bits.
template <typename Part>
class offered_parts {
 public:
  /// Keeps a part. Null, and parts of other formats, are ignored. Parts before `position` are released here, too:
  /// within a long block there may be any number of them.
  void offer(const std::shared_ptr<const decoded_part>& part, std::uint64_t position) {
    release(position);
    auto blocks = std::dynamic_pointer_cast<const Part>(part);
    if (blocks && (parts_.empty() || parts_.back() != blocks)) parts_.push_back(std::move(blocks));
  }

  /// Takes the first part for which `fits` is true. It is kept until the next call of take(), leave() or clear().
  /// Releases parts before `position`. Returns false if no part fits.
  template <typename Fits>
  bool take(std::uint64_t position, const Fits& fits) {
    release(position);
    const auto found = std::ranges::find_if(parts_, [&fits](const auto& each) { return fits(*each); });
    taken_ = found == parts_.end() ? nullptr : *found;
    return taken_ != nullptr;
  }

  /// The part of take(). Precondition: it was not left.
  [[nodiscard]] const Part* taken() const { return taken_.get(); }

  /// The part of take() is not needed any more.
  void leave() { taken_ = nullptr; }

  void clear() {
    parts_.clear();
    taken_ = nullptr;
  }

 private:
  void release(std::uint64_t position) {
    while (!parts_.empty() && parts_.front()->is_before(position)) parts_.pop_front();
  }

  std::deque<std::shared_ptr<const Part>> parts_;
  std::shared_ptr<const Part> taken_;
};

}  // namespace gpuhist::io
