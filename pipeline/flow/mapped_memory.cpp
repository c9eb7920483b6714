#include "pipeline/flow/mapped_memory.hpp"

#include <sys/mman.h>

namespace gpuhist::pipeline {

mapped_memory::mapped_memory(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // optional: fewer page faults and page table entries
  memory_ = {static_cast<std::byte*>(memory), bytes};
}

mapped_memory::~mapped_memory() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

}  // namespace gpuhist::pipeline
