#include "io/part_memory.hpp"

#include <utility>

namespace gpuhist::io {

void part_memory::release::operator()(std::byte* block) const {
  std::unique_ptr<std::byte[]> used(block);
  if (pool_) pool_->put(std::move(used));
}

part_memory::block part_memory::get(std::size_t bytes) {
  if (bytes != block_bytes_) return block(std::make_unique_for_overwrite<std::byte[]>(bytes).release());
  std::unique_ptr<std::byte[]> found;
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(kept_blocks_);
    if (!free_.empty()) {
      found = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!found) found = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return {found.release(), release(shared_from_this())};
}

void part_memory::put(std::unique_ptr<std::byte[]> used) noexcept {
  const std::lock_guard lock(mutex_);
  if (free_.size() < kept_blocks_) free_.push_back(std::move(used));
}

}  // namespace gpuhist::io
