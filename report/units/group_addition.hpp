// Adds the groups of several results, of which each has reported some of its keys and the sum of the others.
//
//     result        groups              other_groups   a key that is not reported has at most
//     first         a 90  b 50  c 20    30             20
//     second        b 70  d 40          none           0: all keys are reported
//     sum           b 120 a 90 d 40..60 30             20
//                   c 20
//
// b and c are reported by the first result, and the second one has reported all keys: both are exact, as is a. Of d the
// first result may have up to 20 lines among its others, which stay there. So every line is counted once.
#pragma once

#include "report/units/group_result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

/// One thread. Memory: that of all groups and windows of the results.
class group_addition {
 public:
  /// Precondition: it was read with the terms of those before, and the length of its windows divides the longest one so
  /// far, or is a multiple of it. The sum has windows of the longest length.
  void add(group_result more);

  /// The sum; that of one result is this result. Nothing is added afterwards.
  [[nodiscard]] group_result take();

 private:
  // The groups of one key.
  struct key_sum {
    std::string key;
    std::string then;
    group_counts of;
    std::uint64_t at_most = 0;   // lines, in the results that report the key
    std::uint64_t excluded = 0;  // of most_unreported_: the lines that it cannot have, because these results report it
  };
  struct window_sum {
    group_counts of;
    std::unordered_map<std::size_t, std::uint64_t> lines_by_key{};  // by index in keys_
  };

  void align(group_result& more) const;
  void add_totals(group_result& more);
  std::vector<std::size_t> add_keys(group_result& more);
  void add_windows(group_result& more, const std::vector<std::size_t>& indices);
  void widen_windows(std::int64_t length);
  void take_keys(const std::vector<std::size_t>& order);
  void take_windows(const std::vector<std::size_t>& order);
  [[nodiscard]] std::vector<std::size_t> keys_in_order() const;

  std::size_t results_ = 0;
  group_result sum_{};  // without groups and windows
  std::vector<key_sum> keys_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_of_key_;
  std::map<std::int64_t, window_sum> windows_;  // by their start
  std::uint64_t most_unreported_ = 0;           // lines that a key may have which no result reports
  bool have_lines_by_key_ = true;
};

}  // namespace gpuhist::report::units
