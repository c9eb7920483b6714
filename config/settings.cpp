#include "config/settings.hpp"

#include "config/option_values.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

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
  result.run.counting.schemes.clear();
  for (const option_row& row : option_table()) {
    const settings* const level = row.taken_by(selected) ? highest_with(row, levels) : nullptr;
    if (level == nullptr) continue;
    for (const setting* const each : values_in(*level, row)) {
      apply(*each, result);
      if (row.is_setting() && !each->unset) result.given[std::string(row.key())].push_back(each->value);
      if (!each->origin.empty()) result.origins.emplace(row.long_name(), each->origin);
    }
  }
  std::vector<std::string>& schemes = result.run.counting.schemes;
  if (schemes.empty() && selected != command::merge && selected != command::report) schemes = {"classes"};
  return result;
}

namespace {

constexpr std::string_view prefix = "GPUHIST_";

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> known;
  for (const option_row& row : option_table()) {
    if (row.is_setting()) known.push_back(row.variable().substr(prefix.size()));
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto meant = likely_name(std::string_view(name).substr(prefix.size()), names);
  throw usage_error(on_one_line(name) + ": no option has this variable name; " +
                    (meant ? "did you mean " + std::string(prefix) + std::string(*meant) + "?"
                           : "the names are those of the options, as GPUHIST_CHUNK_SIZE; unset it"));
}

std::string flag_value(const std::string& name, const std::string& typed) {
  try {
    return parse_switch(typed);
  } catch (const usage_error& error) {
    throw usage_error(name + ": " + error.what());
  }
}

}  // namespace

settings settings_of_environment(std::span<const std::string> environment) {
  settings found;
  for (const std::string& each : environment) {
    if (!each.starts_with(prefix)) continue;
    const std::size_t sign = std::min(each.find('='), each.size());
    const std::string name = each.substr(0, sign);
    const std::string value = sign == each.size() ? "" : each.substr(sign + 1);
    if (value.empty()) continue;
    const auto row = std::find_if(option_table().begin(), option_table().end(),
                                  [&](const option_row& r) { return r.is_setting() && r.variable() == name; });
    if (row == option_table().end()) refuse_unknown(name);
    found.push_back({&*row, row->is_flag() ? flag_value(name, value) : value, name});
  }
  return found;
}

}  // namespace gpuhist::config
