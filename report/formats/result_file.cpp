#include "report/formats/result_file.hpp"

#include "config/text.hpp"
#include "io/descriptor.hpp"
#include "io/file_access.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::report {
namespace {

io::descriptor open_results(const std::string& path) {
  if (path == "-") return io::descriptor::borrowed(STDIN_FILENO);
  io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw std::system_error(errno, std::system_category());
  return opened;
}

constexpr std::size_t kept_in_memory = std::size_t{1} << 20U;  // bytes of inputs

/// Damaged lines of one file that are reported one by one.
constexpr std::size_t max_damaged_lines = 10;

}  // namespace

/// The elements of the list `inputs` of a document. They are read before the kind of the document is known (a snapshot
/// also has such a list), and before `ignore_case`, which may follow the list.
class result_sum::inputs_within {
 public:
  /// Borrows `to`.
  inputs_within(pipeline::finished_inputs& to, const wanted_counts& wanted)
      : pending_(to, wanted.no_text()), wanted_(wanted) {}

  [[nodiscard]] input_taker taker() {
    return {.begin = [this] { begin(); }, .take = [this](const nlohmann::json& each) { take(each); }};
  }

  /// Throws the result_damage of the first invalid element, for a document with or without `ignore_case`.
  void check(bool folded) const {
    const std::optional<result_damage>& found = folded && damage_if_folded_ ? damage_if_folded_ : damage_;
    if (found) throw result_damage(*found);
  }

  pending_inputs& pending() { return pending_; }

 private:
  void begin() {
    pending_.drop();
    damage_.reset();
    damage_if_folded_.reset();
  }

  void take(const nlohmann::json& element) {
    if (damage_) return;
    if (!damage_if_folded_ && wanted_.letters == letter_case::exact && is_by_scheme(element)) {
      add(element, true, damage_if_folded_);
      if (!damage_if_folded_) return;  // valid in both cases, and added
    }
    add(element, false, damage_);
  }

  void add(const nlohmann::json& element, bool folded, std::optional<result_damage>& damage) {
    try {
      pending_.add(read_input(element, wanted_, folded));
    } catch (const result_damage& found) {
      damage = found;
    }
  }

  pending_inputs pending_;
  const wanted_counts& wanted_;
  std::optional<result_damage> damage_;
  std::optional<result_damage> damage_if_folded_;
};

result_sum::result_sum(wanted_counts wanted, const pipeline::spill_folder& spilled_to)
    : wanted_(std::move(wanted)),
      kept_(std::make_shared<pipeline::finished_inputs>(wanted_.counted().classes, kept_in_memory, spilled_to)) {
  sum_.partition = wanted_.counted();
  sum_.complete = true;
  sum_.verified = sum_.unverified = wanted_.no_text();
  sum_.schemes = pipeline::views_with_own_pairs(wanted_.pairs, sum_.partition);
}

result_sum::run_lines::run_lines(pipeline::finished_inputs& to, const gpu::tally& no_text) : inputs(to, no_text) {}

// Calls `add` with the documents of the file. Errors of the system are errors of the file.
void result_sum::add_opened(const std::string& path, position& at, const std::function<void(document_reader&)>& add) {
  const std::size_t errors_before = errors_.size();
  try {
    const io::descriptor opened = open_results(path);
    document_reader documents(opened.get());
    add(documents);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::is_a_directory)
      return add_foreign_file(at, errors_before, " (it is a directory, without the total.json of a finished job)");
    at.line = 0;
    add_error(at, io::open_error_text(path, error.code().value()));
  }
}

void result_sum::add_file(const std::string& path) {
  position at(path == "-" ? "standard input" : printable(path), *kept_, wanted_.no_text());
  add_opened(path, at, [&](document_reader& documents) { add_all(documents, at); });
}

void result_sum::add_lines_of(const std::vector<std::string>& paths) {
  position at("", *kept_, wanted_.no_text());
  for (const std::string& path : paths) {
    at.name = printable(path);
    at.line = 0;
    add_opened(path, at, [&](document_reader& documents) {
      try {
        add_lines(documents, at);
      } catch (const std::length_error& error) {
        add_error(at, error.what());
      }
    });
  }
  finish(at);
}

void result_sum::add_text(const std::string& name, std::string_view text) {
  position at(name, *kept_, wanted_.no_text());
  document_reader documents(text);
  add_all(documents, at);
}

void result_sum::add_all(document_reader& documents, position& at) {
  const std::size_t errors_before = errors_.size();
  try {
    add_lines(documents, at);
    if (!at.is_of_gpuhist) return add_foreign_file(at, errors_before, at.is_empty ? " (it is empty)" : "");
    finish(at);
  } catch (const std::length_error& error) {
    if (!at.is_of_gpuhist) return add_foreign_file(at, errors_before, "");
    add_error(at, error.what());
  }
}

void result_sum::add_lines(document_reader& documents, position& at) {
  while (documents.next_line()) {
    ++at.line;
    if (documents.at_line_end()) continue;
    at.is_empty = false;
    const std::size_t results = at.results;
    at.current = nullptr;
    try {
      add_document(documents, at);
    } catch (const result_damage& damage) {
      drop_current_run(at, at.results > results);
      add_damaged_line(at, damage.what());
    } catch (const std::length_error&) {
      at.is_of_gpuhist = documents.has_schema();
      throw;
    }
    at.is_of_gpuhist = documents.has_schema();
    if (at.results > results && !at.run.empty()) at.runs.erase(at.run);
  }
}

/// After a damaged line: the inputs of its run are incomplete. Lines after a result belong to another result.
void result_sum::drop_current_run(position& at, bool is_result) {
  if (at.current == nullptr) ++at.lost;
  run_lines& damaged_run = at.current != nullptr ? *at.current : at.without_name;
  damaged_run.inputs.drop();
  damaged_run.is_damaged = !is_result;
}

void result_sum::add_document(document_reader& from, position& at) {
  inputs_within within(*kept_, wanted_);
  const nlohmann::json document = from.read(within.taker());
  check_schema(document);
  const std::string kind = kind_of(document);
  if (kind == "result") return add_result(document, within, at);
  within.pending().drop();
  constexpr std::array<std::string_view, 5> others = {"snapshot", "window", "event_window", "verdict", "alert"};
  if (std::ranges::find(others, kind) != others.end()) return;
  if (kind == "unit") return static_cast<void>(at.lists_units = true);
  if (kind != "input") throw result_damage("the kind is " + config::quote(kind) + "; results are of kind \"result\"");
  run_lines& current = go_to_run(document, at);
  const pipeline::input_report input = read_input(document, wanted_, is_folded(document));
  if (!current.is_damaged) current.inputs.add(input);
}

/// Selects the run of a line. Throws result_damage if there are too many runs: each needs memory until its result.
result_sum::run_lines& result_sum::go_to_run(const nlohmann::json& document, position& at) {
  constexpr std::size_t max_runs = 256;
  at.run = run_of(document);
  if (!at.run.empty() && !at.runs.contains(at.run) && at.runs.size() >= max_runs) {
    throw result_damage("lines of " + std::to_string(max_runs) + " other runs wait for their results; lines of run " +
                        config::quote(at.run) + " cannot be kept; keep fewer runs in one file");
  }
  run_lines& current =
      at.run.empty() ? at.without_name : at.runs.try_emplace(at.run, *kept_, wanted_.no_text()).first->second;
  at.current = &current;
  return current;
}

void result_sum::add_result(const nlohmann::json& document, inputs_within& within, position& at) {
  run_lines& current = go_to_run(document, at);
  ++at.results;
  // a line of its inputs was damaged, which was reported
  if (std::exchange(current.is_damaged, false) && document.contains("input_count")) return;
  if (explains_missing(document, current.inputs.size(), at)) return;
  const run_report result = read_totals(document, wanted_);
  pending_inputs& inputs = inputs_of(document, within, current.inputs, at);
  check_sums(result, inputs.verified(), inputs.unverified());
  if (result.complete && !inputs.incomplete().empty()) {
    throw result_damage("\"complete\" is true, but that of " + inputs.incomplete() + " is false");
  }
  if (std::uint64_t bytes = 0; __builtin_add_overflow(sum_.verified.bytes(), result.verified.bytes(), &bytes) ||
                               __builtin_add_overflow(sum_.unverified.bytes(), result.unverified.bytes(), &bytes)) {
    throw result_damage("the sum with the results before it exceeds 2^64 - 1 bytes");
  }
  if (at.lists_units && has_lines(document)) {
    throw result_damage(
        "it is of a filter that lists units and groups lines; filter without --result, or without groups");
  }
  std::optional<units::unit_result> lines = read_lines_in(document);
  const std::size_t number = inputs.size();
  inputs.keep();
  inputs_ += number;
  ++results_;
  addends_.push_back({.name = at.name, .end_of_inputs = inputs_, .is_complete = result.complete});
  sum_.add(result);
  all_have_utf8_ = all_have_utf8_ && result.utf8;
  add_read_lines(std::move(lines), document, at);
}

/// What was read of the lines of a result. Throws result_damage if it cannot be added to that of the results before.
std::optional<units::unit_result> result_sum::read_lines_in(const nlohmann::json& document) const {
  if (wanted_.lines == line_results::left_out) return std::nullopt;
  const reading_options options = reading_options::in(document);
  if (const std::string difference = reading_ ? options.difference_from(*reading_) : ""; !difference.empty()) {
    throw result_damage("its lines were read with other options than those of " + first_of_reading_ + ": " +
                        difference + "; show it by itself, or count again with the same options");
  }
  return lacks_counts_of_groups(document, wanted_) ? std::nullopt : read_lines(document, wanted_);
}

namespace {

/// That of other formulas is left out. Quantiles of both together are not known.
void add_distribution(units::unit_result& to, const units::unit_result& more) {
  to.quantiles.clear();
  if (to.distribution_of != more.distribution_of) to.distribution_of.reset();
  if (to.distribution_of) to.values += more.values;
}

}  // namespace

namespace {

bool are_same_rules(const std::vector<units::rule_result>& a, const std::vector<units::rule_result>& b) {
  return std::ranges::equal(a, b, [](const units::rule_result& one, const units::rule_result& other) {
    return one.name == other.name && one.condition == other.condition;
  });
}

/// Whether the units of both are of one kind, so that they are added.
bool have_same_units(const units::unit_result& a, const units::unit_result& b) {
  return a.each == b.each && a.field == b.field && a.where == b.where && a.drops_unverified == b.drops_unverified &&
         are_same_rules(a.steps, b.steps);
}

/// Those with other rules are left out: their conditions are the same, but their names are not.
void add_rules(std::vector<units::rule_result>& to, const std::vector<units::rule_result>& more) {
  if (!are_same_rules(to, more)) to.clear();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].found += more[i].found;
}

}  // namespace

/// Adds what read_lines_in() has returned for the document.
void result_sum::add_read_lines(std::optional<units::unit_result> lines, const nlohmann::json& document,
                                const position& at) {
  if (wanted_.lines == line_results::left_out) return;
  const reading_options options = reading_options::in(document);
  if (reading_) {
    reading_->add(options);
  } else {
    reading_ = options;
    first_of_reading_ = at.name;
  }
  if (!lines && !options.values.empty()) {
    lacks_groups_ = true;
    warnings_.push_back(at.name +
                        ": its groups and windows have no byte counts, as those of older versions, and are left out; "
                        "count again with --byte-counts");
  }
  if (!lines) return;
  if (lines->groups) {
    groups_.add(*std::exchange(lines->groups, std::nullopt));
    has_groups_ = true;
  } else if (units_ && !have_same_units(*units_, *lines)) {
    return;
  }
  ++with_units_;
  if (units_) {
    units_->totals += lines->totals;
    add_rules(units_->rules, lines->rules);
    add_rules(units_->steps, lines->steps);
    units_->finds_duplicates = false;  // results have no hashes of texts
    add_distribution(*units_, *lines);
  } else {
    units_ = std::move(lines);
  }
}

/// Whether damaged lines of unknown runs, which were reported, explain the lines that a named result lacks.
bool result_sum::explains_missing(const nlohmann::json& document, std::size_t found, position& at) {
  const auto count = document.find("input_count");
  if (at.run.empty() || count == document.end() || !count->is_number_unsigned()) return false;
  const auto wanted = count->get<std::size_t>();
  if (wanted <= found || wanted - found > at.lost) return false;
  at.lost -= wanted - found;
  return true;
}

/// The inputs of a result: in the document itself, or from the lines before it.
pending_inputs& result_sum::inputs_of(const nlohmann::json& document, inputs_within& within, pending_inputs& before,
                                      position& at) {
  if (const auto count = document.find("input_count"); count != document.end()) {
    within.pending().drop();
    if (!count->is_number_unsigned()) throw result_damage("\"input_count\" is not a whole number from 0 to 2^64 - 1");
    check_input_count(count->get<std::size_t>(), before.size(), at);
    return before;
  }
  if (const auto list = document.find("inputs"); list == document.end() || !list->is_array()) {
    throw result_damage("\"inputs\" is not a list");
  }
  if (before.size() > 0) throw result_damage("the lines of inputs before it belong to another result");
  within.check(is_folded(document));
  return within.pending();
}

/// Throws result_damage if the number of lines before a result differs from its "input_count".
void result_sum::check_input_count(std::size_t count, std::size_t found, position& at) {
  if (count == found) return;
  const bool is_named = !at.run.empty();
  at.mixed = at.mixed || (!is_named && found > count);
  const std::string_view hint =
      "; lines without \"run\" cannot be separated if lines of several runs alternate: keep each run in a file of its "
      "own, or count again with this version";
  throw result_damage("\"input_count\" is " + std::to_string(count) + ", but " +
                      std::string(found == 1 ? "there is " : "there are ") + config::number_of(found, "line") +
                      " of inputs" + (is_named ? " of run " + config::quote(at.run) : "") + " before it" +
                      std::string(!is_named && at.mixed ? hint : ""));
}

void result_sum::finish(position& at) {
  at.line = 0;
  if (at.damaged_lines > max_damaged_lines) {
    const std::size_t others = at.damaged_lines - max_damaged_lines;
    add_error(at, "errors in " + config::number_of(others, "more line"));
  }
  const std::size_t errors_before = errors_.size();
  const auto report_missing_result = [&](const run_lines& each, const std::string& of_run) {
    if (each.inputs.size() == 0) return;
    add_error(at, "ends with " + config::number_of(each.inputs.size(), "line") + " of inputs" + of_run +
                      ", without their result");
  };
  report_missing_result(at.without_name, "");
  for (const auto& [name, each] : at.runs) {
    if (at.lost > 0) {
      --at.lost;  // its result may be the damaged line, which was reported
    } else {
      report_missing_result(each, " of run " + config::quote(name));
    }
  }
  if (errors_before == errors_.size() && at.results == 0 && !at.without_name.is_damaged) {
    add_error(at, "contains no result, only lines of other kinds; give a file that was written by " +
                      std::string(writer_of_results));
  }
}

/// Adds the error of a damaged line. Only the first ones of a file are kept; the others are counted.
void result_sum::add_damaged_line(position& at, std::string_view cause) {
  sum_.complete = false;
  if (++at.damaged_lines <= max_damaged_lines) add_error(at, cause);
}

/// Replaces the errors of a file that contains no document of gpuhist by one.
void result_sum::add_foreign_file(position& at, std::size_t errors_before, std::string_view hint) {
  errors_.resize(errors_before);
  at.line = 0;
  add_error(at, "not a result of gpuhist" + std::string(hint) + "; give a file that was written by " +
                    std::string(writer_of_results));
}

void result_sum::add_error(const position& at, std::string_view cause) {
  sum_.complete = false;
  errors_.push_back(at.name + ":" + (at.line == 0 ? "" : std::to_string(at.line) + ":") + " " + std::string(cause));
}

std::optional<units::unit_result> result_sum::take_lines() {
  std::optional<units::unit_result> taken = std::exchange(units_, std::nullopt);
  const bool has_groups = std::exchange(has_groups_, false);
  if (taken && has_groups) taken->groups = std::exchange(groups_, {}).take();
  reading_.reset();
  const bool lacks_units = !has_groups && std::exchange(with_units_, 0) < results_;
  return std::exchange(lacks_groups_, false) || lacks_units ? std::nullopt : std::move(taken);
}

run_report result_sum::take() {
  sum_.inputs = pipeline::input_reports(kept_, inputs_);
  if (!all_have_utf8_) sum_.utf8.reset();
  sum_.units = take_lines();
  return std::move(sum_);
}

}  // namespace gpuhist::report
