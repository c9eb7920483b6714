#include "report/units/line_facts.hpp"

#include "report/units/characters_of.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t kept_bytes = std::size_t{1} << 20U;  // of the buffers of an open line

}  // namespace

line_facts::line_facts(const line_reading& plan, char delimiter, std::optional<std::int64_t> reference,
                       std::mutex& long_lines)
    : plan_(plan),
      delimiter_(delimiter),
      long_lines_(long_lines),
      values_(plan.facts.size() * max_lines),
      of_line_(plan.facts.size()) {
  if (plan.matches) {
    words_ = matches_.emplace(*plan.matches).words_per_line();
    matched_.resize(max_lines * words_);
    if (plan.reads_strings_only()) part_.emplace(new_part());
  }
  for (const gates::line_fact& each : plan.facts) {
    if (each.type != gates::line_fact::kind::match) continue;
    const auto all = plan.matches->expressions();
    expressions_.push_back(
        static_cast<std::size_t>(std::ranges::find(all, each.of, &lines::match_expression::name) - all.begin()));
  }
  for (const lines::selector& each : plan.selectors) numbers_.push_back(each.make_reader());
  if (plan.reads_languages()) languages_.resize(max_lines);
  if (!plan.texts.empty() || plan.reads_languages()) texts_.emplace(plan.texts, plan.reads_languages());
  for (std::size_t fact = 0; fact < plan.facts.size(); ++fact) {
    if (plan.facts[fact].type == gates::line_fact::kind::text) facts_of_texts_.push_back(fact);
  }
  if (plan.events && plan.events->times)
    times_.emplace(*plan.events->times, reference.value_or(plan.events->reference));
}

void line_facts::read(std::span<const std::byte> text, std::span<const std::uint32_t> ends) {
  text_ = characters_of(text);
  ends_.assign(ends.begin(), ends.end());
  lines_ = ends.size();
  if (matches_) find_matches();
  if (lines_ > 0 && !std::exchange(has_read_, true)) {
    for (const auto& each : numbers_) each->read_header(text_of(0));
  }
  fill_values();
}

// The text of a line that is as long as the limit may be cut.
void line_facts::read_texts(std::span<const std::byte> measured, std::span<const std::uint32_t> ends,
                            std::optional<std::byte> end, texts::text_reader::encoding known) {
  if (!texts_) return;
  const std::string_view all = characters_of(measured);
  std::uint32_t begin = 0;
  for (std::size_t line = 0; line < ends.size(); begin = ends[line++]) {
    std::string_view text = all.substr(begin, ends[line] - begin);
    const bool is_whole = text.size() < plan_.max_bytes;
    if (end && text.ends_with(std::to_integer<char>(*end))) text.remove_suffix(1);
    std::unique_lock lock(long_lines_, std::defer_lock);
    if (text.size() > texts::text_reader::kept_bytes) lock.lock();
    const std::span<const double> found = is_whole ? texts_->read(text, known) : std::span<const double>();
    for (std::size_t i = 0; i < facts_of_texts_.size(); ++i) {
      values_[facts_of_texts_[i] * max_lines + line] = is_whole ? found[i] : gates::unknown;
    }
    if (!languages_.empty()) languages_[line] = is_whole ? texts_->language() : std::nullopt;
  }
}

std::string line_facts::fault() const {
  for (const auto& each : numbers_) {
    if (!each->fault().empty()) return each->fault();
  }
  return {};
}

void line_facts::extend_open(std::span<const std::byte> text) {
  if (part_) return part_->add_text(characters_of(text));
  open_ += characters_of(text).substr(0, std::min(text.size(), plan_.max_bytes - open_.size()));
}

// A line that was cut has no delimiter.
void line_facts::read_open() {
  if (part_) return read_part();
  line_.swap(open_);
  open_.clear();
  if (open_.capacity() > kept_bytes) std::string().swap(open_);
  const auto end = static_cast<std::uint32_t>(line_.size());
  read(std::as_bytes(std::span(line_)), {&end, 1});
}

void line_facts::continue_line_of(line_facts& earlier) {
  open_.swap(earlier.open_);
  if (part_) part_->swap(*earlier.part_);
}

std::span<const double> line_facts::facts_of(std::size_t line) {
  for (std::size_t fact = 0; fact < of_line_.size(); ++fact) of_line_[fact] = values(fact)[line];
  return of_line_;
}

std::string_view line_facts::text_of(std::size_t line) const {
  const std::uint32_t begin = line == 0 ? 0 : ends_[line - 1];
  const std::string_view found = text_.substr(begin, std::min<std::size_t>(ends_[line] - begin, plan_.max_bytes));
  return found.ends_with(delimiter_) ? found.substr(0, found.size() - 1) : found;
}

// Without its text.
void line_facts::read_part() {
  text_ = {};
  ends_.assign(1, 0);
  lines_ = 1;
  std::ranges::copy(part_->found(), matched_.begin());
  part_->clear();
  if (plan_.first_match_only) keep_first_matches();
  fill_values();
}

// Lines that are too long are cut, so they are searched one by one.
void line_facts::find_matches() {
  const std::size_t used = ends_.empty() ? 0 : ends_.back();
  if (part_ || used <= plan_.max_bytes) {
    matches_->read(text_.substr(0, used), ends_, delimiter_, std::span(matched_).first(lines_ * words_));
  } else {
    for (std::size_t line = 0; line < lines_; ++line) {
      const std::string_view text = text_of(line);
      const auto end = static_cast<std::uint32_t>(text.size());
      matches_->read(text, {&end, 1}, delimiter_, std::span(matched_).subspan(line * words_, words_));
    }
  }
  if (plan_.first_match_only) keep_first_matches();
}

void line_facts::keep_first_matches() {
  for (std::size_t line = 0; line < lines_; ++line) {
    bool is_found = false;
    for (std::uint64_t& word : std::span(matched_).subspan(line * words_, words_)) {
      word = is_found ? 0 : word & (~word + 1);
      is_found = is_found || word != 0;
    }
  }
}

void line_facts::fill_values() {
  std::size_t match = 0;
  std::size_t number = 0;
  for (std::size_t fact = 0; fact < plan_.facts.size(); ++fact) {
    const std::span<double> to = std::span(values_).subspan(fact * max_lines, lines_);
    if (plan_.facts[fact].type == gates::line_fact::kind::match) {
      const std::size_t at = expressions_[match++];
      for (std::size_t line = 0; line < lines_; ++line) to[line] = matches(line, at) ? 1 : 0;
    } else if (plan_.facts[fact].type == gates::line_fact::kind::number) {
      lines::line_selector& reader = *numbers_[number++];
      for (std::size_t line = 0; line < lines_; ++line) {
        const std::optional<std::string_view> found = reader.read(text_of(line));
        to[line] = found ? lines::number_in(*found).value_or(gates::unknown) : gates::unknown;
      }
    }
  }
}

}  // namespace gpuhist::report::units
