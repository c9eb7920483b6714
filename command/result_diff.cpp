#include "command/result_diff.hpp"

#include "command/command_frame.hpp"
#include "command/plan.hpp"
#include "command/result_schemes.hpp"
#include "config/usage_error.hpp"
#include "io/descriptor.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/bucket_counts.hpp"
#include "report/formats/document_members.hpp"
#include "report/formats/document_reader.hpp"
#include "report/formats/result_document.hpp"
#include "report/formats/result_file.hpp"
#include "report/formats/text.hpp"
#include "report/lines/selector.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/units/change_result.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

using nlohmann::json;
namespace changes = report::changes;
using report::documents::raw_text;
using report::units::change_result;

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

struct lines_and_bytes {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;

  void add(const lines_and_bytes& more) {
    lines += more.lines;
    bytes += more.bytes;
  }
};

lines_and_bytes counts_in(const json& group) {
  return {.lines = group.at("lines").get<std::uint64_t>(), .bytes = group.at("bytes").get<std::uint64_t>()};
}

// Of one side.
struct counted_log {
  lines_and_bytes all;
  std::map<std::string, std::uint64_t> buckets{};
  std::map<std::string, lines_and_bytes> kinds{};
  std::map<std::string, lines_and_bytes> matches{};

  void add(const json& group, const std::string& scheme) {
    all.add(counts_in(group));
    for (const auto& [name, bytes] : group.at("buckets").at(scheme).items())
      buckets[name] += bytes.get<std::uint64_t>();
    if (!group.contains("matches")) return;
    for (const auto& [name, counts] : group.at("matches").items()) matches[name].add(counts_in(counts));
  }
};

// The kinds of lines of a result.
struct kinds_of_result {
  std::string name;  // of the file
  std::string by{};
  std::string then_by{};
  std::map<std::string, counted_log> logs{};
  std::uint64_t unlisted = 0;  // most lines that a kind has that is not listed; 0: all are listed
};

[[noreturn]] void refuse_without_kinds(const std::string& path) {
  throw config::usage_error(
      report::printable(path) +
      ": has no kinds of lines, so there is nothing to compare; count again: " + std::string(how_to_count));
}

kinds_of_result kinds_in(const std::string& path, const json& document, const std::string& scheme) {
  kinds_of_result made{.name = path, .by = document.value("group_by", ""), .then_by = document.value("then_by", "")};
  const std::string& last = made.then_by.empty() ? made.by : made.then_by;
  if (last != "kind" && last != "template") refuse_without_kinds(path);
  std::uint64_t fewest = 0;
  for (const json& group : document.at("groups")) {
    counted_log& log = made.logs[made.then_by.empty() ? std::string() : raw_text(group, "key")];
    log.add(group, scheme);
    lines_and_bytes& kind = log.kinds[raw_text(group, made.then_by.empty() ? "key" : "then_key")];
    kind.add(counts_in(group));
    fewest = kind.lines;
  }
  if (!document.contains("other_groups")) return made;
  const json& others = document.at("other_groups");
  made.unlisted =
      std::min(document.value("other_group_lines_at_most", fewest), others.at("lines").get<std::uint64_t>());
  if (made.then_by.empty()) made.logs[""].add(others, scheme);
  return made;
}

// Of the only result in the file.
kinds_of_result read_kinds(const std::string& path, const std::string& scheme) {
  const io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw std::system_error(errno, std::system_category(), "cannot read " + report::printable(path));
  std::optional<kinds_of_result> found;
  report::document_reader documents(opened.get());
  while (documents.next_line()) {
    if (documents.at_line_end()) continue;
    const json document = documents.read({.begin = [] {}, .take = [](const json&) {}});
    if (!document.is_object() || document.value("kind", "") != "result") continue;
    if (found) {
      throw config::usage_error(report::printable(path) +
                                ": has several results; give a file with one, such as that of gpuhist merge");
    }
    try {
      found = kinds_in(path, document, scheme);
    } catch (const json::exception& error) {
      throw report::result_damage(report::printable(path) + ": its groups cannot be read: " + error.what());
    } catch (const report::result_damage& error) {
      throw report::result_damage(report::printable(path) + ": " + error.what());
    }
  }
  if (!found) refuse_without_kinds(path);
  return *std::move(found);
}

void refuse_other_keys(const kinds_of_result& a, const kinds_of_result& b) {
  if (a.by == b.by && a.then_by == b.then_by) return;
  const auto key_of = [](const kinds_of_result& of) {
    const std::string then = of.then_by.empty() ? "" : " --then-by " + of.then_by;
    return report::printable(of.name) + " with --group-by " + of.by + then;
  };
  throw config::usage_error("the results have different keys: " + key_of(a) + ", " + key_of(b) +
                            "; count both with the same ones");
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
  // `buckets`: of the classes of bytes, each in one of them; empty: none.
  result_stream(const std::string& name, const std::vector<std::string>& buckets) : buckets_(buckets) {
    made_.name = name;
    made_.has_rate = false;
    made_.compared_from = 1;
  }

  void add(const counted_log& log) {
    changes::window_counts& to = made_.windows.emplace_back();
    to = {.lines = log.all.lines, .bytes = log.all.bytes};
    for (const std::string& each : buckets_) {
      const auto found = log.buckets.find(each);
      to.classes.push_back(found == log.buckets.end() ? 0 : found->second);
    }
  }

  // `unlisted`: as that of kinds_of_result. Levels are known if all kinds are listed.
  void add_lines(const std::array<const counted_log*, 2>& sides, const std::array<std::uint64_t, 2>& unlisted) {
    std::map<std::string, std::array<lines_and_bytes, 2>> kinds;
    std::map<std::string, std::array<lines_and_bytes, 2>> levels;
    const std::unique_ptr<report::lines::line_selector> level =
        report::lines::selector("level", std::nullopt).make_reader();
    for (std::size_t side = 0; side < sides.size(); ++side) {
      for (const auto& [kind, counts] : sides[side]->kinds) {
        kinds[kind][side] = counts;
        if (const auto of = level->read(kind)) levels[std::string(*of)][side].add(counts);
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
    for (const auto& [name, counts] : sides[0]->matches) {
      const auto other = sides[1]->matches.find(name);
      if (other != sides[1]->matches.end()) made_.matches.push_back(of_lines(name, {counts, other->second}));
    }
  }

  changes::log_stream take() { return std::move(made_); }

 private:
  // A kind that one side does not list has as large a share there as on the other side, if it can.
  void add_unlisted(std::array<lines_and_bytes, 2>& of, const std::array<std::uint64_t, 2>& unlisted) const {
    for (std::size_t side = 0; side < of.size(); ++side) {
      if (of[side].lines > 0 || unlisted[side] == 0) continue;
      const auto here = static_cast<double>(made_.windows[side].lines);
      const auto there = static_cast<double>(made_.windows[1 - side].lines);
      const double usual = static_cast<double>(of[1 - side].lines) * here / std::max(1.0, there);
      of[side].lines = std::min(unlisted[side], static_cast<std::uint64_t>(std::llround(usual)));
    }
  }

  static changes::kind_of_line of_lines(const std::string& text, const std::array<lines_and_bytes, 2>& counts) {
    changes::kind_of_line made{.text = text};
    for (std::size_t side = 0; side < counts.size(); ++side) {
      if (counts[side].lines == 0) continue;
      made.windows.push_back({.window = side, .lines = counts[side].lines, .bytes = counts[side].bytes});
    }
    return made;
  }

  const std::vector<std::string>& buckets_;
  changes::log_stream made_;
};

// The bucket of each class; empty: another class has it already.
std::vector<std::string> buckets_by_class(const pipeline::scheme_view& view) {
  std::vector<std::string> made;
  std::set<std::string> known;
  for (const std::uint16_t bucket : view.bucket_of_class) {
    const std::string name = bucket < view.scheme.buckets.size() ? view.scheme.buckets[bucket] : "other";
    made.push_back(known.insert(name).second ? name : "");
  }
  return made;
}

change_result compare(const std::array<kinds_of_result, 2>& sides, const pipeline::scheme_view& view) {
  const std::vector<std::string> buckets = buckets_by_class(view);
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
      result_stream stream(name, buckets);
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
  if (shared.schemes.empty()) refuse_without_kinds(typed.inputs.front());
  const std::vector<config::scheme> schemes = {shared.schemes.front()};
  const report::bucket_counts by_bucket(pipeline::coarsest_partition(schemes), schemes);
  report::wanted_counts wanted(shared.ignore_case ? report::letter_case::ignored : report::letter_case::exact);
  wanted.by_bucket = &by_bucket;
  const std::array<kinds_of_result, 2> sides = {read_kinds(typed.inputs[0], schemes.front().name),
                                                read_kinds(typed.inputs[1], schemes.front().name)};
  refuse_other_keys(sides[0], sides[1]);
  report::result_sum sum(wanted, folder_for_spills(typed));
  for (const std::string& each : typed.inputs) sum.add_file(each);
  for (const std::string& error : sum.errors()) report::complain(error);
  if (!sum.errors().empty()) return {.exit_status = ending::input_failed};  // the old output stays
  report::run_report shown = sum.take();
  shown.schemes.push_back(pipeline::view_through(schemes.front(), by_bucket.partition()));
  shown.ignore_case = shared.ignore_case;
  shown.units.emplace(report::units::unit_result{.each = "line", .totals = {}});
  shown.units->changes = compare(sides, shown.schemes.front());
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
