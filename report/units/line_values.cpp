#include "report/units/line_values.hpp"

#include "report/units/characters_of.hpp"
#include "report/units/unit_meter.hpp"

#include <cstring>
#include <utility>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t max_values = std::size_t{1} << 20U;  // bytes; one more value may follow

}  // namespace

line_values::line_values(const field_of_lines& field, std::span<const texts::rewriting_step> steps,
                         std::mutex& long_lines)
    : max_bytes_(field.max_bytes), long_lines_(long_lines), field_(field.name, field.max_bytes) {
  if (!steps.empty()) rewriter_.emplace(steps);
}

std::size_t line_values::read(std::span<const std::byte> text, std::span<std::uint32_t> ends,
                              std::uint64_t first_line) {
  clear();
  const std::string_view all = characters_of(text);
  std::size_t lines = 0;
  for (std::size_t begin = 0; lines < ends.size() && values_.size() < max_values; ++lines) {
    const std::size_t last = all.find('\n', begin);
    if (last == std::string_view::npos) break;
    add(all.substr(begin, last + 1 - begin), all.size() - begin, first_line + lines);
    begin = last + 1;
    ends[lines] = static_cast<std::uint32_t>(begin);
  }
  return lines;
}

void line_values::extend_open(std::span<const std::byte> text) {
  open_is_too_long_ = open_is_too_long_ || text.size() > max_bytes_ - open_.size();
  if (open_is_too_long_) {
    std::string().swap(open_);
  } else {
    open_ += characters_of(text);
  }
}

void line_values::read_open(std::uint64_t line) {
  clear();
  if (open_is_too_long_) {
    values_ += static_cast<char>(unit_meter::end_of_value);
    if (rewriter_) is_rewritten_.push_back(false);
    note(io::field_fault::too_long, line);
  } else {
    add(open_, open_.size(), line);
    if (is_rewritten(0)) rewrite(open_, std::string_view(values_).substr(0, values_.size() - 1));
  }
  open_is_too_long_ = false;
  open_.clear();
  if (open_.capacity() > max_values) std::string().swap(open_);
}

void line_values::follow(const line_values& earlier, std::uint64_t first_line) {
  all_faults_.first_line += first_line - 1;
  if (earlier.all_faults_.lines == 0) return;
  const std::uint64_t own = std::exchange(all_faults_, earlier.all_faults_).lines;
  all_faults_.lines += own;
}

void line_values::continue_line_of(line_values& earlier) {
  open_.swap(earlier.open_);
  std::swap(open_is_too_long_, earlier.open_is_too_long_);
}

measured_field line_values::found_in(std::size_t line, std::uint64_t bytes) const {
  if (has_value(line)) return {.bytes = bytes};
  if (faults_[line] == io::field_fault::blank) return {};
  return {.cause = io::describe(faults_[line], max_bytes_)};
}

void line_values::clear() {
  values_.clear();
  if (values_.capacity() > 2 * max_values) std::string().swap(values_);
  faults_.clear();
  is_rewritten_.clear();
  without_value_ = 0;
  without_field_ = 0;
}

void line_values::add(std::string_view line, std::size_t readable, std::uint64_t number) {
  const bool is_long = line.size() > io::line_field::kept_bytes;
  const auto lock = is_long ? std::unique_lock(long_lines_) : std::unique_lock<std::mutex>();
  const io::line_field::outcome found = field_.read({.line = line, .readable = readable});
  add_value(found.value);
  note(found.fault, number);
  if (!is_long) return;
  field_.release();
  if (rewriter_) rewriter_->release();
}

void line_values::add_value(std::string_view value) {
  const std::size_t begin = values_.size();
  if (rewriter_) {
    rewriter_->rewrite(value, values_);
    is_rewritten_.push_back(std::string_view(values_).substr(begin) != value);
  } else {
    values_ += value;
  }
  values_ += static_cast<char>(unit_meter::end_of_value);
}

void line_values::rewrite(std::string_view line, std::string_view value) {
  const io::json_extent place = field_.place(line);
  rewritten_line_.assign(line.substr(0, place.begin));
  io::append_json_string(value, rewritten_line_);
  rewritten_line_ += line.substr(place.begin + place.bytes);
}

void line_values::note(io::field_fault fault, std::uint64_t number) {
  faults_.push_back(fault);
  if (fault == io::field_fault::none) return;
  ++without_value_;
  if (fault == io::field_fault::blank) return;
  ++without_field_;
  if (all_faults_.lines++ > 0) return;
  all_faults_.first_line = number;
  all_faults_.first_cause = io::describe(fault, max_bytes_);
}

}  // namespace gpuhist::report::units
