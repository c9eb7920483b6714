// The counts of a prefix of an input, from which a later run can continue.
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/text_tally.hpp"

#include <cstdint>

namespace gpuhist::pipeline {

/// Ends between two frames of a compressed input, or anywhere in plain text. If only a part of an input is counted, the
/// counts are those of the beginning of the part.
struct input_prefix {
  input_report counted;           ///< of the prefix; if compressed, `compressed_bytes` is where it ends
  std::uint64_t frames = 0;       ///< of the input up to the end of the prefix; skippable ones are not counted
  text_edges edges{};             ///< of its verified text, if pairs are counted
  std::uint64_t text_before = 0;  ///< bytes of text before the part

  /// Bytes of text of the input up to the end of the prefix.
  [[nodiscard]] std::uint64_t text_bytes() const {
    return text_before + counted.verified.bytes() + counted.unverified.bytes();
  }

  /// Where the rest begins in the input as it is stored, in bytes.
  [[nodiscard]] std::uint64_t stored_bytes() const { return counted.compressed_bytes.value_or(text_bytes()); }

  bool operator==(const input_prefix&) const = default;
};

}  // namespace gpuhist::pipeline
