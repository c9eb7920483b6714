#include "report/units/group_key.hpp"

#include "report/lines/log_family.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::report::units {
namespace {

// Joined keys have the order of their bytes, one after the other: after the first key a zero byte and `ends`; a zero
// byte of the key is followed by `continues`.
constexpr char ends = '\x01';
constexpr char continues = '\x02';

void append_escaped(std::string& to, std::string_view key) {
  for (const char each : key) {
    to += each;
    if (each == '\0') to += continues;
  }
  to += '\0';
  to += ends;
}

std::string text_of(const group_key& key, std::string_view input) {
  switch (key.from) {
    case group_key::source::name:
      return std::string(input);
    case group_key::source::family:
      return lines::parse_log_name(input).family;
    case group_key::source::line:
    case group_key::source::language:
    case group_key::source::character:
      break;
  }
  return {};
}

}  // namespace

std::optional<group_key::source> source_named(std::string_view typed) {
  if (typed == "name") return group_key::source::name;
  if (typed == "family") return group_key::source::family;
  if (typed == "language") return group_key::source::language;
  if (typed == key_of_characters) return group_key::source::character;
  return std::nullopt;
}

key_reader::key_reader(std::span<const group_key> keys, std::string_view input) {
  for (const group_key& each : keys) {
    parts_.push_back({.reader = each.selector ? each.selector->make_reader() : nullptr,
                      .text = text_of(each, input).substr(0, max_key),
                      .is_language = each.is_language()});
    if (each.reads_line()) ++variable_;
  }
}

std::optional<std::string_view> key_reader::read(std::string_view line, std::optional<std::string_view> language) {
  std::string_view found;
  joined_.clear();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const part& each = parts_[i];
    std::optional<std::string_view> read = each.text;
    if (each.is_language) read = language;
    if (each.reader) read = each.reader->read(line);
    if (!read) return std::nullopt;
    found = read->substr(0, max_key);
    if (parts_.size() == 1) return found;
    if (i + 1 < parts_.size()) {
      append_escaped(joined_, found);
    } else {
      joined_ += found;
    }
  }
  return parts_.empty() ? std::nullopt : std::optional<std::string_view>(joined_);
}

bool key_reader::reads_header() const {
  return std::ranges::any_of(parts_, [](const part& each) { return each.reader && each.reader->reads_header(); });
}

void key_reader::read_header(std::string_view line) {
  for (const part& each : parts_) {
    if (each.reader) each.reader->read_header(line);
  }
}

std::string key_reader::fault() const {
  for (const part& each : parts_) {
    const std::string found = each.reader ? each.reader->fault() : "";
    if (!found.empty()) return found;
  }
  return {};
}

std::string joined_key(std::string_view key, std::string_view then) {
  std::string made;
  append_escaped(made, key);
  return made += then;
}

std::string_view first_key_of(std::string_view joined) {
  constexpr std::string_view end("\0\x01", 2);
  return joined.substr(0, joined.find(end));
}

std::vector<std::string> split_key(std::string_view joined, std::size_t keys) {
  std::vector<std::string> made;
  while (made.size() + 1 < keys) {
    std::string& key = made.emplace_back();
    std::size_t at = 0;
    for (; at + 1 < joined.size() && (joined[at] != '\0' || joined[at + 1] != ends); ++at) {
      key += joined[at];
      if (joined[at] == '\0') ++at;  // what follows it
    }
    joined.remove_prefix(std::min(joined.size(), at + 2));
  }
  made.emplace_back(joined);
  return made;
}

}  // namespace gpuhist::report::units
