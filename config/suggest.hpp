// Slips of the finger: which of the known names was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::config {

/// How many letters must be inserted, removed or replaced to turn one into the other (Levenshtein's distance).
std::size_t edit_distance(std::string_view one, std::string_view other);

/// The nearest of `names`, if it is at most two edits away and shares something with what was typed; of equally near
/// ones the first.
std::optional<std::string_view> nearest_name(std::string_view typed, std::span<const std::string_view> names);

/// The nearest name, or else the only one that begins with what was typed (three letters or more of it).
std::optional<std::string_view> likely_name(std::string_view typed, std::span<const std::string_view> names);

}  // namespace gpuhist::config
