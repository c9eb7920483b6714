// The units and windows that a run of a batch job finds: their lines go to files beside the journal, and what else is
// known of them to records of the journal, before the record of their input.
#pragma once

#include "batch/job_folder.hpp"
#include "batch/job_journal.hpp"
#include "batch/line_spool.hpp"
#include "batch/unit_ledger.hpp"
#include "gpuhist/files.hpp"
#include "library/counting_plan.hpp"
#include "library/file_run.hpp"
#include "pipeline/counts/finished_inputs.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace gpuhist::batch {

/// One thread. Members throw destination_error.
class job_units {
 public:
  /// Opens the files, without the lines that no record names. Borrows all.
  job_units(const library::counting_plan& planned, const job_folder& folder, unit_ledger& ledger, job_journal& journal);

  /// Sets the hooks that the run needs. `ended`: called when more inputs may be complete: is_open().
  void connect(library::process_hooks& hooks, file_events& events, std::function<void()> ended);

  /// Must be called before the run begins.
  void follow(library::file_run& running) { running_ = &running; }

  /// Whether units of a completed input may be missing.
  [[nodiscard]] bool is_open(const pipeline::completed_input& completed) const;

  /// Records what was found in a completed input. The record of the input follows.
  void record(const pipeline::completed_input& completed, const input_key& key);

  /// Drops what was found in it.
  void drop(const pipeline::completed_input& completed);

  /// To be called before the journal is written.
  void write();

  /// Writes the journal and the lines to disk, if they have not been for `synchronized_every`.
  void synchronize_in_time();
  void synchronize();

 private:
  [[nodiscard]] report::units::unit_run* units() const;
  void append(const input_units& record);
  using parts_of_record = std::vector<report::units::group_table> input_units::*;
  void append_groups(input_units& record, const report::units::group_sum& from, parts_of_record to);
  void append_texts(input_units& record, const report::units::distinct_texts& from);
  void continue_record(input_units& record);
  void keep_possible_best(const input_key& key, report::units::best_units& from, input_units& to) const;

  const library::counting_plan& planned_;
  unit_ledger& ledger_;
  job_journal& journal_;
  std::optional<line_spool> unit_lines_;                    // nothing: no units are reported
  std::optional<line_spool> window_lines_;                  // nothing: there are no windows
  std::map<std::uint64_t, pipeline::source_name> sources_;  // of windows, by input
  library::file_run* running_ = nullptr;
  std::chrono::steady_clock::time_point synchronized_;
};

/// After a power failure, lines may be missing that the end of the journal names. Removes these records and those after
/// them. To be called before the journal is opened. Does nothing if the journal is of another job, or does not exist.
/// Throws std::system_error, destination_error.
void remove_records_without_lines(const job_folder& folder, const job_identity& job,
                                  const library::counting_plan& planned);

}  // namespace gpuhist::batch
