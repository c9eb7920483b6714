#include "pipeline/flow/decoding/block_pool.hpp"

#include "gpu/engines.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <span>

namespace gpuhist::pipeline {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

std::size_t blocks_of_slab(std::size_t block_bytes) {
  constexpr std::size_t large_block = std::size_t{128} << 10U;
  return block_bytes < large_block ? 1 : std::max<std::size_t>(1, huge_page_bytes / block_bytes);
}

}  // namespace

block_pool::block_pool(std::size_t block_bytes, std::size_t extra)
    : block_bytes_(block_bytes), blocks_of_slab_(blocks_of_slab(block_bytes)), extra_left_(extra) {}

bool block_pool::take_extra() {
  const std::scoped_lock lock(mutex_);
  if (extra_left_ == 0) return false;
  --extra_left_;
  return true;
}

void block_pool::release_extra() noexcept {
  const std::scoped_lock lock(mutex_);
  ++extra_left_;
}

block_memory block_pool::take_memory() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) allocate_slab();
  const block_memory memory = free_.back();
  free_.pop_back();
  return memory;
}

// A small input needs only some pages of the first slab. A slab shares no page with another one, which may be locked.
void block_pool::allocate_slab() {
  slabs_.reserve(slabs_.size() + 1);
  free_.reserve((slabs_.size() + 1) * blocks_of_slab_);
  const bool is_huge = !slabs_.empty() && slab_bytes() % huge_page_bytes == 0;
  const std::align_val_t alignment{is_huge ? huge_page_bytes : page_bytes};
  auto* const begin = static_cast<std::byte*>(::operator new(slab_bytes(), alignment));
  const auto release = [alignment](std::byte* memory) noexcept { ::operator delete(memory, alignment); };
  slabs_.push_back({.memory = std::shared_ptr<std::byte[]>(begin, release)});
  if (is_huge) ::madvise(begin, slab_bytes(), MADV_HUGEPAGE);  // optional
  for (std::size_t i = blocks_of_slab_; i-- > 0;) free_.push_back({.bytes = begin + i * block_bytes_});
}

void block_pool::release_memory(block_memory memory) noexcept {
  const std::scoped_lock lock(mutex_);
  memory.is_locked = memory.is_locked || is_in_locked_slab(memory.bytes);
  free_.push_back(memory);  // does not allocate
}

bool block_pool::is_in_locked_slab(const std::byte* memory) const {
  return std::ranges::any_of(std::span(slabs_).first(seen_slabs_), [&](const slab& each) {
    return each.is_locked && memory >= each.memory.get() && memory < each.memory.get() + slab_bytes();
  });
}

// The engine is called without the lock: readers need no device.
void block_pool::lock_pages(gpu::engine& engine) {
  for (;;) {
    std::shared_ptr<std::byte[]> next;
    std::size_t index = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (seen_slabs_ == slabs_.size()) return;
      index = seen_slabs_++;
      next = slabs_[index].memory;
    }
    try {
      engine.register_memory({next.get(), slab_bytes()}, next);
    } catch (const gpu::engine_error&) {
      continue;
    }
    const std::scoped_lock lock(mutex_);
    slabs_[index].is_locked = true;
    for (block_memory& each : free_) each.is_locked = each.is_locked || is_in_locked_slab(each.bytes);
  }
}

}  // namespace gpuhist::pipeline
