#include "report/units/matched_lines.hpp"

#include <tuple>
#include <utility>

namespace gpuhist::report::units {

bool matched_lines::kept_line::precedes(const kept_line& other) const {
  return std::tuple(time, input, line.offset) < std::tuple(other.time, other.input, other.line.offset);
}

std::int64_t matched_lines::start_of(std::int64_t time) const {
  return windows_.length > 0 && group_id::is_time(time) ? rounded_down(time, windows_.length) : time;
}

bool matched_lines::is_first(std::int64_t window, std::size_t condition, const kept_line& line) const {
  const auto found = kept_.find(window);
  return found == kept_.end() || condition >= found->second.size() || !found->second[condition] ||
         line.precedes(*found->second[condition]);
}

void matched_lines::keep(std::int64_t window, std::size_t condition, kept_line line) {
  if (!is_first(window, condition, line)) return;
  kept_lines& to = kept_[window];
  if (to.size() <= condition) to.resize(condition + 1);
  to[condition] = std::move(line);
}

void matched_lines::keep(std::int64_t window, const kept_lines& lines) {
  for (std::size_t condition = 0; condition < lines.size(); ++condition) {
    if (lines[condition]) keep(window, condition, *lines[condition]);
  }
}

// The text is copied only if the line is kept.
void matched_lines::note(std::size_t condition, const candidate& line) {
  const auto note_in = [&](std::int64_t window, std::int64_t time) {
    kept_line made{.time = time, .input = line.input, .line = {.line = line.place.line, .offset = line.place.offset}};
    if (!is_first(window, condition, made)) return;
    made.line.input = line.name;
    made.line.text = line.text.substr(0, first_line::max_bytes);
    keep(window, condition, std::move(made));
  };
  note_in(all_text, 0);
  const bool has_window = group_id::is_time(line.time) || line.time == group_id::of_text_before;
  if (windows_.length == 0 || !has_window) return;
  note_in(start_of(line.time), line.time);
  settle();
}

// As the windows of a group_table, so that each is in one of these.
void matched_lines::settle() {
  while (windows_.most > 0 && kept_.size() > windows_.most + 2) {
    windows_.length = longer_window(windows_);
    for (const auto& [window, lines] : std::exchange(kept_, {})) keep(start_of(window), lines);
  }
}

matched_lines& matched_lines::operator+=(const matched_lines& more) {
  while (windows_.length < more.windows_.length) {
    windows_.length = longer_window(windows_);
    for (const auto& [window, lines] : std::exchange(kept_, {})) keep(start_of(window), lines);
  }
  for (const auto& [window, lines] : more.kept_) keep(start_of(window), lines);
  settle();
  return *this;
}

void matched_lines::shift(const unit_place& begin) {
  for (auto& [window, lines] : kept_) {
    for (std::optional<kept_line>& each : lines) {
      if (!each) continue;
      each->line.line += begin.line - 1;
      each->line.offset += begin.offset;
    }
  }
}

void matched_lines::set_text_before(std::int64_t time) {
  auto found = kept_.extract(group_id::of_text_before);
  if (found.empty() || !group_id::is_time(time)) return;
  for (std::optional<kept_line>& each : found.mapped()) {
    if (each) each->time = time;
  }
  keep(start_of(time), found.mapped());
}

matched_lines::by_condition matched_lines::lines_of(const kept_lines& from) {
  by_condition made;
  for (const std::optional<kept_line>& each : from) {
    made.push_back(each ? std::optional(each->line) : std::nullopt);
  }
  return made;
}

matched_lines::by_condition matched_lines::all() const {
  const auto found = kept_.find(all_text);
  return found == kept_.end() ? by_condition() : lines_of(found->second);
}

matched_lines::by_condition matched_lines::in_window(std::int64_t start, std::int64_t length) const {
  matched_lines joined(window_lengths{});
  for (auto each = kept_.lower_bound(start); each != kept_.end() && each->first < start + length; ++each) {
    joined.keep(all_text, each->second);
  }
  return joined.all();
}

void matched_lines::drop_before(std::int64_t time) { kept_.erase(kept_.begin(), kept_.lower_bound(time)); }

}  // namespace gpuhist::report::units
