// Memory for blocks of compressed bytes that are read ahead.
#pragma once

#include "gpu/engine.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace gpuhist::pipeline {

/// Memory of one block.
struct block_memory {
  std::byte* bytes = nullptr;
  bool is_locked = false;  ///< page-locked, so that devices copy from it
};

/// Memory for the blocks of all readers: allocated on first use, reused, and bounded. Thread-safe. Large blocks are
/// allocated several at a time, and all but the first of them in huge pages: with many decoders, page faults would take
/// the reader longer than reading.
class block_pool {
 public:
  /// `extra`: the number of blocks in addition to those that each reader owns.
  block_pool(std::size_t block_bytes, std::size_t extra);

  [[nodiscard]] std::size_t block_bytes() const { return block_bytes_; }

  /// Reserves one extra block. Returns false if none is left.
  bool take_extra();
  void release_extra() noexcept;

  block_memory take_memory();  ///< of the pool; throws std::bad_alloc
  void release_memory(block_memory memory) noexcept;

  /// Page-locks the memory that was allocated since the last call, and keeps it until the engine ends. Blocks that are
  /// lent at the time are locked when they return. Memory that the system does not lock is used as before. `engine`:
  /// the same in each call; outlives the pool. May take as long as a driver needs. Throws std::bad_alloc.
  void lock_pages(gpu::engine& engine);

 private:
  struct slab {
    std::shared_ptr<std::byte[]> memory{};
    bool is_locked = false;
  };

  void allocate_slab();
  [[nodiscard]] std::size_t slab_bytes() const { return block_bytes_ * blocks_of_slab_; }
  [[nodiscard]] bool is_in_locked_slab(const std::byte* memory) const;

  const std::size_t block_bytes_;
  const std::size_t blocks_of_slab_;
  std::mutex mutex_;
  std::size_t extra_left_;
  std::vector<slab> slabs_;
  std::size_t seen_slabs_ = 0;      // the first ones, by lock_pages()
  std::vector<block_memory> free_;  // has capacity for all blocks; last in, first out
};

}  // namespace gpuhist::pipeline
