// Numbers as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhist::config {

/// "1,234,567".
std::string grouped(std::uint64_t number);

/// A number with its noun: "1 input", "1,234 inputs".
std::string number_of(std::uint64_t number, std::string_view noun);

/// With this many decimals: "3.142".
std::string fixed(double value, int decimals);

}  // namespace gpuhist::config
