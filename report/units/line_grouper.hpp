// Adds the lines of one input to their groups: by their key, and by the window of their time. A line without a time
// belongs to the line before it.
#pragma once

#include "gpu/host/kernel.hpp"
#include "report/texts/character_counts.hpp"
#include "report/units/event_watermark.hpp"
#include "report/units/group_table.hpp"
#include "report/units/group_values.hpp"
#include "report/units/matched_lines.hpp"
#include "report/units/unit_batch.hpp"
#include "report/units/unit_meter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// One thread at a time.
class line_grouper {
 public:
  /// What lines are of. `number`: in the order of inputs.
  struct owner {
    std::shared_ptr<const std::string> name;
    std::uint64_t number = 0;
  };

  /// Borrows the meter, whose plan reads lines. `is_later`: the first line is not that of the input.
  line_grouper(const unit_meter& meter, owner input, bool is_later);

  /// Adds the lines of a batch that the plan counts (unit_plan::counts_in_groups()). `holds`: the values of its
  /// condition; empty: it has none. `first`: the place of its first line.
  void add(unit_batch& batch, std::span<const double> holds, const unit_place& first);

  /// Adds a line that the batch has read alone (line_facts::read_open()). `counts`: of its 256 byte values. `values`:
  /// of the formulas of watched_values. `text`: its beginning, if the plan shows text.
  void add_open(unit_batch& batch, const gpu::tally& counts, const unit_place& place, std::span<const double> values,
                std::string_view text);

  /// Adds text of the line that is open, if it is measured itself, and no field. Without the key `character` it has no
  /// effect.
  void extend_open(std::span<const std::byte> text);

  /// The open line has ended.
  void end_open();

  /// Takes over the open line of an object that has read the text before.
  void continue_line_of(line_grouper& earlier) { open_characters_.swap(earlier.open_characters_); }

  /// Such a line that is not counted. Its time is that of lines after it.
  void pass_open(unit_batch& batch, const unit_place& place);

  /// Adds lines that a device has counted. `strings`: that were found in each of them. Precondition: there are no
  /// groups.
  void add_counted(std::uint64_t strings, const unit_totals& lines);

  /// What was added since it was cleared.
  [[nodiscard]] const group_table& found() const { return found_; }
  [[nodiscard]] const group_table* values() const { return values_ ? &*values_ : nullptr; }
  [[nodiscard]] const matched_lines& lines() const { return lines_; }
  void clear() {
    found_.clear();
    length_of_place_ = 0;
    if (values_) values_->clear();
    lines_.clear();
  }

  /// The time of the last line (group_id::window).
  [[nodiscard]] std::int64_t time() const { return time_; }

  /// As that of the reader of keys.
  [[nodiscard]] std::string fault() const { return keys_.fault(); }
  /// If windows close: which have, before the next lines. Lines without a time that follow one of a window that has
  /// closed are late, too.
  void set_horizon(const event_horizon& now);
  /// After the last line. Precondition: it was set.
  [[nodiscard]] const event_horizon& horizon() const { return *horizon_; }

  /// `time`: of the last line of the text before, which another object has read.
  void follow(std::int64_t time);

 private:
  [[nodiscard]] std::size_t place_of(line_facts& facts, std::size_t line, std::uint64_t number);
  [[nodiscard]] std::size_t place_of_time();
  void note_line(line_facts& facts, std::size_t line, std::uint64_t number);
  void note_time(line_facts& facts, std::size_t line, std::uint64_t number);
  void note_first(const line_facts& facts, std::size_t line, std::size_t to, const unit_place& place);
  void add_matches(std::size_t place, const unit_totals& lines, std::span<const std::uint64_t> matched);
  template <class Place>
  void note_matched(const line_facts& facts, std::size_t line, const Place& place, std::string_view text);
  void add_row(const unit_batch& batch, std::size_t line, std::size_t place);
  void add_values_of(const unit_batch& batch, std::size_t line, std::size_t place);
  void add_text(std::span<const std::byte> text, std::size_t place);
  void add_characters(unit_batch& batch, std::span<const double> holds, const unit_place& first);
  void flush_characters(texts::character_counts& from, line_facts& facts, std::size_t line, std::uint64_t number);

  // Lines one after the other of the same group, whose bytes are counted together.
  struct line_run {
    std::size_t place = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  void add_run(unit_batch& batch, const line_run& run);

  const unit_meter& meter_;
  const gpu::host::kernel& kernel_;
  const owner input_;
  const line_reading& plan_;
  key_reader keys_;  // without that of characters
  group_table found_;
  std::optional<group_table> values_;  // nothing: the plan has no values by group or window
  value_entries entries_;
  matched_lines lines_;
  std::vector<double> values_of_line_;                        // by formula
  std::vector<std::uint32_t> row_;                            // of the kernel
  std::unique_ptr<texts::character_counts> characters_;       // null: they are not counted
  std::unique_ptr<texts::character_counts> open_characters_;  // of the line that is open
  const bool is_one_group_;                                   // all lines that are counted are in one
  std::int64_t time_;                                         // of the last line
  std::optional<event_horizon> horizon_{};                    // if windows close
  // Unless keys are read: the place of the group that was used last, and its window, as long as it is in the table.
  std::size_t place_ = 0;
  std::int64_t begin_of_place_ = 0;
  std::uint64_t length_of_place_ = 0;
};

}  // namespace gpuhist::report::units
