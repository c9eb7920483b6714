#include "tests/support/unit_strings.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace gpuhist::test {
namespace {

constexpr std::string_view long_s = "\xc5\xbf";
constexpr std::string_view kelvin_sign = "\xe2\x84\xaa";

std::string random_string(std::mt19937& random, std::size_t size, bool is_ascii) {
  constexpr std::string_view bytes = "aabAxkKsS@`\xc5\xbf\xe2\x84\xaa";
  std::string made(size, ' ');
  for (char& each : made) each = bytes[random() % (is_ascii ? 11 : bytes.size())];
  return made;
}

// A text that the string matches.
std::string occurrence_of(std::mt19937& random, const units::searched_string& string) {
  if (!string.ignores_case) return string.text;
  std::string made;
  for (const char each : string.text) {
    const auto c = static_cast<unsigned char>(each);
    const int lower = std::tolower(c);
    if (lower == 's' && random() % 4 == 0) {
      made += long_s;
    } else if (lower == 'k' && random() % 4 == 0) {
      made += kelvin_sign;
    } else {
      made += static_cast<char>(random() % 2 == 0 ? lower : std::toupper(c));
    }
  }
  return made;
}

std::string folded(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const bool is_s = text.starts_with(long_s);
    const bool is_k = text.starts_with(kelvin_sign);
    made += is_s ? 's' : is_k ? 'k' : static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    text.remove_prefix(is_s ? long_s.size() : is_k ? kelvin_sign.size() : 1);
  }
  return made;
}

void plant(std::string& text, std::size_t at, std::string_view planted) {
  if (at < text.size()) text.replace(at, planted.size(), planted.substr(0, text.size() - at));
}

struct found_line {
  std::uint64_t bytes = 0;
  std::uint64_t strings = 0;
  bool is_open = false;

  bool operator==(const found_line&) const = default;
};

// What is found in an extent.
struct found_lines {
  std::vector<found_line> returned{};                                         // in pieces
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> joined{};  // by strings: lines and bytes
  std::string begin{};
  std::string end{};

  bool operator==(const found_lines&) const = default;
};

found_lines expected_lines(const unit_text& text, const gpu::extent& extent, const string_list& strings,
                           std::size_t edge_bytes) {
  const std::string_view all(reinterpret_cast<const char*>(text.bytes().data()), text.room());
  const std::string_view whole = all.substr(extent.begin, extent.end - extent.begin);
  found_lines found{.begin = std::string(whole.substr(0, edge_bytes)),
                    .end = std::string(whole.substr(whole.size() - std::min(whole.size(), edge_bytes)))};
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t delimiter = whole.find('\n', at);
    const bool is_open = delimiter == std::string_view::npos;
    const std::size_t end = is_open ? whole.size() : delimiter + 1;
    const std::uint64_t own = strings_in(whole.substr(at, delimiter - at), strings);
    const std::size_t place = extent.begin + at;
    const bool is_first = at == 0 || place % units::tile_bytes == 0;
    const bool is_one = place / units::tile_bytes == (extent.begin + end - 1) / units::tile_bytes;
    if (is_first || !is_one || is_open) {
      found.returned.push_back({.bytes = end - at, .strings = own, .is_open = is_open});
    } else {
      ++found.joined[own].first;
      found.joined[own].second += end - at;
    }
    at = end;
  }
  return found;
}

found_lines lines_in_rows(const units::piece_rows& rows) {
  found_lines found;
  found_line line{.is_open = true};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.is_text(i)) {
      (rows.is_of_end(i) ? found.end : found.begin) += rows.text(i);
    } else if (rows.is_of_omitted(i)) {
      found.joined[rows.strings(i)].first += rows.omitted_units(i);
      found.joined[rows.strings(i)].second += rows.omitted_bytes(i);
    } else {
      line.bytes += rows.bytes(i);
      line.strings |= rows.strings(i);
      line.is_open = !rows.ends_unit(i);
      if (!line.is_open) found.returned.push_back(std::exchange(line, {.is_open = true}));
    }
  }
  if (line.bytes > 0) found.returned.push_back(line);
  return found;
}

}  // namespace

string_list random_strings(std::mt19937& random, std::size_t count, std::size_t longest) {
  string_list made;
  while (made.size() < count) {
    const bool ignores_case = random() % 2 == 0;
    const std::size_t size =
        random() % 3 == 0 ? 1 + random() % longest : 1 + random() % std::min<std::size_t>(longest, 6);
    units::searched_string string{.text = random_string(random, size, ignores_case), .ignores_case = ignores_case};
    if (ignores_case) string.text.front() = 'a';  // a window
    if (string.longest() <= longest) made.push_back(std::move(string));
  }
  return made;
}

std::string random_lines(std::mt19937& random, const string_list& strings, std::size_t size, std::size_t line_bytes) {
  std::string text = random_string(random, size, false);
  const auto plant_some = [&](std::size_t around) {
    const std::string planted = occurrence_of(random, strings[random() % strings.size()]);
    plant(text, around - std::min(around, random() % (planted.size() + 1)), planted);
  };
  for (std::size_t left = size / 50 + 1; left > 0; --left) plant_some(random() % (size + 1));
  for (std::size_t left = size / line_bytes + random() % 2; left > 0; --left) {
    if (size > 0) text[random() % size] = '\n';
  }
  plant_some(0);
  plant_some(size);
  for (std::size_t at = units::tile_bytes; at < size; at += units::tile_bytes) plant_some(at);
  return text;
}

units::piece_classes classes_with(const string_list& strings) {
  constexpr std::byte line_feed{'\n'};
  auto made = units::piece_classes::make(gpu::partition(), line_feed).value();
  made.strings = units::searched_strings::make(strings, line_feed).value();
  return made;
}

std::uint64_t strings_in(std::string_view line, const string_list& strings) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const bool is_in = strings[i].ignores_case ? folded(line).find(folded(strings[i].text)) != std::string::npos
                                               : line.find(strings[i].text) != std::string_view::npos;
    if (is_in) found |= std::uint64_t{1} << i;
  }
  return found;
}

std::string string_differences(const measured_pieces& found, const unit_text& text, const units::piece_classes& classes,
                               const string_list& strings) {
  for (std::size_t i = 0; i < text.extents().size(); ++i) {
    const std::size_t stride = classes.words_of_row();
    const std::size_t first = found.extent_pieces[i] * stride;
    const std::size_t after = found.extent_pieces[i + 1] * stride;
    if (first > after || after > found.rows.size()) return "extent " + std::to_string(i) + ": its rows are missing";
    const units::piece_rows rows(std::span(found.rows).subspan(first, after - first), classes);
    const found_lines own = lines_in_rows(rows);
    const found_lines expected = expected_lines(text, text.extents()[i], strings, classes.edge_bytes());
    const std::string where = "extent " + std::to_string(i) + ": ";
    if (own.begin != expected.begin || own.end != expected.end) return where + "an edge is wrong";
    if (own.returned != expected.returned) return where + "lines in pieces are wrong";
    if (own.joined != expected.joined) return where + "joined lines are wrong";
  }
  return "";
}

}  // namespace gpuhist::test
