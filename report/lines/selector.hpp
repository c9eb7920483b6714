// Reads one part of each line of a text: a key to group by, or a number. A selector is typed as "kind:argument", for
// example field:3 or json:status; selector_kinds() lists the kinds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::report::lines {

/// Reads its part of one line after the other. One thread at a time. Keeps its buffers, so that it allocates only for
/// lines that are longer than those before.
class line_selector {
 public:
  line_selector() = default;
  virtual ~line_selector() = default;
  line_selector(const line_selector&) = delete;
  line_selector& operator=(const line_selector&) = delete;

  /// The part of the line, which may be empty; nothing: the line has none. `line`: any bytes, without the line feed;
  /// one '\r' at its end is not part of the line and is removed here. The result is valid until the next call, and only
  /// as long as the bytes of the line. Throws std::bad_alloc.
  virtual std::optional<std::string_view> read(std::string_view line) = 0;

  /// Whether the first line of the input is a header, without which no part of the other lines is known.
  [[nodiscard]] virtual bool reads_header() const { return false; }

  /// `line`: the first one of the input. Called once, before lines are read. Throws std::bad_alloc.
  virtual void read_header([[maybe_unused]] std::string_view line) {}

  /// Why no line of the input has the part; empty: lines may have it.
  [[nodiscard]] virtual std::string fault() const { return {}; }
};

/// Makes a reader. Any thread may call it.
using reader_factory = std::function<std::unique_ptr<line_selector>()>;

/// A selector as typed, which makes readers. Immutable: any thread may use it.
class selector {
 public:
  /// `typed`: "kind" or "kind:argument". `field_separator`: one byte that separates fields and columns of CSV; nothing:
  /// runs of blanks and tabs for `field`, ',' for `csv`. The other kinds ignore it. Throws config::usage_error with the
  /// selector, the cause and the remedy.
  selector(std::string_view typed, std::optional<char> field_separator);

  /// As typed.
  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] std::unique_ptr<line_selector> make_reader() const { return make_reader_(); }

  /// As that of its readers: all text of an input must then be read by the same one, from the beginning.
  [[nodiscard]] bool reads_header() const { return reads_header_; }

 private:
  std::string text_;
  reader_factory make_reader_;
  bool reads_header_;
};

/// A selector that was typed and is not yet checked.
struct typed_selector {
  std::string_view text;      ///< "field:3"
  std::string_view argument;  ///< "3"
  std::optional<char> field_separator;
};

/// A kind of selectors, for the parser, the help and messages.
struct selector_kind {
  std::string_view name;
  std::string_view argument;     ///< what follows "name:", for the help: "N"; empty: the kind has no argument
  std::string_view example;      ///< "field:3"
  std::string_view description;  ///< of the part that is read; a noun phrase
  reader_factory (*parse)(const typed_selector& typed);  ///< throws config::usage_error
};

/// All kinds in the order of the help.
std::span<const selector_kind> selector_kinds();

/// The number that a text states in decimal, with sign, fraction and exponent, such as "-1.5e3"; nothing: it states
/// none. Blanks and tabs around the number are ignored; a unit is not allowed. NaN, infinities and numbers beyond the
/// range of double are not numbers; a number that is too near to zero is 0.
std::optional<double> number_in(std::string_view text);

}  // namespace gpuhist::report::lines
