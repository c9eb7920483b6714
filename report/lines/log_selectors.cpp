// host, app, status and level read a part of a line of a well-known log format.
//
// Formats:
//   Common Log Format, also combined:  HOST IDENT USER [10/Oct/2025:13:55:36 -0700] "REQUEST" STATUS ...
//   syslog (RFC 3164):                 <PRI>Oct 10 13:55:36 HOST APP[PID]: ...     <PRI> and [PID] are optional
//   syslog with an ISO 8601 time:      2025-10-10T13:55:36.123456+02:00 HOST APP[PID]: ...
//   syslog (RFC 5424):                 <PRI>1 2025-10-10T13:55:36Z HOST APP PROCID MSGID ...     '-' is no value
//
// level reads the first word of the first 128 bytes that is the name of a level in any case, in upper case; WARNING is
// WARN. At the beginning of a line, I, W, E or F and four digits are a level of glog.

#include "report/lines/selector_kinds.hpp"
#include "report/lines/time_stamps.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuhist::report::lines {
namespace {

using part = std::optional<std::string_view>;

// Up to the next blank. Removes it and the blank from the text.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

struct syslog_origin {
  part host;
  part app;
};

part unless_nil(std::string_view word) { return word.empty() || word == "-" ? part() : part(word); }

// Of "APP[PID]: message" or "APP: message".
part app_of_tag(std::string_view text) {
  const std::size_t end = text.find_first_of(" :[");
  if (end == std::string_view::npos || end == 0 || text[end] == ' ') return std::nullopt;
  return text.substr(0, end);
}

std::optional<syslog_origin> syslog_origin_of(std::string_view line) {
  const std::size_t priority = syslog_priority_length(line);
  line.remove_prefix(priority);
  if (priority > 0 && line.starts_with("1 ")) {
    line.remove_prefix(2);
    const std::string_view time = take_word(line);
    if (time != "-" && iso_time_length(time) != time.size()) return std::nullopt;
    const std::string_view host = take_word(line);
    return syslog_origin{.host = unless_nil(host), .app = unless_nil(take_word(line))};
  }
  std::size_t time = syslog_time_length(line);
  if (time == 0 && begins_with_pattern(line, "9999-99-99T")) time = iso_time_length(line);
  if (time == 0 || time >= line.size() || line[time] != ' ') return std::nullopt;
  line.remove_prefix(time + 1);
  const std::string_view host = take_word(line);
  if (host.empty()) return std::nullopt;
  return syslog_origin{.host = host, .app = app_of_tag(line)};
}

struct common_log_line {
  std::string_view host;
  std::string_view after_time;  // after the closing bracket
};

std::optional<common_log_line> common_log_line_of(std::string_view line) {
  constexpr std::size_t farthest_time = 1024;
  std::string_view rest = line.substr(0, farthest_time);
  const std::string_view host = take_word(rest);
  if (host.empty()) return std::nullopt;
  // a user may contain blanks and brackets
  for (std::size_t at = host.size(); (at = line.substr(0, farthest_time).find(" [", at)) != std::string_view::npos;
       ++at) {
    const std::size_t begin = at + 2;
    const std::size_t length = clf_time_length(line.substr(begin));
    if (length == 0 || !line.substr(begin + length).starts_with(']')) continue;
    return common_log_line{.host = host, .after_time = line.substr(begin + length + 1)};
  }
  return std::nullopt;
}

// The three digits at the beginning of a text, if they are a word.
part three_digits(std::string_view text) {
  constexpr std::size_t length = 3;
  if (!begins_with_pattern(text, "999")) return std::nullopt;
  return text.size() == length || text[length] == ' ' ? part(text.substr(0, length)) : part();
}

// After a request in quotes, in which a backslash escapes the next byte.
part status_after_request(std::string_view text) {
  constexpr std::string_view opening = " \"";
  constexpr std::string_view closing = "\" ";
  if (!text.starts_with(opening)) return std::nullopt;
  std::size_t at = text.find_first_of("\\\"", opening.size());
  while (at != std::string_view::npos && text[at] == '\\') at = text.find_first_of("\\\"", at + 2);
  if (at == std::string_view::npos || !text.substr(at).starts_with(closing)) return std::nullopt;
  return three_digits(text.substr(at + closing.size()));
}

part host_of(std::string_view line) {
  if (const auto origin = syslog_origin_of(line)) return origin->host;
  const auto common = common_log_line_of(line);
  return common ? part(common->host) : std::nullopt;
}

part app_of(std::string_view line) {
  const auto origin = syslog_origin_of(line);
  return origin ? origin->app : std::nullopt;
}

part status_of(std::string_view line) {
  const auto common = common_log_line_of(line);
  return common ? status_after_request(common->after_time) : std::nullopt;
}

// The letters of a word of up to eight letters in one number, in lower case.
constexpr std::uint64_t add_letter(std::uint64_t letters, char letter) {
  return (letters << 8U) | (static_cast<unsigned char>(letter) | 0x20U);
}

struct level_name {
  std::uint64_t letters;
  std::string_view level;
};

constexpr level_name named(std::string_view name, std::string_view level) {
  std::uint64_t letters = 0;
  for (const char letter : name) letters = add_letter(letters, letter);
  return {.letters = letters, .level = level};
}

constexpr std::size_t shortest_level = 4;
constexpr std::size_t longest_level = 8;
constexpr std::array level_names = {
    named("TRACE", "TRACE"),   named("DEBUG", "DEBUG"), named("INFO", "INFO"),
    named("NOTICE", "NOTICE"), named("WARN", "WARN"),   named("WARNING", "WARN"),
    named("ERROR", "ERROR"),   named("FATAL", "FATAL"), named("CRITICAL", "CRITICAL"),
};

part glog_level(std::string_view line) {
  if (!begins_with_pattern(line, "A9999")) return std::nullopt;
  switch (line.front()) {
    case 'I':
      return "INFO";
    case 'W':
      return "WARN";
    case 'E':
      return "ERROR";
    case 'F':
      return "FATAL";
    default:
      return std::nullopt;
  }
}

bool continues_word(char byte) { return is_word_byte(byte) || byte == '_'; }

bool is_ascii_letter(char byte) {
  const unsigned lower = static_cast<unsigned char>(byte) | 0x20U;
  return lower >= 'a' && lower <= 'z';
}

part level_of(std::string_view line) {
  constexpr std::size_t searched = 128;
  if (const part level = glog_level(line)) return level;
  for (std::size_t begin = 0; begin < std::min(line.size(), searched);) {
    std::uint64_t letters = 0;
    std::size_t end = begin;
    bool is_alphabetic = true;
    for (; end < line.size() && end - begin <= searched && continues_word(line[end]); ++end) {
      is_alphabetic = is_alphabetic && is_ascii_letter(line[end]);
      letters = add_letter(letters, line[end]);
    }
    const std::size_t length = end - begin;
    if (is_alphabetic && length >= shortest_level && length <= longest_level && end <= searched) {
      const auto* const name = std::ranges::find(level_names, letters, &level_name::letters);
      if (name != level_names.end()) return name->level;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

template <part (*part_of)(std::string_view)>
class log_selector final : public line_selector {
 public:
  part read(std::string_view line) override { return part_of(without_carriage_return(line)); }
};

template <part (*part_of)(std::string_view)>
reader_factory readers_of() {
  return [] { return std::make_unique<log_selector<part_of>>(); };
}

}  // namespace

reader_factory parse_host_selector(const typed_selector& /*typed*/) { return readers_of<host_of>(); }
reader_factory parse_app_selector(const typed_selector& /*typed*/) { return readers_of<app_of>(); }
reader_factory parse_status_selector(const typed_selector& /*typed*/) { return readers_of<status_of>(); }
reader_factory parse_level_selector(const typed_selector& /*typed*/) { return readers_of<level_of>(); }

}  // namespace gpuhist::report::lines
