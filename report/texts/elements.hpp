// The elements of a text: its lines, paragraphs, words and so on.
#pragma once

#include "config/text_functions.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// A part of a text of less than 4 GiB.
struct element {
  std::uint32_t begin = 0;  ///< its first byte in the text
  std::uint32_t bytes = 0;
  std::uint32_t characters = 0;
  std::uint32_t letters = 0;      ///< characters that are letters
  std::uint32_t punctuation = 0;  ///< characters that are punctuation

  [[nodiscard]] std::string_view in(std::string_view text) const { return text.substr(begin, bytes); }
};

/// What is counted of an element: letters and punctuation only with `traits`, except of words and tokens.
enum class detail : std::uint8_t { characters, traits };

/// Writes the elements of a kind, in the order of the text. `text`: valid UTF-8. Precondition: the kind is not
/// text_part::text.
///
/// | kind      | in the words of Python                                            |
/// | line      | text.split("\n"), without those that strip() leaves empty         |
/// | row       | text.splitlines()                                                 |
/// | segment   | re.split("\n+", text)                                             |
/// | paragraph | text.split("\n\n")                                                |
/// | block     | re.split("\n{2,}", text.strip())                                  |
/// | sentence  | words of a row up to one that ends with an end mark: see divide_sentences()  |
/// | word      | text.split()                                                      |
/// | token     | longest runs of letters, marks and digits; each other character that is not white space |
/// | url       | http:// or https:// and at least one of A-Z a-z 0-9 $-_@.&+/:=?#~!*(), or %XX |
void divide(std::string_view text, config::text_part kind, detail needed, std::vector<element>& to);

/// A part of a text as an element.
element element_of(std::string_view text, std::size_t begin, std::size_t bytes, detail needed);

/// Characters of the longest word; 0: there is none.
std::uint32_t longest_word_in(std::string_view text);

/// Their number, without writing them.
std::size_t number_of_elements(std::string_view text, config::text_part kind);

}  // namespace gpuhist::report::texts
