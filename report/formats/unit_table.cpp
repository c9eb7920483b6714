#include "report/formats/unit_table.hpp"

#include "report/formats/report_measures.hpp"
#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t max_bins = 24;

std::string rendered(const text_table& table, const std::vector<table_row>& rows, bool color) {
  std::string text = painted(table.heading(), ink::heading, color) + "\n";
  for (const table_row& each : rows) text += table.line(each) + "\n";
  return text + "\n";
}

std::string totals_lines(const units::unit_result& found, const render_target& target) {
  const units::unit_totals& totals = found.totals;
  std::vector<table_row> rows = {{"seen", grouped(totals.seen), grouped(totals.bytes), ""}};
  if (found.where) {
    rows.push_back(
        {"selected", grouped(totals.selected), grouped(totals.selected_bytes), share_of(totals.selected, totals.seen)});
  }
  if (found.drops_unverified) {
    rows.push_back({"unverified", grouped(totals.unverified), grouped(totals.unverified_bytes),
                    share_of(totals.unverified, totals.seen)});
  }
  if (found.field) rows.push_back({"without field", grouped(found.totals.without_field), "", ""});
  const std::string measured = found.field ? ", field " + printable(*found.field) : "";
  const text_table table({{"each " + found.each + measured, false}, {"units"}, {"bytes"}, {"share", true, 1}}, rows,
                         target.width);
  return rendered(table, rows, target.color);
}

std::string line_of(const units::unit_place& place) { return place.line > 0 ? grouped(place.line) : "-"; }

std::string top_lines(const units::unit_result& found, const render_target& target) {
  std::vector<table_row> rows;
  for (const units::ranked_unit& each : found.top) {
    const units::unit_place& place = each.unit.place;
    rows.push_back({printable(*each.unit.input), line_of(place), grouped(place.offset), grouped(place.bytes),
                    measure_text(each.value)});
  }
  const text_table table(
      {{"top", false}, {"line"}, {"offset", true, 2}, {"bytes", true, 1}, {printable(*found.ranked_by)}}, rows,
      target.width);
  return rendered(table, rows, target.color);
}

using bin_list = std::vector<units::distribution_bin>;

// Joins bins in pairs, those without a gap between them only, unless `across_gaps`.
bin_list joined_once(const bin_list& bins, bool across_gaps) {
  bin_list wider;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    wider.push_back(bins[i]);
    if (i + 1 == bins.size() || (!across_gaps && bins[i].to != bins[i + 1].from)) continue;
    ++i;
    wider.back().to = bins[i].to;
    wider.back().units += bins[i].units;
  }
  return wider;
}

// Joins bins until there are few enough rows. Gaps between values remain visible if possible: thresholds lie there.
bin_list joined(bin_list bins) {
  while (bins.size() > max_bins) {
    bin_list wider = joined_once(bins, false);
    if (wider.size() == bins.size()) wider = joined_once(bins, true);
    bins = std::move(wider);
  }
  return bins;
}

std::string distribution_lines(const units::unit_result& found, const render_target& target) {
  const units::distribution& values = found.values;
  std::vector<table_row> rows;
  std::vector<std::uint64_t> counts;
  for (const units::distribution_bin& each : joined(values.bins())) {
    rows.push_back(
        {measure_text(each.from), measure_text(each.to), grouped(each.units), share_of(each.units, values.known())});
    counts.push_back(each.units);
  }
  const text_table table({{"from"}, {"to below"}, {"units"}, {"share", true, 1}}, rows, target.width);
  const std::size_t bars = table.bar_width();
  const std::uint64_t largest = counts.empty() ? 0 : std::ranges::max(counts);
  std::string text = "distribution of " + printable(*found.distribution_of) + "\n";
  text += painted(table.heading(), ink::heading, target.color) + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string drawn = bar(counts[i], largest, bars, target.unicode);
    text += drawn.empty() ? table.line(rows[i]) : table.padded_line(rows[i]);
    text += painted(drawn, ink::bar, target.color) + "\n";
  }
  if (values.known() > 0) {
    text += "lowest " + measure_text(values.lowest()) + ", highest " + measure_text(values.highest()) + "\n";
  }
  if (values.unknown() > 0)
    text += number_of(values.unknown(), "unit") + (values.unknown() == 1 ? " has no value\n" : " have no value\n");
  return text + "\n";
}

void append_bytes(std::string& to, std::uint64_t number) {
  append_number(to, number);
  to += number == 1 ? " byte" : " bytes";
}

class unit_text_form final : public units::unit_renderer {
 public:
  [[nodiscard]] std::string beginning_of(const std::string& input) const override { return printable(input) + ":"; }

  void add_place(const units::unit_place& place, std::string& to) const override {
    if (place.line > 0) {
      append_number(to, place.line);
      to += ':';
    }
    to += " offset ";
    append_number(to, place.offset);
  }

  void add_end(const units::unit_record& found, std::string& to) const override {
    to += ", ";
    append_bytes(to, found.place.bytes);
    if (found.field) {
      to += ", field ";
      append_bytes(to, found.field->bytes.value_or(0));
    }
    for (const gates::named_value& each : found.values) {
      to += ", " + printable(each.name) + " " + (each.value ? measure_text(*each.value) : "unknown");
    }
    to += '\n';
  }
};

}  // namespace

std::string unit_lines(const units::unit_result& found, const render_target& target) {
  std::string text = totals_lines(found, target);
  if (found.ranked_by) text += top_lines(found, target);
  if (found.distribution_of) text += distribution_lines(found, target);
  return text;
}

std::unique_ptr<const units::unit_renderer> unit_text_lines(const report& /*frame*/, std::string_view /*run*/) {
  return std::make_unique<const unit_text_form>();
}

}  // namespace gpuhist::pipeline
