#include "io/archive/volume_name.hpp"

#include "io/format.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace gpuhist::io {
namespace {

// The number after the prefix, if all the rest are digits, at least `digits` of them; 0 if not.
std::uint64_t number_after(std::string_view text, std::string_view prefix, std::size_t digits) {
  if (!text.starts_with(prefix) || text.size() < prefix.size() + digits) return 0;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

struct divided_name {
  std::string_view stem;
  std::string suffix;  // in lower case, without the dot
};

divided_name divide(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {.stem = name, .suffix = {}};
  divided_name made{.stem = name.substr(0, dot), .suffix = std::string(name.substr(dot + 1))};
  std::ranges::transform(made.suffix, made.suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

}  // namespace

std::optional<archive_volume> volume_named(std::string_view name) {
  const std::string_view file = name.substr(name.find_last_of('/') + 1);  // npos + 1 is 0
  const auto [stem, suffix] = divide(file);
  const std::string whole(stem);
  if (const std::uint64_t number = number_after(suffix, "", 3); number > 0) {
    const bool is_split = promised_archive(stem).kind != archive_kind::none || promised_by(stem) != nullptr;
    if (!is_split) return std::nullopt;
    return archive_volume{.number = number, .remedy = "join the volumes first: cat " + whole + ".??? > " + whole};
  }
  if (const std::uint64_t number = number_after(suffix, "z", 2); number > 0) {
    return archive_volume{.number = number,
                          .remedy = "join the volumes first: zip -s 0 " + whole + ".zip --out joined.zip"};
  }
  const auto [first, part] = divide(stem);
  if (const std::uint64_t number = number_after(part, "part", 1); number > 0 && suffix == "rar") {
    return archive_volume{.number = number,
                          .remedy = "to count its text: unrar p -inul " + std::string(first) + ".part1.rar | gpuhist"};
  }
  return std::nullopt;
}

}  // namespace gpuhist::io
