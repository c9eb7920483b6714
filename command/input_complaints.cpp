#include "command/input_complaints.hpp"

#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/output/messages.hpp"

namespace gpuhist::pipeline {

void input_complaints::add(const input_report& input) {
  if (shows_notices_) {
    for (const std::string& line : notices_.of(input)) complain(line);
  }
  while (!archives_.empty() && !input.name.starts_with(archives_.back().name + "/")) leave();
  if (input.error.empty()) return;
  const bool is_of_content = input.error_kind == failure_kind::damaged || input.error_kind == failure_kind::refused;
  if (is_of_content && repeats(input)) return;
  complain(printable(input.name) + ": " + printable(input.error));
  archives_.push_back({.name = input.name});
}

void input_complaints::finish() {
  while (!archives_.empty()) leave();
  for (const std::string& line : notices_.of_others()) complain(line);
}

// Whether the message of an archive around the member has the cause.
bool input_complaints::repeats(const input_report& member) {
  if (archives_.empty() || member.error_origin == failure_origin::input) return false;
  if (member.error_origin == failure_origin::archive_after_end) ++archives_.back().unverified;
  return true;
}

void input_complaints::leave() {
  const archive& last = archives_.back();
  if (last.unverified > 0) {
    complain(
        printable(last.name) +
        ": members that were read to their end, but are not verified for the same reason: " + grouped(last.unverified));
  }
  archives_.pop_back();
}

}  // namespace gpuhist::pipeline
