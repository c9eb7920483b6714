// How many different keys there are, about, in 16 KiB: HyperLogLog (Flajolet et al., 2007). Sums are exact: they do not
// depend on the order, or on how often a key is noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::report::units {

/// A plain value. Without keys it has no memory.
class distinct_keys {
 public:
  static constexpr double standard_error = 0.0082;  ///< of the number: 1.04 / sqrt(registers)

  void note(std::string_view key);
  distinct_keys& operator+=(const distinct_keys& more);

  [[nodiscard]] std::uint64_t number() const;

  /// The registers, one byte each, or nothing; and back. Throws std::invalid_argument: they are not.
  [[nodiscard]] const std::string& bytes() const { return ranks_; }
  static distinct_keys of_bytes(std::string bytes);

 private:
  static constexpr unsigned index_bits = 14;
  static constexpr std::size_t registers = std::size_t{1} << index_bits;
  static constexpr std::size_t highest_rank = 64 - index_bits + 1;

  std::string ranks_;  // of each register: 1 + the most zero bits at the end of a hash
};

}  // namespace gpuhist::report::units
