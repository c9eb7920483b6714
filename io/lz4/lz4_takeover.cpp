#include "io/lz4/lz4_takeover.hpp"

#include <utility>

namespace gpuhist::io {

void lz4_takeover::offer(const std::shared_ptr<const decoded_part>& part) {
  auto blocks = std::dynamic_pointer_cast<const lz4_part>(part);
  if (blocks && (parts_.empty() || parts_.back() != blocks)) parts_.push_back(std::move(blocks));
}

void lz4_takeover::clear() { parts_.clear(); }

const lz4_ready_block* lz4_takeover::find(std::uint64_t position, const lz4_frame_header& frame) {
  while (!parts_.empty() && parts_.front()->is_before(position)) parts_.pop_front();
  for (const auto& each : parts_) {
    if (const lz4_ready_block* const found = each->find(position, frame)) return found;
  }
  return nullptr;
}

}  // namespace gpuhist::io
