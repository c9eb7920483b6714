#include "report/units/group_table.hpp"

#include "report/units/group_key.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t fewest_slots = 64;
constexpr std::size_t bytes_of_slots = 3 * sizeof(std::uint32_t);  // two to four for a group

std::uint64_t mixed(std::uint64_t value) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  value *= odd;
  return value ^ (value >> 32U);
}

std::uint64_t hash_of_key_of(const group_id& of) {
  return mixed(of.key ? std::hash<std::string_view>()(*of.key) : std::uint64_t{of.is_of_removed});
}

// Of a group. Its low bits select a slot; those of the key alone select the part of a group_sum.
std::uint64_t hash_of(std::uint64_t hash_of_key, std::int64_t window) {
  return mixed(hash_of_key + mixed(static_cast<std::uint64_t>(window) + 1));
}

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;

// Each divides the next.
constexpr std::array lengths_of_time = {second,      5 * second,  15 * second, 30 * second, minute,   5 * minute,
                                        15 * minute, 30 * minute, hour,        3 * hour,    6 * hour, 12 * hour,
                                        day,         7 * day,     28 * day,    364 * day};

}  // namespace

std::int64_t rounded_down(std::int64_t time, std::int64_t length) {
  const std::int64_t rest = time % length;
  return time - (rest < 0 ? rest + length : rest);
}

std::int64_t longer_window(const window_lengths& windows) {
  if (windows.are_of_lines) return windows.length * 2;
  const auto* const found = std::ranges::upper_bound(lengths_of_time, windows.length);
  return found == lengths_of_time.end() ? windows.length * 2 : *found;
}

bool first_line::precedes(const first_line& other) const {
  return std::tuple(time, input, place.offset) < std::tuple(other.time, other.input, other.place.offset);
}

// The cache of the last scale is not copied.
group_table::group_table(const group_table& other)
    : shape_(other.shape_),
      slots_(other.slots_),
      groups_(other.groups_),
      keys_(other.keys_),
      numbers_(other.numbers_),
      first_lines_(other.first_lines_),
      scales_(other.scales_),
      removed_keys_(other.removed_keys_) {}

group_table& group_table::operator=(const group_table& other) {
  if (this != &other) *this = group_table(other);
  return *this;
}

std::size_t group_table::place_of(const group_id& of) {
  group_id id = of;
  id.window = start_of(of.window, scale_of(of.key));
  return place_of(id, hash_of_key_of(of));
}

window_lengths group_table::windows(std::string_view first_key) const {
  window_lengths made = shape_.windows;
  const auto found = scales_.find(shape_.has_first_lines ? first_key : std::string_view());
  if (found != scales_.end()) made.length = found->second.length;
  return made;
}

group_table group_table::without_groups() const {
  group_table made(shape_);
  made.scales_ = scales_;
  made.removed_keys_ = removed_keys_;
  return made;
}

// Lines that follow each other usually have the same first key.
group_table::window_scale& group_table::scale_of(const std::optional<std::string_view>& key) {
  const std::string_view first = shape_.has_first_lines && key ? first_key_of(*key) : std::string_view();
  if (last_scale_ == nullptr || last_scale_->first != first) {
    auto found = scales_.find(first);
    if (found == scales_.end()) {
      found = scales_.emplace(std::string(first), window_scale{.length = shape_.windows.length}).first;
    }
    last_scale_ = &*found;
  }
  return last_scale_->second;
}

// And the same window: a division is saved.
std::int64_t group_table::start_of(std::int64_t time, window_scale& in) {
  if (in.length == 0 || !group_id::is_time(time)) return time;
  if (time < in.last_start || time - in.last_start >= in.length) in.last_start = rounded_down(time, in.length);
  return in.last_start;
}

void group_table::note_window(std::int64_t start, window_scale& in) const {
  if (shape_.windows.most == 0 || !group_id::is_time(start)) return;
  const auto at = std::ranges::lower_bound(in.starts, start);
  if (at == in.starts.end() || *at != start) in.starts.insert(at, start);
}

std::size_t group_table::place_of(const group_id& id, std::uint64_t hash_of_key) {
  if (groups_.size() * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(hash_of_key, id.window) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t place = slots_[slot] - 1;
    if (groups_[place].hash_of_key == hash_of_key && at(place) == id) return place;
  }
  const std::string_view key = id.key.value_or(std::string_view());
  note_window(id.window, scale_of(id.key));
  groups_.push_back({.hash_of_key = hash_of_key,
                     .window = id.window,
                     .key_at = keys_.size(),
                     .key_bytes = static_cast<std::uint32_t>(key.size()),
                     .has_key = id.key.has_value(),
                     .is_of_removed = id.is_of_removed});
  keys_ += key;
  numbers_.resize(numbers_.size() + stride());
  if (shape_.has_first_lines) first_lines_.emplace_back();
  slots_[slot] = static_cast<std::uint32_t>(groups_.size());
  return groups_.size() - 1;
}

group_id group_table::at(std::size_t place) const {
  const group& found = groups_[place];
  return {.window = found.window,
          .key = found.has_key ? std::optional(key_of(found)) : std::nullopt,
          .is_of_removed = found.is_of_removed};
}

group_table::counts_of_group group_table::counts(std::size_t place) {
  const std::span<std::uint64_t> all = std::span(numbers_).subspan(place * stride(), stride());
  return {.lines = all.front(),
          .bytes = all.subspan(1, shape_.classes),
          .matches = all.subspan(1 + shape_.classes, shape_.matches)};
}

group_table::const_counts_of_group group_table::counts(std::size_t place) const {
  const std::span<const std::uint64_t> all = std::span(numbers_).subspan(place * stride(), stride());
  return {.lines = all.front(),
          .bytes = all.subspan(1, shape_.classes),
          .matches = all.subspan(1 + shape_.classes, shape_.matches)};
}

void group_table::note_first(std::size_t place, const first_line& line) {
  if (first_lines_[place].is_set && !line.precedes(first_of(place))) return;
  first_lines_[place] = {.time = line.time,
                         .place = line.place,
                         .texts_at = keys_.size(),
                         .input_bytes = static_cast<std::uint32_t>(line.input.size()),
                         .text_bytes = static_cast<std::uint32_t>(std::min(line.text.size(), first_line::max_bytes)),
                         .is_set = true};
  keys_ += line.input;
  keys_ += line.text.substr(0, first_line::max_bytes);
}

first_line group_table::first_of(std::size_t place) const {
  const kept_line& kept = first_lines_[place];
  const std::string_view texts(keys_.data() + kept.texts_at, kept.input_bytes + kept.text_bytes);
  return {.time = kept.time,
          .place = kept.place,
          .input = texts.substr(0, kept.input_bytes),
          .text = texts.substr(kept.input_bytes)};
}

void group_table::shift(const unit_place& begin) {
  for (kept_line& each : first_lines_) each.place.shift(begin);
}

group_table& group_table::operator+=(const group_table& more) {
  if (take_lengths(more.scales_)) add_again();
  for (std::size_t i = 0; i < more.size(); ++i) {
    prefetch(more, i);
    add(more, i);
  }
  removed_keys_ += more.removed_keys_;
  settle();
  return *this;
}

// The greater lengths, and the windows with lines, also those of groups that were removed. Returns whether a length has
// grown: the groups must be added again.
bool group_table::take_lengths(const scale_map& of) {
  bool grows = false;
  for (const auto& [key, scale] : of) {
    window_scale& own = scales_.try_emplace(key, window_scale{.length = scale.length}).first->second;
    grows = grows || scale.length > own.length;
    const std::vector<std::int64_t> known = std::exchange(own.starts, {});
    own.length = std::max(own.length, scale.length);
    own.last_start = 0;
    for (const std::int64_t each : known) note_window(start_of(each, own), own);
    for (const std::int64_t each : scale.starts) note_window(start_of(each, own), own);
  }
  return grows;
}

std::size_t group_table::add(const group_table& from, std::size_t place) {
  return add(from, place, from.groups_[place].window);
}

std::size_t group_table::add(const group_table& from, std::size_t place, std::int64_t window) {
  group_id id = from.at(place);
  id.window = start_of(window, scale_of(id.key));
  const std::size_t own = place_of(id, from.groups_[place].hash_of_key);
  add_numbers(own, from, place, stride());
  if (shape_.has_first_lines && from.first_lines_[place].is_set) note_first(own, from.first_of(place));
  return own;
}

// error() is not one of the counts.
void group_table::add_as_removed(const group_table& from, std::size_t place) {
  const group_id id = from.at(place);
  add_numbers(place_of({.window = id.window, .is_of_removed = true}), from, place, stride() - 1);
  removed_keys_.note(*id.key);
}

void group_table::add_numbers(std::size_t to, const group_table& from, std::size_t place, std::size_t numbers) {
  const auto sums = numbers_.begin() + static_cast<std::ptrdiff_t>(to * stride());
  const auto more = from.numbers_.begin() + static_cast<std::ptrdiff_t>(place * stride());
  std::transform(more, more + static_cast<std::ptrdiff_t>(numbers), sums, sums, std::plus());
}

// Tables of many groups are not in a cache: their slots, groups and numbers are fetched before they are needed.
void group_table::prefetch(const group_table& more, std::size_t next) const {
  constexpr std::size_t slots_ahead = 16;
  constexpr std::size_t groups_ahead = 8;
  if (slots_.empty()) return;
  if (next + slots_ahead < more.size()) __builtin_prefetch(&slots_[slot_of(more.groups_[next + slots_ahead])]);
  if (next + groups_ahead >= more.size()) return;
  const std::uint32_t place = slots_[slot_of(more.groups_[next + groups_ahead])];
  if (place == 0) return;
  __builtin_prefetch(&groups_[place - 1]);
  __builtin_prefetch(&numbers_[(place - 1) * stride()], 1);
}

std::size_t group_table::slot_of(const group& of) const {
  return hash_of(of.hash_of_key, of.window) & (slots_.size() - 1);
}

void group_table::set_text_before(std::int64_t time) {
  const auto is_before = [](const group& each) { return each.window == group_id::of_text_before; };
  if (time == group_id::of_text_before || std::ranges::none_of(groups_, is_before)) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!is_before(groups_[i])) continue;
    groups_[i].window = time;
    if (shape_.has_first_lines) first_lines_[i].time = time;
  }
  add_again();
  settle();
}

bool group_table::settle() {
  if (shape_.windows.most == 0) return false;
  scale_map longer;
  for (const auto& [key, scale] : scales_) {
    window_scale wider = scale;
    while (wider.starts.size() > shape_.windows.most) {
      const window_lengths now{.length = wider.length, .are_of_lines = shape_.windows.are_of_lines};
      window_scale next{.length = longer_window(now)};
      for (const std::int64_t each : wider.starts) note_window(start_of(each, next), next);
      wider = std::move(next);
    }
    if (wider.length > scale.length) longer.emplace(key, std::move(wider));
  }
  if (longer.empty()) return false;
  take_lengths(longer);
  add_again();
  return true;
}

// Groups whose windows have changed: several may have become one.
void group_table::add_again() {
  const group_table before = std::exchange(*this, without_groups());
  for (std::size_t i = 0; i < before.size(); ++i) add(before, i);
}

void group_table::clear() {
  std::ranges::fill(slots_, 0);
  groups_.clear();
  keys_.clear();
  numbers_.clear();
  first_lines_.clear();
}

std::size_t group_table::bytes() const {
  return groups_.size() * (bytes_of_slots + sizeof(group)) + keys_.size() + numbers_.size() * sizeof(std::uint64_t) +
         first_lines_.size() * sizeof(kept_line);
}

std::size_t group_table::bytes_of(std::size_t place) const {
  std::size_t made = bytes_of_slots + sizeof(group) + groups_[place].key_bytes + stride() * sizeof(std::uint64_t);
  if (shape_.has_first_lines) {
    made += sizeof(kept_line) + first_lines_[place].input_bytes + first_lines_[place].text_bytes;
  }
  return made;
}

std::uint64_t group_table::part_of(std::size_t place) const {
  const group& found = groups_[place];
  return found.has_key ? found.hash_of_key : hash_of(found.hash_of_key, found.window);
}

void group_table::grow() {
  slots_.assign(std::max(fewest_slots, slots_.size() * 2), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t place = 0; place < groups_.size(); ++place) {
    std::size_t slot = slot_of(groups_[place]);
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(place + 1);
  }
}

// Without windows each group has a key of its own.
std::vector<key_groups> groups_by_key(const group_table& of, std::vector<std::size_t>& places) {
  if (std::ranges::any_of(places, [&](std::size_t place) { return of.at(place).window != group_id::without_time; })) {
    std::ranges::sort(places, {}, [&](std::size_t place) { return std::tuple(of.part_of(place), *of.at(place).key); });
  }
  std::vector<key_groups> made;
  for (std::size_t first = 0, end = 0; first < places.size(); first = end) {
    key_groups& each = made.emplace_back();
    const std::string_view key = *of.at(places[first]).key;
    for (end = first; end < places.size() && (end == first || *of.at(places[end]).key == key); ++end) {
      each.lines += of.counts(places[end]).lines;
      if (of.form().is_approximate) each.error += of.error(places[end]);
    }
    each.places = std::span(places).subspan(first, end - first);
  }
  return made;
}

}  // namespace gpuhist::report::units
