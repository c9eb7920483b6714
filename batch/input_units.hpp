// What the journal of a batch job has of the units and windows of an input, besides its counts. The record precedes
// that of the input, or of the member of an archive, which makes it count.
#pragma once

#include "batch/line_spool.hpp"
#include "report/units/unit_findings.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::batch {

/// Of an input, or of a member of an archive.
struct input_key {
  std::uint64_t entry = 0;   ///< its number in the manifest
  std::uint32_t member = 0;  ///< of a member: 1 + its position in the archive; 0: the input itself

  auto operator<=>(const input_key&) const = default;
};

struct input_units {
  input_key of;
  bool is_continued = false;    ///< it has more groups and texts of the record before, and nothing else
  line_extents unit_lines{};    ///< lines of units.jsonl
  line_extents window_lines{};  ///< lines of windows.jsonl
  report::units::unit_totals totals{};
  std::vector<report::units::rule_totals> rules{};  ///< as that of unit_findings
  report::units::distribution values{};
  std::vector<report::units::distribution> watched{};      ///< as that of unit_findings
  std::vector<report::units::group_table> groups{};        ///< of lines, in parts
  std::vector<report::units::group_table> group_values{};  ///< as that of unit_findings, in parts
  report::units::text_numbers texts{};                     ///< all that were compared
  std::vector<report::units::text_hash> different{};       ///< the different ones, in parts
  std::vector<report::units::ranked_record> best{};        ///< those that may be among the first of the job
};

std::string packed_input_units(const input_units& record);

/// Whether a record of the journal is one. All others are those of job_ledger.
[[nodiscard]] bool is_input_units(std::string_view record);

/// Precondition: is_input_units(). `no_text`: a tally of the job. Throws unpack_error.
input_units unpacked_input_units(std::string_view record, const gpu::tally& no_text);

/// A record that follows when the lines of all records before it are on disk.
std::string packed_sync_record();
[[nodiscard]] bool is_sync_record(std::string_view record);

}  // namespace gpuhist::batch
