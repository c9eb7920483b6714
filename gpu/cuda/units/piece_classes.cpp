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

std::size_t piece_rows::find_single_units(std::size_t first, std::uint32_t begin, std::span<std::uint32_t> ends) const {
  const std::size_t stride = classes_->words_of_row();
  const std::size_t most = std::min(size() - first, ends.size());
  const std::uint32_t* row = words_.data() + first * stride;
  std::size_t found = 0;
  for (; found < most && (*row & end_flag) != 0; row += stride) {
    begin += *row & (end_flag - 1);
    ends[found++] = begin;
  }
  return found;
}

void piece_rows::count(std::size_t first, std::uint32_t of_classes, std::span<std::uint32_t> to) const {
  switch (classes_->counters) {
    case 4:
      return count_of<4>(first, of_classes, to);
    case 8:
      return count_of<8>(first, of_classes, to);
    default:
      return count_of<16>(first, of_classes, to);
  }
}

// Of a class without a number, all other classes are counted and subtracted from the bytes.
template <unsigned Counters>
void piece_rows::count_of(std::size_t first, std::uint32_t of_classes, std::span<std::uint32_t> to) const {
  const bool subtracts = (of_classes >> Counters) != 0;
  const std::uint32_t added = subtracts ? ~of_classes : of_classes;
  const std::uint32_t* const rows = &words_[first * (Counters / 2)];
  const auto number = [&](std::size_t piece, unsigned index) {
    return rows[piece * (Counters / 2) + index / 2] >> (16 * (index % 2)) & 0xffffU;
  };
  std::ranges::fill(to, added & 1U);
  for (unsigned index = 1; index < std::min(classes_->classes, Counters); ++index) {
    if ((added >> index & 1U) == 0) continue;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += number(i, index);
  }
  if (!subtracts) return;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = (number(i, 0) & (end_flag - 1)) - to[i];
}

class_table piece_classes::table() const {
  class_table made{};
  for (std::size_t value = 0; value < made.size(); ++value) {
    for (unsigned bit = 0; bit < 4; ++bit) made[value] |= (std::uint32_t{class_of[value]} >> bit & 1U) << (8 * bit);
  }
  return made;
}

}  // namespace gpuhist::gpu::cuda::units
