#include "gpu/host/pairs.hpp"

#include <algorithm>

namespace gpuhist::gpu::host {

void count_pairs(std::span<const std::byte> bytes, const partition& classes, std::uint32_t* pairs) {
  const std::size_t width = classes.classes;
  std::fill_n(pairs, width * width, 0U);
  if (bytes.empty()) return;
  const auto class_of = [&](std::byte value) -> std::size_t {
    return classes.class_of[std::to_integer<std::size_t>(value)];
  };
  std::size_t before = class_of(bytes.front());
  for (const std::byte value : bytes.subspan(1)) {
    const std::size_t next = class_of(value);
    ++pairs[before * width + next];
    before = next;
  }
}

}  // namespace gpuhist::gpu::host
