// Presets: rules, or parts of rules, that others published for the quality of text corpora, as buckets and named
// conditions.
#pragma once

#include <span>
#include <string_view>

namespace gpuhist::config {

/// A condition with a name: it holds for a unit that the rule would remove. Or a step of --rewrite with a name.
struct preset_rule {
  std::string_view name;  ///< in the preset: "short"
  std::string_view condition;
};

/// A plain value. Some have the part of rules that bytes, words and lines can express, the others whole rules, which
/// read the text (docs/presets.md).
struct preset {
  std::string_view name;                      ///< "nemo"
  std::string_view summary;                   ///< one clause: what is checked
  std::string_view source;                    ///< the publication or project, and its names for the rules
  std::string_view covers;                    ///< how many of the rules of the source it has
  std::span<const std::string_view> schemes;  ///< definitions, as --buckets takes them
  std::span<const preset_rule> rules;         ///< a unit for which one of them holds is removed
  std::span<const preset_rule> rewriting{};   ///< steps, before the rules are evaluated
};

/// Sorted by name. Names of buckets in conditions have two parts, and no scheme has the name of another preset, so that
/// several presets can be combined. Conditions may use `words`: the number of bytes that are not white space, after
/// white space (space \t \n \v \f \r) or at the beginning of the unit.
std::span<const preset> preset_table();

/// By name, or null.
const preset* find_preset(std::string_view name);

}  // namespace gpuhist::config
