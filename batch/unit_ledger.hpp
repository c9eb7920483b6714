// The units and windows of the inputs of a batch job, by their number in the manifest: beside job_ledger, filled from
// the same journal.
#pragma once

#include "batch/input_units.hpp"
#include "batch/job_ledger.hpp"
#include "library/counting_plan.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "report/units/unit_findings.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpuhist::batch {

/// One thread. Memory: 16 bytes for each input of the manifest, 24 for each member of an archive, and the units of the
/// ranking; the rest is in a temporary file.
class unit_ledger {
 public:
  /// Borrows the plan. With --each input, units are those of job_ledger, and are not recorded here.
  unit_ledger(std::size_t entries, const library::counting_plan& planned);

  /// Whether units or windows of inputs are recorded.
  [[nodiscard]] bool is_used() const { return is_used_; }

  /// Takes a record of the journal if it is one of units; replaces the earlier ones of the same input or member, which
  /// was not finished, unless it is continued. `source`: the journal that has it. Returns whether it is one, or a
  /// record of synchronization. Throws unpack_error.
  bool add(std::string_view record, std::uint32_t source = 0);
  void add(const input_units& record, std::uint32_t source = 0);

  /// The input is finished: what was recorded of it counts. Refused: it is dropped, and what is recorded later counts.
  void finish(std::uint64_t entry);
  void refuse(std::uint64_t entry);

  /// The last of the units that rank first; nothing: there is room for more. Units after it need not be recorded.
  [[nodiscard]] std::optional<report::units::rank> last_rank() const { return sum_ ? sum_->best.last() : std::nullopt; }

  /// The records of a finished input, in the order of its members.
  void for_each(std::uint64_t entry, const std::function<void(const input_units&, std::uint32_t source)>& use) const;

  /// All finished inputs together. Precondition: the plan has units.
  [[nodiscard]] report::units::unit_result result() const { return result_of(*planned_.units, *sum_); }

  /// The number of lines without field if they make the job incomplete (--without-field fail), else 0.
  [[nodiscard]] std::uint64_t missing_fields() const {
    const bool must_exist = sum_ && planned_.units->field && planned_.units->field->must_exist;
    return must_exist ? sum_->totals.without_field : 0;
  }

  /// The ends of the recorded lines in the files of the journal 0, finished or not.
  [[nodiscard]] std::uint64_t end_of_units() const { return end_of_units_; }
  [[nodiscard]] std::uint64_t end_of_windows() const { return end_of_windows_; }

 private:
  struct location {
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;  // 0: no record
    std::uint32_t source = 0;
  };

  void sum_up(const input_key& of, const location& found);
  void sum_up(const location& found);
  void keep(std::string_view record, const input_units& content, std::uint32_t source);
  [[nodiscard]] input_units at(const location& from) const;

  const library::counting_plan& planned_;
  const gpu::tally no_text_;
  const bool is_used_;
  pipeline::spilled_bytes records_;
  std::vector<location> inputs_;  // by entry; empty if not used
  // by entry: positions in the archive, and records; of equal positions the last one counts
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, location>>> members_;
  std::map<input_key, std::vector<location>> continued_;  // the records after the first one
  std::vector<bool> is_finished_;                         // by entry
  std::optional<report::units::unit_findings> sum_;       // nothing: no units are recorded
  std::uint64_t end_of_units_ = 0;
  std::uint64_t end_of_windows_ = 0;
};

/// Adds a record to both ledgers. Precondition: its entry is not finished.
void add_record(const job_record& record, job_ledger& inputs, unit_ledger& units);

/// Whether the units of this plan are found while text is read: not those of --each input.
[[nodiscard]] bool reads_units(const library::counting_plan& planned);

}  // namespace gpuhist::batch
