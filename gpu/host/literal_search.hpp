// Where short strings occur in a text, exactly or with letters of ASCII in either case: the filter before regular
// expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::gpu::host {

/// A string to search for. Immutable.
class literal {
 public:
  static constexpr std::size_t min_size = 2;

  enum class letters : std::uint8_t {
    either_case,  ///< a letter of ASCII represents both cases; any other byte, itself
    exact,        ///< each byte represents itself
  };

  /// Throws std::invalid_argument for less than min_size bytes.
  explicit literal(std::string_view text, letters are = letters::either_case);

  [[nodiscard]] std::size_t size() const { return lower_.size(); }

  /// The offset of the first occurrence that begins at `from` or after it; std::string_view::npos if there is none.
  [[nodiscard]] std::size_t find(std::string_view text, std::size_t from = 0) const;

  /// Whether it occurs at this offset.
  [[nodiscard]] bool is_at(std::string_view text, std::size_t at) const;

  // For the search.
  /// As it is compared: in lower case if it represents both.
  [[nodiscard]] std::uint8_t lower(std::size_t i) const { return static_cast<std::uint8_t>(lower_[i]); }
  /// 0x20 if byte i is a letter, or 0: a byte of a text is OR-ed with it before it is compared.
  [[nodiscard]] std::uint8_t case_bit(std::size_t i) const { return static_cast<std::uint8_t>(case_bits_[i]); }
  /// Where the two bytes are that are rare in text: one of them is seldom at its place by chance, both even less.
  [[nodiscard]] std::size_t rarest() const { return rarest_; }
  [[nodiscard]] std::size_t next_rarest() const { return next_rarest_; }

 private:
  std::string lower_;
  std::string case_bits_;
  std::size_t rarest_ = 0;
  std::size_t next_rarest_ = 1;
};

/// Many literals, found together (after Wu and Manber 1994). The text is sampled at each stride-th offset, and a table
/// has the hashes of the first `stride` windows of each literal, so that one of them is sampled in each occurrence:
///
///     literal     t i m e o u t              windows of 4 bytes: time, imeo, meou, eout; stride 4
///     text        : _ _ t i m e o u t
///     sampled     : _ _ t                    unknown
///                         i m e o            window 1 of the literal, which may begin one byte before
class literal_windows {
 public:
  struct window {
    std::uint32_t hash;
    std::uint32_t literal;
    std::uint32_t offset;  // in the literal
  };

  /// `chosen`: indices of literals, one or more.
  literal_windows(std::span<const literal> literals, std::span<const std::size_t> chosen);

  [[nodiscard]] std::size_t stride() const { return stride_; }

  /// The first of the offsets `at`, at + stride(), ... with the hash of a window; the size of the text if there is
  /// none.
  [[nodiscard]] std::size_t next_known(std::string_view text, std::size_t at) const;

  /// The windows with the hash of the text at this offset.
  [[nodiscard]] std::span<const window> known_at(std::string_view text, std::size_t at) const;

 private:
  static constexpr std::size_t max_window = 4;

  [[nodiscard]] std::uint32_t hash(std::string_view text, std::size_t at) const;

  std::size_t window_size_;
  std::size_t stride_;
  std::uint32_t window_mask_;
  std::vector<std::uint8_t> is_known_;  // by hash
  std::vector<std::uint32_t> begins_;   // by hash: in windows_
  std::vector<window> windows_;         // by hash
};

/// A set of literals. Immutable: any number of threads may use it.
class literal_set {
 public:
  explicit literal_set(std::vector<literal> literals);

  [[nodiscard]] std::size_t size() const { return literals_.size(); }
  [[nodiscard]] const literal& operator[](std::size_t i) const { return literals_[i]; }

  /// Calls `found(i, at)` for the occurrences of literal i at the offsets `at`, in no order. It returns an offset;
  /// occurrences of the literal that begin before that offset are omitted or not.
  template <class Function>
  void search(std::string_view text, Function found) const {
    for (const std::size_t i : alone_) {
      for (std::size_t at = 0; (at = literals_[i].find(text, at)) != std::string_view::npos;) {
        const std::size_t resumed = found(i, at);
        at = resumed > at ? resumed : at + 1;
      }
    }
    for (const literal_windows& windows : together_) {
      for (std::size_t at = 0; (at = windows.next_known(text, at)) < text.size(); at += windows.stride()) {
        for (const auto& each : windows.known_at(text, at)) {
          if (each.offset <= at && literals_[each.literal].is_at(text, at - each.offset))
            found(std::size_t{each.literal}, at - each.offset);
        }
      }
    }
  }

 private:
  std::vector<literal> literals_;
  std::vector<std::size_t> alone_;
  std::vector<literal_windows> together_;
};

/// The instruction set that is used on this machine ("AVX2").
std::string_view literals_instruction_set();

}  // namespace gpuhist::gpu::host
