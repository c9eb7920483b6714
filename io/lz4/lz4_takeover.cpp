#include "io/lz4/lz4_takeover.hpp"

#include <utility>

namespace gpuhist::io {

void lz4_takeover::offer(const std::shared_ptr<const decoded_part>& part, std::uint64_t position) {
  release(position);  // a stored block, or blocks of another frame, may be longer than many parts
  auto blocks = std::dynamic_pointer_cast<const lz4_part>(part);
  if (blocks && (parts_.empty() || parts_.back() != blocks)) parts_.push_back(std::move(blocks));
}

void lz4_takeover::clear() {
  parts_.clear();
  found_in_.reset();
}

void lz4_takeover::release(std::uint64_t position) {
  while (!parts_.empty() && parts_.front()->is_before(position)) parts_.pop_front();
}

const lz4_ready_block* lz4_takeover::find(std::uint64_t position, const lz4_frame_header& frame) {
  release(position);
  found_in_.reset();
  for (const auto& each : parts_) {
    const lz4_ready_block* const found = each->find(position, frame);
    if (found == nullptr) continue;
    found_in_ = each;
    return found;
  }
  return nullptr;
}

}  // namespace gpuhist::io
