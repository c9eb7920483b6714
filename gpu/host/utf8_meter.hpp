// Counts malformed UTF-8 and the code points of the common scripts in a text that arrives in pieces.
#pragma once

#include "gpu/host/utf8_scripts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::gpu::host {

/// What a text holds.
struct utf8_counts {
  /// Malformed sequences. Each is a maximal subpart of an ill-formed subsequence (Unicode standard, chapter 3.9,
  /// "U+FFFD Substitution of Maximal Subparts"): the longest prefix of a sequence of table 3-7, or a single byte.
  std::uint64_t malformed = 0;
  std::uint64_t malformed_bytes = 0;                  ///< bytes of these sequences
  std::uint64_t code_points = 0;                      ///< well-formed sequences
  std::array<std::uint64_t, script_count> scripts{};  ///< code points by `script`, in the order of script_names()

  utf8_counts& operator+=(const utf8_counts& more);
  bool operator==(const utf8_counts&) const = default;
};

/// Names by the value of `script`: "common", "latin", ...
std::span<const std::string_view, script_count> script_names();

/// Whether code points are counted by script. Without scripts, text outside ASCII takes less time.
enum class utf8_detail : std::uint8_t { code_points, scripts };

/// Counts one text. Use one meter per text; it has no locks. Does not throw and does not allocate.
class utf8_meter {
 public:
  /// Where the text of a meter begins.
  enum class position : std::uint8_t {
    first,  ///< at the beginning of a text
    later,  ///< anywhere in a text: another meter counts the text before it, and follow() joins both
  };

  explicit utf8_meter(utf8_detail detail = utf8_detail::scripts, position from = position::first)
      : detail_(detail), sets_lead_aside_(from == position::later) {}

  /// The next piece of the text, of any size. Sequences may be cut anywhere. `text` is not used after the return.
  void feed(std::span<const std::byte> text);

  /// Text is missing here. An incomplete sequence at the end of the last piece is not counted; the next piece begins a
  /// sequence.
  void skip();

  /// The text has ended: an incomplete sequence at its end is malformed. Call it once, after the last piece.
  void end();

  /// Adds what was counted before the text of this meter, once, and before end(). `earlier`: its text ends where the
  /// text of this meter begins; it is complete, and `earlier` was a meter of the first text or has followed one.
  /// Precondition: this is a meter of later text.
  void follow(const utf8_meter& earlier);

  /// Counts of the pieces so far. A meter of later text does not count continuation bytes at its beginning, which may
  /// belong to a sequence before it, until follow(). An incomplete sequence at the end of the last piece is not counted
  /// before it is complete, malformed, or at the end of the text. `scripts` is zero with utf8_detail::code_points.
  [[nodiscard]] const utf8_counts& counts() const { return counts_; }

  /// Offset in the text, in bytes, of the first byte of the first malformed sequence.
  [[nodiscard]] std::optional<std::uint64_t> first_malformed() const { return first_malformed_; }

  /// Line of the first malformed sequence: 1 and the number of '\n' before it.
  [[nodiscard]] std::optional<std::uint64_t> first_malformed_line() const;

 private:
  // No sequence has more continuation bytes.
  static constexpr std::size_t max_lead = 3;

  std::span<const std::byte> set_lead_aside(std::span<const std::byte> text);
  void feed_cached(std::span<const std::byte> text, std::size_t from);
  std::size_t step(std::span<const std::byte> text, std::size_t from, std::size_t to);
  template <class ScriptCounter>
  std::size_t step_through(std::span<const std::byte> text, std::size_t from, std::size_t to, ScriptCounter scripts);
  void found_malformed(std::uint64_t offset);

  utf8_detail detail_;
  std::uint8_t state_ = 0;    // of the automaton, after the last byte
  std::uint32_t value_ = 0;   // the bits of the incomplete sequence
  std::uint64_t offset_ = 0;  // of the current piece in the text
  std::uint64_t lines_ = 0;   // '\n' before the first malformed sequence
  utf8_counts counts_;
  std::optional<std::uint64_t> first_malformed_;
  bool sets_lead_aside_;  // continuation bytes at the beginning of later text, until another byte follows
  bool gap_after_lead_ = false;
  std::uint8_t lead_size_ = 0;  // of lead_, not counted yet
  std::array<std::byte, max_lead> lead_{};
};

}  // namespace gpuhist::gpu::host
