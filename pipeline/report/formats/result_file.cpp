#include "pipeline/report/formats/result_file.hpp"

#include "config/quote.hpp"
#include "io/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

io::descriptor open_results(const std::string& path) {
  if (path == "-") return io::descriptor::borrowed(STDIN_FILENO);
  io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw std::system_error(errno, std::system_category());
  return opened;
}

constexpr std::size_t byte_values = 256;

/// Damaged lines of one file that are reported one by one.
constexpr std::size_t max_damaged_lines = 10;

}  // namespace

/// The elements of the list `inputs` of a document, read before it is known what the document is: a snapshot has such a
/// list, too, and whether case was folded may stand behind it.
class result_sum::inputs_within {
 public:
  /// Borrows `to`.
  inputs_within(finished_inputs& to, letter_case wanted) : read_(to, byte_values), wanted_(wanted) {}

  [[nodiscard]] input_taker taker() {
    return {.begin = [this] { begin(); }, .take = [this](const nlohmann::json& each) { take(each); }};
  }

  /// Throws the result_damage of the first that is none, in a document that folded case or did not.
  void check(bool folded) const {
    const std::optional<result_damage>& found = folded && damage_if_folded_ ? damage_if_folded_ : damage_;
    if (found) throw result_damage(*found);
  }

  pending_inputs& read() { return read_; }

 private:
  void begin() {
    read_.drop();
    damage_.reset();
    damage_if_folded_.reset();
  }

  void take(const nlohmann::json& element) {
    if (damage_) return;
    if (!damage_if_folded_ && wanted_ == letter_case::exact && is_by_scheme(element)) {
      add(element, true, damage_if_folded_);
      if (!damage_if_folded_) return;  // so it makes no difference, and was added
    }
    add(element, false, damage_);
  }

  void add(const nlohmann::json& element, bool folded, std::optional<result_damage>& damage) {
    try {
      read_.add(read_input(element, wanted_, folded));
    } catch (const result_damage& found) {
      damage = found;
    }
  }

  pending_inputs read_;
  letter_case wanted_;
  std::optional<result_damage> damage_;
  std::optional<result_damage> damage_if_folded_;
};

result_sum::result_sum(letter_case wanted) : wanted_(wanted), kept_(std::make_shared<finished_inputs>(byte_values)) {
  sum_.partition = gpu::partition::identity();
  sum_.complete = true;
  sum_.verified = sum_.unverified = gpu::tally(sum_.partition.classes);
}

result_sum::run_lines::run_lines(finished_inputs& to) : waiting(to, byte_values) {}

void result_sum::add_file(const std::string& path) {
  position at(path == "-" ? "standard input" : printable(path), *kept_);
  const std::size_t faults = faults_.size();
  try {
    const io::descriptor opened = open_results(path);
    add_lines(opened.get(), at);
    if (!at.is_of_gpuhist) return complain_of_foreign_file(at, faults, at.is_empty ? " (it is empty)" : "");
    finish(at);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::is_a_directory) return complain_of_foreign_file(at, faults, " (it is a directory)");
    at.line = 0;
    complain(at, error.code().message());
  } catch (const std::length_error& error) {
    if (!at.is_of_gpuhist) return complain_of_foreign_file(at, faults, "");
    complain(at, error.what());
  }
}

void result_sum::add_lines(int fd, position& at) {
  document_reader documents(fd);
  while (documents.next_line()) {
    ++at.line;
    if (documents.at_line_end()) continue;
    at.is_empty = false;
    const std::size_t results = at.results;
    at.current = nullptr;
    try {
      add_document(documents, at);
    } catch (const result_damage& damage) {
      spoil(at, at.results > results);
      complain_of_line(at, damage.what());
    } catch (const std::length_error&) {
      at.is_of_gpuhist = documents.has_schema();
      throw;
    }
    at.is_of_gpuhist = documents.has_schema();
    if (at.results > results && !at.run.empty()) at.runs.erase(at.run);
  }
}

/// After a damaged line: the lines of its run are not all there. Those after a result are of another one.
void result_sum::spoil(position& at, bool is_result) {
  if (at.current == nullptr) ++at.lost;
  run_lines& hurt = at.current != nullptr ? *at.current : at.without_name;
  hurt.waiting.drop();
  hurt.spoilt = !is_result;
}

void result_sum::add_document(document_reader& from, position& at) {
  inputs_within within(*kept_, wanted_);
  const nlohmann::json document = from.read(within.taker());
  check_schema(document);
  const std::string kind = kind_of(document);
  if (kind == "result") return add_result(document, within, at);
  within.read().drop();
  if (kind == "snapshot" || kind == "window" || kind == "verdict" || kind == "alert") return;
  if (kind != "input") throw result_damage("the kind is " + config::quote(kind) + "; results are of kind \"result\"");
  run_lines& own = go_to_run(document, at);
  const input_report input = read_input(document, wanted_, is_folded(document));
  if (!own.spoilt) own.waiting.add(input);
}

/// Throws result_damage where there are too many: each needs memory until its result comes.
result_sum::run_lines& result_sum::go_to_run(const nlohmann::json& document, position& at) {
  constexpr std::size_t max_runs = 256;
  at.run = run_of(document);
  if (!at.run.empty() && !at.runs.contains(at.run) && at.runs.size() >= max_runs) {
    throw result_damage("lines of " + std::to_string(max_runs) + " other runs wait for their results; those of run " +
                        config::quote(at.run) + " cannot be kept as well; keep fewer runs in a file");
  }
  run_lines& own = at.run.empty() ? at.without_name : at.runs.try_emplace(at.run, *kept_).first->second;
  at.current = &own;
  return own;
}

void result_sum::add_result(const nlohmann::json& document, inputs_within& within, position& at) {
  run_lines& own = go_to_run(document, at);
  ++at.results;
  // a line of its inputs was damaged: that has been reported
  if (std::exchange(own.spoilt, false) && document.contains("input_count")) return;
  if (explains_missing(document, own.waiting.size(), at)) return;
  const report one = read_totals(document, wanted_);
  pending_inputs& inputs = inputs_of(document, within, own.waiting, at);
  check_sums(one, inputs.verified(), inputs.unverified());
  if (one.complete && !inputs.incomplete().empty()) {
    throw result_damage("\"complete\" is true, but that of " + inputs.incomplete() + " is false");
  }
  if (std::uint64_t bytes = 0; __builtin_add_overflow(sum_.verified.bytes(), one.verified.bytes(), &bytes) ||
                               __builtin_add_overflow(sum_.unverified.bytes(), one.unverified.bytes(), &bytes)) {
    throw result_damage("with the results before it there are more than 2^64 - 1 bytes");
  }
  const std::size_t number = inputs.size();
  inputs.keep();
  inputs_ += number;
  ++results_;
  sum_.complete = sum_.complete && one.complete;
  sum_.verified += one.verified;
  sum_.unverified += one.unverified;
  sum_.counted_unverified = sum_.counted_unverified || one.counted_unverified;
  for (const skipped_names& each : one.skipped) add_skipped(sum_.skipped, each);
}

/// Whether a result with a name lacks no more lines than were damaged, whose run is not known: that has been
/// reported.
bool result_sum::explains_missing(const nlohmann::json& document, std::size_t there, position& at) {
  const auto count = document.find("input_count");
  if (at.run.empty() || count == document.end() || !count->is_number_unsigned()) return false;
  const auto wanted = count->get<std::size_t>();
  if (wanted <= there || wanted - there > at.lost) return false;
  at.lost -= wanted - there;
  return true;
}

/// The inputs of a result: within it, or the lines before it.
pending_inputs& result_sum::inputs_of(const nlohmann::json& document, inputs_within& within, pending_inputs& before,
                                      position& at) {
  if (const auto count = document.find("input_count"); count != document.end()) {
    within.read().drop();
    if (!count->is_number_unsigned()) throw result_damage("\"input_count\" is no whole number from 0 to 2^64 - 1");
    check_input_count(count->get<std::size_t>(), before.size(), at);
    return before;
  }
  if (const auto list = document.find("inputs"); list == document.end() || !list->is_array()) {
    throw result_damage("\"inputs\" is no list");
  }
  if (before.size() > 0) throw result_damage("lines of inputs before it are not its own");
  within.check(is_folded(document));
  return within.read();
}

/// Throws result_damage where the lines before a result are not as many.
void result_sum::check_input_count(std::size_t count, std::size_t there, position& at) {
  if (count == there) return;
  const bool is_named = !at.run.empty();
  at.mixed = at.mixed || (!is_named && there > count);
  const std::string_view hint =
      "; lines that do not say of which run they are (\"run\") cannot be separated where those of several runs "
      "alternate: keep each run in a file of its own, or count again with this version";
  throw result_damage("\"input_count\" is " + std::to_string(count) + ", but there are " + std::to_string(there) +
                      " lines of inputs" + (is_named ? " of run " + config::quote(at.run) : "") + " before it" +
                      std::string(!is_named && at.mixed ? hint : ""));
}

void result_sum::finish(position& at) {
  at.line = 0;
  if (at.damaged_lines > max_damaged_lines) {
    const std::size_t others = at.damaged_lines - max_damaged_lines;
    complain(at, "damage in " + std::to_string(others) + (others == 1 ? " more line" : " more lines"));
  }
  const std::size_t faults = faults_.size();
  const auto complain_of = [&](const run_lines& each, const std::string& of_run) {
    if (each.waiting.size() == 0) return;
    complain(at, "ends with " + std::to_string(each.waiting.size()) + " lines of inputs" + of_run +
                     ", without their result");
  };
  complain_of(at.without_name, "");
  for (const auto& [name, each] : at.runs) {
    if (at.lost > 0) {
      --at.lost;  // its result may be what was damaged, and was told
    } else {
      complain_of(each, " of run " + config::quote(name));
    }
  }
  if (faults == faults_.size() && at.results == 0 && !at.without_name.spoilt) {
    complain(at,
             "it holds no result, only lines of other kinds; give a file that was written by gpuhist --byte-counts "
             "--format json");
  }
}

/// Of a file with very much damage, only the first errors are kept.
void result_sum::complain_of_line(position& at, std::string_view damage) {
  sum_.complete = false;
  if (++at.damaged_lines <= max_damaged_lines) complain(at, damage);
}

/// Replaces the errors of a file that holds nothing of gpuhist by one.
void result_sum::complain_of_foreign_file(position& at, std::size_t faults_before, std::string_view hint) {
  faults_.resize(faults_before);
  at.line = 0;
  complain(at, "not a result of gpuhist" + std::string(hint) +
                   "; give a file that was written by gpuhist --byte-counts --format json");
}

void result_sum::complain(const position& at, std::string_view what) {
  sum_.complete = false;
  faults_.push_back(at.name + ":" + (at.line == 0 ? "" : std::to_string(at.line) + ":") + " " + std::string(what));
}

report result_sum::take() {
  sum_.inputs = input_reports(kept_, inputs_);
  return std::move(sum_);
}

}  // namespace gpuhist::pipeline
