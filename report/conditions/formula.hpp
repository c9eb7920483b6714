// An expression whose names are resolved: computes a number, or a truth value, from counts.
#pragma once

#include "config/expression.hpp"
#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "io/option_naming.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/measures/measure.hpp"

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline::gates {

/// The counts that a formula is evaluated for. Borrows everything.
struct watched_counts {
  const gpu::tally& counts;  ///< a tally without counts: no bytes
  const gpu::partition& partition;
  const measures::byte_counts* baseline = nullptr;  ///< null: none
  std::span<const scheme_view> schemes{};           ///< with pairs; only for formulas that need pairs
  std::optional<std::uint64_t> words{};             ///< of a unit; nothing: not counted
  std::optional<std::uint64_t> malformed{};         ///< UTF-8 sequences; nothing: not counted
};

/// A name in a formula and its value; no value: these counts have none.
struct named_value {
  std::string name;  ///< as typed
  std::optional<double> value;

  bool operator==(const named_value&) const = default;
};

/// What a name in a formula refers to.
struct meaning {
  enum class kind : std::uint8_t { bytes, lines, words, malformed, measure, conditional_entropy, share, count };

  kind type = kind::bytes;
  const measures::measure* measure = nullptr;
  std::string scheme{};                ///< of a measure of pairs
  std::bitset<256> bytes{};            ///< byte values in the bucket
  std::vector<std::uint8_t> values{};  ///< the same, in ascending order
};

/// What messages about unknown names say.
struct formula_wording {
  io::option_naming option_name = io::as_typed;                  ///< how messages name options
  std::vector<std::string_view> names = {"words", "malformed"};  ///< that are possible, besides those of every formula
};

/// Immutable: any thread may use it. Memory and time are proportional to its steps; no recursion.
class formula {
 public:
  /// Names are `bytes`, `lines`, `words`, `malformed`, the measures, `conditional_entropy`, and the buckets of
  /// `schemes`; a bucket may be called `malformed` or `conditional_entropy`. Throws config::usage_error, with the text
  /// and a caret, if a name is unknown or belongs to several buckets.
  formula(config::expression typed, std::span<const config::scheme> schemes, const formula_wording& wording = {});

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

  [[nodiscard]] const config::expression& typed() const { return typed_; }

  /// One for each reference of typed().
  [[nodiscard]] std::span<const meaning> meanings() const { return meanings_; }

  /// Nothing: unknown, because a name that determines it has no value, or because it is not finite (evaluation.hpp).
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

}  // namespace gpuhist::pipeline::gates
