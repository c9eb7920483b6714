// What is read of the lines of a batch besides their bytes: matches, numbers and times (report/lines).
//
// A line that is not complete at the end of a text is held until its end, and then read alone. If only strings are
// searched, its parts are read one by one instead.
#pragma once

#include "report/lines/event_times.hpp"
#include "report/lines/match_set.hpp"
#include "report/lines/selector.hpp"
#include "report/texts/text_reader.hpp"
#include "report/units/matched_part.hpp"
#include "report/units/unit_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// One thread at a time.
class line_facts {
 public:
  /// Borrows the plan. `delimiter`: ends a line. `reference`: of event_windows; nothing: that of the plan.
  /// `long_lines`: held while a text is read that needs much memory.
  line_facts(const line_reading& plan, char delimiter, std::optional<std::int64_t> reference, std::mutex& long_lines);
  line_facts(const line_facts&) = delete;
  line_facts& operator=(const line_facts&) = delete;

  /// Reads complete lines from the beginning of `text`, which stays valid until the next call. `ends`: the offset after
  /// each.
  void read(std::span<const std::byte> text, std::span<const std::uint32_t> ends);

  /// Computes the functions of the texts that are measured, of the lines that were read: the lines, or the values of a
  /// field. `ends`: the offset after each, which may have `end` there; nothing: texts have no end. Without such
  /// functions it has no effect.
  void read_texts(std::span<const std::byte> measured, std::span<const std::uint32_t> ends,
                  std::optional<std::byte> end, texts::text_reader::encoding known);

  /// The language of such a text; nothing: it has none, or no key is a language.
  [[nodiscard]] std::optional<std::string_view> language_of(std::size_t line) const {
    return languages_.empty() ? std::nullopt : languages_[line];
  }
  /// The line has no such text.
  void forget_language(std::size_t line) {
    if (!languages_.empty()) languages_[line].reset();
  }

  /// Adds text of the line that is open.
  void extend_open(std::span<const std::byte> text);

  /// Reads the line that was open, alone, but for its text.
  void read_open();

  /// The line that was read alone, up to line_reading::max_bytes of it.
  [[nodiscard]] std::span<const std::byte> open_text() const { return std::as_bytes(std::span(line_)); }

  /// What was found in the line that is open. Precondition: line_reading::reads_strings_only().
  [[nodiscard]] matched_part& open_part() { return *part_; }

  /// An empty one. The same precondition.
  [[nodiscard]] matched_part new_part() { return {*plan_.matches, *matches_, delimiter_}; }

  /// Takes over the open line of an object that has read the text before.
  void continue_line_of(line_facts& earlier);

  /// The values of a fact of the plan, by line; NaN: it has none.
  [[nodiscard]] std::span<const double> values(std::size_t fact) const {
    return std::span(values_).subspan(fact * max_lines, lines_);
  }

  /// The values of all facts of a line. Valid until the next call.
  [[nodiscard]] std::span<const double> facts_of(std::size_t line);

  /// The expressions that match in a line, a bit each.
  [[nodiscard]] std::span<const std::uint64_t> matched(std::size_t line) const {
    return std::span(matched_).subspan(line * words_, words_);
  }

  /// Whether an expression matches in a line.
  [[nodiscard]] bool matches(std::size_t line, std::size_t expression) const {
    return (matched_[line * words_ + expression / 64] >> (expression % 64) & 1U) != 0;
  }

  /// Why numbers of the plan are in no line of the input; empty: they may be.
  [[nodiscard]] std::string fault() const;

  /// A line without its delimiter, of which at most line_reading::max_bytes are read.
  [[nodiscard]] std::string_view text_of(std::size_t line) const;

  /// The time of a line. Precondition: the plan has windows of event time.
  /// Of the next lines. Precondition: times are read.
  void set_reference(std::int64_t reference) { times_->set_reference(reference); }

  [[nodiscard]] lines::event_time_reader::outcome time_of(std::size_t line) { return times_->read(text_of(line)); }

 private:
  static constexpr std::size_t max_lines = gates::evaluation::max_units;

  void read_part();
  void find_matches();
  void keep_first_matches();
  void fill_values();

  const line_reading& plan_;
  const char delimiter_;
  std::mutex& long_lines_;
  std::optional<lines::match_reader> matches_;
  std::size_t words_ = 0;                 // of a line in matched_
  std::vector<std::size_t> expressions_;  // of the facts that are matches, in their order
  std::vector<std::unique_ptr<lines::line_selector>> numbers_;
  std::optional<texts::text_reader> texts_;
  std::vector<std::size_t> facts_of_texts_;                 // in their order
  std::vector<std::optional<std::string_view>> languages_;  // by line; empty: no key is one
  std::optional<lines::event_time_reader> times_;

  bool has_read_ = false;
  std::string_view text_;
  std::vector<std::uint32_t> ends_;
  std::size_t lines_ = 0;
  std::vector<std::uint64_t> matched_;  // words_ for each line
  std::vector<double> values_;          // by fact: max_lines values
  std::vector<double> of_line_;
  std::string open_;
  std::string line_;                  // that was open
  std::optional<matched_part> part_;  // instead of open_, if the plan reads strings only
};

}  // namespace gpuhist::report::units
