// What lines are grouped by: a part of the line, its language, its characters, the name of its input, or two of these.
#pragma once

#include "report/lines/selector.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// One key. Immutable: any thread may use it.
struct group_key {
  enum class source : std::uint8_t {
    line,      ///< a part of the line
    name,      ///< the name of the input
    family,    ///< the name without rotation (lines::parse_log_name())
    language,  ///< of the line or record, or of the field that is measured (texts::text_reader)
    /// Each character of the same text: it is counted as a line is with other keys. Malformed sequences have no key. Of
    /// two keys only the second, which is no key of key_reader.
    character,
  };

  std::string text;  ///< as typed
  source from = source::line;
  std::optional<lines::selector> selector{};  ///< of the line

  [[nodiscard]] bool is_language() const { return from == source::language; }
  [[nodiscard]] bool is_character() const { return from == source::character; }
  [[nodiscard]] bool reads_line() const { return from == source::line || is_language() || is_character(); }
};

/// As typed.
inline constexpr std::string_view key_of_characters = "character";

/// The source of a key that is typed so; nothing: it is a selector.
std::optional<group_key::source> source_named(std::string_view typed);

/// Reads the key of each line of one input. One thread at a time.
class key_reader {
 public:
  /// `input`: its name. Both are copied.
  key_reader(std::span<const group_key> keys, std::string_view input);

  /// Whether all lines of the input have the same key.
  [[nodiscard]] bool is_constant() const { return variable_ == 0; }

  /// The key of a line, of which the first max_key bytes count; nothing: the line has none. Two keys are joined
  /// (split_key()), and a line without one of them has none. `language`: of it; nothing: not known. Valid until the
  /// next call.
  std::optional<std::string_view> read(std::string_view line, std::optional<std::string_view> language = {});

  /// As those of lines::line_selector.
  [[nodiscard]] bool reads_header() const;
  void read_header(std::string_view line);
  [[nodiscard]] std::string fault() const;

 private:
  static constexpr std::size_t max_key = 4096;

  struct part {
    std::unique_ptr<lines::line_selector> reader;  // null: the language, or `text`
    std::string text;
    bool is_language = false;
  };

  std::vector<part> parts_;
  std::size_t variable_ = 0;  // parts that depend on the line
  std::string joined_;
};

/// Two keys as a key_reader joins them.
std::string joined_key(std::string_view key, std::string_view then);

/// The first of two keys that were joined, as it is in the joined one; all of a key that was not.
std::string_view first_key_of(std::string_view joined);

/// The keys that were joined, of which there are so many.
std::vector<std::string> split_key(std::string_view joined, std::size_t keys);

}  // namespace gpuhist::report::units
