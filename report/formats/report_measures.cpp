#include "report/formats/report_measures.hpp"

#include "report/formats/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace gpuhist::pipeline {

std::vector<measures::measurement> measurements_of(const report& content, const gpu::tally& counts) {
  if (content.measuring.asked.empty()) return {};
  return measures::take_measures(content.measuring, measures::counts_of(counts));
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string measure_text(double value) {
  constexpr double exact_below = 9007199254740992.0;  // 2^53
  const double size = std::fabs(value);
  if (std::trunc(value) == value && size < exact_below) {
    return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(size));
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), end.ptr};
}

}  // namespace gpuhist::pipeline
