#include "pipeline/library/resolve_measuring.hpp"

#include "config/quote.hpp"
#include "config/usage_error.hpp"
#include "pipeline/library/resolve.hpp"
#include "pipeline/report/formats/result_file.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using measures::measure;
using measures::measuring;

constexpr std::string_view all = "all";

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names = {all};
  for (const measure& each : measures::all_measures()) names.push_back(each.name);
  return names;
}

// "of an incomplete run ("complete":false): b.log: stopped at offset 4096"
std::string cause_of_incompleteness(const report& read) {
  std::string words = "of an incomplete run (\"complete\":false)";
  for (const input_report& each : read.inputs) {
    if (!each.complete && !each.error.empty()) return words + ": " + printable(each.name + ": " + each.error);
  }
  return words;
}

void read_baseline(const std::string& option, const std::string& path, measuring& into) {
  const std::string prefix = option + ": " + config::quote(path) + " ";
  if (path == "-") throw config::usage_error(option + ": cannot be standard input; give the path of a file");
  result_sum kept(letter_case::exact);
  kept.add_file(path);
  if (!kept.errors().empty()) {
    throw config::usage_error(prefix + "is no baseline: " + kept.errors().front());
  }
  const report read = kept.take();
  if (read.verified.bytes() == 0) {
    throw config::usage_error(prefix + "is no baseline: there are no bytes in it; give a result of some text");
  }
  if (!read.complete)
    into.warning = prefix + "is " + cause_of_incompleteness(read) + "; the comparison uses only the bytes that it has";
  into.baseline = std::make_shared<const measures::byte_counts>(measures::counts_of(read.verified));
}

void resolve_baseline(const config::options& typed, measuring& into) {
  if (!typed.baseline) return;
  const std::string option = typed.where("--baseline");
  if (const auto* previous = std::get_if<config::previous_windows>(&*typed.baseline)) {
    if (!typed.window) throw config::usage_error(option + ": previous:N means windows and requires --window");
    into.previous_windows = previous->number;
    return;
  }
  read_baseline(option, std::get<std::string>(*typed.baseline), into);
}

void add_once(std::vector<const measure*>& to, const measure& next) {
  if (std::ranges::find(to, &next) == to.end()) to.push_back(&next);
}

/// 'all' includes the measures that compare with a baseline only if there is a baseline.
void add_named(const config::options& typed, std::string_view name, measuring& into) {
  if (name == all) {
    for (const measure& each : measures::all_measures()) {
      if (!each.compares || into.has_baseline()) add_once(into.asked, each);
    }
    return;
  }
  const measure* const found = measures::find_measure(name);
  const std::string option = typed.where("--measures");
  if (found == nullptr) unknown_name(option, name, known_names());
  if (found->compares && !into.has_baseline()) {
    throw config::usage_error(option + ": " + std::string(name) +
                              " compares with a baseline; give --baseline RESULT.json");
  }
  add_once(into.asked, *found);
}

}  // namespace

measuring resolve_measuring(const config::options& typed) {
  measuring made;
  if (typed.baseline && typed.measures.empty() && typed.fail_if.empty() && typed.alert_if.empty()) {
    throw config::usage_error(typed.where("--baseline") + ": requires --measures, --fail-if or --alert-if");
  }
  resolve_baseline(typed, made);
  for (const std::string& each : typed.measures) add_named(typed, each, made);
  return made;
}

}  // namespace gpuhist::pipeline
