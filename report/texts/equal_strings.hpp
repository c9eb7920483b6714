// Finds equal strings among many: an open-addressing table of their numbers. Strings with equal hashes are compared, so
// the result is exact.
#pragma once

#include <algorithm>
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
  /// Forgets all strings. `most`: that may follow; there is room for some thousand of them, and the table grows.
  void clear(std::size_t most) {
    if (slots_.size() > kept_slots) std::vector<slot>().swap(slots_);
    slots_.assign(std::min(std::bit_ceil(2 * most + 2), kept_slots), slot());
    used_ = 0;
  }

  /// The number of the first string that is equal to string `number`, which is added; `number` itself if it is the
  /// first. `string_of`: std::uint32_t -> std::string_view, for all numbers so far. Precondition: clear() was called.
  template <class StringOf>
  std::uint32_t first_equal(std::uint32_t number, const StringOf& string_of) {
    if (2 * used_ >= slots_.size()) grow(string_of);
    const std::string_view text = string_of(number);
    const std::uint64_t hash = hash_of(text);
    const auto tag = static_cast<std::uint32_t>(hash >> tag_shift);
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      slot& found = slots_[at];
      if (found.number == none) {
        found = {.number = number, .tag = tag};
        ++used_;
        return number;
      }
      if (found.tag == tag && string_of(found.number) == text) return found.number;
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kept_slots = std::size_t{1} << 13U;
  static constexpr unsigned tag_shift = 32;

  struct slot {
    std::uint32_t number = none;
    std::uint32_t tag = 0;
  };

  static std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

  template <class StringOf>
  void grow(const StringOf& string_of) {
    std::vector<slot> larger(4 * slots_.size());
    for (const slot& each : slots_) {
      if (each.number == none) continue;
      std::size_t at = hash_of(string_of(each.number)) & (larger.size() - 1);
      while (larger[at].number != none) at = (at + 1) & (larger.size() - 1);
      larger[at] = each;
    }
    slots_.swap(larger);
  }

  std::vector<slot> slots_;  // a power of two
  std::size_t used_ = 0;
};

}  // namespace gpuhist::report::texts
