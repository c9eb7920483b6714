#include "report/formats/window_json.hpp"

#include "report/formats/report_json_parts.hpp"
#include "report/formats/text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace gpuhist::pipeline {
namespace {

void add_source(member_writer& to, const std::string& key, const source_name& name) {
  if (!name) return;
  to.add_text(key, *name);
  if (!is_utf8(*name)) to.add_text(key + "_base64", base64(*name));
}

}  // namespace

std::string iso_8601(window_time time) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(time);
  const std::time_t since_epoch = system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&since_epoch, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto rest = static_cast<long>(duration_cast<microseconds>(time - whole).count());
  std::array<char, 32> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06ldZ", rest);
  return std::string(text.data(), size) + fraction.data();
}

std::string window_line(const report& frame, std::string_view run, const closed_window& window,
                        const measures::byte_counts* baseline) {
  const window_head& head = window.head;
  object_text line;
  member_writer& out = line.members;
  add_beginning(out, "window", run);
  out.add_number("index", head.index);
  add_source(out, "source", head.source);
  add_source(out, "last_source", head.last_source);
  out.add_number("first_offset", head.first_offset);
  out.add_number("end_offset", head.end_offset);
  if (!run.empty()) {
    out.add_text("start_time", iso_8601(head.start));
    out.add_text("end_time", iso_8601(head.end));
  }
  out.add_text("closed_by", name_of(head.end_reason));
  out.add_flag("complete", head.end_reason != window_end::error);
  if (!head.error.empty()) out.add_text("error", head.error);
  out.add_flag("verified", head.verified);
  if (frame.ignore_case) out.add_flag("ignore_case", true);
  out.add_number("bytes", window.counts.bytes());
  add_counts(out, frame, window.counts);
  if (!frame.measuring.asked.empty()) {
    out.add_json("measures", measures_as_json(measures::take_measures(frame.measuring,
                                                                      measures::counts_of(window.counts), baseline)));
  }
  return line.take() + "\n";
}

std::string verdict_line(std::string_view run, const window_verdict& verdict, const source_name& source) {
  object_text out;
  add_beginning(out.members, "verdict", run);
  add_source(out.members, "source", source);
  out.members.add_number("first_index", verdict.first);
  out.members.add_number("last_index", verdict.last);
  out.members.add_flag("verified", verdict.verified);
  return out.take() + "\n";
}

}  // namespace gpuhist::pipeline
