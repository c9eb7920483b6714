// The values of a field in the lines of a text, one after the other, so that they are counted in batches, as lines are.
//
//     text:     {"text":"ab\n"}\n  not JSON\n  {"text":"c"}\n
//     values:   a b \n <end>  <end>  c <end>                       end_of_value, which is never in UTF-8
//
// If the plan rewrites texts, the values are the rewritten ones.
#pragma once

#include "io/json/line_field.hpp"
#include "report/texts/rewriting.hpp"
#include "report/units/unit_plan.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// One thread at a time.
class line_values {
 public:
  /// Borrows all. `steps`: that rewrite values; empty: none. `long_lines`: held while a line is read that needs much
  /// memory.
  line_values(const field_of_lines& field, std::span<const texts::rewriting_step> steps, std::mutex& long_lines);

  /// Reads lines that are complete, from the beginning of `text`, until `ends` is full or there are many bytes of
  /// values. Writes the offset after each line. Returns their number. `first_line`: the number of the first line.
  std::size_t read(std::span<const std::byte> text, std::span<std::uint32_t> ends, std::uint64_t first_line);

  /// Adds text of the line that is open.
  void extend_open(std::span<const std::byte> text);

  /// Reads the line that was open, alone.
  void read_open(std::uint64_t line);

  /// The values of the lines, each with its end; that of a line without field is empty.
  [[nodiscard]] std::span<const std::byte> text() const { return std::as_bytes(std::span(values_)); }

  [[nodiscard]] bool has_value(std::size_t line) const { return faults_[line] == io::field_fault::none; }

  /// Blank lines have no value, and are not without field.
  [[nodiscard]] bool is_without_field(std::size_t line) const {
    return !has_value(line) && faults_[line] != io::field_fault::blank;
  }

  /// Of the lines, those without a value: without field or blank.
  [[nodiscard]] std::size_t without_value() const { return without_value_; }

  /// Of the lines, those without field.
  [[nodiscard]] std::size_t without_field() const { return without_field_; }

  /// `bytes`: of the value of the line.
  [[nodiscard]] measured_field found_in(std::size_t line, std::uint64_t bytes) const;

  /// Whether the value of a line is not that in its text.
  [[nodiscard]] bool is_rewritten(std::size_t line) const { return !is_rewritten_.empty() && is_rewritten_[line]; }

  /// Makes the line with its rewritten value. `value`: of the line, in text().
  void rewrite(std::string_view line, std::string_view value);

  /// The line that rewrite() made last. After read_open(), that line, if it is_rewritten(0).
  [[nodiscard]] std::string_view rewritten() const { return rewritten_line_; }

  /// What the steps removed since the last call, by step.
  [[nodiscard]] std::vector<texts::step_count> take_step_counts() {
    return rewriter_ ? rewriter_->take_counts() : std::vector<texts::step_count>();
  }

  /// All lines without field so far; the input is not set.
  [[nodiscard]] const lines_without_field& faults() const { return all_faults_; }

  /// `earlier` has read the lines before those of this object, the first of which is `first_line`: their faults precede
  /// its own.
  void follow(const line_values& earlier, std::uint64_t first_line);

  /// Takes over the open line of an object that has read the text before.
  void continue_line_of(line_values& earlier);

 private:
  void clear();
  void add_value(std::string_view value);
  void add(std::string_view line, std::size_t readable, std::uint64_t number);
  void note(io::field_fault fault, std::uint64_t number);

  const std::size_t max_bytes_;  // of a line
  std::mutex& long_lines_;
  io::line_field field_;
  std::string open_;  // text of the line that is open, unless it is too long
  bool open_is_too_long_ = false;
  std::string values_;
  std::vector<io::field_fault> faults_;  // by line
  std::optional<texts::text_rewriter> rewriter_;
  std::vector<bool> is_rewritten_;  // by line; empty: nothing is rewritten
  std::string rewritten_line_;
  std::size_t without_value_ = 0;
  std::size_t without_field_ = 0;
  lines_without_field all_faults_;
};

}  // namespace gpuhist::report::units
