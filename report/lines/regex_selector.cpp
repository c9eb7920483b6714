// regex:EXPRESSION reads the first group of the first match of a regular expression in the line; without group, the
// match. RE2 matches in linear time, with the syntax of https://github.com/google/re2/wiki/Syntax.
//
// The expression is UTF-8. In a line that is not, an invalid byte is matched only by \C. A group that is not part of
// the match has no value.

#include "config/text.hpp"
#include "report/lines/selector_kinds.hpp"

#include <re2/re2.h>

#include <array>

namespace gpuhist::report::lines {
namespace {

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

RE2::Options regex_options() {
  RE2::Options options(RE2::Quiet);
  return options;
}

// Has an expression of its own, with up to 8 MiB of states: readers that share one also share a lock.
class regex_selector final : public line_selector {
 public:
  explicit regex_selector(std::string_view expression)
      : expression_(piece_of(expression), regex_options()),
        groups_(expression_.NumberOfCapturingGroups() > 0 ? 2 : 1) {}

  std::optional<std::string_view> read(std::string_view line) override {
    line = without_carriage_return(line);
    // a group that is not part of the match is null, as one in a line that is null would be
    if (line.empty()) line = "";
    std::array<re2::StringPiece, 2> found;
    const bool is_match = expression_.Match(piece_of(line), 0, line.size(), RE2::UNANCHORED, found.data(), groups_);
    const re2::StringPiece& selected = found[static_cast<std::size_t>(groups_ - 1)];
    if (!is_match || (groups_ == 2 && selected.data() == nullptr)) return std::nullopt;
    return std::string_view(selected.data(), selected.size());
  }

 private:
  RE2 expression_;
  int groups_;  // that a match reports, with the match
};

}  // namespace

reader_factory parse_regex_selector(const typed_selector& typed) {
  const RE2 expression(piece_of(typed.argument), regex_options());
  if (!expression.ok()) {
    refuse(typed, "the expression " + config::quote(typed.argument) +
                      " is not valid: " + config::on_one_line(expression.error()) + "; the syntax is that of RE2");
  }
  return [text = std::string(typed.argument)] { return std::make_unique<regex_selector>(text); };
}

}  // namespace gpuhist::report::lines
