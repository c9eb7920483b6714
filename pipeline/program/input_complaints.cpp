#include "pipeline/program/input_complaints.hpp"

#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/output/messages.hpp"

namespace gpuhist::pipeline {
namespace {

constexpr std::uint64_t most_notices = 10;  // of each kind

}  // namespace

void input_complaints::add(const input_report& input) {
  if (shows_notices_) print_notices(input);
  while (!archives_.empty() && !input.name.starts_with(archives_.back().name + "/")) leave();
  if (input.error.empty()) return;
  const bool is_of_content = input.error_kind == failure_kind::damaged || input.error_kind == failure_kind::refused;
  if (is_of_content && repeats(input)) return;
  complain(printable(input.name) + ": " + printable(input.error));
  archives_.push_back({.name = input.name});
}

void input_complaints::finish() {
  while (!archives_.empty()) leave();
  for (const auto& [kind, number] : notices_) {
    if (number <= most_notices) continue;
    complain("notices of the kind " + std::string(io::name_of(kind)) + " about " + grouped(number - most_notices) +
             (number - most_notices == 1 ? " more input is" : " more inputs are") +
             " only in the result (--format json)");
  }
}

void input_complaints::print_notices(const input_report& input) {
  for (const io::notice& each : input.notices) {
    if (++notices_[each.kind] <= most_notices) complain(printable(input.name) + ": " + printable(each.text));
  }
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
