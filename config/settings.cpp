#include "config/settings.hpp"

#include "config/usage_error.hpp"

#include <algorithm>

namespace gpuhist::config {
namespace {

void apply(const setting& entry, options& into) {
  if (!entry.row->is_setting() || entry.unset) return;
  try {
    entry.row->apply(into, entry.value);
  } catch (const usage_error& error) {
    throw usage_error((entry.origin.empty() ? std::string(entry.row->long_name()) : entry.origin) + ": " +
                      error.what());
  }
}

const settings* highest_with(const option_row& row, std::span<const settings> levels) {
  const auto has_row = [&](const settings& level) {
    return std::any_of(level.begin(), level.end(), [&](const setting& each) { return each.row == &row; });
  };
  const auto found = std::find_if(levels.rbegin(), levels.rend(), has_row);
  return found == levels.rend() ? nullptr : &*found;
}

/// The values of an option at one level, after it was last unset there.
std::vector<const setting*> values_in(const settings& level, const option_row& row) {
  std::vector<const setting*> values;
  for (const setting& each : level) {
    if (each.row != &row) continue;
    if (each.unset) values.clear();
    values.push_back(&each);
  }
  return values;
}

}  // namespace

options resolve(command selected, std::span<const settings> levels) {
  for (const settings& level : levels) {
    options checked;
    for (const setting& each : level) apply(each, checked);
  }
  options result;
  result.what = selected;
  for (const option_row& row : option_table()) {
    const settings* const level = row.taken_by(selected) ? highest_with(row, levels) : nullptr;
    if (level == nullptr) continue;
    for (const setting* const each : values_in(*level, row)) {
      apply(*each, result);
      if (row.is_setting() && !each->unset) result.given[std::string(row.key())].push_back(each->value);
      if (!each->origin.empty()) result.origins.emplace(row.long_name(), each->origin);
    }
  }
  if (result.buckets.empty() && selected != command::merge) result.buckets = {"classes"};
  return result;
}

}  // namespace gpuhist::config
