// Strings in texts for the kernels that search them in lines, and what a simple search finds.
#pragma once

#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/units/searched_strings.hpp"
#include "tests/support/unit_text.hpp"

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

using string_list = std::vector<units::searched_string>;

/// Of an alphabet so small that a text has many of them, and parts of them.
string_list random_strings(std::mt19937& random, std::size_t count, std::size_t longest);

/// A text of the same alphabet, into which some of the strings are copied, in other cases, also at its begin and end
/// and around the ends of tiles, and line feeds. Lines have about `line_bytes`.
std::string random_lines(std::mt19937& random, const string_list& strings, std::size_t size, std::size_t line_bytes);

/// The classes of lines in which strings are searched.
units::piece_classes classes_with(const string_list& strings);

/// The strings in a line, as bits.
std::uint64_t strings_in(std::string_view line, const string_list& strings);

/// What differs in the rows from what a simple search finds; empty: nothing.
std::string string_differences(const measured_pieces& found, const unit_text& text, const units::piece_classes& classes,
                               const string_list& strings);

}  // namespace gpuhist::test
