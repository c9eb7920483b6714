#include "config/scheme.hpp"

#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gpuhist::config {
namespace {

scheme letters() {
  scheme made{"letters", {"a-d", "e-h", "i-l", "m-p", "q-t", "u-x", "y-z", "other"}, {}};
  made.bucket_of.fill(7);
  for (std::size_t letter = 0; letter < 26; ++letter) {
    made.bucket_of['a' + letter] = static_cast<std::uint16_t>(letter / 4);
  }
  return made;
}

scheme alphabet() {
  scheme made{"alphabet", {}, {}};
  made.bucket_of.fill(26);
  for (std::uint16_t letter = 0; letter < 26; ++letter) {
    made.buckets.emplace_back(1, static_cast<char>('a' + letter));
    made.bucket_of[std::size_t{'a'} + letter] = letter;
  }
  made.buckets.emplace_back("other");
  return made;
}

scheme bytes() {
  constexpr std::string_view digits = "0123456789abcdef";
  scheme made{"bytes", {}, {}};
  for (std::uint16_t value = 0; value < 256; ++value) {
    made.buckets.push_back({'0', 'x', digits[value >> 4U], digits[value & 0xfU]});
    made.bucket_of[value] = value;
  }
  return made;
}

enum byte_class : std::uint16_t { upper, lower, digit, space, punctuation, control, non_ascii };

// Without <cctype>, because the classes must not depend on the locale of the process.
byte_class class_of(std::size_t value) {
  if (value >= 0x80) return non_ascii;
  if (value == ' ' || (value >= '\t' && value <= '\r')) return space;
  if (value < 0x20 || value == 0x7f) return control;
  if (value >= 'A' && value <= 'Z') return upper;
  if (value >= 'a' && value <= 'z') return lower;
  if (value >= '0' && value <= '9') return digit;
  return punctuation;
}

scheme classes() {
  scheme made{"classes", {"upper", "lower", "digit", "space", "punctuation", "control", "non-ascii"}, {}};
  for (std::size_t value = 0; value < 256; ++value) made.bucket_of[value] = class_of(value);
  return made;
}

enum utf8_role : std::uint16_t { ascii, continuation, lead_2, lead_3, lead_4, never_utf8 };

// RFC 3629, section 4, for a single byte: counts do not contain the order of bytes.
utf8_role role_of(std::size_t value) {
  if (value < 0x80) return ascii;
  if (value < 0xc0) return continuation;
  if (value < 0xc2 || value > 0xf4) return never_utf8;
  return value >= 0xf0 ? lead_4 : value >= 0xe0 ? lead_3 : lead_2;
}

scheme utf8() {
  scheme made{
      "utf8", {"ascii", "continuation", "lead-2", "lead-3", "lead-4", "never-utf8"}, {}, {{"invalid", never_utf8}}};
  for (std::size_t value = 0; value < 256; ++value) made.bucket_of[value] = role_of(value);
  return made;
}

struct built_in {
  std::string_view name;
  scheme (*make)();
};

constexpr std::array built_ins = {built_in{"letters", letters}, built_in{"alphabet", alphabet},
                                  built_in{"bytes", bytes}, built_in{"classes", classes}, built_in{"utf8", utf8}};

const built_in* find_built_in(std::string_view name) {
  const auto* const found =
      std::find_if(built_ins.begin(), built_ins.end(), [&](const built_in& each) { return each.name == name; });
  return found == built_ins.end() ? nullptr : found;
}

bool contains(const std::vector<scheme>& schemes, std::string_view name) {
  return std::any_of(schemes.begin(), schemes.end(), [&](const scheme& each) { return each.name == name; });
}

void add_custom(std::vector<scheme>& to, const std::string& definition) {
  scheme made = parse_custom_scheme(definition);
  const auto refuse = [&](std::string_view why) {
    throw usage_error(quote(definition) + ": " + quote(made.name) + " " + std::string(why) + "; use another name");
  };
  if (find_built_in(made.name) != nullptr) refuse("is a built-in scheme");
  if (!made.name.empty() && contains(to, made.name)) refuse("is the name of two schemes");
  to.push_back(std::move(made));
}

// Programs use these names to find results, so the names depend only on the order of the definitions.
void name_unnamed_schemes(std::vector<scheme>& schemes) {
  std::size_t number = 0;
  for (scheme& each : schemes) {
    if (!each.name.empty()) continue;
    std::string name;
    do {
      ++number;
      name = number == 1 ? "custom" : "custom-" + std::to_string(number);
    } while (contains(schemes, name));
    each.name = std::move(name);
  }
}

void fold_case(scheme& folded) {
  for (std::size_t letter = 0; letter < 26; ++letter) folded.bucket_of['A' + letter] = folded.bucket_of['a' + letter];
}

}  // namespace

scheme find_scheme(std::string_view name) {
  if (const built_in* const found = find_built_in(name)) return found->make();
  const std::vector<std::string_view> names = scheme_names();
  std::string message = "there is no scheme " + quote(name) + "; known are";
  for (const std::string_view each : names) message.append(each == names.front() ? " " : ", ").append(each);
  if (const auto meant = likely_name(name, names)) {
    message.append("; did you mean ").append(*meant).append("?");
  } else {
    message.append("; bucket=characters;... defines one");
  }
  throw usage_error(message);
}

std::optional<std::size_t> find_bucket(const scheme& among, std::string_view name) {
  const auto found = std::ranges::find(among.buckets, name);
  if (found == among.buckets.end()) return std::nullopt;
  return static_cast<std::size_t>(found - among.buckets.begin());
}

std::optional<std::size_t> find_formerly_named(const scheme& among, std::string_view name) {
  if (find_bucket(among, name)) return std::nullopt;
  const auto found = std::ranges::find(among.former_names, name, &former_name::name);
  if (found == among.former_names.end()) return std::nullopt;
  return found->bucket;
}

bool are_buckets_of(const scheme& of, std::span<const std::string> names) {
  if (names.size() != of.buckets.size()) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != of.buckets[i] && find_formerly_named(of, names[i]) != i) return false;
  }
  return true;
}

std::vector<scheme> make_schemes(const std::vector<std::string>& typed, bool ignore_case) {
  std::vector<scheme> schemes;
  for (const std::string& each : typed) {
    if (is_custom_scheme(each)) {
      add_custom(schemes, each);
    } else if (!contains(schemes, each)) {
      schemes.push_back(find_scheme(each));
    }
  }
  name_unnamed_schemes(schemes);
  if (ignore_case) std::for_each(schemes.begin(), schemes.end(), fold_case);
  return schemes;
}

std::vector<std::string_view> scheme_names() {
  std::vector<std::string_view> names;
  for (const built_in& each : built_ins) names.push_back(each.name);
  return names;
}

}  // namespace gpuhist::config
