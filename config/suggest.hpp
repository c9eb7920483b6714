// Suggestions for mistyped names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// Number of letters to insert, remove, replace or swap with the next one, to turn one text into the other (optimal
/// string alignment). Replacing the first letter counts as two: it is rarely mistyped.
std::size_t edit_distance(std::string_view from, std::string_view to);

/// The nearest of `names`, if it is at most two edits away, and at most one for three letters of the mean length; the
/// first of several at the same distance.
std::optional<std::string_view> nearest_name(std::string_view typed, std::span<const std::string_view> names);

/// The name that begins with the typed text (of three letters or more), if there is only one or if all others begin
/// with that name; or else the nearest one.
std::optional<std::string_view> likely_name(std::string_view typed, std::span<const std::string_view> names);

/// "there is no 'lettes'; known are letters, bytes; did you mean letters?": the error for an unknown name.
std::string no_such_name(std::string_view typed, std::span<const std::string_view> known);

}  // namespace gpuhist::config
