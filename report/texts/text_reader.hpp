// Computes the functions of texts (docs/units.md), one text after the other. What several functions need is computed
// once for each text: its elements by kind, which of them are duplicates, and the text in lower case.
#pragma once

#include "report/texts/condition_reader.hpp"
#include "report/texts/elements.hpp"
#include "report/texts/equal_strings.hpp"
#include "report/texts/languages.hpp"
#include "report/texts/string_set.hpp"
#include "report/texts/text_fact.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// One thread at a time. Memory: some times the bytes of the longest text; of more than kept_bytes it is released.
class text_reader {
 public:
  /// The most bytes of a text, also with U+FFFD for malformed sequences: twice as many are less than 4 GiB.
  static constexpr std::size_t max_bytes = (std::size_t{1} << 31U) - 1;

  /// The buffers for longer texts are released.
  static constexpr std::size_t kept_bytes = std::size_t{1} << 20U;

  /// What is known of the bytes of a text.
  enum class encoding : std::uint8_t { any, utf8 };

  /// Borrows the facts. `finds_language`: language() is called.
  explicit text_reader(std::span<const text_fact> facts, bool finds_language = false);
  text_reader(const text_reader&) = delete;
  text_reader& operator=(const text_reader&) = delete;
  ~text_reader();

  /// The values of all facts for a text, until the next call; NaN: it has none, as a text of more than max_bytes.
  /// Malformed sequences of UTF-8 are read as U+FFFD.
  std::span<const double> read(std::string_view text, encoding known = encoding::any);

  /// The language with most of the text that was passed last; nothing: it has no values.
  [[nodiscard]] std::optional<std::string_view> language() const {
    return languages_ ? std::optional(languages_->first()) : std::nullopt;
  }

 private:
  static constexpr std::size_t kinds = 10;

  // Of the elements of a kind, in the text that was passed last.
  struct division {
    detail needed = detail::characters;
    bool is_counted_only = true;  // no function needs the elements
    bool is_made = false;
    std::vector<element> elements;
    std::uint64_t characters = 0;
    bool has_duplicates = false;  // the numbers below are known
    std::uint64_t duplicates = 0;
    std::uint64_t duplicate_characters = 0;
  };
  // The elements of a kind one after the other, as sequences of them are compared.
  struct joined_text {
    bool is_made = false;
    std::string text;
    std::vector<std::uint32_t> begins;  // of each element, and after the last one

    // With what follows each of its elements.
    [[nodiscard]] std::string_view sequence(std::size_t first, std::size_t number) const {
      return std::string_view(text).substr(begins[first], begins[first + number] - begins[first]);
    }
  };
  void note_needs();
  [[nodiscard]] double value_of(const text_fact& fact, std::size_t index);
  [[nodiscard]] double value_of_elements(const text_fact& fact, std::size_t index);
  division& divided(config::text_part kind);
  const division& with_duplicates(config::text_part kind);
  const joined_text& joined(config::text_part kind, std::string_view separator);
  [[nodiscard]] std::string_view lower();
  [[nodiscard]] const detected_languages& languages();

  [[nodiscard]] double among(const text_fact& fact, const string_set& strings);
  [[nodiscard]] double distinct_among(const text_fact& fact, const string_set& strings);
  // Precondition: the text has fact.number() elements.
  [[nodiscard]] double top_characters(const text_fact& fact);
  [[nodiscard]] double repeated_characters(const text_fact& fact);
  [[nodiscard]] double top_covered(const text_fact& fact);
  [[nodiscard]] double repeated_covered(const text_fact& fact);
  struct frequent_sequence {
    std::size_t first = 0;  // element
    std::uint64_t times = 0;
  };
  [[nodiscard]] frequent_sequence most_frequent(const joined_text& of, std::size_t number);

  const std::span<const text_fact> facts_;
  const bool finds_language_;
  std::vector<std::unique_ptr<condition_reader>> conditions_;  // by fact; null: it has none
  std::vector<string_set> sets_;                               // by fact: the strings that elements are compared with
  std::vector<double> values_;
  std::string_view text_;
  std::string room_;
  std::array<division, kinds> divisions_;
  std::array<joined_text, kinds> with_blanks_;
  std::array<joined_text, kinds> without_blanks_;
  bool has_lower_ = false;
  std::string lower_;
  std::optional<detected_languages> languages_;
  equal_strings equals_;
  std::vector<std::uint32_t> counts_;  // by the first of equal sequences
};

}  // namespace gpuhist::report::texts
