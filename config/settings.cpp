#include "config/settings.hpp"

#include "config/usage_error.hpp"

#include <algorithm>

namespace gpuhist::config {
namespace {

void apply(const setting& one, options& into) {
  if (!one.row->is_setting() || one.taken_back) return;
  try {
    one.row->apply(into, one.value);
  } catch (const usage_error& error) {
    throw usage_error((one.origin.empty() ? std::string(one.row->long_name()) : one.origin) + ": " + error.what());
  }
}

const settings* highest_with(const option_row& row, std::span<const settings> levels) {
  const auto has_row = [&](const settings& level) {
    return std::any_of(level.begin(), level.end(), [&](const setting& each) { return each.row == &row; });
  };
  const auto found = std::find_if(levels.rbegin(), levels.rend(), has_row);
  return found == levels.rend() ? nullptr : &*found;
}

/// What a level says of an option, from where it was last taken back.
std::vector<const setting*> values_in(const settings& level, const option_row& row) {
  std::vector<const setting*> values;
  for (const setting& each : level) {
    if (each.row != &row) continue;
    if (each.taken_back) values.clear();
    values.push_back(&each);
  }
  return values;
}

}  // namespace

options resolve(command what, std::span<const settings> levels) {
  for (const settings& level : levels) {
    options checked;
    for (const setting& each : level) apply(each, checked);
  }
  options result;
  result.what = what;
  for (const option_row& row : option_table()) {
    const settings* const level = row.taken_by(what) ? highest_with(row, levels) : nullptr;
    if (level == nullptr) continue;
    for (const setting* const each : values_in(*level, row)) {
      apply(*each, result);
      if (!each->origin.empty()) result.origins.emplace(row.long_name(), each->origin);
    }
  }
  if (result.buckets.empty()) result.buckets = {"classes"};
  return result;
}

}  // namespace gpuhist::config
