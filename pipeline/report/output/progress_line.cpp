#include "pipeline/report/output/progress_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::array<std::string_view, 7> binary_units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr std::array<std::string_view, 6> rate_units = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};

std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

struct scale {
  double divisor = 1;
  std::size_t unit = 0;
};

// The unit in which the value, rounded to a whole number, is below `step`.
scale scale_of(double value, double step, std::size_t units) {
  scale found;
  while (found.unit + 1 < units && value / found.divisor >= step - 0.5) {
    found.divisor *= step;
    ++found.unit;
  }
  return found;
}

// Tenths below ten of a unit, but of bytes.
std::string scaled(double value, double step, std::span<const std::string_view> units) {
  const scale in = scale_of(value, step, units.size());
  const double shown = value / in.divisor;
  return fixed(shown, in.unit > 0 && shown < 9.95 ? 1 : 0).append(" ").append(units[in.unit]);
}

std::string size_text(std::uint64_t bytes) { return scaled(static_cast<double>(bytes), 1024, binary_units); }

std::string rate_text(double bytes_a_second) { return scaled(bytes_a_second, 1000, rate_units); }

// "1.3 of 3.1 GiB": in the unit of the total, so that only the first number moves.
std::string part_text(std::uint64_t part, std::uint64_t total) {
  const scale in = scale_of(static_cast<double>(total), 1024, binary_units.size());
  const double whole = static_cast<double>(total) / in.divisor;
  const int decimals = in.unit > 0 && whole < 99.95 ? 1 : 0;
  return fixed(static_cast<double>(part) / in.divisor, decimals) + " of " +
         fixed(whole, decimals).append(" ").append(binary_units[in.unit]);
}

// What the forms of the line are made of; what cannot be said is empty.
struct pieces {
  std::string share;   // " 42 %  "
  std::string source;  // "1.3 of 3.1 GiB read"
  std::string source_rate;
  std::string main;  // the amount that stands alone where there is little room
  std::string main_rate;
  std::string time;  // ", 7 s left"
};

std::string time_left(const progress_view& view) {
  const std::uint64_t rest = *view.total - view.now.source_bytes;
  if (rest == 0 || view.rates.source <= 0) return {};
  return ", " + for_people(static_cast<double>(rest) / view.rates.source) + " left";
}

pieces pieces_of(const progress_view& view) {
  const std::uint64_t read = view.now.source_bytes;
  const bool known = view.total && *view.total > 0 && read <= *view.total;
  pieces out;
  out.source = (known ? part_text(read, *view.total) : size_text(read)) + " read";
  out.source_rate = " (" + rate_text(view.rates.source) + ")";
  out.main = size_text(view.compressed ? view.now.text_bytes : read);
  out.main_rate = view.compressed ? " (" + rate_text(view.rates.text) + ")" : out.source_rate;
  if (known) {
    const double percent = 100 * static_cast<double>(read) / static_cast<double>(*view.total);
    const std::string digits = fixed(std::floor(percent), 0);
    out.share = std::string(3 - digits.size(), ' ') + digits + " %  ";
    out.time = time_left(view);
  } else {
    out.time = ", " + for_people(view.now.seconds);
  }
  return out;
}

// From the whole of it to the least.
std::vector<std::string> forms(const pieces& of, bool compressed) {
  std::vector<std::string> all;
  if (compressed) {
    all.push_back(of.share + of.source + of.source_rate + ", " + of.main + " counted" + of.main_rate + of.time);
    all.push_back(of.share + of.source + ", " + of.main + " counted" + of.main_rate + of.time);
    all.push_back(of.share + of.main + " counted" + of.main_rate + of.time);
  } else {
    all.push_back(of.share + of.source + of.source_rate + of.time);
  }
  all.push_back(of.share + of.main + of.main_rate + of.time);
  all.push_back(of.share + of.main + of.time);
  all.push_back(of.share + of.main);
  return all;
}

}  // namespace

std::string progress_line(const progress_view& view, std::size_t width) {
  std::vector<std::string> all = forms(pieces_of(view), view.compressed);
  const auto fits = std::find_if(all.begin(), all.end(), [&](const std::string& each) { return each.size() <= width; });
  return fits != all.end() ? *fits : all.back().substr(0, width);
}

std::string status_line(const run_progress& now) {
  const auto count = [](std::uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); };
  const double rate = now.seconds > 0 ? static_cast<double>(now.text_bytes) / now.seconds : 0;
  return count(now.text_bytes) + " counted (" + size_text(now.text_bytes) + "), " + count(now.source_bytes) +
         " read, " + fixed(now.seconds, now.seconds < 10 ? 2 : 1) + " s, " + rate_text(rate);
}

std::string for_people(double seconds) {
  constexpr std::uint64_t minute = 60;
  constexpr std::uint64_t hour = 60 * minute;
  constexpr std::uint64_t day = 24 * hour;
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::clamp(seconds, 0.0, 1e12)));
  const auto two = [&](std::uint64_t large, const char* large_name, std::uint64_t small, const char* small_name) {
    return std::to_string(whole / large) + large_name + std::to_string(whole % large / small) + small_name;
  };
  if (whole < minute) return std::to_string(whole) + " s";
  if (whole < hour) return two(minute, " min ", 1, " s");
  if (whole < day) return two(hour, " h ", minute, " min");
  return two(day, " d ", hour, " h");
}

}  // namespace gpuhist::pipeline
