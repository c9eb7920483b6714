// Expressions whose names are resolved: they compute a number, or a truth value, from counts.
#pragma once

#include "config/expression.hpp"
#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/conditions/evaluation.hpp"
#include "report/measures/measure.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::gates {

/// The counts that a formula is evaluated for. Borrows everything.
struct watched_counts {
  const gpu::tally& counts;  ///< a tally without counts: no bytes
  const gpu::partition& partition;
  const measures::byte_counts* baseline = nullptr;   ///< null: none
  std::span<const pipeline::scheme_view> schemes{};  ///< with pairs; only for formulas that need pairs
  std::optional<std::uint64_t> words{};              ///< of a unit; nothing: not counted
  std::optional<std::uint64_t> malformed{};          ///< UTF-8 sequences; nothing: not counted
  std::optional<std::uint64_t> lines{};              ///< nothing: line feeds are counted
  std::span<const double> facts{};                   ///< of a line, by line_names::used; unknown: it has none
};

/// What is read of a line, besides its bytes; in conditions about many lines or other units, of all of them.
struct line_fact {
  enum class kind : std::uint8_t {
    match,   ///< 1 if an expression matches in it, else 0; of many: in how many it matches
    number,  ///< that a selector reads
    text,    ///< that a function of texts computes (config/text_functions)
    // of the values of a formula; of many only:
    sum,
    mean,
    quantile,
  };

  kind type = kind::match;
  std::string of;          ///< the name of the expression, the selector, the operand of the function, or the formula
  double percent = 0;      ///< of a quantile
  std::string function{};  ///< of a text

  bool operator==(const line_fact&) const = default;
  [[nodiscard]] bool is_of_values() const { return type >= kind::sum; }
};

/// The facts that formulas of lines may use, and those that they use.
struct line_names {
  std::vector<std::string> matches;  ///< names of expressions
  bool has_numbers = true;           ///< number() and functions of texts have values
  bool has_values = false;           ///< so have numbers of the values of a formula: quantiles, sum, mean
  std::vector<line_fact> used{};     ///< in the order of their first use
  /// Throws config::usage_error if a function of texts does not take the operand. Null: functions of texts are refused.
  void (*check_text)(std::string_view function, const config::placed_text& operand) = nullptr;

  /// The index of a fact in `used`, to which it is added.
  std::size_t index_of(const line_fact& fact);
};

/// A name in a formula and its value; no value: these counts have none.
struct named_value {
  std::string name;  ///< as typed
  std::optional<double> value;

  bool operator==(const named_value&) const = default;
};

/// What a name in a formula refers to.
struct meaning {
  enum class kind : std::uint8_t { bytes, lines, words, malformed, measure, conditional_entropy, share, count, fact };

  kind type = kind::bytes;
  const measures::measure* measure = nullptr;
  std::string scheme{};                ///< of a measure of pairs
  std::bitset<256> bytes{};            ///< byte values in the bucket
  std::vector<std::uint8_t> values{};  ///< the same, in ascending order
  std::size_t fact = 0;                ///< its index in line_names::used
};

/// An expression whose names are resolved. Immutable: any thread may use it. Memory and time are proportional to its
/// steps; no recursion.
class formula {
 public:
  /// Names are `bytes`, `lines`, `words`, `malformed`, the measures, `conditional_entropy`, and the buckets of
  /// `schemes`; a bucket may be called `malformed` or `conditional_entropy`. Throws config::usage_error, with the text
  /// and a caret, if a name is unknown or belongs to several buckets. `possible`: in that message, the names besides
  /// those of every formula. `lines`: the facts of lines, to which those are added that the formula uses; null: it is
  /// not evaluated for lines, and refuses them.
  formula(config::expression typed, std::span<const config::scheme> schemes,
          const std::vector<std::string_view>& possible = {"words", "malformed"}, line_names* lines = nullptr);

  /// As typed.
  [[nodiscard]] const std::string& text() const { return typed_.text; }

  /// Whether the counts must be over the identity partition; otherwise over one that separates the schemes.
  [[nodiscard]] bool needs_byte_counts() const;

  /// The first name that compares with a baseline; null if there is none.
  [[nodiscard]] const config::reference* needs_baseline() const;

  /// The first name that is a measure of pairs; null if there is none.
  [[nodiscard]] const config::reference* needs_pairs() const;

  /// The first name that is a number of words; null if there is none.
  [[nodiscard]] const config::reference* needs_words() const;

  /// The first name that is a number of malformed UTF-8 sequences; null if there is none.
  [[nodiscard]] const config::reference* needs_malformed() const;

  /// Whether a name is a fact of lines.
  [[nodiscard]] bool has_facts() const { return first_of(meaning::kind::fact) != nullptr; }

  [[nodiscard]] const config::expression& typed() const { return typed_; }

  /// One for each reference of typed().
  [[nodiscard]] std::span<const meaning> meanings() const { return meanings_; }

  /// Nothing: unknown, because a name that determines it has no value, or because it is not finite.
  [[nodiscard]] std::optional<double> value(const watched_counts& checked) const;

  /// The value of each name in the text, once each, in the order of the text.
  [[nodiscard]] std::vector<named_value> values(const watched_counts& checked) const;

 private:
  class resolver;

  [[nodiscard]] const config::reference* first_of(meaning::kind type) const;
  [[nodiscard]] std::vector<std::optional<double>> values_of_references(const watched_counts& checked) const;

  config::expression typed_;
  std::vector<meaning> meanings_;  // one for each reference
};

/// True, false, or nothing: unknown, because a name that decides it has no value.
using verdict = std::optional<bool>;

/// A condition of --fail-if or --alert-if: a formula whose value is a truth value (config::parse_expression).
class condition : public formula {
 public:
  using formula::formula;

  [[nodiscard]] verdict holds_for(const watched_counts& checked) const {
    const std::optional<double> found = value(checked);
    return found ? verdict(*found == 1.0) : verdict{};
  }
};

}  // namespace gpuhist::report::gates
