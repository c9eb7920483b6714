#include "command/result_diff.hpp"

#include "command/command_frame.hpp"
#include "command/plan.hpp"
#include "command/result_schemes.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/bucket_counts.hpp"
#include "report/formats/result_document.hpp"
#include "report/formats/result_file.hpp"
#include "report/formats/text.hpp"
#include "report/lines/selector.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/units/change_result.hpp"
#include "report/units/group_result.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

namespace changes = report::changes;
using report::units::change_result;
using report::units::group_counts;
using report::units::group_result;
using report::units::match_count;

constexpr std::string_view how_to_count = "gpuhist --group-by kind --format json -o RESULT LOG";

// The first bytes name the schema.
bool is_result(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  constexpr std::size_t head = 4096;
  std::string text(head, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(head));
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  return text.starts_with('{') && text.find(R"("schema":"gpuhist.result/)") != std::string::npos;
}

// Of one side.
struct counted_log {
  group_counts all;
  std::map<std::string, group_counts> kinds{};
};

// The kinds of lines of a result.
struct kinds_of_result {
  std::string name;  // of the file
  std::map<std::string, counted_log> logs{};
  std::uint64_t unlisted = 0;  // most lines that a kind has that is not listed; 0: all are listed
};

[[noreturn]] void refuse_without_kinds(const std::string& path) {
  throw config::usage_error(
      report::printable(path) +
      ": has no kinds of lines, so there is nothing to compare; count again: " + std::string(how_to_count));
}

void add(std::map<std::string, group_counts>& to, const std::string& key, const group_counts& more) {
  const auto [found, is_new] = to.emplace(key, more);
  if (!is_new) report::units::add(found->second, more);
}

kinds_of_result kinds_in(const std::string& path, const group_result& found) {
  kinds_of_result made{.name = path};
  std::map<std::string, group_counts> logs;
  for (const report::units::keyed_group& group : found.groups) {
    const std::string log = found.then_by ? group.key : std::string();
    add(logs, log, group.of);
    add(made.logs[log].kinds, found.then_by ? group.then : group.key, group.of);
  }
  if (found.other_groups) {
    const std::uint64_t fewest = found.groups.empty() ? 0 : found.groups.back().of.lines;
    made.unlisted = std::min(found.other_group_at_most.value_or(fewest), found.other_groups->lines);
    if (!found.then_by) add(logs, "", *found.other_groups);
  }
  for (auto& [name, counts] : logs) made.logs[name].all = std::move(counts);
  return made;
}

// The key of the lines of a result.
std::string key_of(const scheme_names& of) {
  const auto& options = of.reading.values;
  const auto by = options.find("--group-by");
  const auto then = options.find("--then-by");
  const std::string last = then != options.end() ? then->second : by != options.end() ? by->second : "";
  if (last != "kind" && last != "template") refuse_without_kinds(of.result);
  return "--group-by " + by->second + (then == options.end() ? "" : " --then-by " + then->second);
}

void check_keys(const std::vector<scheme_names>& results) {
  std::map<std::string, std::string> keys;  // with the name of a result
  for (const scheme_names& each : results) keys.emplace(key_of(each), each.result);
  if (keys.size() < 2) return;
  std::string shown;
  for (const auto& [key, result] : keys)
    shown += (shown.empty() ? "" : ", ") + report::printable(result) + " with " + key;
  throw config::usage_error("the results have different keys: " + shown + "; count both with the same ones");
}

// The folder that all logs of a result are in.
std::string common_folder(const kinds_of_result& of) {
  std::optional<std::string> common;
  for (const std::string& name : of.logs | std::views::keys) {
    std::string folder = name.substr(0, name.find_last_of('/') + 1);
    if (common) folder.resize(static_cast<std::size_t>(std::ranges::mismatch(*common, folder).in2 - folder.begin()));
    common = folder.substr(0, folder.find_last_of('/') + 1);
  }
  return common.value_or("");
}

// By the names that are compared: without that folder, and the same if each side has one log.
std::array<std::map<std::string, counted_log>, 2> named_alike(const std::array<kinds_of_result, 2>& sides) {
  std::array<std::map<std::string, counted_log>, 2> made;
  const bool has_single_logs = sides[0].logs.size() == 1 && sides[1].logs.size() == 1;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const std::size_t folder = common_folder(sides[side]).size();
    for (const auto& [name, log] : sides[side].logs) {
      made[side][has_single_logs ? sides[0].name + " and " + sides[1].name : name.substr(folder)] = log;
    }
  }
  return made;
}

// Makes a stream of two windows.
class result_stream {
 public:
  explicit result_stream(const std::string& name) {
    made_.name = name;
    made_.has_rate = false;
    made_.compared_from = 1;
  }

  void add(const counted_log& log) {
    made_.windows.push_back({.lines = log.all.lines, .bytes = log.all.bytes, .classes = log.all.counts.counts});
  }

  // `unlisted`: as that of kinds_of_result. Levels are known if all kinds are listed.
  void add_lines(const std::array<const counted_log*, 2>& sides, const std::array<std::uint64_t, 2>& unlisted) {
    std::map<std::string, std::array<match_count, 2>> kinds;
    std::map<std::string, std::array<match_count, 2>> levels;
    const std::unique_ptr<report::lines::line_selector> level =
        report::lines::selector("level", std::nullopt).make_reader();
    for (std::size_t side = 0; side < sides.size(); ++side) {
      for (const auto& [kind, counts] : sides[side]->kinds) {
        kinds[kind][side] = {.name = kind, .lines = counts.lines, .bytes = counts.bytes};
        const std::optional<std::string_view> of = level->read(kind);
        if (!of) continue;
        match_count& sum = levels[std::string(*of)][side];
        sum.lines += counts.lines;
        sum.bytes += counts.bytes;
      }
    }
    for (auto& [text, counts] : kinds) {
      add_unlisted(counts, unlisted);
      const std::uint64_t most = std::max(counts[0].lines, counts[1].lines);
      if (most >= report::units::fewest_lines_of_kind) made_.kinds.push_back(of_lines(text, counts));
    }
    const bool are_all_listed = unlisted[0] == 0 && unlisted[1] == 0;
    for (const auto& [text, counts] : levels) {
      if (are_all_listed) made_.levels.push_back(of_lines(text, counts));
    }
    const std::vector<match_count>& others = sides[1]->all.matches;
    for (const match_count& each : sides[0]->all.matches) {
      const auto other = std::ranges::find(others, each.name, &match_count::name);
      if (other != others.end()) made_.matches.push_back(of_lines(each.name, {each, *other}));
    }
  }

  changes::log_stream take() { return std::move(made_); }

 private:
  // A kind that one side does not list has as large a share there as on the other side, if it can.
  void add_unlisted(std::array<match_count, 2>& of, const std::array<std::uint64_t, 2>& unlisted) const {
    for (std::size_t side = 0; side < of.size(); ++side) {
      if (of[side].lines > 0 || unlisted[side] == 0) continue;
      const auto here = static_cast<double>(made_.windows[side].lines);
      const auto there = static_cast<double>(made_.windows[1 - side].lines);
      const double usual = static_cast<double>(of[1 - side].lines) * here / std::max(1.0, there);
      of[side].lines = std::min(unlisted[side], static_cast<std::uint64_t>(std::llround(usual)));
    }
  }

  static changes::kind_of_line of_lines(const std::string& text, const std::array<match_count, 2>& counts) {
    changes::kind_of_line made{.text = text};
    for (std::size_t side = 0; side < counts.size(); ++side) {
      if (counts[side].lines == 0) continue;
      made.windows.push_back({.window = side, .lines = counts[side].lines, .bytes = counts[side].bytes});
    }
    return made;
  }

  changes::log_stream made_;
};

change_result compare(const std::array<kinds_of_result, 2>& sides) {
  const auto logs = named_alike(sides);
  change_result made;
  std::vector<changes::log_stream> streams;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    report::units::compared_side& to = made.sides.emplace_back();
    to.name = sides[side].name;
    for (const auto& [name, log] : logs[side]) {
      to.lines += log.all.lines;
      const auto other = logs[1 - side].find(name);
      if (other == logs[1 - side].end()) to.only_here.push_back({.name = name, .lines = log.all.lines});
      if (side == 1 || other == logs[1].end()) continue;
      result_stream stream(name);
      stream.add(log);
      stream.add(other->second);
      stream.add_lines({&log, &other->second}, {sides[0].unlisted, sides[1].unlisted});
      streams.push_back(stream.take());
    }
    made.lines += to.lines;
  }
  made.found = report::units::differences_of(streams);
  made.streams = streams.size();
  made.by_counts_alone = streams.size();
  return made;
}

void refuse_options_of_logs(const config::options& typed) {
  for (const std::string_view each : {"match", "match-file", "event-time", "time-zone", "window"}) {
    if (!typed.given.contains(each)) continue;
    throw config::option_error(each, "is for logs; what is compared of results is what they contain: leave it out");
  }
}

}  // namespace

bool are_results(const std::vector<std::string>& operands) {
  const auto other = std::ranges::find_if_not(operands, is_result);
  if (other == operands.end()) return true;
  const auto result = std::ranges::find_if(operands, is_result);
  if (result == operands.end()) return false;
  if (*other == "-") {
    throw config::usage_error("-: standard input is a log here, and " + report::printable(*result) +
                              " is a result; write the other result to a file");
  }
  throw config::usage_error(
      report::printable(*result) + " is a result, and " + report::printable(*other) +
      " is none; count it with the options of that result, and compare the results: " + std::string(how_to_count));
}

ending compare_results(const config::options& typed, const io::open_descriptors& open_descriptors) {
  refuse_options_of_logs(typed);
  const report::report_format& format = *resolve_report_format(typed);
  check_format_of_changes(typed, format);
  const report::input_listing listing = resolve_listing(typed, typed.run.counting, {}, format);
  const bool has_schemes = typed.given.contains("buckets");
  std::vector<scheme_names> found;
  for (const std::string& each : typed.inputs) std::ranges::move(schemes_in(each), std::back_inserter(found));
  const shared_schemes shared =
      common_schemes(found, has_schemes ? typed.run.counting.schemes : std::vector<std::string>());
  check_keys(found);
  if (shared.schemes.empty()) refuse_without_kinds(typed.inputs.front());
  const std::vector<config::scheme> schemes = {shared.schemes.front()};
  const report::bucket_counts by_bucket(pipeline::coarsest_partition(schemes), schemes);
  report::wanted_counts wanted(shared.ignore_case ? report::letter_case::ignored : report::letter_case::exact);
  wanted.by_bucket = &by_bucket;
  wanted.lines = report::line_results::wanted;
  report::result_sum sum(wanted, folder_for_spills(typed));
  std::array<kinds_of_result, 2> sides;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    sum.add_file(typed.inputs[side]);
    if (const auto lines = sum.take_lines()) sides[side] = kinds_in(typed.inputs[side], *lines->groups);
  }
  for (const std::string& error : sum.errors()) report::complain(error);
  if (!sum.errors().empty()) return {.exit_status = ending::input_failed};  // the old output stays
  report::run_report shown = sum.take();
  shown.schemes.push_back(pipeline::view_through(schemes.front(), by_bucket.partition()));
  shown.ignore_case = shared.ignore_case;
  shown.units.emplace(report::units::unit_result{.each = "line", .totals = {}});
  shown.units->changes = compare(sides);
  shown.units->totals = {.seen = shown.units->changes->lines, .bytes = shown.verified.bytes()};
  report::destination output(typed.output, resolve_writing(typed, format), open_descriptors);
  const command_frame frame;
  const std::string run = format.names_run ? report::make_run_id() : "";
  output.write([&](const report::text_sink& out) {
    report::render_target target = report::target_for(output);
    target.run = run;
    target.sections = {.causes = false, .listing = &listing};
    format.render(shown, target, out);
  });
  output.commit();
  if (!shown.complete) report::complain("the results are from an incomplete run");
  const ending::status compared = shown.units->changes->has_findings() ? ending::gate_failed : ending::counted_all;
  return frame.end(shown.complete ? compared : ending::input_failed, ", after the report was written");
}

}  // namespace gpuhist::command
