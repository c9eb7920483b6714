#include "bench/table.hpp"

#include "config/size.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace gpuhist::bench {
namespace {

constexpr std::size_t name_width = 34;

std::string heading(const measured_group& group) {
  std::string text = group.data + ", " + config::format_size(group.bytes) + ", " + std::string(name_of(group.counted));
  if (const measurement* ceiling = group.ceiling()) {
    const figures derived = figures_of(group, *ceiling);
    text += "; the ceiling is " + ceiling->kernel + ", " + fixed(*derived.bytes_per_second * 1e-9, 1) + " GB/s";
  }
  return text;
}

std::string columns() {
  return left("  kernel", name_width) + right("us", 13) + right("GB/s", 10) + right("of ceiling", 12) +
         right("x loop", 10) + right("x global", 10) + right("runs", 7) + "  counts\n";
}

std::string line(const measured_group& group, const measurement& measured) {
  const std::string name = left("  " + measured.kernel, name_width);
  if (measured.runs == 0) return name + "not run: one would take about " + fixed(measured.median, 1) + " s\n";
  if (measured.counts == verdict::wrong) return name + "WRONG counts in " + std::to_string(measured.runs) + " runs\n";
  const figures derived = figures_of(group, measured);
  return name + right(fixed(measured.median * 1e6, 1), 13) + right(fixed(*derived.bytes_per_second * 1e-9, 1), 10) +
         right(fixed(derived.of_ceiling, 3), 12) + right(fixed(derived.over_loop, 1), 10) +
         right(fixed(derived.over_global_atomic, 1), 10) + right(std::to_string(measured.runs), 7) +
         (measured.counts == verdict::right ? "  right\n" : "\n");
}

}  // namespace

std::string fixed(std::optional<double> value, int digits) {
  if (!value) return "-";
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), *value, std::chars_format::fixed, digits);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

std::string right(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string left(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string ladder(const measured_group& group) {
  std::vector<measurement> rows = group.rows;
  std::ranges::sort(rows, std::ranges::greater{}, &measurement::median);
  std::string text = heading(group) + "\n" + columns();
  for (const measurement& each : rows) text += line(group, each);
  return text;
}

}  // namespace gpuhist::bench
