// Rewrites a text line by line, in steps: rules for corpora that remove lines of a document, and not only documents.
//
//     drop words < 3             the lines for which a condition holds (docs/texts.md) are removed
//     cut \[\d*\]               what matches a regular expression is removed from each line
//     strip                      white space at the ends of each line is removed
//
// Lines are the rows of elements.hpp. Those that are left are joined with line feeds, without white space at the ends
// of the text.
#pragma once

#include "report/texts/text_fact.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// A plain value.
struct rewriting_step {
  enum class kind : std::uint8_t { drop, cut, strip };

  std::string name;
  std::string typed;  ///< "drop words < 3"
  kind what = kind::strip;
  std::optional<element_condition> condition{};  ///< of lines that are dropped
  std::string expression{};                      ///< of what is cut, with the syntax of RE2
};

/// `typed`: a step, perhaps with a name: "short=drop words < 3". Its text is its name otherwise. Throws
/// config::usage_error.
rewriting_step parse_rewriting_step(std::string_view typed);

/// What a step removed.
struct step_count {
  std::uint64_t lines = 0;  ///< that it removed or changed
  std::uint64_t bytes = 0;  ///< that it removed from the text, without those between lines
};

/// One thread at a time. Memory: some times the bytes of the longest text, until release().
class text_rewriter {
 public:
  /// Borrows the steps.
  explicit text_rewriter(std::span<const rewriting_step> steps);
  text_rewriter(const text_rewriter&) = delete;
  text_rewriter& operator=(const text_rewriter&) = delete;
  ~text_rewriter();

  /// Appends the rewritten text to `to`. `text`: valid UTF-8 of less than 4 GiB. The result is valid UTF-8 if no
  /// expression matches a single byte (\C).
  void rewrite(std::string_view text, std::string& to);

  /// What the steps removed since the last call, by step.
  [[nodiscard]] std::vector<step_count> take_counts();

  /// Frees the memory that a long text needed.
  void release();

 private:
  struct tool;

  void drop(std::size_t step);
  void cut(std::size_t step);
  void strip(std::size_t step);
  void note(std::size_t step, std::size_t bytes);

  const std::span<const rewriting_step> steps_;
  std::vector<std::unique_ptr<tool>> tools_;  // by step
  detail needed_ = detail::characters;
  std::vector<step_count> counts_;
  std::string_view text_;  // that the lines are in
  std::vector<element> lines_;
  std::string changed_;  // text of lines after a cut
  std::string room_;
};

}  // namespace gpuhist::report::texts
