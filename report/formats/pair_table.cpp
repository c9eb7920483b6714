#include "report/formats/pair_table.hpp"

#include "report/formats/report_measures.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"
#include "report/measures/pair_measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t narrowest_name = 4;
constexpr std::size_t widest_name = 16;
constexpr std::size_t widest_cell = 8;
constexpr std::size_t narrowest_number = 4;  // a gap, and up to 100

/// How much of its row a pair has: 0 (none) to 5.
std::size_t level_of(double share) {
  constexpr std::array bounds = {0.0, 0.02, 0.05, 0.15, 0.4};
  return static_cast<std::size_t>(std::ranges::count_if(bounds, [&](double bound) { return share > bound; }));
}

std::string shade(std::size_t level, bool unicode) {
  constexpr std::array<std::string_view, 6> blocks = {" ", "\u00b7", "\u2591", "\u2592", "\u2593", "\u2588"};
  constexpr std::array<std::string_view, 6> characters = {" ", ".", ":", "+", "*", "#"};
  return std::string(unicode ? blocks[level] : characters[level]);
}

std::string on_background(std::string text, std::size_t level) {
  constexpr std::array<std::string_view, 6> blues = {"", "17", "18", "19", "20", "21"};
  if (level == 0) return text;
  return "\x1b[97;48;5;" + std::string(blues[level]) + "m" + std::move(text) + "\x1b[0m";
}

/// The first columns of a name.
std::string cut_to_width(const std::string& name, std::size_t width) {
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_sequence(std::string_view(name).substr(at)));
    if (columns(text + name.substr(at, length)) > width) break;
    text += name.substr(at, length);
    at += length;
  }
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string spaces(width - std::min(width, columns(text)), ' ');
  return to_the_right ? spaces + text : text + spaces;
}

/// The heat map of the buckets that occur. A cell is the share of the pairs of its row.
class heat_map {
 public:
  heat_map(const scheme_view& view, const pair_matrix& pairs, const render_target& target)
      : view_(view), pairs_(pairs), target_(target), of_first_(pairs.buckets) {
    std::vector<bool> occurs(pairs.buckets);
    for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
      of_first_[i / pairs.buckets] += static_cast<double>(pairs.counts[i]);
      if (pairs.counts[i] > 0) occurs[i / pairs.buckets] = occurs[i % pairs.buckets] = true;
    }
    for (std::size_t i = 0; i < pairs.buckets; ++i) {
      if (!occurs[i]) continue;
      shown_.push_back(i);
      name_ = std::max(name_, std::min(columns(printable(view.scheme.buckets[i])), widest_name));
    }
    if (shown_.size() + name_ > target.width) {
      name_ = std::max(narrowest_name, target.width - std::min<std::size_t>(target.width, shown_.size()));
    }
    const std::size_t room = target.width - std::min<std::size_t>(target.width, name_);
    cell_ = shown_.empty() ? 0 : std::min(room / shown_.size(), widest_cell);
  }

  [[nodiscard]] std::string text() const {
    if (shown_.empty()) return "";
    if (cell_ == 0) return "(the heat map of " + std::to_string(shown_.size()) + " buckets needs a wider terminal)\n";
    std::string heading(name_, ' ');
    for (const std::size_t second : shown_) heading += column_heading(second);
    std::string out = painted(heading, ink::heading, target_.color) + "\n";
    for (const std::size_t first : shown_) out += line_of(first) + "\n";
    return out;
  }

  /// "% of the bytes after FIRST" or shades.
  [[nodiscard]] bool has_numbers() const { return cell_ >= narrowest_number; }

 private:
  [[nodiscard]] std::string column_heading(std::size_t second) const {
    const std::string name = printable(view_.scheme.buckets[second]);
    return padded(cut_to_width(name, cell_ > 1 ? cell_ - 1 : 1), cell_, true);
  }

  [[nodiscard]] std::string line_of(std::size_t first) const {
    std::string line = padded(cut_to_width(printable(view_.scheme.buckets[first]), name_), name_, false);
    for (const std::size_t second : shown_) line += cell_of(first, second);
    if (!target_.color) line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  [[nodiscard]] std::string cell_of(std::size_t first, std::size_t second) const {
    const std::uint64_t count = pairs_.at(first, second);
    const double share = count == 0 ? 0 : static_cast<double>(count) / of_first_[first];
    const std::size_t level = level_of(share);
    if (has_numbers()) {
      const std::string number = padded(count == 0 ? "" : share < 0.005 ? "<1" : fixed(100 * share, 0), cell_, true);
      return target_.color ? on_background(number, level) : number;
    }
    if (target_.color) return on_background(std::string(cell_, ' '), level);
    std::string out;
    for (std::size_t i = 0; i < cell_; ++i) out += shade(level, target_.unicode);
    return out;
  }

  const scheme_view& view_;
  const pair_matrix& pairs_;
  const render_target& target_;
  std::vector<double> of_first_;  // pairs by the bucket of their first byte
  std::vector<std::size_t> shown_;
  std::size_t name_ = narrowest_name;  // columns
  std::size_t cell_ = 0;               // columns; 0: there is no room
};

std::string surprising_lines(const scheme_view& view, const pair_matrix& pairs, const render_target& target) {
  std::vector<table_row> rows;
  for (const measures::surprising_pair& each : measures::most_surprising(pairs)) {
    rows.push_back({printable(view.scheme.buckets[each.first]) + " > " + printable(view.scheme.buckets[each.second]),
                    grouped(each.count), measure_text(each.expected)});
  }
  if (rows.empty()) return "";
  const text_table table({{"pair", false}, {"count"}, {"if independent", true, 1}}, rows, target.width);
  std::string text = painted(table.heading(), ink::heading, target.color) + "\n";
  for (const table_row& each : rows) text += table.line(each) + "\n";
  return text;
}

}  // namespace

std::string pair_lines(const scheme_view& view, const gpu::tally& counts, const render_target& target) {
  if (!view.has_pairs()) return "";
  const pair_matrix pairs = view.fold_pairs(counts);
  const heat_map map(view, pairs, target);
  const std::string title = number_of(measures::pairs_in(pairs), "pair") + ", " + printable(view.scheme.name);
  std::string text = cut_to(title, std::max<std::size_t>(target.width, 3)) + "\n";
  const measures::finding bits = measures::conditional_entropy(pairs);
  if (!bits.value) return text + "\n";
  text += "conditional entropy " + measure_text(*bits.value) + " bits\n";
  const std::string legend = std::string("first byte in rows, second in columns") +
                             (map.has_numbers() ? ", in % of the row" : ", shades by % of the row");
  if (columns(legend) <= target.width) text += legend + "\n";
  return text + map.text() + surprising_lines(view, pairs, target) + "\n";
}

}  // namespace gpuhist::pipeline
