#include "report/units/matched_part.hpp"

#include <algorithm>

namespace gpuhist::report::units {

matched_part::matched_part(const lines::match_set& set, lines::match_reader& reader, char delimiter)
    : reader_(reader), delimiter_(delimiter), found_(reader.words_per_line()), scratch_(reader.words_per_line()) {
  for (const auto& each : set.strings()) edge_bytes_ = std::max(edge_bytes_, each.longest() - 1);
}

void matched_part::add_text(std::string_view text) {
  text = without_delimiter(text);
  search_joint(text.substr(0, edge_bytes_));
  search(text);
  add_first(text);
  add_last(text);
}

// In the text before it, nothing that is after a delimiter is of this line; nor in the text after it.
void matched_part::add_begin(std::string_view text) {
  text = text.substr(0, text.find(delimiter_));
  search_joint(text);
  add_first(text);
}

void matched_part::add_end(std::string_view text) { add_last(text.substr(text.rfind(delimiter_) + 1)); }

void matched_part::append(const matched_part& later) {
  search_joint(later.first_);
  for (std::size_t i = 0; i < found_.size(); ++i) found_[i] |= later.found_[i];
  add_first(later.first_);
  add_last(later.last_);
}

void matched_part::swap(matched_part& other) noexcept {
  found_.swap(other.found_);
  first_.swap(other.first_);
  last_.swap(other.last_);
}

void matched_part::clear() {
  std::ranges::fill(found_, 0U);
  first_.clear();
  last_.clear();
}

std::string_view matched_part::without_delimiter(std::string_view text) const {
  return text.ends_with(delimiter_) ? text.substr(0, text.size() - 1) : text;
}

void matched_part::search(std::string_view text) {
  if (text.empty()) return;
  const auto end = static_cast<std::uint32_t>(text.size());
  reader_.read(text, {&end, 1}, delimiter_, scratch_);
  for (std::size_t i = 0; i < found_.size(); ++i) found_[i] |= scratch_[i];
}

// `begin`: of the text that follows.
void matched_part::search_joint(std::string_view begin) {
  if (!last_.empty() && !begin.empty()) search(last_ + std::string(begin));
}

// If there is room, the part is not longer than its first bytes.
void matched_part::add_first(std::string_view text) { first_ += text.substr(0, edge_bytes_ - first_.size()); }

void matched_part::add_last(std::string_view text) {
  last_ += text.substr(text.size() - std::min(text.size(), edge_bytes_));
  if (last_.size() > edge_bytes_) last_.erase(0, last_.size() - edge_bytes_);
}

}  // namespace gpuhist::report::units
