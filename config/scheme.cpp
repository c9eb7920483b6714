// Schemes: named maps from the 256 byte values to named buckets, and the table of the built-in ones.
#include "config/scheme.hpp"

#include "config/quote.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <cstddef>

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

// By hand and not by <cctype>: the answer must not depend on the locale of the process.
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

struct built_in {
  std::string_view name;
  scheme (*make)();
};

constexpr std::array schemes = {built_in{"letters", letters}, built_in{"bytes", bytes}, built_in{"classes", classes}};

}  // namespace

scheme find_scheme(std::string_view name) {
  const auto* const found =
      std::find_if(schemes.begin(), schemes.end(), [&](const built_in& each) { return each.name == name; });
  if (found != schemes.end()) return found->make();

  const std::vector<std::string_view> names = scheme_names();
  std::string message = "--buckets: there is no scheme " + quote(name) + "; known are";
  for (const std::string_view each : names) message.append(each == names.front() ? " " : ", ").append(each);
  if (const auto meant = nearest_name(name, names)) message.append("; did you mean ").append(*meant).append("?");
  throw usage_error(message);
}

std::vector<std::string_view> scheme_names() {
  std::vector<std::string_view> names;
  for (const built_in& each : schemes) names.push_back(each.name);
  return names;
}

}  // namespace gpuhist::config
