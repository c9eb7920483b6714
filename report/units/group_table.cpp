#include "report/units/group_table.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t fewest_slots = 64;

std::uint64_t mixed(std::uint64_t value) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  value *= odd;
  return value ^ (value >> 32U);
}

std::uint64_t hash_of(const std::optional<std::string_view>& key) {
  return mixed(key ? std::hash<std::string_view>()(*key) : 0);
}

// Of a group. Its low bits select a slot; those of the key alone select the part of a group_sum.
std::uint64_t hash_of(std::uint64_t hash_of_key, std::int64_t window) {
  return mixed(hash_of_key + mixed(static_cast<std::uint64_t>(window) + 1));
}

}  // namespace

std::size_t group_table::place_of(const group_id& of) { return place_of(of, hash_of(of.key)); }

std::size_t group_table::place_of(const group_id& id, std::uint64_t hash_of_key) {
  if (groups_.size() * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(hash_of_key, id.window) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t place = slots_[slot] - 1;
    if (groups_[place].hash_of_key == hash_of_key && at(place) == id) return place;
  }
  const std::string_view key = id.key.value_or(std::string_view());
  groups_.push_back({.hash_of_key = hash_of_key,
                     .window = id.window,
                     .key_at = keys_.size(),
                     .key_bytes = static_cast<std::uint32_t>(key.size()),
                     .has_key = id.key.has_value()});
  keys_ += key;
  numbers_.resize(numbers_.size() + stride());
  slots_[slot] = static_cast<std::uint32_t>(groups_.size());
  return groups_.size() - 1;
}

group_id group_table::at(std::size_t place) const {
  const group& found = groups_[place];
  return {.window = found.window, .key = found.has_key ? std::optional(key_of(found)) : std::nullopt};
}

group_table::counts_of_group group_table::counts(std::size_t place) {
  const std::span<std::uint64_t> all = std::span(numbers_).subspan(place * stride(), stride());
  return {.lines = all.front(), .bytes = all.subspan(1, classes_), .matches = all.subspan(1 + classes_)};
}

group_table::const_counts_of_group group_table::counts(std::size_t place) const {
  const std::span<const std::uint64_t> all = std::span(numbers_).subspan(place * stride(), stride());
  return {.lines = all.front(), .bytes = all.subspan(1, classes_), .matches = all.subspan(1 + classes_)};
}

group_table& group_table::operator+=(const group_table& more) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    prefetch(more, i);
    add(more, i);
  }
  return *this;
}

void group_table::add(const group_table& from, std::size_t place) {
  const std::size_t own = place_of(from.at(place), from.groups_[place].hash_of_key);
  const auto to = numbers_.begin() + static_cast<std::ptrdiff_t>(own * stride());
  const auto numbers = from.numbers_.begin() + static_cast<std::ptrdiff_t>(place * stride());
  std::transform(numbers, numbers + static_cast<std::ptrdiff_t>(stride()), to, to, std::plus());
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

void group_table::set_text_before(std::int64_t window) {
  const auto is_before = [](const group& each) { return each.window == group_id::of_text_before; };
  if (window == group_id::of_text_before || std::ranges::none_of(groups_, is_before)) return;
  for (group& each : groups_) {
    if (is_before(each)) each.window = window;
  }
  group_table moved(classes_, matches_);
  moved += *this;  // two groups may have become one
  *this = std::move(moved);
}

void group_table::clear() {
  std::ranges::fill(slots_, 0);
  groups_.clear();
  keys_.clear();
  numbers_.clear();
}

std::size_t group_table::bytes() const {
  constexpr std::size_t bytes_of_slots = 3 * sizeof(std::uint32_t);  // two to four for a group
  return groups_.size() * (bytes_of_slots + sizeof(group)) + keys_.size() + numbers_.size() * sizeof(std::uint64_t);
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

}  // namespace gpuhist::report::units
