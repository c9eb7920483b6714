// One run of a batch job: counts inputs of the manifest and records each when it is finished.
#pragma once

#include "batch/job_journal.hpp"
#include "batch/job_ledger.hpp"
#include "batch/job_units.hpp"
#include "batch/manifest.hpp"
#include "config/options.hpp"
#include "library/counting_plan.hpp"
#include "library/file_run.hpp"
#include "report/output/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gpuhist::batch {

/// What a run of a job uses. All outlive the run.
struct counted_job {
  const config::options& typed;
  const manifest& inputs;
  const std::vector<std::size_t>& chosen;  ///< the entries that the job counts
  job_journal& journal;
  job_ledger& ledger;
  unit_ledger& units;
  const job_folder& folder;
};

class job_run {
 public:
  /// `stop`: ends the reading; the run requests it, too. Borrows the screen.
  job_run(library::counting_plan planned, const counted_job& job, report::console& screen, std::stop_source stop);

  /// Whether so many inputs have failed that nothing more is counted: --max-errors, --on-error. stop_reason() is set
  /// then.
  [[nodiscard]] bool has_failed();

  /// Counts the chosen entries that are not finished. `hooks`: those of the process. Throws what file_run::run()
  /// throws, and destination_error of the journal.
  library::finished_run run(library::process_hooks hooks);

  /// Why the run stopped before all inputs were read: too many failed; empty: it did not.
  [[nodiscard]] const std::string& stop_reason() const { return stop_reason_; }

 private:
  void note(std::span<const pipeline::completed_input> completed);
  void note_waiting();
  void note(const pipeline::completed_input& completed);
  void note(std::span<const pipeline::input_prefix> prefixes);
  void record(const pipeline::completed_input& completed, const job_record& made);
  [[nodiscard]] std::optional<std::string> difference_of(const manifest_entry& entry) const;
  [[nodiscard]] job_record refused(std::size_t entry, const std::string& cause,
                                   const pipeline::input_report& found) const;
  [[nodiscard]] file_events events();
  [[nodiscard]] std::string progress_text(const gpuhist::progress& now) const;

  library::counting_plan planned_;
  const counted_job job_;
  report::console& screen_;
  std::unordered_map<std::string_view, std::size_t> entry_of_;  // by name
  std::unordered_map<std::size_t, std::uint64_t> recorded_to_;  // entries of which a prefix is recorded, and its bytes
  std::unordered_set<std::size_t> unfinished_;                  // archives with a member that must be read again
  std::deque<pipeline::completed_input> waiting_;  // in their order; text of the first may be missing in its units
  bool is_noting_ = false;
  std::stop_source stop_;
  std::string stop_reason_;
  std::uint64_t bytes_ = 0;  // of the entries that this run reads
  job_units units_;
};

}  // namespace gpuhist::batch
