// Prints why inputs are not complete.
#pragma once

#include "pipeline/counts/input_report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Prints each cause once: not again for the members of an archive whose message has it. One thread.
class input_complaints {
 public:
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

  std::vector<archive> archives_;  // each is within the one before it
};

}  // namespace gpuhist::pipeline
