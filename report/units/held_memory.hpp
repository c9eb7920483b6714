// Memory of what readers of units hold until the text before theirs has been read.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace gpuhist::report::units {

/// The memory of all readers of a run. Thread-safe.
class held_memory {
 public:
  /// `limit`: bytes; a reader exceeds it by what it finds in one piece of text.
  explicit held_memory(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] bool is_full() const { return used_.load(std::memory_order_relaxed) >= limit_; }

  /// The part of one reader, which is released by the destructor. One thread.
  class share {
   public:
    explicit share(held_memory& of) : of_(of) {}
    share(const share&) = delete;
    share& operator=(const share&) = delete;
    ~share() { of_.used_.fetch_sub(bytes_, std::memory_order_relaxed); }

    /// The reader holds so many bytes. Small changes are not noted at once, because all readers share the sum.
    void grow_to(std::size_t bytes) {
      constexpr std::size_t step = std::size_t{32} << 10U;
      if (bytes < bytes_ + step) return;
      of_.used_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
      bytes_ = bytes;
    }

    [[nodiscard]] bool is_full() const { return of_.is_full(); }

   private:
    held_memory& of_;
    std::size_t bytes_ = 0;
  };

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> used_ = 0;
};

/// Bytes in pages that are returned to the system when they are freed. malloc() keeps freed memory for the thread that
/// allocated it: with many threads, several times what is in use. One thread.
class paged_bytes {
 public:
  paged_bytes() = default;
  paged_bytes(paged_bytes&& other) noexcept { swap(other); }
  paged_bytes& operator=(paged_bytes&& other) noexcept {
    paged_bytes taken(std::move(other));
    swap(taken);
    return *this;
  }
  paged_bytes(const paged_bytes&) = delete;
  paged_bytes& operator=(const paged_bytes&) = delete;
  ~paged_bytes() {
    if (data_ != nullptr) ::munmap(data_, capacity_);
  }

  /// Throws std::bad_alloc; then nothing has changed.
  void append(std::span<const std::byte> more) {
    if (more.empty()) return;
    if (more.size() > capacity_ - size_) grow_to(size_ + more.size());
    std::memcpy(data_ + size_, more.data(), more.size());
    size_ += more.size();
  }

  /// Its memory is kept.
  void clear() noexcept { size_ = 0; }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

  void swap(paged_bytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void grow_to(std::size_t wanted) {
    constexpr std::size_t min_bytes = std::size_t{64} << 10U;
    const std::size_t bytes = std::bit_ceil(std::max(wanted, min_bytes));
    // not mremap(): the thread sanitizer does not know it, and reports races with earlier uses of the addresses
    void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    if (data_ != nullptr) {
      std::memcpy(pages, data_, size_);
      ::munmap(data_, capacity_);
    }
    data_ = static_cast<std::byte*>(pages);
    capacity_ = bytes;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace gpuhist::report::units
