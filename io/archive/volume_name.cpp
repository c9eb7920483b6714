#include "io/archive/volume_name.hpp"

#include "io/format.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace gpuhist::io {
namespace {

// The number that the digits state; 0 if other characters are among them, or there are fewer or more.
std::uint64_t number_in(std::string_view digits, std::size_t least, std::size_t most) {
  if (digits.size() < least || digits.size() > most) return 0;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

struct divided_name {
  std::string_view stem;
  std::string suffix;  // in lower case, without the dot
};

divided_name divide(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::size_t begin = name.find_last_of('/') + 1;  // npos + 1 is 0
  if (dot == std::string_view::npos || dot <= begin) return {.stem = name, .suffix = {}};
  divided_name made{.stem = name.substr(0, dot), .suffix = std::string(name.substr(dot + 1))};
  std::ranges::transform(made.suffix, made.suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

// A name as a word of a shell.
std::string word_of(std::string_view name) {
  constexpr std::string_view plain = "/._-+,:=@%";
  const auto is_plain = [plain](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || plain.find(c) != std::string_view::npos;
  };
  std::string word = name.starts_with('-') ? "./" : "";
  if (std::ranges::all_of(name, is_plain)) return word + std::string(name);
  word += '\'';
  for (const char each : name) word += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return word + '\'';
}

}  // namespace

std::string join_split_zip(std::string_view last) {
  return "join the volumes first: zip -s 0 " + word_of(last) + " --out joined.zip";
}

std::optional<archive_volume> volume_named(std::string_view name) {
  const auto [stem, suffix] = divide(name);
  if (const std::uint64_t number = number_in(suffix, 3, 3); number > 0) {
    const bool is_split = promised_archive(stem).kind != archive_kind::none || promised_by(stem) != nullptr;
    if (!is_split) return std::nullopt;
    const std::string whole = word_of(stem);
    return archive_volume{.number = number, .remedy = "join the volumes first: cat " + whole + ".??? > " + whole};
  }
  if (const std::uint64_t number = suffix.starts_with('z') ? number_in(suffix.substr(1), 2, 5) : 0; number > 0) {
    return archive_volume{.number = number, .remedy = join_split_zip(std::string(stem) + ".zip")};
  }
  constexpr std::string_view part = "part";
  const auto [first, number_of] = divide(stem);
  if (suffix != "rar" || !number_of.starts_with(part)) return std::nullopt;
  const std::uint64_t number = number_in(std::string_view(number_of).substr(part.size()), 1, 5);
  if (number == 0) return std::nullopt;
  std::string first_part(stem.substr(0, first.size() + 1 + part.size()));
  first_part.append(number_of.size() - part.size() - 1, '0').append("1.rar");
  return archive_volume{.number = number,
                        .remedy = "to count its text: unrar p -inul " + word_of(first_part) + " | gpuhist"};
}

}  // namespace gpuhist::io
