// MinHash signatures of texts, equal to those of MinhashDedupSignature of datatrove 0.10.1 with its defaults, except
// that words are divided by white space: 14 bands of 8 hashes of the sequences of 5 words.
//
//     text ──► lower case, numbers as 0, punctuation as blanks, NFD without marks ──► "the cat sat on a mat"
//     each sequence of 5 words ──► XXH64 ──► h ──► (h * a + b) mod (2^61 - 1), for 112 pairs a, b ──► the lowest of
//     each
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace gpuhist::report::texts {

/// One thread.
class minhash_reader {
 public:
  static constexpr std::size_t bands = 14;
  static constexpr std::size_t hashes_of_band = 8;
  static constexpr std::size_t words_of_sequence = 5;
  using signature = std::array<std::uint64_t, bands * hashes_of_band>;

  /// The words of a text of valid UTF-8, in the form in which they are compared, with one blank between them. Valid
  /// until the next call.
  std::string_view words_of(std::string_view text);

  /// The signature of a text of valid UTF-8. Null: it has fewer than 5 words. Valid until the next call.
  const signature* of(std::string_view text);

 private:
  void simplify(std::string_view text);
  void append_lower(std::string_view text, std::size_t at, char32_t code_point);
  void decompose();
  void add_part(char32_t code_point);
  void add_marks();
  void add(char32_t code_point);

  std::u32string plain_;
  std::vector<std::tuple<int, std::size_t, char32_t>> marks_;  // class, number of the mark; they follow words_
  std::string words_;
  std::vector<std::size_t> begins_;  // of words
  signature made_{};
};

}  // namespace gpuhist::report::texts
