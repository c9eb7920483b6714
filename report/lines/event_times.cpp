#include "report/lines/event_times.hpp"

#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "report/lines/event_time_formats.hpp"
#include "report/lines/event_time_json.hpp"
#include "report/lines/event_time_pattern.hpp"
#include "report/lines/event_time_text.hpp"
#include "report/lines/selector.hpp"

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

static_assert(USE_OS_TZDB, "the library date-tz of the system reads the database of the system; link date::date-tz");

namespace gpuhist::report::lines {
namespace {

using time_text::day_seconds;

constexpr std::int64_t second_nanoseconds = 1'000'000'000;
constexpr std::int64_t end_of_times = 9'214'646'400;  // 2262-01-01 00:00:00 UTC, in seconds
constexpr std::int64_t reference_margin = 3653 * day_seconds;

// In the order of time_format.
constexpr std::array<event_time_format, 13> formats{{
    {.name = "iso", .example = "2025-10-10T13:55:36.123Z, 2025-10-10 13:55:36,123 +0200, 20251010T135536Z"},
    {.name = "slashes", .example = "2025/10/10 13:55:36"},
    {.name = "clf", .example = "[10/Oct/2025:13:55:36 -0700]"},
    {.name = "syslog", .example = "Oct 10 13:55:36, <34>Oct 10 13:55:36"},
    {.name = "ctime", .example = "Fri Oct 10 13:55:36 2025, Fri Oct 10 13:55:36 UTC 2025"},
    {.name = "rfc2822", .example = "Fri, 10 Oct 2025 13:55:36 +0200"},
    {.name = "glog", .example = "I1010 13:55:36.123456"},
    {.name = "dmesg", .example = "[12345.678901]: seconds since the start of the system"},
    {.name = "epoch", .example = "1760104536, 1760104536.123, 1760104536123: seconds to nanoseconds since 1970"},
    {.name = "us", .example = "10/10/2025 1:55:36 PM, 10/10/2025 13:55:36"},
    {.name = "dmy", .example = "10 Oct 2025 13:55:36, 10-Oct-2025 13:55:36.123, 7:M 10 Oct 2025 13:55:36.123"},
    {.name = "mdy", .example = "Oct 10, 2025 1:55:36 PM"},
    {.name = "json", .example = R"({"time":"2025-10-10T13:55:36Z"}, {"ts":1760104536.123})"},
}};
static_assert(formats[static_cast<std::size_t>(time_format::json)].name == "json");

std::int64_t floor_seconds(std::int64_t nanoseconds) {
  return nanoseconds / second_nanoseconds - (nanoseconds % second_nanoseconds < 0 ? 1 : 0);
}

// Null: UTC.
const date::time_zone* find_zone(const std::string& name) {
  if (name.empty() || name == "UTC") return nullptr;
  try {
    return date::locate_zone(name);
  } catch (const std::runtime_error&) {
    const std::string message = "there is no time zone " + config::quote(name);
    std::vector<std::string_view> names;
    try {
      for (const date::time_zone& each : date::get_tzdb().zones) names.push_back(each.name());
    } catch (const std::runtime_error&) {
      throw config::usage_error(message + ": the system has no time zone database; install tzdata");
    }
    const std::optional<std::string_view> meant = config::likely_name(name, names);
    throw config::usage_error(message + (meant ? "; did you mean " + std::string(*meant) + "?"
                                               : "; write an IANA name such as Europe/Berlin"));
  }
}

time_format format_of(std::string_view name) {
  const auto* const found = std::ranges::find(formats, name, &event_time_format::name);
  if (found != formats.end()) return static_cast<time_format>(found - formats.begin());
  std::vector<std::string_view> known;
  for (const event_time_format& each : formats) known.push_back(each.name);
  known.insert(known.end(), {"json:KEY", "a pattern such as %Y-%m-%d %T"});
  throw config::usage_error("format of times: " + config::no_such_name(name, known));
}

// Converts local times. Keeps the stretch of the last one, in which the offset does not change.
class zone_clock {
 public:
  explicit zone_clock(const date::time_zone* zone) : zone_(zone) {}

  // Seconds since 1970 UTC of those of the local clock.
  std::int64_t utc_of(std::int64_t local) {
    if (zone_ == nullptr || local < lowest || local >= highest) return local;
    if (local < begin_ || local >= end_) find_stretch(local);
    return local - offset_;
  }

 private:
  // A local time that occurs twice, or that is skipped, belongs to the stretch before the change: it is the earlier
  // one, or is moved forward as the clock was. Therefore the stretch begins and ends at the later of the two local
  // times of each change.
  void find_stretch(std::int64_t local) {
    const date::sys_info own = zone_->get_info(date::local_seconds(std::chrono::seconds(local))).first;
    offset_ = own.offset.count();
    begin_ = has_change(own.begin) ? later_local_time(own.begin, own, own.begin - std::chrono::seconds(1)) : lowest;
    end_ = has_change(own.end) ? later_local_time(own.end, own, own.end) : highest;
  }

  // The library returns its first and its last year as changes.
  static bool has_change(date::sys_seconds at) {
    return at.time_since_epoch().count() > lowest && at.time_since_epoch().count() < highest;
  }

  [[nodiscard]] std::int64_t later_local_time(date::sys_seconds change, const date::sys_info& own,
                                              date::sys_seconds other_side) const {
    return (change.time_since_epoch() + std::max(own.offset, zone_->get_info(other_side).offset)).count();
  }

  static constexpr std::int64_t year_seconds = 366 * day_seconds;
  // Times outside are implausible in any zone.
  static constexpr std::int64_t lowest = -40 * year_seconds;
  static constexpr std::int64_t highest = end_of_times + year_seconds;

  const date::time_zone* zone_;
  std::int64_t begin_ = 0;  // of the stretch, by the local clock
  std::int64_t end_ = 0;
  std::int64_t offset_ = 0;  // seconds east of UTC
};

}  // namespace

std::span<const event_time_format> event_time_formats() { return formats; }

struct event_times::rules {
  std::optional<time_format> format{};  // nothing: any, or a pattern
  std::optional<time_pattern> pattern{};
  std::optional<selector> json_value{};   // nothing: that of known keys
  const date::time_zone* zone = nullptr;  // null: UTC
};

event_times::event_times(const event_time_options& typed) {
  auto made = std::make_unique<rules>();
  if (typed.format.starts_with("json:")) {
    made->json_value.emplace(typed.format, std::nullopt);
    made->format = time_format::json;
  } else if (typed.format.find('%') != std::string::npos) {
    made->pattern.emplace(typed.format);
  } else if (!typed.format.empty()) {
    made->format = format_of(typed.format);
  }
  made->zone = find_zone(typed.time_zone);
  rules_ = std::move(made);
}

event_times::~event_times() = default;
event_times::event_times(event_times&&) noexcept = default;
event_times& event_times::operator=(event_times&&) noexcept = default;

// The begin of a line with a time of the format iso, up to the minute: most lines begin as the line before does.
struct minute_begin {
  static constexpr std::size_t size = 17;  // "2025-10-10T13:55:"

  [[nodiscard]] bool is_begin_of(std::string_view line) const {
    return is_known && line.size() > size && std::memcmp(line.data(), text.data(), size) == 0;
  }

  // The time that was found may be a later one in the line.
  void keep(std::string_view line, const found_time& found) {
    written_time first;
    if (found.format != time_format::iso || line.size() <= size || !find_iso_at_beginning(line, first)) return;
    if (line[size] == '6' || first.seconds < 0) return;  // a leap second is in the next minute
    is_known = true;
    std::memcpy(text.data(), line.data(), size);
    seconds = first.seconds - first.seconds % 60;
  }

  bool is_known = false;
  std::array<char, size> text{};
  std::int64_t seconds = 0;  // of the minute, by the clock of the text
};

struct event_time_reader::state {
  state(const event_times::rules& settings, std::int64_t reference)
      : rules(settings),
        zone(settings.zone),
        json_value(settings.json_value ? settings.json_value->make_reader() : nullptr) {
    set_reference(reference);
  }

  void set_reference(std::int64_t reference) {
    reference_seconds = floor_seconds(reference);
    has_reference = reference != 0;
    const date::sys_seconds latest{std::chrono::seconds(reference_seconds + 2 * day_seconds)};
    const date::year_month_day day{date::floor<date::days>(latest)};
    latest_year = static_cast<unsigned>(std::clamp(static_cast<int>(day.year()), 0, 9999));
  }

  outcome read(std::string_view line) {
    found_time found;
    if (minute.is_begin_of(line) && read_within_minute(line, found.time)) {
      format = time_format::iso;
      return resolve(found.time);
    }
    if (rules.pattern) {
      const std::optional<written_time> made = rules.pattern->find(line);
      return made ? resolve(*made) : outcome{};
    }
    if (rules.format == time_format::json || (!rules.format && looks_like_object(line))) return read_json(line);
    if (rules.format) found.format = *rules.format;
    const bool is_found = rules.format ? find_time(line, *rules.format, found.time) : find_any_time(line, found);
    if (!is_found) return {};
    format = found.format;
    minute.keep(line, found);
    return resolve(found.time);
  }

  // A line that begins with the minute of an earlier one: no other format is tried for it. False: its zone or its
  // seconds are not the usual ones.
  bool read_within_minute(std::string_view line, written_time& made) const {
    time_text::cursor text(line.substr(minute_begin::size));
    unsigned seconds = 0;
    if (!text.two(seconds) || seconds >= 60 || time_text::is_digit(text.peek())) return false;
    time_text::read_fraction_if_any(text, made, '.', ',');
    constexpr std::string_view begins_of_zones = "+-UGZz";
    const bool has_no_zone = text.peek() == ' ' && begins_of_zones.find(text.peek(1)) == std::string_view::npos;
    if (text.peek() == 'Z' && text.peek(1) == ' ') {
      made.set_offset(0);
    } else if (!has_no_zone || rules.zone != nullptr) {
      return false;
    }
    made.seconds = minute.seconds + seconds;
    return true;
  }

  outcome read_json(std::string_view line) {
    std::optional<written_time> found;
    if (json_value == nullptr) {
      found = json.find_known(line);
    } else if (const std::optional<std::string_view> value = json_value->read(line)) {
      found = time_of_json_value(*value);
    }
    if (!found) return {};
    format = time_format::json;
    return resolve(*found);
  }

  std::int64_t utc_of(const written_time& found, std::int64_t seconds) {
    return found.has_offset ? seconds - found.offset : zone.utc_of(seconds);
  }

  // Seconds since 1970 UTC of a time without year; nothing: the reference is unknown. A leap day may be eight years
  // ago.
  std::optional<std::int64_t> latest_utc_of(const written_time& found) {
    constexpr unsigned most_years = 9;
    const std::int64_t latest = reference_seconds + day_seconds;
    if (!has_reference) return std::nullopt;
    for (unsigned age = 0; age < most_years && age <= latest_year; ++age) {
      const unsigned year = latest_year - age;
      if (!time_text::is_date(year, found.month, found.day)) continue;
      const std::int64_t local = time_text::days_of(year, found.month, found.day) * day_seconds + found.seconds;
      if (local - day_seconds > latest) continue;  // no offset is a day or more
      const std::int64_t utc = utc_of(found, local);
      if (utc <= latest) return utc;
    }
    return std::nullopt;
  }

  outcome resolve(const written_time& found) {
    const std::optional<std::int64_t> utc =
        found.has_year ? std::optional(utc_of(found, found.seconds)) : latest_utc_of(found);
    const bool is_plausible =
        utc && *utc >= 0 && *utc < end_of_times && (!has_reference || *utc <= reference_seconds + reference_margin);
    if (!is_plausible) return {.is = kind::implausible};
    return {.is = kind::time, .nanoseconds = *utc * second_nanoseconds + found.nanoseconds};
  }

  const event_times::rules& rules;
  zone_clock zone;
  json_times json;
  std::int64_t reference_seconds = 0;
  bool has_reference = false;
  std::unique_ptr<line_selector> json_value;  // null: known keys
  unsigned latest_year = 0;                   // of a local time that is not after the reference and one day
  std::optional<time_format> format{};        // of the last time
  minute_begin minute;
};

event_time_reader::event_time_reader(const event_times& settings, std::int64_t reference)
    : state_(std::make_unique<state>(*settings.rules_, reference)) {}

event_time_reader::~event_time_reader() = default;
event_time_reader::event_time_reader(event_time_reader&&) noexcept = default;
event_time_reader& event_time_reader::operator=(event_time_reader&&) noexcept = default;

void event_time_reader::set_reference(std::int64_t reference) { state_->set_reference(reference); }

event_time_reader::outcome event_time_reader::read(std::string_view line) { return state_->read(line); }

std::optional<std::size_t> event_time_reader::last_format() const {
  return state_->format ? std::optional(static_cast<std::size_t>(*state_->format)) : std::nullopt;
}

}  // namespace gpuhist::report::lines
