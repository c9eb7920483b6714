// The report as a table for people: buckets with shares and bars, then what the totals hold and which inputs failed.
#include "pipeline/report.hpp"
#include "pipeline/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t narrowest_bar = 4;  // a shorter one says nothing
constexpr std::string_view gap = "  ";

std::string left(std::string text, std::size_t width) {
  text.append(width - std::min(width, columns(text)), ' ');
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, columns(text)), ' ') + text;
}

std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string share_of(std::uint64_t count, std::uint64_t all) {
  return fixed(all == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(all), 2) + " %";
}

/// A bar of at most `width` columns, the whole width for `largest`; what is counted at all shows.
std::string bar(std::uint64_t count, std::uint64_t largest, std::size_t width, bool unicode) {
  if (count == 0) return {};
  const std::size_t parts = unicode ? 8 : 1;  // of a column
  const double exact = static_cast<double>(count) / static_cast<double>(largest) * static_cast<double>(width * parts);
  const auto filled = std::clamp(static_cast<std::size_t>(std::llround(exact)), std::size_t{1}, width * parts);
  if (!unicode) return std::string(filled, '#');
  std::string text;
  for (std::size_t i = 0; i < filled / 8; ++i) text += "\u2588";
  constexpr std::array<std::string_view, 8> eighths = {"",       "\u258f", "\u258e", "\u258d",
                                                       "\u258c", "\u258b", "\u258a", "\u2589"};
  return text.append(eighths[filled % 8]);
}

struct row {
  std::string name;
  std::uint64_t count = 0;
};

/// "0x41 A": a byte value beside its name, where it has one that can be printed.
std::string with_character(const std::string& name, std::size_t byte) {
  if (byte == '\t') return name + " \\t";
  if (byte == '\n') return name + " \\n";
  if (byte == '\r') return name + " \\r";
  if (byte == ' ') return name + " ' '";
  return byte > ' ' && byte < 0x7f ? name + " " + static_cast<char>(byte) : name;
}

std::vector<row> rows_of(const scheme_view& view, const gpu::tally& counts) {
  const bool by_byte = view.scheme.name == "bytes";  // 256 rows, most of them empty: only the others are of interest
  const std::vector<std::uint64_t> folded = view.fold(counts);
  std::vector<row> rows;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    if (by_byte && folded[i] == 0) continue;
    const std::string& name = view.scheme.buckets[i];
    rows.push_back({by_byte ? with_character(name, i) : printable(name), folded[i]});
  }
  return rows;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// Numbers are never cut: where the width does not suffice the bars go first, then the shares.
std::string table_of(const scheme_view& view, const gpu::tally& counts, const render_target& target) {
  const std::vector<row> rows = rows_of(view, counts);
  std::size_t names = std::string_view("bucket").size();
  std::size_t numbers = std::string_view("count").size();
  std::uint64_t largest = 0;
  for (const row& each : rows) {
    names = std::max(names, columns(each.name));
    numbers = std::max(numbers, grouped(each.count).size());
    largest = std::max(largest, each.count);
  }
  const std::size_t shares = std::string_view("100.00 %").size();
  const std::size_t without_shares = names + gap.size() + numbers;
  const std::size_t without_bars = without_shares + gap.size() + shares;
  const bool with_shares = without_bars <= target.width;
  const std::size_t bars =
      target.width >= without_bars + gap.size() + narrowest_bar ? target.width - without_bars - gap.size() : 0;

  const auto line = [&](const std::string& name, const std::string& count, const std::string& share) {
    std::string text = left(name, names).append(gap) + right(count, numbers);
    if (with_shares) text.append(gap) += right(share, shares);
    return text;
  };
  const std::uint64_t all = counts.bytes();
  std::string text = trimmed(line("bucket", "count", "share"));
  for (const row& each : rows) {
    std::string one = line(each.name, grouped(each.count), share_of(each.count, all));
    if (bars > 0) one.append(gap) += bar(each.count, largest, bars, target.unicode);
    text += trimmed(one);
  }
  return text;
}

std::string unverified_line(const report& what) {
  const std::uint64_t lines = lines_in(what.unverified, what.partition);
  return "unverified  " + grouped(what.unverified.bytes()) + " (" + grouped(lines) +
         (lines == 1 ? " line)" : " lines)") + "\n";
}

/// What people are shown: a snapshot does not wait for verdicts.
gpu::tally shown(const report& what, const gpu::tally& verified, const gpu::tally& unverified) {
  if (what.what == report::kind::result || unverified.counts.empty()) return verified;
  if (verified.counts.empty()) return unverified;
  return gpu::tally(verified) += unverified;
}

std::string inputs_table(const report& what, unsigned width) {
  std::vector<std::array<std::string, 4>> rows = {{"input", "bytes", "lines", ""}};
  for (const input_report& each : what.inputs) {
    const gpu::tally counts = shown(what, each.verified, each.unverified);
    const std::string_view state = what.what == report::kind::snapshot ? "" : each.complete ? "ok" : "INCOMPLETE";
    rows.push_back(
        {printable(each.name), grouped(counts.bytes()), grouped(lines_in(counts, what.partition)), std::string(state)});
  }
  std::array<std::size_t, 4> widths{};
  for (const auto& each : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], columns(each[i]));
  }
  const std::size_t others = widths[1] + widths[2] + widths[3] + 3 * gap.size();
  widths[0] = std::min(widths[0], std::max<std::size_t>(8, width > others ? width - others : 0));
  std::string text;
  for (const auto& each : rows) {
    text += trimmed(left(cut_to(each[0], widths[0]), widths[0]).append(gap) + right(each[1], widths[1]).append(gap) +
                    right(each[2], widths[2]).append(gap) + each[3]);
  }
  return text;
}

std::string faults_of(const report& what) {
  std::string text;
  for (const input_report& each : what.inputs) {
    if (each.complete && each.error.empty()) continue;
    const std::string reason = each.error.empty() ? "not counted to its end" : printable(each.error);
    text += "INCOMPLETE  " + printable(each.name) + ": " + reason + "\n";
  }
  // as after a signal between two inputs: nothing is wrong with any one of them
  if (text.empty() && !what.complete) text = "INCOMPLETE  not everything was counted\n";
  return text;
}

}  // namespace

std::string render_table(const report& what, const render_target& target) {
  const bool snapshot = what.what == report::kind::snapshot;
  const gpu::tally counts = shown(what, what.verified, what.unverified);
  std::string text;
  if (snapshot) {
    text = "snapshot " + fixed(what.elapsed_seconds, 1) + " s: " + grouped(counts.bytes()) + " bytes (" +
           grouped(what.unverified.bytes()) + " provisional)\n";
  }
  for (const scheme_view& view : what.schemes) {
    if (what.schemes.size() > 1) text += printable(view.scheme.name) + "\n";
    text += table_of(view, counts, target) + "\n";
  }
  text += "bytes       " + grouped(counts.bytes()) + "\n";
  text += "lines       " + grouped(lines_in(counts, what.partition)) + "\n";
  if (!snapshot && what.unverified.bytes() > 0) text += unverified_line(what);
  if (what.inputs.size() > 1) text += "\n" + inputs_table(what, target.width);
  if (!snapshot) text += faults_of(what);
  return text;
}

}  // namespace gpuhist::pipeline
