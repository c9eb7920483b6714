#include "pipeline/report/formats/unit_json.hpp"

#include "pipeline/report/formats/report_json_parts.hpp"
#include "pipeline/report/formats/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

// Writes the members of an object without making a value of it: millions of units may be selected.
class member_writer {
 public:
  void add_text(std::string_view name, std::string_view value) {
    begin(name);
    quote(value);
  }
  void add_number(std::string_view name, std::uint64_t value) {
    begin(name);
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), end.ptr);
  }
  void add_flag(std::string_view name, bool value) { add_value(name, value ? "true" : "false"); }
  void add_json(std::string_view name, const json& value) { add_value(name, text_of(value)); }

  void open(std::string_view name) { add_value(name, "{"); }
  void close() { text_ += '}'; }

  /// Adds the members of an object.
  void add_members(const json& object) {
    for (const auto& [name, value] : object.items()) add_json(name, value);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add_value(std::string_view name, std::string_view value) {
    begin(name);
    text_ += value;
  }

  void begin(std::string_view name) {
    if (!text_.empty() && text_.back() != '{') text_ += ',';
    quote(name);
    text_ += ':';
  }

  void quote(std::string_view text) {
    const auto is_plain = [](char each) { return each >= ' ' && each < '\x7f' && each != '"' && each != '\\'; };
    if (!std::ranges::all_of(text, is_plain)) {
      text_ += text_of(json(std::string(text)));
      return;
    }
    text_ += '"';
    text_ += text;
    text_ += '"';
  }

  std::string text_;
};

// Whether counts are only those of lines and buckets.
bool has_only_buckets(const report& frame) {
  return (!frame.byte_counts || frame.type != report::kind::result) &&
         std::ranges::none_of(frame.schemes, [](const scheme_view& view) { return view.has_pairs(); });
}

void add_buckets(member_writer& to, const report& frame, const gpu::tally& counts) {
  to.add_number("lines", lines_in(counts, frame.partition));
  to.open("buckets");
  for (const scheme_view& view : frame.schemes) {
    to.open(view.scheme.name);
    const std::vector<std::uint64_t> folded = view.fold(counts);
    for (std::size_t i = 0; i < folded.size(); ++i) to.add_number(view.scheme.buckets[i], folded[i]);
    to.close();
  }
  to.close();
}

void add_unit(member_writer& to, const report& frame, const units::unit_record& found) {
  to.add_text("name", *found.input);
  if (!is_utf8(*found.input)) to.add_text("name_base64", base64(*found.input));
  to.add_number("unit", found.place.number);
  if (found.place.line > 0) to.add_number("line", found.place.line);
  to.add_number("offset", found.place.offset);
  to.add_flag("verified", found.verified);
  to.open("values");
  for (const gates::named_value& each : found.values) {
    to.add_json(each.name, each.value ? json_number(*each.value) : json(nullptr));
  }
  to.close();
  if (frame.ignore_case) to.add_flag("ignore_case", true);
  to.add_number("bytes", found.place.bytes);
  if (found.field && !found.field->bytes) {
    if (!found.field->cause.empty()) to.add_text("without_field", found.field->cause);
    return;
  }
  if (found.field) to.add_number("field_bytes", *found.field->bytes);
  if (has_only_buckets(frame)) {
    add_buckets(to, frame, found.counts);
  } else {
    json counts = json::object();
    add_counts(counts, frame, found.counts);
    to.add_members(counts);
  }
  if (frame.measuring.asked.empty()) return;
  to.add_json("measures",
              measures_as_json(measures::take_measures(frame.measuring, measures::counts_of(found.counts))));
}

json top_as_json(const report& content, const units::unit_result& found) {
  json all = json::array();
  for (const units::ranked_unit& each : found.top) {
    member_writer one;
    one.add_json("value", json_number(each.value));
    add_unit(one, content, each.unit);
    all.push_back(json::parse("{" + one.take() + "}"));
  }
  return all;
}

json distribution_as_json(const units::distribution& values) {
  json bins = json::array();
  for (const units::distribution_bin& each : values.bins()) {
    bins.push_back({{"from", json_number(each.from)}, {"to", json_number(each.to)}, {"units", each.units}});
  }
  json out = {{"units", values.known()}, {"without_value", values.unknown()}};
  if (values.known() > 0) {
    out["lowest"] = json_number(values.lowest());
    out["highest"] = json_number(values.highest());
  }
  out["bins"] = std::move(bins);
  return out;
}

}  // namespace

json units_as_json(const report& content, const units::unit_result& found) {
  json out = {{"each", found.each}, {"seen", found.totals.seen}, {"bytes", found.totals.bytes}};
  if (found.field) {
    out["jsonl_field"] = *found.field;
    out["without_field"] = found.totals.without_field;
  }
  if (found.where) {
    out["where"] = *found.where;
    out["selected"] = found.totals.selected;
    out["selected_bytes"] = found.totals.selected_bytes;
  }
  if (found.drops_unverified) {
    out["unverified"] = found.totals.unverified;
    out["unverified_bytes"] = found.totals.unverified_bytes;
  }
  if (found.ranked_by) {
    out["top_by"] = *found.ranked_by;
    out["top"] = top_as_json(content, found);
  }
  if (found.distribution_of) {
    out["distribution_of"] = *found.distribution_of;
    out["distribution"] = distribution_as_json(found.values);
  }
  return out;
}

std::string unit_json_line(const report& frame, std::string_view run, const units::unit_record& found) {
  member_writer out;
  out.add_text("kind", "unit");
  out.add_text("schema", result_schema);
  if (!run.empty()) out.add_text("run", run);
  add_unit(out, frame, found);
  return "{" + out.take() + "}\n";
}

}  // namespace gpuhist::pipeline
