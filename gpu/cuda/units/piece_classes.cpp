#include "gpu/cuda/units/piece_classes.hpp"

namespace gpuhist::gpu::cuda::units {

std::optional<piece_classes> piece_classes::make(const partition& counted, std::byte delimiter) {
  piece_classes made{.delimiter = delimiter};
  std::array<unsigned, 256> given{};  // to a class of the partition; 0: none yet
  for (std::size_t value = 0; value < made.class_of.size(); ++value) {
    if (value == std::to_integer<std::size_t>(delimiter)) continue;
    unsigned& own = given[counted.class_of[value]];
    if (own == 0) own = made.classes++;
    if (own >= max_classes) return std::nullopt;
    made.class_of[value] = static_cast<std::uint8_t>(own);
  }
  while (made.counters < max_classes && made.classes > made.counters + 1) made.counters *= 2;
  return made;
}

class_table piece_classes::table() const {
  class_table made{};
  for (std::size_t value = 0; value < made.size(); ++value) {
    for (unsigned bit = 0; bit < 4; ++bit) made[value] |= (std::uint32_t{class_of[value]} >> bit & 1U) << (8 * bit);
  }
  return made;
}

}  // namespace gpuhist::gpu::cuda::units
