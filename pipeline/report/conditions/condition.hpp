// A condition of --fail-if or --alert-if whose names are known: what it says of counts.
#pragma once

#include "config/expression.hpp"
#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "pipeline/report/measures/measure.hpp"

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline::gates {

/// The counts that a condition is held against. Borrows all of it.
struct watched_counts {
  const gpu::tally& counts;  ///< one without counts is one of nothing
  const gpu::partition& partition;
  const measures::byte_counts* baseline = nullptr;  ///< null: none
};

/// What a name had as its value; nothing: the counts cannot tell.
struct named_value {
  std::string name;  ///< as typed
  std::optional<double> value;

  bool operator==(const named_value&) const = default;
};

/// True, false, or nothing: unknown, because something that decides it has no value. Kleene's logic: what is unknown
/// is so also when negated; false && unknown is false, true || unknown is true.
using verdict = std::optional<bool>;

/// Immutable: any thread may ask. Memory and time: those of its steps, without recursion.
class condition {
 public:
  /// Names are `bytes`, `lines`, those of the table of measures, and buckets of `schemes`. Throws config::usage_error,
  /// with the text and a caret, where a name is unknown, or that of several buckets.
  condition(config::expression typed, std::span<const config::scheme> schemes);

  /// As typed.
  [[nodiscard]] const std::string& text() const { return typed_.text; }

  /// Whether the counts must be over the identity partition; else over one that separates the schemes.
  [[nodiscard]] bool needs_byte_counts() const;

  /// The first name that compares with a baseline, if there is one.
  [[nodiscard]] const config::reference* needs_baseline() const;

  [[nodiscard]] verdict holds_for(const watched_counts& what) const;

  /// Of every name in the text, once each, in its order.
  [[nodiscard]] std::vector<named_value> values(const watched_counts& what) const;

 private:
  /// What a name stands for.
  struct meaning {
    enum class kind : std::uint8_t { bytes, lines, measure, share, count };

    kind what = kind::bytes;
    const measures::measure* measured = nullptr;
    std::bitset<256> bytes{};  ///< that are in the bucket
  };

  class resolver;

  [[nodiscard]] std::vector<std::optional<double>> values_of_references(const watched_counts& what) const;

  config::expression typed_;
  std::vector<meaning> meanings_;  // one a reference
};

}  // namespace gpuhist::pipeline::gates
