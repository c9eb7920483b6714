#include "library/resolve_measuring.hpp"

#include "config/usage_error.hpp"
#include "library/resolve.hpp"
#include "library/results.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using measures::measure;
using measures::measuring;

constexpr std::string_view all = "all";

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> known = {all};
  for (const measure& each : measures::all_measures()) known.push_back(each.name);
  return known;
}

void resolve_previous(const counting_options& options, const option_names& names, measuring& into) {
  constexpr unsigned max_previous = 4096;
  if (options.previous_windows == 0) return;
  const std::string option = names.where("--previous-windows");
  check_range(option, options.previous_windows, 1, max_previous);
  if (options.baseline) {
    throw config::usage_error(option + ": cannot be combined with " + names.name("--baseline"));
  }
  if (!options.windows) throw config::usage_error(option + ": requires " + names.name("--window"));
  into.previous_windows = options.previous_windows;
}

void resolve_baseline(const counting_options& options, const option_names& names, measuring& into) {
  if (!options.baseline) return;
  const std::string option = names.where("--baseline");
  const report& given = options.baseline->shared().content;
  if (!options.baseline->has_byte_counts()) {
    throw config::usage_error(option + ": has no counts of the 256 byte values");
  }
  if (given.verified.bytes() == 0) {
    throw config::usage_error(option + ": there are no bytes in it; give a result of some text");
  }
  into.baseline = std::make_shared<const measures::byte_counts>(measures::counts_of(given.verified));
}

void add_once(std::vector<const measure*>& to, const measure& next) {
  if (std::ranges::find(to, &next) == to.end()) to.push_back(&next);
}

/// 'all' includes the measures that compare with a baseline only if there is a baseline.
void add_named(const option_names& names, std::string_view name, measuring& into) {
  if (name == all) {
    for (const measure& each : measures::all_measures()) {
      if (!each.compares || into.has_baseline()) add_once(into.asked, each);
    }
    return;
  }
  const measure* const found = measures::find_measure(name);
  const std::string option = names.where("--measures");
  if (found == nullptr) unknown_name(option, name, known_names());
  if (found->compares && !into.has_baseline()) {
    throw config::usage_error(option + ": " + std::string(name) + " compares with a baseline; give " +
                              names.with_placeholder("--baseline", "RESULT.json"));
  }
  add_once(into.asked, *found);
}

}  // namespace

measuring resolve_measuring(const counting_options& options, const option_names& names) {
  measuring made;
  resolve_previous(options, names, made);
  resolve_baseline(options, names, made);
  for (const std::string& each : options.measures) add_named(names, each, made);
  return made;
}

}  // namespace gpuhist::pipeline
