#include "report/lines/log_family.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace gpuhist::report::lines {
namespace {

constexpr std::array compressions = {".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4", ".lz", ".lzma", ".zip", ".Z"};
constexpr std::array extensions = {".log", ".txt", ".json", ".jsonl",  ".ndjson",
                                   ".csv", ".out", ".err",  ".access", ".error"};

template <class List>
bool remove_one(std::string& name, const List& endings) {
  for (const std::string_view each : endings) {
    if (name.size() <= each.size() || !name.ends_with(each)) continue;
    name.resize(name.size() - each.size());
    return true;
  }
  return false;
}

// "app-2026-11-23", "app.20261123-0400", "app_2026-11-23T04:00:00Z", "app-1763870400" (seconds since 1970).
bool remove_date(std::string& name, std::string& date) {
  static const re2::RE2 dated(
      R"((?s)(.*?)(?:^|[-._@])(\d{4})[-._]?(0[1-9]|1[0-2])[-._]?(0[1-9]|[12]\d|3[01])(?:[-_.T]?(\d{2})(?:[-:]?(\d{2})(?:[-:]?(\d{2}))?)?)?Z?)",
      re2::RE2::Latin1);
  static const re2::RE2 seconds(R"((?s)(.*)[-._](1\d{9}))", re2::RE2::Latin1);
  std::string rest;
  std::array<std::string, 6> parts;
  auto& [year, month, day, hour, minute, second] = parts;
  if (re2::RE2::FullMatch(name, dated, &rest, &year, &month, &day, &hour, &minute, &second)) {
    name = rest;
    date.clear();
    for (const std::string& each : parts) date += each;
    return true;
  }
  if (!re2::RE2::FullMatch(name, seconds, &rest, &date)) return false;
  name = rest;
  return true;
}

// "app.log.12", "app-20261123.2"; not of "app-12", "10.0.0.12".
bool remove_number(std::string& name, std::uint32_t& number) {
  static const re2::RE2 numbered(R"((?s)(.+)\.(\d{1,5}))", re2::RE2::Latin1);
  std::string rest;
  std::uint32_t found = 0;
  if (!re2::RE2::FullMatch(name, numbered, &rest, &found)) return false;
  std::string before = rest;
  std::string date;
  const bool is_address_or_version = before.back() >= '0' && before.back() <= '9' && !remove_date(before, date);
  if (is_address_or_version) return false;
  name = rest;
  number = found;
  return true;
}

void remove_rotation(std::string& base, log_name& to) {
  constexpr std::array older = {".old", ".bak", ".prev"};
  while (remove_one(base, compressions)) {
  }
  if (remove_one(base, older)) to.number = 1;
  std::uint32_t number = 0;
  if (remove_number(base, number)) to.number = number;
  remove_date(base, to.date);
}

}  // namespace

bool log_name::is_older_than(const log_name& other) const {
  if (date != other.date) return other.date.empty() || (!date.empty() && date < other.date);
  return date.empty() ? number > other.number : number < other.number;  // of a day, numbers count up
}

log_name parse_log_name(std::string_view name) {
  log_name made;
  const std::size_t folder = name.find_last_of('/') + 1;  // 0: none
  std::string base(name.substr(folder));
  remove_rotation(base, made);
  const std::string whole = base;
  if (remove_one(base, extensions)) {  // "app-20261123.log"
    const std::string extension = whole.substr(base.size());
    remove_rotation(base, made);
    base += extension;
  }
  if (base.empty()) base = name.substr(folder);  // only a date
  made.family = std::string(name.substr(0, folder)) + base;
  return made;
}

}  // namespace gpuhist::report::lines
