// What a report says of one input, and the compact form in which it is laid down when the input is over.
#pragma once

#include "gpu/tally.hpp"
#include "io/failure_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

using io::failure_kind;

/// What was lost of a compressed input, and gone on behind (--skip-damage).
struct lost_stretch {
  std::uint64_t compressed_begin = 0;  ///< where the damaged frame begins
  std::uint64_t compressed_end = 0;    ///< where decoding went on
  std::uint64_t text_offset = 0;       ///< the place in the text that was had, where the frame's is missing
  std::uint64_t unverified_bytes = 0;  ///< of that frame's text, decoded before the fault
  std::string cause;

  bool operator==(const lost_stretch&) const = default;
};

/// One input's share of a report. Tallies are over the partition of the report.
struct input_report {
  std::string name;                               ///< raw bytes, not necessarily UTF-8
  std::string format;                             ///< "raw", "zstd", or "unknown" where it could not be opened
  std::optional<std::uint64_t> compressed_bytes;  ///< read so far, where the input is compressed
  bool complete = false;
  std::string error;  ///< for people; empty where there was none
  failure_kind error_kind = failure_kind::none;
  gpu::tally verified;
  gpu::tally unverified;
  bool counted_unverified = false;   ///< --count-unverified: `verified` holds the unverified bytes as well
  std::vector<lost_stretch> lost{};  ///< in the order of the input; the first thousand
  std::uint64_t lost_stretches = 0;  ///< how many there were in all

  bool operator==(const input_report&) const = default;
};

/// --count-unverified: adds the unverified bytes to the others, and says so.
void count_unverified(input_report& of);

/// Everything, in few bytes: classes that do not occur take none.
std::string packed_report(const input_report& input);

/// The same again; its tallies have `classes` counts. Precondition: packed_report() made the text.
input_report unpacked_report(std::string_view text, std::size_t classes);

}  // namespace gpuhist::pipeline
