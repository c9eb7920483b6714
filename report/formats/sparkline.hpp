// A few columns of text that show a share over time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gpuhist::pipeline {

/// At most `width` columns. Each column shows a share from 0 to 1, or the mean of several consecutive shares: as a
/// block of eight heights, or as a digit from 0 to 9 without `unicode`. The lowest level is used only for 0.
std::string sparkline(std::span<const double> shares, std::size_t width, bool unicode);

}  // namespace gpuhist::pipeline
