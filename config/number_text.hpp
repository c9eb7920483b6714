// Numbers as text for people.
#pragma once

#include <cstdint>
#include <string>

namespace gpuhist::config {

/// "1,234,567".
std::string grouped(std::uint64_t number);

/// With this many decimals: "3.142".
std::string fixed(double value, int decimals);

}  // namespace gpuhist::config
