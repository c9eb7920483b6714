// The table of report formats, and what the formats share.
#include "pipeline/report.hpp"

#include "pipeline/text.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::pipeline {
namespace {

constexpr std::array formats = {
    report_format{.name = "table", .render = render_table},
    report_format{.name = "json", .render = render_json, .carries_stats = true},
    report_format{.name = "jsonl", .render = render_jsonl, .carries_stats = true},
    report_format{.name = "csv", .render = render_csv},
    report_format{.name = "prometheus", .render = render_prometheus, .whole = true},
};

// They change the direction of what follows: a name could look like another one (Unicode TR36).
constexpr std::array<std::string_view, 12> bidi_marks = {"\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                                                         "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u061c"};

bool is_control(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return first < 0x20 || first == 0x7f;
  if (std::find(bidi_marks.begin(), bidi_marks.end(), sequence) != bidi_marks.end()) return true;
  // U+0080 to U+009f: some terminals obey them
  return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

void escape(std::string_view bytes, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', digits[byte >> 4U], digits[byte & 0xfU]};
  }
}

}  // namespace

std::span<const report_format> report_formats() { return formats; }

const report_format* find_report_format(std::string_view name) {
  const auto* const found =
      std::find_if(formats.begin(), formats.end(), [&](const report_format& each) { return each.name == name; });
  return found == formats.end() ? nullptr : found;
}

std::string printable(std::string_view raw) {
  std::string out;
  while (!raw.empty()) {
    const std::size_t length = utf8_sequence(raw);
    const std::string_view sequence = raw.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(sequence)) {
      escape(sequence, out);
    } else {
      out += sequence;
    }
    raw.remove_prefix(sequence.size());
  }
  return out;
}

}  // namespace gpuhist::pipeline
