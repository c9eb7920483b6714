// Prints why inputs are not complete, and notices about inputs.
#pragma once

#include "pipeline/counts/input_report.hpp"
#include "report/formats/notice_lines.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Prints each cause once: not again for the members of an archive whose message has it. Of each kind of notice, the
/// first ones are printed, and the number of the others. One thread.
class input_complaints {
 public:
  explicit input_complaints(bool shows_notices) : shows_notices_(shows_notices) {}

  /// To be called for all inputs, in the order of the report: members follow their archive.
  void add(const input_report& input);

  /// To be called after the last input.
  void finish();

 private:
  /// An archive that failed; or another input, in which case no members follow.
  struct archive {
    std::string name;
    std::uint64_t unverified = 0;  // members that are not verified for that reason
  };

  bool repeats(const input_report& member);
  void leave();

  bool shows_notices_;
  notice_lines notices_;
  std::vector<archive> archives_;  // each is within the one before it
};

}  // namespace gpuhist::pipeline
