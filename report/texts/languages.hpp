// The language of a text, by CLD2 (libcld2 with its full tables).
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// What CLD2 finds in a text.
struct detected_languages {
  static constexpr std::string_view unknown = "un";

  struct part {
    std::string_view code = unknown;  ///< as CLD2 names it: "en", "zh-Hant"
    int percent = 0;                  ///< of the letters of the text
  };

  std::array<part, 3>
      parts{};               ///< the languages with most of the text; those after the last one are unknown, 0 percent
  bool is_reliable = false;  ///< as CLD2 reports it

  [[nodiscard]] std::string_view first() const { return parts.front().code; }
};

/// `text`: valid UTF-8 of less than 2 GiB. It is read as plain text, without hints. Any thread may call it: the tables
/// of CLD2 are constant, and all else is in memory of the call. Throws std::bad_alloc.
detected_languages detect_languages(std::string_view text);

/// All codes that CLD2 has, in no order. Some languages share one.
std::vector<std::string_view> language_codes();

}  // namespace gpuhist::report::texts
