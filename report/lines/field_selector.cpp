// field:N reads the N-th field of a line.
//
// Without separator, fields are separated by runs of blanks and tabs, and those at the beginning and at the end of the
// line are ignored, as in awk. With a separator, each occurrence separates two fields, which may be empty. An empty
// line has no fields.

#include "config/text.hpp"
#include "report/lines/byte_block.hpp"
#include "report/lines/selector_kinds.hpp"

#include <bit>

namespace gpuhist::report::lines {
namespace {

bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

// Bit i: byte i of up to 16 bytes is a blank or a tab. Bits from `bytes` on are set: the end of the line ends a field.
std::uint32_t blanks_at(const char* from, std::size_t bytes) {
  if (bytes >= byte_block::size) {
    const byte_block block(from);
    return block.equal_to(' ') | block.equal_to('\t');
  }
  std::uint32_t bits = 0xffffU << bytes;
  for (std::size_t i = 0; i < bytes; ++i) bits |= static_cast<std::uint32_t>(is_blank(from[i])) << i;
  return bits & 0xffffU;
}

std::size_t next_blank(std::string_view line, std::size_t at) {
  for (; at < line.size(); at += byte_block::size) {
    const std::uint32_t blanks = blanks_at(line.data() + at, line.size() - at);
    if (blanks != 0) return at + static_cast<std::size_t>(std::countr_zero(blanks));
  }
  return line.size();
}

// `number`: from 1.
std::optional<std::string_view> blank_separated(std::string_view line, unsigned number) {
  std::uint32_t before = 1;  // the byte before the block is a blank
  for (std::size_t at = 0; at < line.size(); at += byte_block::size) {
    const std::uint32_t blanks = blanks_at(line.data() + at, line.size() - at);
    std::uint32_t begins = ~blanks & ((blanks << 1U) | before) & 0xffffU;
    before = blanks >> (byte_block::size - 1);
    for (; begins != 0; begins &= begins - 1) {
      if (--number > 0) continue;
      const std::size_t begin = at + static_cast<std::size_t>(std::countr_zero(begins));
      return line.substr(begin, next_blank(line, begin) - begin);
    }
  }
  return std::nullopt;
}

// `number`: from 1 for the last field.
std::optional<std::string_view> blank_separated_from_end(std::string_view line, unsigned number) {
  std::size_t at = line.size();
  for (;;) {
    while (at > 0 && is_blank(line[at - 1])) --at;
    if (at == 0) return std::nullopt;
    const std::size_t end = at;
    while (at > 0 && !is_blank(line[at - 1])) --at;
    if (--number == 0) return line.substr(at, end - at);
  }
}

std::optional<std::string_view> separated(std::string_view line, char separator, unsigned number) {
  if (line.empty()) return std::nullopt;
  while (--number > 0) {
    const std::size_t found = line.find(separator);
    if (found == std::string_view::npos) return std::nullopt;
    line.remove_prefix(found + 1);
  }
  return line.substr(0, line.find(separator));
}

std::optional<std::string_view> separated_from_end(std::string_view line, char separator, unsigned number) {
  if (line.empty()) return std::nullopt;
  while (--number > 0) {
    const std::size_t found = line.rfind(separator);
    if (found == std::string_view::npos) return std::nullopt;
    line.remove_suffix(line.size() - found);
  }
  return line.substr(line.rfind(separator) + 1);
}

class field_selector final : public line_selector {
 public:
  // `number`: negative: from the end.
  field_selector(int number, std::optional<char> separator)
      : number_(static_cast<unsigned>(number < 0 ? -number : number)),
        is_from_end_(number < 0),
        separator_(separator) {}

  std::optional<std::string_view> read(std::string_view line) override {
    line = without_carriage_return(line);
    if (separator_) {
      return is_from_end_ ? separated_from_end(line, *separator_, number_) : separated(line, *separator_, number_);
    }
    return is_from_end_ ? blank_separated_from_end(line, number_) : blank_separated(line, number_);
  }

 private:
  unsigned number_;
  bool is_from_end_;
  std::optional<char> separator_;
};

}  // namespace

reader_factory parse_field_selector(const typed_selector& typed) {
  const std::optional<int> number = integer_argument(typed);
  if (!number || *number == 0) {
    refuse(typed, config::quote(typed.argument) +
                      " is not the number of a field; write 1 for the first field, or -1 for the last one");
  }
  if (typed.field_separator == '\n') refuse(typed, "a line feed separates lines, not fields; use another separator");
  return [number = *number, separator = typed.field_separator] {
    return std::make_unique<field_selector>(number, separator);
  };
}

}  // namespace gpuhist::report::lines
