// The groups of all lines of a run: a table in memory, and beyond a limit a temporary file, in parts by key.
//
// An approximate sum removes groups instead, as Space-Saving does (Metwally et al., 2005; of sums: Agarwal et al.,
// "Mergeable Summaries", 2012). Example, with room for two groups of the four:
//
//     groups                   removed             a key that is not here has at most
//     a 90  b 50  c 20  d 10   nothing             0
//     a 90  b 50               30, at most 20      20
//     a 90  b 50  c 5..25      30, at most 20      20     5 lines of c follow: 20 may be among those removed
//
// Keys with the highest bounds stay. Each of them has as many lines or more than a key that is removed can have, so
// this number is at most that of all lines, divided by the number of keys that stay, in whatever order lines come. They
// stay in three quarters of the memory.
#pragma once

#include "pipeline/counts/packed_numbers.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "report/units/group_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

/// A plain value; copies share the file. One thread at a time.
class group_sum {
 public:
  struct limits {
    std::size_t in_memory = ~std::size_t{0};  ///< of group_table::bytes(); more are removed or spilled
    pipeline::spill_folder spilled_to{};
  };

  group_sum(group_table empty, limits allowed) : table_(std::move(empty)), allowed_(std::move(allowed)) {}

  /// Throws pipeline::spill_error.
  void add(const group_table& more);
  void add(const group_sum& more);

  /// As those of group_table. Precondition: nothing was spilled.
  void set_text_before(std::int64_t time) { table_.set_text_before(time); }
  void shift(const unit_place& begin) { table_.shift(begin); }

  /// Of the table.
  [[nodiscard]] std::size_t bytes() const { return table_.bytes(); }

  /// Calls `use` with tables that have all groups together. A group is in one of them, and all groups of a key are.
  /// Windows have the same length in all.
  void for_each_part(const std::function<void(const group_table&)>& use) const;

 private:
  static constexpr std::size_t parts = 64;

  struct extent {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  void remove_groups();
  void spill();
  [[nodiscard]] std::vector<std::vector<std::size_t>> places_by_part() const;
  [[nodiscard]] std::string read_all(const extent& from) const;

  group_table table_;
  limits allowed_;
  std::shared_ptr<pipeline::spilled_bytes> file_;     // null: nothing was spilled
  std::array<std::vector<extent>, parts> extents_{};  // in the file: by part, one table each
};

/// Writes groups of a table, and reads them back. unpack throws pipeline::unpack_error.
void pack(pipeline::packer& out, const group_table& groups, std::span<const std::size_t> places);
group_table unpack_groups(pipeline::unpacker& in);

}  // namespace gpuhist::report::units
