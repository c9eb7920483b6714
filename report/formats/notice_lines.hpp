// Notices about inputs, for people: a result may have one for each of a million inputs.
#pragma once

#include "pipeline/counts/input_report.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpuhist::report {

/// One line for each notice, without its end: the first ten of each kind, and the number of the others.
class notice_lines {
 public:
  /// "messages.gz: is named .gz but holds text; ...", safe to print on a terminal. To be called for all inputs.
  [[nodiscard]] std::vector<std::string> of(const pipeline::input_report& input);

  /// To be called after the last input.
  [[nodiscard]] std::vector<std::string> of_others() const;

 private:
  std::map<io::notice_kind, std::uint64_t> inputs_;  // their number
};

}  // namespace gpuhist::report
