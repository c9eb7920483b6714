#include "report/formats/notice_lines.hpp"

#include "report/formats/report.hpp"
#include "report/formats/text.hpp"

namespace gpuhist::report {
namespace {

constexpr std::uint64_t most_of_kind = 10;

}  // namespace

std::vector<std::string> notice_lines::of(const pipeline::input_report& input) {
  std::vector<std::string> lines;
  for (const io::notice& each : input.notices) {
    if (++inputs_[each.kind] <= most_of_kind) lines.push_back(printable(input.name) + ": " + printable(each.text));
  }
  return lines;
}

std::vector<std::string> notice_lines::of_others() const {
  std::vector<std::string> lines;
  for (const auto& [kind, number] : inputs_) {
    if (number <= most_of_kind) continue;
    const std::uint64_t others = number - most_of_kind;
    lines.push_back("notices of the kind " + std::string(io::name_of(kind)) + " of " + grouped(others) +
                    (others == 1 ? " more input is" : " more inputs are") + " only in the result (--format json)");
  }
  return lines;
}

}  // namespace gpuhist::report
