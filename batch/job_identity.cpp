#include "batch/job_identity.hpp"

#include "config/settings.hpp"
#include "config/usage_error.hpp"
#include "io/checksum.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <set>
#include <stdexcept>
#include <utility>

namespace gpuhist::batch {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* state_schema = "gpuhist.state/10";
constexpr unsigned most_shards = 100'000;  // as --shard has

constexpr const char* line_limit = "line-limit";
constexpr const char* watched_values = "watched-values";
constexpr const char* names_of_rules = "rules";
constexpr const char* lines_of_conditions = "lines-of-conditions";
constexpr const char* tables_of_characters = "tables-of-characters";

// What is no option, in messages.
constexpr std::array names_of_counts = {
    std::pair{"manifest", "the manifest"},
    std::pair{"shard", "the shard"},
    std::pair{"classes", "the classes of byte values (their number, hash)"},
    std::pair{"pair-classes", "the classes of pairs (their number, hash)"},
    std::pair{line_limit, "--memory-limit, which determines the longest line of --jsonl-field, in bytes"},
    std::pair{tables_of_characters, "the content of the files of known_characters()"},
    std::pair{names_of_rules, "the names of the conditions of --where and --preset"},
    std::pair{lines_of_conditions, "the expressions in --fail-if and --alert-if whose lines --show-text shows"},
    std::pair{watched_values, "the formulas of quantiles, sums and means, and whether they are those of windows"},
};

// Needed for reading, but not for adding what was read.
constexpr std::array of_reading = {"zstd-dictionary", line_limit};

bool is_recorded(std::string_view key) {
  const config::option_row* const row = config::find_option("--" + std::string(key), config::command::batch);
  return row != nullptr && row->taken_by(config::command::batch) && row->rules.decides != config::decision::nothing;
}

// Raw bytes, as in the definition of a bucket, are kept.
json text_as_json(const std::string& text) {
  return config::is_utf8(text) ? json(text) : json{{"base64", report::base64(text)}};
}

std::string text_in(const json& from) {
  return from.is_string() ? from.get<std::string>() : report::from_base64(from.at("base64").get<std::string>()).value();
}

json value_as_json(const config::decided_option& option) {
  using enum config::value_kind;
  if (option.row->kind == flag) return true;
  const bool is_number = option.row->kind == number || option.row->kind == size;
  return is_number ? json(std::stoull(option.text)) : text_as_json(option.text);
}

template <typename Classes>
json classes_as_json(const Classes& counted) {
  return {counted.classes,
          io::hash_text({reinterpret_cast<const char*>(counted.class_of.data()), counted.class_of.size()})};
}

// Names and members of buckets, also of those that a preset defines.
json schemes_as_json(const std::vector<pipeline::scheme_view>& schemes) {
  json made = json::array();
  for (const pipeline::scheme_view& each : schemes) {
    std::string content;
    for (const std::string& bucket : each.scheme.buckets) content += bucket + '\0';
    for (const std::uint16_t bucket : each.scheme.bucket_of) content += std::to_string(bucket) + ' ';
    made.push_back({text_as_json(each.scheme.name), io::hash_text(content)});
  }
  return made;
}

// A new member of the structures does not compile here until it is decided what it means for counts.
void add_measuring(json& to, const report::measures::measuring& from) {
  const auto& [asked, baseline, previous_windows, warning] = from;
  if (!asked.empty()) to["measures"] = json::array();
  for (const report::measures::measure* const each : asked) to["measures"].push_back(each->name);
  if (baseline) {
    to["baseline"] = io::hash_text({reinterpret_cast<const char*>(baseline->data()), sizeof *baseline});
  } else if (previous_windows) {
    to["baseline"] = *previous_windows;
  }
}

void add_lines(json& to, const report::units::line_reading& from) {
  const auto& [matches, ignores_case, shown_matches, first_match_only, facts, separator, selectors, texts, keys, events,
               finds_changes, is_compared, most_groups, is_approximate, in_memory, spilled_to, max_bytes] = from;
  for (std::size_t i = 0; matches && i < matches->size(); ++i) {
    const report::lines::match_expression& each = matches->expressions()[i];
    to["match"].push_back({text_as_json(each.name), text_as_json(each.pattern)});
  }
  if (ignores_case) to["match-ignore-case"] = true;
  if (first_match_only) to["match-first"] = true;
  for (const report::texts::text_fact& each : texts) {
    if (each.table() != nullptr) to[tables_of_characters].push_back(each.table()->hash());
  }
  if (!separator.empty()) to["field-separator"] = text_as_json(separator);
  if (!keys.empty()) {
    to["group-by"] = text_as_json(keys.front().text);
    if (keys.size() > 1) to["then-by"] = text_as_json(keys.back().text);
    to["most-groups"] = most_groups;
  }
  if (is_approximate) to["approximate"] = true;
  if (finds_changes) to["changes"] = true;
  if (events) {
    to["event-time"] = text_as_json(events->typed.format.empty() ? "any" : events->typed.format);
    to["time-zone"] = text_as_json(events->typed.time_zone);
    to["window"] = {events->windows.length, events->windows.most};
  }
  if (!shown_matches.empty()) to[lines_of_conditions] = shown_matches;
  to[line_limit] = max_bytes;
}

// What is recorded of the values in each input.
void add_watched(json& to, const report::units::watched_values& from) {
  const auto& [formulas, percents, reported, conditions, in_windows] = from;
  json& made = to[watched_values] = {in_windows, reported};
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    made.push_back({text_as_json(formulas[i].text()), !percents[i].empty()});
  }
  for (const auto& [type, formula, percent, function] : conditions) {
    made.push_back({static_cast<unsigned>(type), percent, text_as_json(formula)});
  }
}

json names_as_json(const std::vector<report::units::unit_rule>& rules) {
  json made = json::array();
  for (const report::units::unit_rule& each : rules) made.push_back(text_as_json(each.name));
  return made;
}

void add_units(json& to, const report::units::unit_plan& from) {
  const auto& [shape, each, field, rewriting, where, rules, filter, duplicates, signatures, top, distribution,
               quantiles, watched, lines, shows_text, held_bytes] = from;
  to["each"] = {each, static_cast<unsigned>(shape.delimiter), shape.bytes.value_or(0)};
  if (field) {
    to["jsonl-field"] = text_as_json(field->name);
    to[line_limit] = field->max_bytes;
    if (field->must_exist) {
      to["without-field"] = "fail";
    } else if (field->selects_missing) {
      to["without-field"] = filter && filter->units == report::units::filtering::kept::selected ? "keep" : "drop";
    }
  }
  for (const report::texts::rewriting_step& step : rewriting) to["rewrite"].push_back({step.name, step.typed});
  if (shows_text) to["show-text"] = true;
  if (signatures) to["minhash"] = text_as_json(signatures->folder);
  if (duplicates) to["duplicates"] = duplicates->are_dropped ? "drop" : "count";
  if (where) to["where"] = text_as_json(where->text());
  if (!filter && from.divides_rules()) to[names_of_rules] = names_as_json(rules);
  if (top) to["top"] = {top->number, text_as_json(top->by.text())};
  if (distribution) {
    to["distribution-of"] = text_as_json(distribution->text());
    to["quantiles"] = quantiles;
  }
  if (!watched.is_empty()) add_watched(to, watched);
  if (lines) add_lines(to, *lines);
}

json windows_as_json(const pipeline::window_shape& from) {
  const auto& [unit, pane, window_panes, step_panes, per_input, interleaved, numbered_by_input] = from;
  return {static_cast<unsigned>(unit), pane, window_panes, step_panes, per_input, interleaved, numbered_by_input};
}

json given_as_json(const job_identity& job) {
  json made = json::object();
  for (const auto& [key, values] : job.given) {
    for (const std::string& each : values) made[key].push_back(text_as_json(each));
  }
  return made;
}

json as_json(const job_identity& job) {
  return {{"kind", "state"},
          {"schema", state_schema},
          {"manifest", job.manifest},
          {"shard", {job.shard.number, job.shard.count}},
          {"options", given_as_json(job)},
          {"counts", job.counts}};
}

std::string value_of(const json& from, const std::string& name) {
  const auto found = from.find(name);
  return found == from.end() ? "not given" : report::printable(report::text_of(*found));
}

void add_differences(std::string& to, const json& recorded, const json& job, std::set<std::string>& named) {
  std::set<std::string> names;
  for (const json* const each : {&recorded, &job}) {
    for (const auto& [name, value] : each->items()) names.insert(name);
  }
  for (const std::string& each : names) {
    const std::string before = value_of(recorded, each);
    const std::string now = value_of(job, each);
    if (before == now || !named.insert(each).second) continue;
    const auto* const known = std::ranges::find(names_of_counts, each, [](const auto& row) { return row.first; });
    to += "\n  " + (known == names_of_counts.end() ? "--" + report::printable(each) : known->second) + ": " + before +
          ", instead of " + now;
  }
}

}  // namespace

json texts_of(const library::counting_plan& planned) {
  json made = json::object();
  const json counts = counts_of(planned);
  for (const auto& [key, value] : counts.items()) {
    const config::option_row* const row = config::find_option("--" + key);
    const bool decides = row != nullptr && row->rules.decides == config::decision::text;
    if (decides || key == line_limit || key == tables_of_characters) made[key] = value;
  }
  if (planned.units && planned.units->filter) {
    made["keeps"] = planned.units->filter->units == report::units::filtering::kept::selected;
  }
  return made;
}

json counts_of(const library::counting_plan& planned) {
  json made{{"buckets", schemes_as_json(planned.schemes)}, {"classes", classes_as_json(planned.partition)}};
  if (planned.pairs) made["pair-classes"] = classes_as_json(*planned.pairs);
  for (const config::decided_option& each : planned.decided) made[std::string(each.row->key())] = value_as_json(each);
  if (planned.dictionary) made["zstd-dictionary"] = planned.dictionary->content_hash();
  add_measuring(made, planned.measuring);
  if (planned.units) add_units(made, *planned.units);
  if (planned.windows) made["window"] = windows_as_json(*planned.windows);
  return made;
}

std::string differences_of_counts(const json& recorded, const json& now) {
  std::string made;
  std::set<std::string> named;
  add_differences(made, recorded, now, named);
  return made;
}

job_identity identity_of(const library::counting_plan& planned, const config::options& typed, std::string manifest,
                         config::shard_choice shard) {
  job_identity made{
      .manifest = std::move(manifest), .shard = shard, .counts = counts_of(planned), .given = typed.given};
  std::erase_if(made.given, [](const auto& each) { return !is_recorded(each.first); });
  return made;
}

std::string header_of(const job_identity& job) { return report::text_of(as_json(job)); }

std::optional<job_identity> identity_in(std::string_view header) {
  try {
    const json line = json::parse(header);
    if (line.at("schema") != state_schema || !line.at("counts").is_object()) return std::nullopt;
    job_identity made{
        .manifest = line.at("manifest").get<std::string>(),
        .shard = {.number = line.at("shard").at(0).get<unsigned>(), .count = line.at("shard").at(1).get<unsigned>()},
        .counts = line.at("counts"),
        .given = {}};
    const auto& [number, count] = made.shard;
    if (count > most_shards || number > count || (number == 0) != (count == 0)) return std::nullopt;
    for (const auto& [key, values] : line.at("options").items()) {
      for (const json& each : values) made.given[key].push_back(text_in(each));
    }
    return made;
  } catch (const std::exception&) {  // of JSON, or a name of another version
    return std::nullopt;
  }
}

config::options options_of(const job_identity& job) {
  config::settings level;
  for (const auto& [key, values] : job.given) {
    if (!is_recorded(key)) throw config::usage_error(key + ": not an option of a job");
    const config::option_row* const row = config::find_option("--" + key, config::command::batch);
    for (const std::string& each : values) level.push_back({.row = row, .value = each, .origin = {}});
  }
  return config::resolve(config::command::batch, std::array{level});
}

std::string differences(const job_identity& recorded, const job_identity& job) {
  const json before = as_json(recorded);
  const json now = as_json(job);
  std::string made;
  std::set<std::string> named;
  for (const char* const field : {"manifest", "shard"}) {
    add_differences(made, json::object({{field, before[field]}}), json::object({{field, now[field]}}), named);
  }
  if (differences_of_counts(before["counts"], now["counts"]).empty()) return made;
  add_differences(made, before["options"], now["options"], named);
  add_differences(made, before["counts"], now["counts"], named);
  return made;
}

void refuse_other_job(const std::string& path, std::string_view header, const job_identity& job) {
  const std::optional<job_identity> recorded = identity_in(header);
  if (!recorded) {
    throw std::runtime_error(report::printable(path) +
                             ": this state is of another version of gpuhist, or damaged; finish the job with that "
                             "version, or give another --output-dir");
  }
  const std::string found = differences(*recorded, job);
  if (found.empty()) return;
  throw std::runtime_error(report::printable(path) +
                           ": this state is of another job; give the options of the first run, or another "
                           "--output-dir; it has:" +
                           found);
}

void refuse_other_plan(const std::string& path, const job_identity& recorded, const library::counting_plan& planned) {
  job_identity known = recorded;
  job_identity computed = recorded;
  computed.counts = counts_of(planned);
  for (const char* const each : of_reading) {
    known.counts.erase(each);
    computed.counts.erase(each);
  }
  const std::string found = differences(known, computed);
  if (found.empty()) return;
  throw std::runtime_error(report::printable(path) +
                           ": cannot be merged: its options have another meaning here, because a file that they name "
                           "differs, or the version of gpuhist; it has:" +
                           found);
}

}  // namespace gpuhist::batch
