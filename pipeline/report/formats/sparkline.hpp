// A few columns of text that show how a share changed over time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gpuhist::pipeline {

/// One column for each share (from 0 to 1), or the mean of several neighbours, so that there are at most `width`:
/// blocks of eight heights, or the digits 0 to 9 without `unicode`. What is more than nothing is shown as more.
std::string sparkline(std::span<const double> shares, std::size_t width, bool unicode);

}  // namespace gpuhist::pipeline
