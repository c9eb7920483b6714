#include "report/units/change_result.hpp"

#include "report/lines/log_family.hpp"
#include "report/lines/selector.hpp"
#include "report/units/unit_plan.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gpuhist::report::units {
namespace {

using series = changes::difference::series;

constexpr std::int64_t most_empty_windows = 200;  // in sequence: more of them are no more information
constexpr std::size_t most_windows_with_gaps = 2 * most_windows_of_changes;
constexpr std::size_t most_windows_in_all = std::size_t{1} << 20U;

// The lines of a side with the same first key: those of a family, or with windows of lines those of an input.
struct source {
  std::size_t side = 0;  // of a comparison
  std::string_view key{};
  lines::log_name name{};
  std::set<std::int64_t> starts{};  // of windows with lines
  std::uint64_t lines = 0;
  std::uint64_t without_time = 0;
  std::int64_t length = 0;              // of a window
  std::size_t stream = 0;               // index
  std::size_t begin = 0;                // its windows in the stream
  std::vector<std::int64_t> windows{};  // their starts
};

using source_map = std::map<std::pair<std::size_t, std::string>, source>;  // by side and first key

// The name of a log in its folder or archive.
std::string name_within(const std::string& family, std::string_view side) {
  while (side.size() > 1 && side.ends_with('/')) side.remove_suffix(1);
  const bool is_within = family.starts_with(side) && family.size() > side.size() &&
                         (side.ends_with('/') || family[side.size()] == '/' || family[side.size()] == ':');
  if (is_within) return family.substr(side.size() + (side.ends_with('/') ? 0 : 1));
  return family.substr(family.find_last_of('/') + 1);
}

// A group of lines of a source.
struct source_group {
  std::string source;
  std::string kind;
  std::int64_t start = 0;
  std::size_t place = 0;  // in its table
};

// The groups of a table that are in windows, or all.
template <class Use>
void for_each_group(const group_table& part, Use use) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    const group_id id = part.at(i);
    if (!id.key) continue;
    std::vector<std::string> keys = split_key(*id.key, 2);
    use(source_group{.source = std::move(keys[0]), .kind = std::move(keys[1]), .start = id.window, .place = i});
  }
}

// The windows of all sources, by stream.
class stream_places {
 public:
  void add(const group_table& part, std::size_t side) {
    are_of_lines_ = part.form().windows.are_of_lines;
    classes_ = part.form().classes;
    for_each_group(part, [&](const source_group& group) {
      const auto [at, is_new] = sources_.try_emplace({side, group.source});
      source& of = at->second;
      if (is_new) of = {.side = side, .key = at->first.second};
      of.length = part.windows(group.source).length;
      const bool is_in_window = group_id::is_time(group.start);
      (is_in_window ? of.lines : of.without_time) += part.counts(group.place).lines;
      if (is_in_window) of.starts.insert(group.start);
    });
  }

  // Inputs of a family follow each other, the oldest first, and those of the second side those of the first one.
  // Returns the names of the streams.
  std::vector<std::string> arrange() {
    std::vector<source*> sorted;
    for (source& each : sources_ | std::views::values) {
      if (each.name.family.empty()) each.name = name_of(each);
      if (!each.starts.empty()) sorted.push_back(&each);
    }
    std::ranges::sort(sorted, [](const source* a, const source* b) {
      const lines::log_name& first = a->name;
      const lines::log_name& second = b->name;
      if (first.family != second.family) return first.family < second.family;
      if (a->side != b->side) return a->side < b->side;
      if (first.is_older_than(second) || second.is_older_than(first)) return first.is_older_than(second);
      return a->key < b->key;
    });
    std::vector<std::string> names;
    for (source* const each : sorted) place(*each, names);
    return names;
  }

  // The same for two sides: sources without a counterpart, and those of logs without times, are in no stream.
  std::vector<std::string> arrange(change_result& to) {
    log_map logs;
    for (source& each : sources_ | std::views::values) {
      each.name = name_of(each);
      each.name.family = name_within(each.name.family, to.sides[each.side].name);
      logs[each.name.family][each.side].push_back(&each);
      to.sides[each.side].lines += each.lines + each.without_time;
    }
    join_single_logs(logs);
    for (const auto& [name, sources] : logs) set_aside(name, sources, to);
    return arrange();
  }

  [[nodiscard]] const source_map& sources() const { return sources_; }
  [[nodiscard]] const source& source_of(std::size_t side, const source_group& group) const {
    return sources_.at({side, group.source});
  }
  // Whether a group is in a window of a stream.
  [[nodiscard]] bool is_placed(std::size_t side, const source_group& group) const {
    return group_id::is_time(group.start) && !source_of(side, group).windows.empty();
  }
  [[nodiscard]] bool are_of_lines() const { return are_of_lines_; }
  [[nodiscard]] window_lengths windows_of(std::size_t stream) const {
    return {.length = lengths_[stream], .are_of_lines = are_of_lines_};
  }
  [[nodiscard]] std::size_t classes() const { return classes_; }  // of bytes
  [[nodiscard]] std::size_t size_of(std::size_t stream) const { return of_streams_[stream].size(); }
  // 0: of one side.
  [[nodiscard]] std::size_t compared_from(std::size_t stream) const { return compared_from_[stream]; }
  [[nodiscard]] static std::size_t index_of(const source& of, std::int64_t start) {
    const std::int64_t own = rounded_down(start, of.length);
    return of.begin + static_cast<std::size_t>(std::ranges::lower_bound(of.windows, own) - of.windows.begin());
  }
  [[nodiscard]] std::int64_t start_of(std::size_t stream, std::size_t window) const {
    return of_streams_[stream][window];
  }

 private:
  [[nodiscard]] lines::log_name name_of(const source& of) const {
    return are_of_lines_ ? lines::parse_log_name(of.key) : lines::log_name{.family = std::string(of.key)};
  }

  using sources_of_sides = std::array<std::vector<source*>, 2>;
  using log_map = std::map<std::string, sources_of_sides>;

  // One log on each side, with different names.
  static void join_single_logs(log_map& logs) {
    if (logs.size() != 2) return;
    auto first = logs.begin();
    auto second = std::next(first);
    if (first->second[0].empty()) std::swap(first, second);
    if (!first->second[1].empty() || !second->second[0].empty()) return;
    const std::string joined = first->first + " and " + second->first;
    const sources_of_sides both = {first->second[0], second->second[1]};
    for (const std::vector<source*>& side : both) {
      for (source* const each : side) each->name.family = joined;
    }
    logs = {{joined, both}};
  }

  void set_aside(const std::string& name, const sources_of_sides& sources, change_result& to) const {
    std::vector<source*> both = sources[0];
    both.insert(both.end(), sources[1].begin(), sources[1].end());
    const bool is_lone = both.size() == sources[0].size() || both.size() == sources[1].size();
    const bool is_timeless =
        std::ranges::any_of(both, [](const source* each) { return each->without_time > each->lines; });
    if (!is_lone && !is_timeless) return align(both);
    std::uint64_t lines = 0;
    for (source* const each : both) {
      each->starts.clear();
      lines += each->lines + each->without_time;
      if (is_lone) continue;
      to.timeless.push_back({.name = std::string(each->key), .lines = each->lines, .without_time = each->without_time});
    }
    if (is_lone) to.sides[both.front()->side].only_here.push_back({.name = name, .lines = lines});
  }

  // Windows of both sides are equally long.
  void align(const std::vector<source*>& of) const {
    if (are_of_lines_) return;
    for (source* const each : of) shorten(*each);
    const std::int64_t longest = (*std::ranges::max_element(of, {}, &source::length))->length;
    for (source* const each : of) {
      while (each->length < longest) widen(*each);
    }
  }

  // To few windows.
  static void shorten(source& of) {
    while (spanned(of) > most_windows_with_gaps) widen(of);
  }

  void place(source& of, std::vector<std::string>& names) {
    if (names.empty() || names.back() != of.name.family) {
      names.push_back(of.name.family);
      of_streams_.emplace_back();
      lengths_.push_back(0);
      compared_from_.push_back(0);
    }
    of.stream = names.size() - 1;
    of.begin = of_streams_.back().size();
    if (of.side > 0 && compared_from_.back() == 0) compared_from_.back() = of.begin;
    if (!are_of_lines_) shorten(of);
    for (const std::int64_t start : of.starts) add_window(of.windows, start, of.length);
    lengths_.back() = of.length;
    of_streams_.back().insert(of_streams_.back().end(), of.windows.begin(), of.windows.end());
    in_all_ += of.windows.size();
    if (in_all_ <= most_windows_in_all) return;
    throw std::runtime_error("--window: there would be more than " + std::to_string(most_windows_in_all) +
                             " windows of all logs together; give a longer one, or leave it out");
  }

  // Windows of the lines and between them; a long pause counts as a short one.
  static std::size_t spanned(const source& of) {
    std::size_t windows = 1;
    std::int64_t before = *of.starts.begin();
    for (const std::int64_t start : of.starts) {
      windows += static_cast<std::size_t>(std::min((start - before) / of.length, most_empty_windows));
      before = start;
    }
    return windows;
  }

  // A log of few lines has few windows of any length, most of them empty.
  static void widen(source& of) {
    of.length = longer_window({.length = of.length});
    std::set<std::int64_t> wider;
    for (const std::int64_t start : of.starts) wider.insert(rounded_down(start, of.length));
    of.starts = std::move(wider);
  }

  // And those without lines before it, unless they are so many that the log has paused, or its clock was wrong.
  static void add_window(std::vector<std::int64_t>& to, std::int64_t start, std::int64_t length) {
    const bool has_paused = to.empty() || (start - to.back()) / length > most_empty_windows;
    for (std::int64_t each = has_paused ? start : to.back() + length; each < start; each += length) to.push_back(each);
    to.push_back(start);
  }

  source_map sources_;
  bool are_of_lines_ = false;
  std::size_t classes_ = 0;
  std::vector<std::int64_t> lengths_;                  // of windows, by stream
  std::vector<std::size_t> compared_from_;             // by stream
  std::vector<std::vector<std::int64_t>> of_streams_;  // starts
  std::size_t in_all_ = 0;
};

// The counts of all streams.
class stream_counts {
 public:
  stream_counts(const line_reading& plan, const stream_places& places, const std::vector<std::string>& names)
      : plan_(plan), places_(places) {
    changes::window_counts empty;
    empty.classes.resize(places.classes());
    for (std::size_t i = 0; i < names.size(); ++i) {
      streams_.push_back({.name = names[i],
                          .windows_in_day = windows_in_day(places.windows_of(i)),
                          .has_rate = !places.are_of_lines(),
                          .compared_from = places.compared_from(i)});
      streams_.back().windows.resize(places.size_of(i), empty);
    }
    kinds_.resize(names.size());
    frequent_.resize(names.size());
    levels_.resize(names.size());
    matches_.resize(names.size() * plan.expressions());
  }

  // A kind that is rare on one side may be frequent on the other. To be called for all parts before add().
  void note_kinds(const group_table& part, std::size_t side) {
    std::vector<std::unordered_map<std::string, std::uint64_t>> lines(streams_.size());
    for_each_group(part, [&](source_group group) {
      if (!places_.is_placed(side, group)) return;
      lines[places_.source_of(side, group).stream][std::move(group.kind)] += part.counts(group.place).lines;
    });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const auto& [kind, number] : lines[i]) {
        if (number >= fewest_lines_of_kind) frequent_[i].insert(kind);
      }
    }
  }

  void add(const group_table& part, std::size_t side) {
    std::vector<kind_map> kinds(streams_.size());
    for_each_group(part, [&](source_group group) {
      if (!places_.is_placed(side, group)) return;
      const source& of = places_.source_of(side, group);
      const std::size_t window = stream_places::index_of(of, group.start);
      const changes::kind_window added = add_to(streams_[of.stream].windows[window], window, part.counts(group.place));
      if (const auto level = level_->read(group.kind)) levels_[of.stream][std::string(*level)].push_back(added);
      kinds[of.stream][std::move(group.kind)].push_back(added);
      add_matches(of.stream, window, part.counts(group.place).matches);
    });
    // all groups of a key are in one part, so rare kinds remain rare; but inputs of a family have keys of their own
    if (!places_.are_of_lines()) remove_rare(kinds);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      for (auto& [text, windows] : kinds[i]) std::ranges::move(windows, std::back_inserter(kinds_[i][text]));
    }
  }

  std::vector<changes::log_stream> take() {
    remove_rare(kinds_);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      take(kinds_[i], streams_[i].kinds);
      take(levels_[i], streams_[i].levels);
      for (std::size_t match = 0; match < plan_.expressions(); ++match) {
        streams_[i].matches.push_back({.text = plan_.matches->expressions()[match].name,
                                       .windows = merged(matches_[i * plan_.expressions() + match])});
      }
    }
    return std::move(streams_);
  }

 private:
  using kind_map = std::unordered_map<std::string, std::vector<changes::kind_window>>;

  static std::size_t windows_in_day(const window_lengths& of) {
    constexpr std::int64_t day = std::int64_t{86'400} * 1'000'000'000;
    return of.are_of_lines || day % of.length != 0 ? 0 : static_cast<std::size_t>(day / of.length);
  }

  static changes::kind_window add_to(changes::window_counts& to, std::size_t window,
                                     const group_table::const_counts_of_group& counts) {
    std::ranges::transform(to.classes, counts.bytes, to.classes.begin(), std::plus());
    const std::uint64_t bytes = std::accumulate(counts.bytes.begin(), counts.bytes.end(), std::uint64_t{0});
    to.lines += counts.lines;
    to.bytes += bytes;
    return {.window = window, .lines = counts.lines, .bytes = bytes};
  }

  void add_matches(std::size_t stream, std::size_t window, std::span<const std::uint64_t> matches) {
    for (std::size_t i = 0; i < plan_.expressions(); ++i) {
      const std::uint64_t lines = matches[match_numbers::lines_at(i)];
      if (lines == 0) continue;
      matches_[stream * plan_.expressions() + i].push_back(
          {.window = window, .lines = lines, .bytes = matches[match_numbers::bytes_at(i)]});
    }
  }

  void remove_rare(std::vector<kind_map>& kinds) const {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      std::erase_if(kinds[i], [&](const auto& kind) {
        std::uint64_t lines = 0;
        for (const changes::kind_window& each : kind.second) lines += each.lines;
        return lines < fewest_lines_of_kind && !frequent_[i].contains(kind.first);
      });
    }
  }

  // In the order of their texts.
  static void take(kind_map& from, std::vector<changes::kind_of_line>& to) {
    for (auto& [text, windows] : from) to.push_back({.text = text, .windows = merged(windows)});
    std::ranges::sort(to, {}, &changes::kind_of_line::text);
  }

  // One for each window, ascending.
  static std::vector<changes::kind_window> merged(std::vector<changes::kind_window>& windows) {
    std::ranges::sort(windows, {}, &changes::kind_window::window);
    std::vector<changes::kind_window> made;
    for (const changes::kind_window& each : windows) {
      if (made.empty() || made.back().window != each.window) {
        made.push_back(each);
      } else {
        made.back().lines += each.lines;
        made.back().bytes += each.bytes;
      }
    }
    return made;
  }

  const line_reading& plan_;
  const stream_places& places_;
  std::vector<changes::log_stream> streams_;
  // A kind keeps the level of its lines.
  const std::unique_ptr<lines::line_selector> level_ = lines::selector("level", std::nullopt).make_reader();
  std::vector<kind_map> levels_;                            // by stream
  std::vector<kind_map> kinds_;                             // by stream
  std::vector<std::unordered_set<std::string>> frequent_;   // kinds of note_kinds(), by stream
  std::vector<std::vector<changes::kind_window>> matches_;  // by stream and expression
};

std::string name_of(const changes::log_stream& stream, const changes::difference& of) {
  if (of.of == series::kind) return stream.kinds[of.index].text;
  if (of.of == series::level) return stream.levels[of.index].text;
  if (of.of == series::match) return stream.matches[of.index].text;
  return {};
}

// Without place and line.
found_change named(const changes::log_stream& stream, const changes::change& from) {
  found_change made{.stream = stream.name, .lasts = from.lasts, .evidence = from.evidence};
  for (const changes::difference& each : from.differences)
    made.differences.push_back({.of = each, .name = name_of(stream, each)});
  // what is more than before explains what is less
  std::ranges::sort(made.differences, [](const found_difference& a, const found_difference& b) {
    if (a.rises() != b.rises()) return a.rises();
    if (a.of.evidence != b.of.evidence) return a.of.evidence > b.of.evidence;
    return std::tuple(a.of.of, a.of.index) < std::tuple(b.of.of, b.of.index);
  });
  return made;
}

// Names, times and lines for the changes.
class change_namer {
 public:
  change_namer(const stream_places& places, const std::vector<changes::log_stream>& streams,
               std::span<const changes::change> found)
      : places_(places), streams_(streams) {
    for (const changes::change& each : found) add(each);
  }

  void add_lines(const group_table& part, std::size_t side) {
    for_each_group(part, [&](const source_group& group) {
      if (!places_.is_placed(side, group)) return;
      const source& of = places_.source_of(side, group);
      const auto range = wanted_.equal_range(of.stream);
      const std::size_t window = range.first == range.second ? 0 : stream_places::index_of(of, group.start);
      for (auto each = range.first; each != range.second; ++each) {
        const wanted_line& wanted = each->second;
        if (wanted.includes(window, group.kind) && wanted.has_level(*level_, group.kind))
          offer(each->second, of, part, group.place);
      }
    });
  }

  std::vector<found_change> take() { return std::move(made_); }

 private:
  // The line that a change shows: the first one of a kind in some windows.
  struct wanted_line {
    std::size_t change = 0;  // index
    std::size_t first = 0;   // windows
    std::size_t end = 0;
    const std::string* kind = nullptr;   // null: any
    std::optional<std::string> level{};  // of the kind
    // Of the lines of any kind, those of the kind that has most, or least, of it.
    std::optional<changes::difference> extreme{};
    double found = 0;              // of the line that was found, so that a greater number is preferred
    std::size_t source_begin = 0;  // of its windows

    [[nodiscard]] bool includes(std::size_t window, const std::string& of) const {
      return window >= first && window < end && (kind == nullptr || *kind == of);
    }
    [[nodiscard]] bool has_level(lines::line_selector& levels, const std::string& of) const {
      return !level || levels.read(of) == std::string_view(*level);
    }
  };

  void add(const changes::change& from) {
    found_change& to = made_.emplace_back(named(streams_[from.stream], from));
    to.windows = places_.windows_of(from.stream);
    to.start = places_.start_of(from.stream, from.first);
    to.end = places_.start_of(from.stream, from.end - 1) + to.windows.length;
    want_line(from);
  }

  void want_line(const changes::change& from) {
    wanted_line wanted{.change = made_.size() - 1, .first = from.first, .end = from.end};
    const changes::difference& main = made_.back().differences.front().of;
    if (main.of == series::kind) {
      const changes::kind_of_line& kind = streams_[from.stream].kinds[main.index];
      wanted.kind = &kind.text;
      const auto later = std::ranges::lower_bound(kind.windows, from.first, {}, &changes::kind_window::window);
      if (main.lines == 0 && later != kind.windows.begin()) {
        wanted.first = std::prev(later)->window;
        wanted.end = wanted.first + 1;
        made_.back().line_is_last_seen = true;
      }
    }
    if (main.of == series::level && main.inside > main.before)
      wanted.level = streams_[from.stream].levels[main.index].text;
    if (main.of == series::length || main.of == series::class_share) {
      wanted.end = from.first + 1;
      wanted.extreme = main;
    }
    wanted_.emplace(from.stream, wanted);
  }

  static double preference(const wanted_line& wanted, const group_table::const_counts_of_group& counts) {
    if (!wanted.extreme) return 0;
    const std::uint64_t bytes = std::accumulate(counts.bytes.begin(), counts.bytes.end(), std::uint64_t{0});
    const bool is_length = wanted.extreme->of == series::length;
    const std::uint64_t some = is_length ? bytes : counts.bytes[wanted.extreme->index];
    const double level = static_cast<double>(some) / static_cast<double>(is_length ? counts.lines : bytes);
    return wanted.extreme->inside > wanted.extreme->before ? level : -level;
  }

  // Lines of windows of lines are ordered by their inputs first.
  void offer(wanted_line& to, const source& of, const group_table& part, std::size_t place) {
    std::optional<shown_line>& kept = made_[to.change].line;
    const first_line line = part.first_of(place);
    const double preferred = preference(to, part.counts(place));
    if (kept && preferred < to.found) return;
    const bool is_earlier =
        kept && (of.begin != to.source_begin ? of.begin < to.source_begin : line.precedes(as_line(*kept)));
    if (kept && preferred == to.found && !is_earlier) return;
    to.found = preferred;
    to.source_begin = of.begin;
    kept = {.input = std::string(line.input), .place = line.place, .time = line.time, .text = std::string(line.text)};
  }

  static first_line as_line(const shown_line& of) {
    return {.time = of.time, .place = of.place, .input = of.input, .text = of.text};
  }

  const stream_places& places_;
  const std::vector<changes::log_stream>& streams_;
  const std::unique_ptr<lines::line_selector> level_ = lines::selector("level", std::nullopt).make_reader();
  std::vector<found_change> made_;
  std::multimap<std::size_t, wanted_line> wanted_;  // by stream
};

using side_list = std::span<const side_counts>;

template <class Use>
void for_each_part(side_list sides, Use use) {
  for (std::size_t side = 0; side < sides.size(); ++side) {
    sides[side].counts->for_each_part([&](const group_table& part) { use(part, side); });
  }
}

// Counts and names what differs in the streams.
void find_all(const line_reading& plan, side_list sides, const stream_places& places,
              const std::vector<std::string>& names, change_result& to) {
  stream_counts counts(plan, places, names);
  if (sides.size() > 1)
    for_each_part(sides, [&](const group_table& part, std::size_t side) { counts.note_kinds(part, side); });
  for_each_part(sides, [&](const group_table& part, std::size_t side) { counts.add(part, side); });
  const std::vector<changes::log_stream> streams = counts.take();
  change_namer namer(places, streams, changes::find_changes(streams));
  for_each_part(sides, [&](const group_table& part, std::size_t side) { namer.add_lines(part, side); });
  to.found = namer.take();
  to.are_of_lines = places.are_of_lines();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    constexpr std::size_t fewest_windows = 6;
    const bool is_compared = to.is_comparison() || places.size_of(i) >= fewest_windows;
    ++(is_compared ? to.streams : to.not_compared);
    if (!is_compared) continue;
    if (to.is_comparison() && !changes::has_known_dispersion(streams[i])) ++to.by_counts_alone;
    const std::int64_t length = places.windows_of(i).length;
    to.shortest = to.shortest == 0 ? length : std::min(to.shortest, length);
    to.longest = std::max(to.longest, length);
  }
  for (const source& of : places.sources() | std::views::values) {
    to.lines += of.lines;
    to.without_time += of.without_time;
  }
}

}  // namespace

change_result change_result_of(const line_reading& plan, const group_sum& found) {
  const side_counts all{.name = {}, .counts = &found};
  const side_list sides(&all, 1);
  stream_places places;
  for_each_part(sides, [&](const group_table& part, std::size_t side) { places.add(part, side); });
  change_result made;
  find_all(plan, sides, places, places.arrange(), made);
  for (const source& of : places.sources() | std::views::values) {
    if (of.without_time <= of.lines) continue;
    made.timeless.push_back({.name = std::string(of.key), .lines = of.lines, .without_time = of.without_time});
  }
  return made;
}

change_result difference_of(const line_reading& plan, const std::array<side_counts, 2>& sides) {
  stream_places places;
  change_result made;
  for (const side_counts& each : sides) made.sides.push_back({.name = each.name});
  for_each_part(sides, [&](const group_table& part, std::size_t side) { places.add(part, side); });
  find_all(plan, sides, places, places.arrange(made), made);
  return made;
}

std::vector<found_change> differences_of(const std::vector<changes::log_stream>& streams) {
  std::vector<found_change> made;
  for (const changes::change& each : changes::find_changes(streams)) made.push_back(named(streams[each.stream], each));
  return made;
}

bool change_result::has_findings() const {
  return !found.empty() ||
         std::ranges::any_of(sides, [](const compared_side& each) { return !each.only_here.empty(); });
}

void replace_timeless(change_result& to, change_result in_lines) {
  const auto is_replaced = [&](const found_change& of) {
    return std::ranges::find(to.timeless, of.stream, &timeless_log::name) != to.timeless.end();
  };
  std::erase_if(to.found, is_replaced);
  for (const timeless_log& each : to.timeless) {
    to.lines -= each.lines;
    to.without_time -= each.without_time;
  }
  to.timeless.clear();
  to.lines += in_lines.lines;
  to.streams += in_lines.streams;
  to.streams_in_lines = in_lines.streams;
  to.not_compared += in_lines.not_compared;
  to.by_counts_alone += in_lines.by_counts_alone;
  std::ranges::move(in_lines.found, std::back_inserter(to.found));
  std::ranges::sort(to.found, [](const found_change& a, const found_change& b) {
    if (a.evidence != b.evidence) return a.evidence > b.evidence;
    return std::tie(a.stream, a.start) < std::tie(b.stream, b.start);
  });
}

}  // namespace gpuhist::report::units
