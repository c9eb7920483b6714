#include "batch/job_units.hpp"

#include "batch/job_planning.hpp"
#include "io/failure.hpp"
#include "library/results.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::batch {
namespace {

constexpr std::size_t most_bytes_of_record = std::size_t{16} << 20U;  // about, of parts

// The order of equal ranks, which does not depend on the order in which inputs are read.
std::uint64_t order_of(const input_key& key) {
  constexpr unsigned bits_of_member = 32;
  return (key.entry << bits_of_member) | key.member;
}

std::size_t bytes_of_parts(const input_units& record) {
  std::size_t bytes = 0;
  for (const auto* const parts : {&record.groups, &record.group_values}) {
    for (const report::units::group_table& each : *parts) bytes += each.bytes();
  }
  return bytes + record.different.size() * sizeof(report::units::text_hash);
}

std::string line_of(const window& closed) {
  const window::state& counted = closed.shared();
  return report::window_line(*counted.frame, {}, counted.content, counted.baseline ? &*counted.baseline : nullptr,
                             report::window_times::hidden);
}

}  // namespace

job_units::job_units(const library::counting_plan& planned, const job_folder& folder, unit_ledger& ledger,
                     job_journal& journal)
    : planned_(planned), ledger_(ledger), journal_(journal), synchronized_(std::chrono::steady_clock::now()) {
  if (reads_units(planned) && planned.units->lists_selected()) {
    unit_lines_.emplace(folder.lines_file(lines_of::units), ledger.end_of_units());
  }
  if (planned.windows) window_lines_.emplace(folder.lines_file(lines_of::windows), ledger.end_of_windows());
}

void job_units::connect(library::process_hooks& hooks, file_events& events, std::function<void()> ended) {
  if (reads_units(planned_)) {
    hooks.unit_lines = [](const report::run_report& frame) {
      return report::units::unit_line_output{.form = report::find_report_format("jsonl")->unit_lines(frame, {}),
                                             .write = {}};
    };
    hooks.units_by_input = {
        .write = [this](std::uint64_t input, std::string_view lines) { unit_lines_->append(input, lines); },
        .ended = std::move(ended)};
  }
  if (!planned_.windows) return;
  events.on_window = [this](const window& closed) {
    const pipeline::closed_window& content = closed.shared().content;
    sources_.try_emplace(content.stream, content.head.source);
    window_lines_->append(content.stream, line_of(closed));
  };
  hooks.on_window_verdict = [this](const pipeline::window_verdict& given) {
    window_lines_->append(given.stream, report::verdict_line({}, given, sources_[given.stream]));
  };
}

report::units::unit_run* job_units::units() const {
  return running_ == nullptr || running_->units() == nullptr ? nullptr : &running_->units()->run();
}

bool job_units::is_open(const pipeline::completed_input& completed) const {
  return units() != nullptr && completed.is_finished && units()->is_open(completed.how.input);
}

void job_units::record(const pipeline::completed_input& completed, const input_key& key) {
  if (!ledger_.is_used()) return;
  const std::uint64_t input = completed.how.input;
  input_units made{.of = key};
  if (unit_lines_) made.unit_lines = unit_lines_->take(input);
  if (window_lines_) made.window_lines = window_lines_->take(input);
  sources_.erase(input);
  if (units() != nullptr) {
    units()->publish();
    report::units::unit_findings found = units()->take(input);
    made.totals = found.totals;
    made.rules = std::move(found.rules);
    made.values = std::move(found.values);
    made.watched = std::move(found.watched);
    keep_possible_best(key, found.best, made);
    if (found.groups) append_groups(made, *found.groups, &input_units::groups);
    if (found.group_values) append_groups(made, *found.group_values, &input_units::group_values);
    if (found.texts) append_texts(made, *found.texts);
  }
  append(made);
}

void job_units::append(const input_units& record) {
  journal_.append(packed_input_units(record));
  ledger_.add(record);
}

// What does not fit in the record is in the next one, so that the memory for a record is bounded, also when it is read.
// Until the record of the input follows, these records do not count.
void job_units::continue_record(input_units& record) {
  append(record);
  write();
  journal_.write();
  record = {.of = record.of, .is_continued = true};
}

void job_units::append_texts(input_units& record, const report::units::distinct_texts& from) {
  record.texts = from.all();
  from.for_each([&](std::span<const report::units::text_hash> texts) {
    if (bytes_of_parts(record) + texts.size_bytes() > most_bytes_of_record) continue_record(record);
    record.different.insert(record.different.end(), texts.begin(), texts.end());
  });
}

void job_units::append_groups(input_units& record, const report::units::group_sum& from, parts_of_record to) {
  from.for_each_part([&](const report::units::group_table& part) {
    for (std::size_t place = 0; place < part.size();) {
      report::units::group_table taken = part.without_groups();
      std::size_t bytes = bytes_of_parts(record);
      do {
        bytes += part.bytes_of(place);
        taken.add(part, place++);
      } while (place < part.size() && bytes + part.bytes_of(place) <= most_bytes_of_record);
      (record.*to).push_back(std::move(taken));
      if (place == part.size()) return;
      continue_record(record);
    }
  });
}

void job_units::keep_possible_best(const input_key& key, report::units::best_units& from, input_units& to) const {
  const std::optional<report::units::rank> last = ledger_.last_rank();
  for (report::units::ranked_record& each : from.records()) {
    each.at.input = order_of(key);
    if (!last || each.at.precedes(*last)) to.best.push_back(std::move(each));
  }
  std::ranges::sort(to.best, [](const auto& a, const auto& b) { return a.at.precedes(b.at); });
}

void job_units::drop(const pipeline::completed_input& completed) {
  if (!ledger_.is_used() || !completed.is_finished) return;
  if (units() != nullptr) {
    units()->publish();
    static_cast<void>(units()->take(completed.how.input));
  }
  for (auto* lines : {&unit_lines_, &window_lines_}) {
    if (*lines) static_cast<void>((*lines)->take(completed.how.input));
  }
  sources_.erase(completed.how.input);
}

void job_units::write() {
  for (auto* lines : {&unit_lines_, &window_lines_}) {
    if (*lines) (*lines)->write();
  }
}

void job_units::synchronize_in_time() {
  if (ledger_.is_used() && std::chrono::steady_clock::now() - synchronized_ > synchronized_every) synchronize();
}

// The record of synchronization is written after the lines are on disk.
void job_units::synchronize() {
  if (ledger_.is_used()) {
    for (auto* lines : {&unit_lines_, &window_lines_}) {
      if (*lines) (*lines)->synchronize();
    }
    journal_.append(packed_sync_record());
  }
  journal_.synchronize();
  synchronized_ = std::chrono::steady_clock::now();
}

namespace {

struct recorded_lines {
  std::uint64_t offset = 0;  // in the journal
  input_units units;
};

// The records after the last one of synchronization.
struct unsure_records {
  std::vector<recorded_lines> all;
  bool is_of_job = false;
};

unsure_records find_unsure(int journal, const job_folder& folder, const job_identity& job,
                           const library::counting_plan& planned) {
  unsure_records found;
  std::uint64_t offset = 0;
  read_journal(
      journal, folder.journal_file(),
      [&](const std::string& header) {
        const std::optional<job_identity> recorded = identity_in(header);
        found.is_of_job = recorded && differences(*recorded, job).empty();
        offset = header.size() + 1;
      },
      [&](std::string_view record) {
        if (!found.is_of_job) return;
        if (is_sync_record(record)) found.all.clear();
        if (is_input_units(record))
          found.all.push_back({.offset = offset, .units = unpacked_input_units(record, no_text_of(planned))});
        offset += job_journal::bytes_of_record(record);
      });
  return found;
}

bool is_intact(const job_folder& folder, lines_of which, const line_extents& lines) {
  return lines.all.empty() || line_reader(folder.lines_file(which)).is_intact(lines);
}

}  // namespace

void remove_records_without_lines(const job_folder& folder, const job_identity& job,
                                  const library::counting_plan& planned) {
  if (!reads_units(planned) && !planned.windows) return;
  const std::filesystem::path path = folder.journal_file();
  const io::descriptor journal(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!journal) return;
  const unsure_records unsure = find_unsure(journal.get(), folder, job, planned);
  if (!unsure.is_of_job) return;
  for (const recorded_lines& each : unsure.all) {
    if (is_intact(folder, lines_of::units, each.units.unit_lines) &&
        is_intact(folder, lines_of::windows, each.units.window_lines)) {
      continue;
    }
    if (::ftruncate(journal.get(), static_cast<off_t>(each.offset)) == 0) return;
    throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(path.string()));
  }
}

}  // namespace gpuhist::batch
