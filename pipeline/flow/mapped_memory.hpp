// Zeroed memory directly from the operating system, for buffers that are page-locked.
#pragma once

#include <cstddef>
#include <span>

namespace gpuhist::pipeline {

/// Owns the memory, which begins on a page. Uses huge pages where the system has them.
class mapped_memory {
 public:
  /// If the memory cannot be mapped, memory() is empty and errno has the cause.
  explicit mapped_memory(std::size_t bytes) noexcept;
  mapped_memory(const mapped_memory&) = delete;
  mapped_memory& operator=(const mapped_memory&) = delete;
  ~mapped_memory();

  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

  /// Makes the system provide all pages now, with several threads. Page-locking provides them too, but several threads
  /// at the same time do not do that faster than one.
  void make_resident() noexcept;

 private:
  std::span<std::byte> memory_;
};

}  // namespace gpuhist::pipeline
