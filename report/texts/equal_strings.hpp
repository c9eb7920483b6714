// Finds equal strings among many: an open-addressing table of their numbers. Strings with equal hashes are compared, so
// the result is exact.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gpuhist::report::texts {

/// One thread at a time.
class equal_strings {
 public:
  /// Forgets all strings. `most`: that may follow.
  void clear(std::size_t most) {
    const std::size_t wanted = std::bit_ceil(2 * most + 1);
    slots_.assign(wanted, slot{});
    if (slots_.capacity() > 2 * wanted && slots_.capacity() > kept_slots) slots_.shrink_to_fit();
  }

  /// The number of the first string that is equal to string `number`, which is added; `number` itself if it is the
  /// first. `string_of`: std::uint32_t -> std::string_view, for all numbers so far.
  template <class StringOf>
  std::uint32_t first_equal(std::uint32_t number, const StringOf& string_of) {
    const std::string_view text = string_of(number);
    const std::uint64_t hash = XXH3_64bits(text.data(), text.size());
    const auto tag = static_cast<std::uint32_t>(hash >> 32U);
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      slot& found = slots_[at];
      if (found.number == none) {
        found = {.number = number, .tag = tag};
        return number;
      }
      if (found.tag == tag && string_of(found.number) == text) return found.number;
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kept_slots = std::size_t{1} << 17U;

  struct slot {
    std::uint32_t number = none;
    std::uint32_t tag = 0;
  };

  std::vector<slot> slots_;
};

}  // namespace gpuhist::report::texts
