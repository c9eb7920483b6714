// The counts of a run as a value, at its end or at any moment during it.
#pragma once

#include "gpu/tally.hpp"
#include "io/failure.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/input_report.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// The inputs of a report, in order. Reports of finished inputs are read back from finished_inputs one by one. Reports
/// of other inputs are held in memory. A value. Copies share the spilled reports. Reading throws std::system_error if a
/// report cannot be read back.
class input_reports {
 public:
  using value_type = input_report;

  /// One pass over all inputs. A reference to a report is valid until the iterator is incremented.
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = input_report;
    using difference_type = std::ptrdiff_t;

    explicit iterator(const input_reports& inputs) : inputs_(&inputs) { load(); }
    const input_report& operator*() const { return current_; }
    const input_report* operator->() const { return &current_; }
    iterator& operator++() {
      ++at_;
      load();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return at_ == inputs_->size(); }

   private:
    void load() {
      if (at_ < inputs_->size()) current_ = (*inputs_)[at_];
    }

    const input_reports* inputs_;
    std::size_t at_ = 0;
    input_report current_;
  };

  input_reports() = default;

  /// The first `number` inputs that were appended to `spilled`.
  input_reports(std::shared_ptr<const finished_inputs> spilled, std::size_t number)
      : spilled_(std::move(spilled)), finished_(number) {}

  void push_back(input_report next) {
    rest_.push_back({.held = std::make_shared<const input_report>(std::move(next))});
  }

  /// A spilled report that is not appended yet. `waits`: it assumes a verdict that is not known (set_unverified).
  void push_back(finished_inputs::location next, bool waits) { rest_.push_back({.at = next, .waits = waits}); }

  [[nodiscard]] std::size_t size() const { return finished_ + rest_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] iterator begin() const { return iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

  [[nodiscard]] input_report operator[](std::size_t number) const;

  /// Replaces a report that was added by push_back().
  void replace(std::size_t number, input_report replacement) {
    rest_.at(number - finished_).held = std::make_shared<const input_report>(std::move(replacement));
  }

  /// --count-unverified, for all inputs.
  void count_unverified() { counts_unverified_ = true; }

 private:
  struct entry {
    finished_inputs::location at = 0;
    bool waits = false;
    std::shared_ptr<const input_report> held{};  // null: spilled
  };

  std::shared_ptr<const finished_inputs> spilled_;
  std::size_t finished_ = 0;
  std::vector<entry> rest_;
  bool counts_unverified_ = false;
};

/// Names in trees and archives that are not read, all for the same cause.
struct skipped_names {
  io::skipped_kind kind = io::skipped_kind::unknown;
  std::string cause;        ///< the cause, in the singular: "FIFO"; empty if an older result does not contain it
  std::uint64_t count = 0;  ///< number of names
  std::string first;        ///< the first of them, raw bytes; empty if read back from a result
  std::uint64_t bytes = 0;  ///< that archives hold for them
};

/// Adds `more` to the entry with the same cause, or inserts it. Entries are sorted by cause.
void add_skipped(std::vector<skipped_names>& to, const skipped_names& more);

/// The counts of a run. During the run, the counts of every input are those of a prefix of its text.
struct run_counts {
  bool complete = false;  ///< every byte of every input was counted and verified
  gpu::partition partition;
  gpu::tally verified;                 ///< the totals
  gpu::tally unverified;               ///< snapshots print them as "provisional"
  bool counted_unverified = false;     ///< --count-unverified: `verified` includes the unverified bytes
  std::optional<utf8_report> utf8{};   ///< --utf8: of all inputs, verified or not
  input_reports inputs;                ///< in the order in which they were given or found
  std::vector<skipped_names> skipped;  ///< in trees and archives, sorted by cause
  double elapsed_seconds = 0;          ///< snapshots: since the first read

  /// Adds the totals of counts or of an input over the same partition. `inputs` and elapsed_seconds stay.
  void add(const run_counts& more) { add(more, more.verified, more.unverified); }
  void add(const input_report& more);

  /// As above, with the tallies of `more` over the partition of these counts.
  void add(const run_counts& more, const gpu::tally& its_verified, const gpu::tally& its_unverified);
};

}  // namespace gpuhist::pipeline
