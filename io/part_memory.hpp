// Memory for the texts of parts (io/part_decoder.hpp), which is used again from part to part: new memory costs a page
// fault every 4 KiB, a tenth of the time of decoding deflate data.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// Blocks of memory of one size. Any thread.
class part_memory : public std::enable_shared_from_this<part_memory> {
 public:
  /// Returns a block to its pool.
  class release {
   public:
    release() = default;
    explicit release(std::shared_ptr<part_memory> pool) : pool_(std::move(pool)) {}
    void operator()(std::byte* block) const;

   private:
    std::shared_ptr<part_memory> pool_;
  };
  using block = std::unique_ptr<std::byte[], release>;

  /// The memory of this size of the process, as long as it is used: how many parts each decoder has varies, but
  /// the number of parts does not. `kept_blocks`: of the first one who asks. Throws std::bad_alloc.
  static std::shared_ptr<part_memory> shared(std::size_t block_bytes, std::size_t kept_blocks);

  /// Keeps at most `kept_blocks` blocks that are not in use.
  part_memory(std::size_t block_bytes, std::size_t kept_blocks)
      : block_bytes_(block_bytes), kept_blocks_(kept_blocks) {}

  /// A block of `bytes` bytes, not initialized. Only blocks of block_bytes() are used again. Throws std::bad_alloc.
  block get(std::size_t bytes);

  [[nodiscard]] std::size_t block_bytes() const { return block_bytes_; }

 private:
  static std::unique_ptr<std::byte[]> make(std::size_t bytes);
  void put(std::unique_ptr<std::byte[]> used) noexcept;

  const std::size_t block_bytes_;
  const std::size_t kept_blocks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

inline void part_memory::release::operator()(std::byte* block) const {
  std::unique_ptr<std::byte[]> used(block);
  if (pool_) pool_->put(std::move(used));
}

inline std::shared_ptr<part_memory> part_memory::shared(std::size_t block_bytes, std::size_t kept_blocks) {
  static std::mutex mutex;
  static std::map<std::size_t, std::weak_ptr<part_memory>> of_size;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<part_memory>& known = of_size[block_bytes];
  auto memory = known.lock();
  if (!memory) known = memory = std::make_shared<part_memory>(block_bytes, kept_blocks);
  return memory;
}

inline std::unique_ptr<std::byte[]> part_memory::make(std::size_t bytes) {
  constexpr std::size_t page = std::size_t{2} << 20U;
  auto made = std::make_unique_for_overwrite<std::byte[]>(bytes);
  void* begin = made.get();
  std::size_t left = bytes;
  // optional
  if (std::align(page, page, begin, left) != nullptr) ::madvise(begin, left / page * page, MADV_HUGEPAGE);
  return made;
}

inline part_memory::block part_memory::get(std::size_t bytes) {
  if (bytes != block_bytes_) return block(make(bytes).release());
  std::unique_ptr<std::byte[]> found;
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(kept_blocks_);
    if (!free_.empty()) {
      found = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!found) found = make(bytes);
  return {found.release(), release(shared_from_this())};
}

inline void part_memory::put(std::unique_ptr<std::byte[]> used) noexcept {
  const std::lock_guard lock(mutex_);
  if (free_.size() < kept_blocks_) free_.push_back(std::move(used));
}

}  // namespace gpuhist::io
