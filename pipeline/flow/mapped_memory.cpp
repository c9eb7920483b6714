#include "pipeline/flow/mapped_memory.hpp"

#include <sys/mman.h>

namespace gpuhist::pipeline {

mapped_memory::mapped_memory(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // optional: fewer page faults and page table entries
  memory_ = {static_cast<std::byte*>(memory), bytes};
}

void mapped_memory::make_resident() noexcept {
  constexpr std::size_t smallest_page = 4096;
  volatile std::byte* const bytes = memory_.data();
  for (std::size_t at = 0; at < memory_.size(); at += smallest_page) bytes[at] = std::byte{0};
}

mapped_memory::~mapped_memory() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

}  // namespace gpuhist::pipeline
