// An oracle for units of texts, which splits a text and counts its bytes in the obvious way, and runs to compare with
// it.
#pragma once

#include "config/scheme.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/units/unit_meter.hpp"
#include "report/units/unit_run.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::test {

using pipeline::input_observer;
using report::units::distribution;
using report::units::distribution_bin;
using report::units::ranked_unit;
using report::units::ranking;
using report::units::unit_meter;
using report::units::unit_place;
using report::units::unit_plan;
using report::units::unit_record;
using report::units::unit_run;
using report::units::unit_shape;
using report::units::unit_totals;
namespace gates = report::gates;
namespace measures = report::measures;
using config::find_scheme;
using config::scheme;
using gpu::partition;

inline const std::vector<scheme>& schemes() {
  static const std::vector<scheme> all = {find_scheme("classes"), find_scheme("letters"), find_scheme("bytes")};
  return all;
}

inline gates::condition condition_of(std::string_view text) {
  return {gpuhist::config::parse_expression(text, schemes()), schemes()};
}

inline gates::formula formula_of(std::string_view text) {
  return {gpuhist::config::parse_formula(text, schemes()), schemes()};
}

inline const unit_shape text_lines{};
inline unit_shape records(char delimiter) { return {.delimiter = static_cast<std::byte>(delimiter)}; }
inline unit_shape parts(std::uint64_t bytes) { return {.bytes = bytes}; }

struct piece {
  unit_place place;
  std::string text;
};

/// The units of a text, found byte by byte.
inline std::vector<piece> split(std::string_view text, const unit_shape& shape) {
  std::vector<piece> made;
  std::string open;
  unit_place at;
  const auto close = [&] {
    at.bytes = open.size();
    made.push_back({.place = at, .text = open});
    ++at.number;
    at.offset += open.size();
    at.line += static_cast<std::uint64_t>(std::ranges::count(open, '\n'));
    open.clear();
  };
  for (const char each : text) {
    open += each;
    if (shape.bytes ? open.size() == *shape.bytes : static_cast<std::byte>(each) == shape.delimiter) close();
  }
  if (!open.empty()) close();
  return made;
}

inline std::uint64_t count_if(const std::string& text, const std::function<bool(unsigned char)>& in_set) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [&](char c) { return in_set(static_cast<unsigned char>(c)); }));
}

inline bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
inline bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
inline bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline std::uint64_t digits_of(const std::string& text) { return count_if(text, is_digit); }
inline std::uint64_t lines_of(const std::string& text) {
  return count_if(text, [](unsigned char c) { return c == '\n'; });
}
inline double share(std::uint64_t part, const std::string& text) {
  return static_cast<double>(part) / static_cast<double>(text.size());
}

/// Words of a unit; `also`: one more byte that separates words.
inline std::uint64_t words_of(const std::string& text, const unit_shape& shape) {
  std::uint64_t words = 0;
  bool in_word = false;
  for (const char each : text) {
    const auto value = static_cast<unsigned char>(each);
    const bool separates = is_space(value) || (!shape.bytes && static_cast<std::byte>(each) == shape.delimiter);
    if (!separates && !in_word) ++words;
    in_word = !separates;
  }
  return words;
}

inline double entropy_of(const std::string& text) {
  std::map<char, double> counts;
  for (const char each : text) ++counts[each];
  double bits = 0;
  for (const auto& [value, count] : counts) {
    const double p = count / static_cast<double>(text.size());
    bits -= p * std::log2(p);
  }
  return bits;
}

/// Lines with the name, the place and the size of a unit.
class place_lines final : public report::units::unit_renderer {
 public:
  [[nodiscard]] std::string beginning_of(const std::string& input) const override { return input + ":"; }
  void add_place(const unit_place& place, std::string& to) const override {
    to += std::to_string(place.number) + ":" + std::to_string(place.line) + ":" + std::to_string(place.offset);
  }
  void add_end(const unit_record& found, std::string& to) const override {
    to += ":" + std::to_string(found.place.bytes) + "\n";
  }
};

/// The lines of units whose places are known.
inline std::string lines_of(const report::units::unit_renderer& form, std::span<const unit_record> units) {
  std::string all;
  for (const unit_record& each : units) {
    all += form.beginning_of(*each.input);
    form.add_place(each.place, all);
    form.add_end(each, all);
  }
  return all;
}

/// A run and all that it needs.
class measured_run {
 public:
  /// `counted`: the partition of records.
  explicit measured_run(unit_plan plan, const measures::byte_counts* baseline = nullptr,
                        const partition& counted = partition::identity())
      : plan_(std::move(plan)),
        partition_(counted),
        meter_(plan_, partition_, baseline),
        run_(meter_,
             [this](std::span<const unit_record> found) {
               for (const unit_record& each : found) selected.push_back(each);
             },
             {}, nullptr,
             {.form = std::make_unique<place_lines>(), .write = [this](std::string_view text) { lines += text; }}) {}

  unit_run& run() { return run_; }
  [[nodiscard]] const unit_meter& meter() const { return meter_; }

  /// Passes a text in pieces of these sizes, repeated.
  void read(std::string_view text, const std::vector<std::size_t>& sizes, const std::string& name = "input",
            std::uint64_t order = 0) {
    const auto reader = run_.open(name, order);
    std::size_t next = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view piece = text.substr(at, sizes[next++ % sizes.size()]);
      pass(*reader, piece);
      at += piece.size();
    }
    reader->end(input_observer::ending::whole);
    run_.publish();
  }

  void pass(input_observer& reader, std::string_view text) {
    std::span<const std::byte> rest = std::as_bytes(std::span(text));
    while (!rest.empty()) {
      const std::size_t taken = reader.take_some(rest, true);
      if (taken == 0) throw std::logic_error("a reader took nothing");
      rest = rest.subspan(taken);
      run_.publish();
    }
  }

  std::vector<unit_record> selected;
  std::string lines;  ///< of the same units

 private:
  const unit_plan plan_;
  const partition partition_;
  const unit_meter meter_;
  unit_run run_;
};

inline unit_plan plan_of(const unit_shape& shape, std::string_view where) {
  return {.shape = shape, .each = "unit", .where = condition_of(where)};
}

inline std::string random_text(std::mt19937& random, std::size_t size, std::string_view alphabet) {
  std::string made(size, '\0');
  for (char& each : made) each = alphabet[random() % alphabet.size()];
  return made;
}

inline constexpr std::string_view small_alphabet{"ab0 1,\n\r\0\xff\nZ9", 13};

}  // namespace gpuhist::test
