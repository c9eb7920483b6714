#include "config/settings.hpp"

#include "config/command_table.hpp"
#include "config/option_values.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::config {

void check_value(const setting& entry) {
  if (!entry.row->is_setting() || entry.unset) return;
  try {
    options checked;
    entry.row->apply(checked, {&entry.value, 1});
  } catch (const usage_error& error) {
    if (entry.origin.empty()) throw option_error(entry.row->key(), error.what());
    throw usage_error(entry.origin + ": " + error.what());
  }
}

namespace {

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
    if (each.unset) {
      values.clear();
    } else {
      values.push_back(&each);
    }
  }
  return values;
}

void store(const std::vector<const setting*>& values, options& to) {
  if (values.empty()) return;
  const option_row& row = *values.front()->row;
  if (!row.is_setting()) return;
  std::vector<std::string> texts;
  for (const setting* const each : values) {
    texts.push_back(each->value);
    if (!each->origin.empty()) to.origins.emplace(row.long_name(), each->origin);
  }
  try {
    row.apply(to, texts);
  } catch (const usage_error& error) {
    throw usage_error(to.where(row.long_name()) + ": " + error.what());
  }
  to.given[std::string(row.key())] = std::move(texts);
}

/// What is given without being typed: the units of a filter, the walk of a job, and the windows of changes and of
/// differences.
std::string_view implied_value(command selected, std::string_view key) {
  if (selected == command::filter && key == "each") return "line";
  if (compares_logs(selected) && (key == "window" || key == "event-time")) return "auto";
  return (selected == command::batch || compares_logs(selected)) && key == "recursive" ? "true" : "";
}

/// One word of option_rules::needs or excludes: "each", "each=line", "filter:output-dir".
struct rule_word {
  const command_row* only = nullptr;  // the command for which it holds; null: all
  std::string_view key;
  std::string_view value;  // empty: any
};

std::vector<rule_word> words_of(std::string_view rule) {
  std::vector<rule_word> made;
  for (std::string_view rest = rule; !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    rule_word& next = made.emplace_back();
    if (const std::size_t colon = word.find(':'); colon != std::string_view::npos) {
      next.only = find_command(word.substr(0, colon));
      word.remove_prefix(colon + 1);
    }
    const std::size_t sign = std::min(word.find('='), word.size());
    next.key = word.substr(0, sign);
    next.value = word.substr(std::min(sign + 1, word.size()));
  }
  return made;
}

/// Options of a command, or of a program: those that `takes` holds for.
class rule_check {
 public:
  using taker = std::function<bool(const option_row&)>;

  rule_check(const options& checked, std::optional<command> selected, const taker& takes)
      : checked_(checked), selected_(selected), takes_(takes) {}

  void check(const option_row& row) const {
    if (!has({.only = nullptr, .key = row.key(), .value = {}})) return;
    check_needs(row);
    for (const rule_word& each : words_of(row.rules.excludes)) {
      if (!applies(each) || !has(each)) continue;
      refuse(row,
             "cannot be combined with " + checked_.where("--" + std::string(each.key)) + "; leave one of them out");
    }
  }

 private:
  [[noreturn]] void refuse(const option_row& row, const std::string& error) const {
    throw usage_error(checked_.where(row.long_name()) + ": " + error);
  }

  void check_needs(const option_row& row) const {
    const std::optional<unit_options>& units = checked_.run.counting.units;
    if (row.key() == "top" && (!units || units->top == 0)) return;  // of the table of inputs, without N:FORMULA
    std::string names;
    for (const rule_word& each : words_of(row.rules.needs)) {
      if (!applies(each)) continue;
      if (has(each)) return;
      names += (names.empty() ? "--" : ", --") + std::string(each.key);
      if (!each.value.empty()) names += " " + std::string(each.value);
    }
    if (names.empty()) return;
    if (const std::size_t last = names.rfind(", "); last != std::string::npos) names.replace(last, 1, " or");
    refuse(row, "requires " + names);
  }

  [[nodiscard]] bool applies(const rule_word& word) const {
    if (word.only != nullptr && word.only->kind != selected_) return false;
    return std::ranges::any_of(option_table(),
                               [&](const option_row& row) { return row.key() == word.key && takes_(row); });
  }

  // A flag that is off is not given.
  [[nodiscard]] bool has(const rule_word& word) const {
    const auto found = checked_.given.find(word.key);
    const std::string_view value = found != checked_.given.end() ? std::string_view(found->second.back())
                                   : selected_                   ? implied_value(*selected_, word.key)
                                                                 : "";
    if (found == checked_.given.end() && value.empty()) return false;
    const bool is_off = find_option("--" + std::string(word.key))->is_flag() && value == "false";
    return !is_off && (word.value.empty() || word.value == value);
  }

  const options& checked_;
  const std::optional<command> selected_;
  const taker& takes_;
};

void check_rules(const options& checked, std::optional<command> selected, const rule_check::taker& takes) {
  const rule_check rules(checked, selected, takes);
  for (const option_row& row : option_table()) {
    if (takes(row)) rules.check(row);
  }
}

}  // namespace

options resolve(command selected, std::span<const settings> levels) {
  for (const settings& level : levels) std::ranges::for_each(level, check_value);
  options result;
  result.what = selected;
  const bool has_default = selected != command::merge && selected != command::report;
  if (!has_default) result.run.counting.schemes.clear();
  const auto takes = [&](const option_row& row) { return row.taken_by(selected); };
  for (const option_row& row : option_table()) {
    const settings* const level = takes(row) ? highest_with(row, levels) : nullptr;
    if (level != nullptr) store(values_in(*level, row), result);
  }
  check_rules(result, selected, takes);
  return result;
}

options resolve_run(const settings& given) {
  options result;
  const auto takes = [](const option_row& row) { return row.is_of_run(); };
  for (const option_row& row : option_table()) {
    if (takes(row)) store(values_in(given, row), result);
  }
  check_rules(result, std::nullopt, takes);
  return result;
}

namespace {

constexpr std::string_view prefix = "GPUHIST_";
constexpr std::string_view of_commands = "GPUHIST_CONDITION";  // of --exec, whose command may be gpuhist

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
    if (value.empty() || name == of_commands) continue;
    const auto row = std::find_if(option_table().begin(), option_table().end(),
                                  [&](const option_row& r) { return r.is_setting() && r.variable() == name; });
    if (row == option_table().end()) refuse_unknown(name);
    found.push_back({&*row, row->is_flag() ? flag_value(name, value) : value, name});
  }
  return found;
}

}  // namespace gpuhist::config
