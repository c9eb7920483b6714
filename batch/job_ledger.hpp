// The results of the inputs of a batch job, by their number in the manifest. It is filled from the journal of earlier
// runs and from the inputs that a run finishes.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/counts/spilled_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuhist::batch {

/// What is recorded of an input, or of a member of an archive.
struct job_record {
  enum class kind : std::uint8_t {
    input,    ///< a finished input
    member,   ///< a member of an archive, which counts once the archive is finished
    members,  ///< the end of an archive that its members represent; there is no report
    failed,   ///< the end of an archive that failed: its report, besides the members
    refused,  ///< an input that differs from the manifest: its report; its members are dropped. A later record counts
    prefix,   ///< the beginning of an input that is not finished; it replaces an earlier one
  };

  kind type = kind::input;
  std::uint64_t entry = 0;          ///< its number in the manifest
  std::uint32_t member = 0;         ///< of a member: its position in the archive
  pipeline::input_report report{};  ///< of a prefix: input_prefix::counted
  std::uint64_t frames = 0;         ///< of a prefix, as edges and text_before: those of input_prefix
  pipeline::text_edges edges{};
  std::uint64_t text_before = 0;
};

/// The record as bytes, and back. `no_text`: a tally of the job. Throws unpack_error: no record of the job has these
/// bytes.
std::string packed_record(const job_record& record);
job_record unpacked_record(std::string_view bytes, const gpu::tally& no_text);

/// Sorts members by their position; of equal ones the last remains: an archive that one run did not finish was read
/// again by a later one.
template <typename Value>
void keep_last(std::vector<std::pair<std::uint32_t, Value>>& members) {
  const auto by_position = [](const auto& each) { return each.first; };
  if (std::ranges::adjacent_find(members, std::ranges::greater_equal(), by_position) == members.end()) return;
  std::map<std::uint32_t, Value> last;
  for (const auto& [position, value] : members) last.insert_or_assign(position, value);
  members.assign(last.begin(), last.end());
}

/// One thread. Memory: 16 bytes for each entry and each member of an archive; reports are in a temporary file.
class job_ledger {
 public:
  job_ledger(std::size_t entries, const gpu::partition& counted, const gpu::tally& no_text,
             const pipeline::spill_folder& spilled_to);

  /// The record with these bytes, to be added; nothing: its entry takes no more records. Throws unpack_error.
  [[nodiscard]] std::optional<job_record> open_record(std::string_view bytes) const;

  /// Precondition: its entry takes records. A refused entry is reopened.
  void add(const job_record& record);

  [[nodiscard]] bool is_finished(std::size_t entry) const { return entries_[entry].state != progress::open; }
  [[nodiscard]] bool has_failed(std::size_t entry) const {
    return entries_[entry].state == progress::failed || is_refused(entry);
  }
  [[nodiscard]] bool is_refused(std::size_t entry) const { return entries_[entry].state == progress::refused; }
  [[nodiscard]] bool takes_records(std::size_t entry) const { return !is_finished(entry) || is_refused(entry); }

  /// The entry is not finished any more. Precondition: it is refused.
  void reopen(std::size_t entry);

  [[nodiscard]] std::size_t finished() const { return finished_; }  ///< entries
  [[nodiscard]] std::size_t failed() const { return failed_; }      ///< of these

  /// Entries that are not finished, and of which a prefix was counted.
  [[nodiscard]] std::size_t begun() const { return prefixes_.size(); }

  /// What was counted of an entry that is not finished; null: nothing.
  [[nodiscard]] std::shared_ptr<const pipeline::input_prefix> prefix_of(std::size_t entry) const;

  /// Calls `use` with each report of a finished entry: of the archive if it failed, and of its members.
  void for_each_report(std::size_t entry, const std::function<void(const pipeline::input_report&)>& use) const;

  /// The number of reports of all finished entries.
  [[nodiscard]] std::size_t reports() const { return reports_ + refused_; }

  /// The sums of all finished entries, with their reports in the order in which they were added, without those of
  /// refused entries, which have no counts.
  [[nodiscard]] pipeline::run_counts counts() const;

 private:
  enum class progress : std::uint8_t { open, complete, failed, refused };
  struct entry_state {
    pipeline::finished_inputs::location at = 0;
    progress state = progress::open;
    bool has_report = false;
  };

  struct prefix_state {
    pipeline::finished_inputs::location at = 0;  // of its report
    std::uint64_t frames = 0;
    pipeline::text_edges edges{};
    std::uint64_t text_before = 0;
  };

  void finish(const job_record& record);
  void refuse(const job_record& record);
  void count(const pipeline::input_report& report, pipeline::finished_inputs::location at, bool& is_complete);

  std::vector<entry_state> entries_;
  // by entry: positions in the archive, and reports; of equal positions the last one counts
  std::unordered_map<std::size_t, std::vector<std::pair<std::uint32_t, pipeline::finished_inputs::location>>> members_;
  std::unordered_map<std::size_t, prefix_state> prefixes_;  // by entry
  std::shared_ptr<pipeline::finished_inputs> reports_of_inputs_;
  gpu::tally no_text_;
  pipeline::run_counts sum_;
  std::size_t reports_ = 0;  // without those of refused entries
  std::size_t refused_ = 0;
  std::size_t finished_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace gpuhist::batch
