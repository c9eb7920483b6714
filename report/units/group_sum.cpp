#include "report/units/group_sum.hpp"

#include "report/units/group_key.hpp"

#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::report::units {

void group_sum::add(const group_table& more) {
  table_ += more;
  if (table_.bytes() <= allowed_.in_memory) return;
  if (table_.form().is_approximate) remove_groups();
  if (table_.bytes() > allowed_.in_memory / 8 * 7) spill();  // the lines of each window are exact: they may be many
}

void group_sum::add(const group_sum& more) {
  more.for_each_part([this](const group_table& part) { add(part); });
}

// Groups without key stay. The bound of a key is the error of all groups, and its lines without its own error: the
// first one need not be known here, so that parts of the sum may have been spilled, or not be added yet.
void group_sum::remove_groups() {
  group_table kept = table_.without_groups();
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < table_.size(); ++place) {
    if (table_.at(place).key) {
      places.push_back(place);
    } else {
      kept.add(table_, place);
    }
  }
  std::vector<key_groups> keys = groups_by_key(table_, places);
  const auto missing_to_bound = [](const key_groups& of) { return static_cast<std::int64_t>(of.error - of.lines); };
  std::ranges::sort(keys, {}, [&](const key_groups& of) { return std::pair(missing_to_bound(of), of.places.front()); });
  std::vector<std::size_t> kept_keys;
  auto next = keys.begin();
  for (; next != keys.end() && kept.bytes() < allowed_.in_memory / 4 * 3; ++next) {
    for (const std::size_t place : next->places) {
      const std::size_t at = kept.add(table_, place);
      if (place == next->places.front()) kept_keys.push_back(at);
    }
  }
  if (next == keys.end()) return;
  const std::int64_t more = -missing_to_bound(*next);  // than the error of all groups before
  for (; next != keys.end(); ++next) {
    for (const std::size_t place : next->places) kept.add_as_removed(table_, place);
  }
  if (more > 0) {
    for (const std::size_t place : kept_keys) kept.error(place) += static_cast<std::uint64_t>(more);
    kept.error(kept.place_of({.is_of_removed = true})) += static_cast<std::uint64_t>(more);
  }
  table_ = std::move(kept);
}

void group_sum::spill() {
  constexpr std::size_t file_buffer = std::size_t{1} << 20U;
  if (!file_) file_ = std::make_shared<pipeline::spilled_bytes>(file_buffer, allowed_.spilled_to);
  const std::vector<std::vector<std::size_t>> places = places_by_part();
  for (std::size_t part = 0; part < parts; ++part) {
    pipeline::packer out;
    pack(out, table_, places[part]);
    const std::string bytes = out.take();
    extents_[part].push_back({.offset = file_->append(bytes), .bytes = bytes.size()});
  }
  table_.clear();
}

// Of the table in memory.
std::vector<std::vector<std::size_t>> group_sum::places_by_part() const {
  std::vector<std::vector<std::size_t>> made(parts);
  for (std::size_t place = 0; place < table_.size(); ++place) {
    made[table_.part_of(place) % parts].push_back(place);
  }
  return made;
}

void group_sum::for_each_part(const std::function<void(const group_table&)>& use) const {
  if (!file_) return use(table_);
  const std::vector<std::vector<std::size_t>> places = places_by_part();
  for (std::size_t part = 0; part < parts; ++part) {
    group_table sum = table_.without_groups();
    for (const std::size_t place : places[part]) sum.add(table_, place);
    for (const extent& each : extents_[part]) {
      const std::string bytes = read_all(each);
      pipeline::unpacker in(bytes);
      sum += unpack_groups(in);
    }
    use(sum);
  }
}

// Reading stops where the part in memory begins.
std::string group_sum::read_all(const extent& from) const {
  std::string bytes;
  while (bytes.size() < from.bytes) bytes += file_->read(from.offset + bytes.size(), from.bytes - bytes.size());
  return bytes;
}

namespace {

// In packed tables and groups.
namespace flags {
constexpr std::uint64_t has_first_lines = 1;
constexpr std::uint64_t is_approximate = 2;
constexpr std::uint64_t has_key = 1;
constexpr std::uint64_t is_of_removed = 2;
}  // namespace flags

distinct_keys unpack_keys(pipeline::unpacker& in) {
  try {
    return distinct_keys::of_bytes(in.text());
  } catch (const std::invalid_argument& damage) {
    throw pipeline::unpack_error(damage.what());
  }
}

// Starts of windows are multiples of their length, and packed as its factor: small numbers are short.
std::uint64_t packed_window(std::int64_t start, std::int64_t length) {
  const std::int64_t factor = length > 0 && group_id::is_time(start) ? start / length : start;
  return std::bit_cast<std::uint64_t>(factor);
}

std::int64_t unpacked_window(std::uint64_t packed, std::int64_t length) {
  const auto factor = std::bit_cast<std::int64_t>(packed);
  if (length == 0 || !group_id::is_time(factor)) return factor;
  constexpr std::int64_t last = group_id::reported;
  if (factor > last / length || factor < -(last / length)) throw pipeline::unpack_error("a window is out of range");
  return factor * length;
}

void pack_line(pipeline::packer& out, const first_line& line) {
  out.number(std::bit_cast<std::uint64_t>(line.time)).number(line.place.number).number(line.place.line);
  out.number(line.place.offset).number(line.place.bytes).text(line.input).text(line.text);
}

void unpack_line(pipeline::unpacker& in, group_table& to, std::size_t place) {
  first_line line{.time = std::bit_cast<std::int64_t>(in.number())};
  line.place = {.number = in.number(), .line = in.number(), .offset = in.number(), .bytes = in.number()};
  const std::string input = in.text();
  const std::string text = in.text();
  line.input = input;
  line.text = text;
  to.note_first(place, line);
}

}  // namespace

void pack(pipeline::packer& out, const group_table& groups, std::span<const std::size_t> places) {
  group_table::shape form = groups.form();
  if (!form.has_first_lines) form.windows = groups.windows();
  out.number(form.classes).number(form.matches);
  out.number((form.has_first_lines ? flags::has_first_lines : 0) | (form.is_approximate ? flags::is_approximate : 0));
  if (form.is_approximate) out.text(groups.removed_keys().bytes());
  out.number(static_cast<std::uint64_t>(form.windows.length)).number(form.windows.most);
  out.number(form.windows.are_of_lines ? 1 : 0).number(places.size());
  for (const std::size_t i : places) {
    const group_id id = groups.at(i);
    const std::int64_t length = groups.windows(first_key_of(id.key.value_or(""))).length;
    if (form.has_first_lines) out.number(static_cast<std::uint64_t>(length));
    out.number(packed_window(id.window, length));
    out.number((id.key ? flags::has_key : 0) | (id.is_of_removed ? flags::is_of_removed : 0)).text(id.key.value_or(""));
    const group_table::const_counts_of_group counts = groups.counts(i);
    out.number(counts.lines);
    for (const std::uint64_t each : counts.bytes) out.number(each);
    for (const std::uint64_t each : counts.matches) out.number(each);
    if (form.is_approximate) out.number(groups.error(i));
    if (form.has_first_lines) pack_line(out, groups.first_of(i));
  }
}

group_table unpack_groups(pipeline::unpacker& in) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 62U;
  constexpr std::uint64_t most_classes = 256;
  constexpr std::uint64_t most_matches = std::uint64_t{1} << 20U;
  constexpr std::size_t numbers_of_group = 4;  // window, whether there is a key, its size, lines
  group_table::shape form{.classes = in.at_most(most_classes), .matches = in.at_most(most_matches)};
  const std::uint64_t kind = in.at_most(flags::has_first_lines | flags::is_approximate);
  form.has_first_lines = (kind & flags::has_first_lines) != 0;
  form.is_approximate = (kind & flags::is_approximate) != 0;
  distinct_keys removed = form.is_approximate ? unpack_keys(in) : distinct_keys();
  form.windows.length = static_cast<std::int64_t>(in.at_most(longest));
  form.windows.most = in.at_most(longest);
  form.windows.are_of_lines = in.at_most(1) == 1;
  group_table made(form);
  made.set_removed_keys(std::move(removed));
  for (std::size_t remaining = in.elements(numbers_of_group + form.classes + form.matches); remaining > 0;
       --remaining) {
    const std::int64_t length =
        form.has_first_lines ? static_cast<std::int64_t>(in.at_most(longest)) : form.windows.length;
    const std::int64_t window = unpacked_window(in.number(), length);
    const std::uint64_t of = in.at_most(form.is_approximate ? flags::is_of_removed : flags::has_key);
    const std::string text = in.text();
    group_id id{.window = window, .is_of_removed = of == flags::is_of_removed};
    if (of == flags::has_key) id.key = text;
    made.set_length(id.key, length);
    const std::size_t place = made.place_of(id);
    const group_table::counts_of_group counts = made.counts(place);
    counts.lines += in.number();
    for (std::uint64_t& each : counts.bytes) each += in.number();
    for (std::uint64_t& each : counts.matches) each += in.number();
    if (form.is_approximate) made.error(place) += in.number();
    if (form.has_first_lines) unpack_line(in, made, place);
  }
  return made;
}

}  // namespace gpuhist::report::units
