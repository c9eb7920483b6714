// The report as metrics in the text format of Prometheus, for the textfile collector of its node exporter: HELP and
// TYPE of each family once, followed by all of its samples. Totals and inputs are separate families, so that a sum over
// one family counts nothing twice. Inputs have their index as a label, because the same file may be given twice.
#include "config/text.hpp"
#include "report/formats/report.hpp"
#include "report/formats/text.hpp"
#include "report/measures/pair_measures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

struct label {
  std::string_view name;
  std::string value;
};

using labels = std::vector<label>;

/// Label values are UTF-8 with three escapes. In a value that is not UTF-8, invalid bytes are first written as \xNN.
std::string escaped(std::string_view value) {
  const std::string text = config::is_utf8(value) ? std::string(value) : printable(value);
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  }
  return out;
}

/// Writes family by family.
class exposition {
 public:
  /// Borrows `out`.
  explicit exposition(const text_sink& out) : out_(out) {}

  /// Begins a family. The samples added until the next call belong to it.
  void family(std::string_view name, std::string_view help) {
    name_ = "gpuhist_" + std::string(name);
    text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " gauge\n";
  }

  void sample(const labels& with, std::uint64_t value) { sample(with, std::to_string(value)); }

  void sample(const labels& with, const std::string& value) {
    text_ += name_;
    for (std::size_t i = 0; i < with.size(); ++i) {
      text_ += (i == 0 ? "{" : ",") + std::string(with[i].name) + "=\"" + escaped(with[i].value) + "\"";
    }
    text_ += (with.empty() ? " " : "} ") + value + "\n";
  }

  void buckets(const run_report& content, const labels& with, const gpu::tally& counts) {
    for (const pipeline::scheme_view& view : content.schemes) {
      const std::vector<std::uint64_t> folded = view.fold(counts);
      for (std::size_t i = 0; i < folded.size(); ++i) {
        labels all = with;
        all.push_back({"scheme", view.scheme.name});
        all.push_back({"bucket", view.scheme.buckets[i]});
        sample(all, folded[i]);
      }
    }
  }

  /// Adds the measures that have a value.
  void measurements(const run_report& content, const labels& with, const gpu::tally& counts) {
    for (const measures::measurement& each : measurements_of(content, counts)) {
      if (!each.found.value) continue;
      labels all = with;
      all.push_back({"measure", std::string(each.definition->name)});
      sample(all, shortest(*each.found.value));
    }
  }

  void scripts(labels with, const gpu::host::utf8_counts& counts) {
    with.push_back({"script", ""});
    for (std::size_t i = 0; i < counts.scripts.size(); ++i) {
      with.back().value = gpu::host::script_names()[i];
      sample(with, counts.scripts[i]);
    }
  }

  /// Passes the text so far to the sink.
  void write() {
    out_(text_);
    text_.clear();
  }

 private:
  const text_sink& out_;
  std::string name_;
  std::string text_;
};

// Of the totals only: an input would have a sample for each pair of buckets.
void add_pairs(exposition& to, const run_report& content) {
  if (content.schemes.empty() || !content.schemes.front().has_pairs()) return;
  to.family("pairs", "Pairs of adjacent bytes by the buckets of the first and of the second byte.");
  for (const pipeline::scheme_view& view : content.schemes) {
    const pipeline::pair_matrix pairs = view.fold_pairs(content.verified);
    for (std::size_t i = 0; i < pairs.counts.size(); ++i) {
      to.sample({{"scheme", view.scheme.name},
                 {"first", view.scheme.buckets[i / pairs.buckets]},
                 {"second", view.scheme.buckets[i % pairs.buckets]}},
                pairs.counts[i]);
    }
  }
  to.family("conditional_entropy_bits",
            "Entropy of the bucket of a byte, given the bucket of the byte before it, in bits.");
  for (const pipeline::scheme_view& view : content.schemes) {
    const measures::finding bits = measures::conditional_entropy(view.fold_pairs(content.verified));
    if (bits.value) to.sample({{"scheme", view.scheme.name}}, shortest(*bits.value));
  }
}

void add_units(exposition& to, const units::unit_result& found) {
  to.family("units",
            "Units by kind: seen, selected by the condition, or with damaged text; and lines without the field.");
  for (const units::unit_number* const each : units::unit_numbers_in_metrics) {
    if (each->is_in(found)) {
      to.sample({{"each", found.each}, {"which", std::string(each->name)}}, found.totals.*each->units);
    }
  }
  to.family("unit_bytes", "Bytes of the units of gpuhist_units.");
  for (const units::unit_number* const each : units::unit_numbers_in_metrics) {
    if (each->is_in(found) && each->bytes != nullptr) {
      to.sample({{"each", found.each}, {"which", std::string(each->name)}}, found.totals.*each->bytes);
    }
  }
  if (!found.rules.empty()) {
    to.family("rule", "Units and bytes of units for which a rule holds, or is the first that holds.");
    for (const units::rule_result& each : found.rules) {
      for (const units::rule_number& number : units::rule_numbers) {
        to.sample({{"rule", each.name}, {"which", std::string(number.name)}}, each.found.*number.value);
      }
    }
  }
  if (!found.steps.empty()) {
    to.family("rewriting",
              "Lines of texts that a step of --rewrite removed or changed, and the bytes that it removed.");
    for (const units::rule_result& each : found.steps) {
      for (const units::rule_number& number : units::step_numbers) {
        to.sample({{"step", each.name}, {"which", std::string(number.name)}}, each.found.*number.value);
      }
    }
  }
  if (found.ranked_by) {
    to.family("top_unit", "The highest values of a formula over the units.");
    for (const units::ranked_unit& each : found.top) {
      to.sample({{"formula", *found.ranked_by},
                 {"input", *each.unit.input},
                 {"unit", std::to_string(each.unit.place.number)}},
                shortest(each.value));
    }
  }
  if (!found.distribution_of) return;
  to.family("distribution_units",
            "Units by the value of a formula, at least the lower bound and below the upper bound.");
  for (const units::distribution_bin& bin : found.values.bins()) {
    to.sample({{"formula", *found.distribution_of}, {"from", shortest(bin.from)}, {"to", shortest(bin.to)}}, bin.units);
  }
  if (const std::optional<double> sum = found.values.summary({}).total()) {
    to.family("distribution_sum", "The sum of the values of a formula.");
    to.sample({{"formula", *found.distribution_of}}, shortest(*sum));
  }
  if (found.quantiles.empty()) return;
  to.family("distribution_quantile", "The value of a formula that so many percent of the units do not exceed.");
  for (const units::distribution_quantile& each : found.quantiles) {
    to.sample({{"formula", *found.distribution_of}, {"percent", shortest(each.percent)}}, shortest(each.value));
  }
}

// The samples of a family differ: keys that are equal when they are escaped are one sample.
struct key_sample {
  labels with;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

std::vector<key_sample> samples_of(const units::group_result& found, bool terminal) {
  std::vector<key_sample> made;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const auto shown = [&](const std::string& key) { return terminal ? printable(key) : key; };
  for (const units::keyed_group& each : found.groups) {
    const std::string key = shown(each.key);
    const std::string then = shown(each.then);
    const auto [place, is_new] = places.try_emplace({escaped(key), escaped(then)}, made.size());
    if (is_new) {
      made.push_back({.with = {{"key", key}}});
      if (found.then_by) made.back().with.push_back({"then_key", then});
    }
    made[place->second].lines += each.of.lines;
    made[place->second].bytes += each.of.bytes;
  }
  return made;
}

void add_matches(exposition& to, const units::group_counts& all) {
  if (all.matches.empty()) return;
  to.family("match_lines", "Lines in which an expression matches.");
  for (const units::match_count& each : all.matches) to.sample({{"match", each.name}}, each.lines);
  to.family("match_bytes", "Bytes of the lines in which an expression matches.");
  for (const units::match_count& each : all.matches) to.sample({{"match", each.name}}, each.bytes);
  to.family("unmatched_lines", "Lines in which no expression matches.");
  to.sample({}, all.unmatched);
  to.family("unmatched_bytes", "Bytes of the lines in which no expression matches.");
  to.sample({}, all.unmatched_bytes);
}

void add_lines_and_bytes(exposition& to, std::string_view name, std::string_view of,
                         const std::optional<units::group_counts>& found) {
  to.family(std::string(name) + "_lines", "Lines " + std::string(of));
  to.sample({}, found ? found->lines : 0);
  to.family(std::string(name) + "_bytes", "Bytes of the lines " + std::string(of));
  to.sample({}, found ? found->bytes : 0);
}

// The lines of all keys are those of the groups that are reported, of the others, and of lines without key. Windows of
// event time are left out: they have times of their own, which samples cannot have.
void add_groups(exposition& to, const units::group_result& found, bool terminal) {
  add_matches(to, found.all);
  if (!found.by) return;
  to.family("groups",
            "Different keys of lines; if results were added that did not report all keys, a lower bound; with "
            "--approximate, perhaps an estimate.");
  to.sample({}, found.number_of_groups);
  const std::vector<key_sample> groups = samples_of(found, terminal);
  to.family("group_lines",
            "Lines by key; if results were added that did not report all keys, or with --approximate, lower bounds.");
  for (const key_sample& each : groups) to.sample(each.with, each.lines);
  to.family("group_bytes", "Bytes of the lines of gpuhist_group_lines.");
  for (const key_sample& each : groups) to.sample(each.with, each.bytes);
  add_lines_and_bytes(to, "other_groups", "that are not in gpuhist_group_lines, but have a key.", found.other_groups);
  add_lines_and_bytes(to, "without_key", "without the key.", found.without_key);
}

void add_utf8_totals(exposition& to, const gpu::host::utf8_counts& counts) {
  for (const pipeline::utf8_number& each : pipeline::utf8_numbers) {
    to.family("utf8_" + std::string(each.name), each.help);
    to.sample({}, counts.*each.value);
  }
  to.family("utf8_script_code_points", "Code points by script.");
  to.scripts({}, counts);
}

void add_totals(exposition& to, const run_report& content, bool terminal) {
  to.family("bytes", "Bytes of text that were counted and verified.");
  to.sample({}, content.verified.bytes());
  to.family("lines", "Line feeds in text that was counted and verified.");
  to.sample({}, pipeline::lines_in(content.verified, content.partition));
  to.family("complete", "1 if every byte of every input was counted and verified, else 0.");
  to.sample({}, content.type == run_report::kind::result && content.complete ? 1 : 0);
  to.family("unverified_bytes", "Bytes of text that were decoded, but are not verified, or not yet.");
  to.sample({}, content.unverified.bytes());
  if (content.counted_unverified) {
    to.family("counted_unverified", "1 if unverified bytes are included in the bytes, lines and buckets.");
    to.sample({}, 1);
  }
  if (!content.skipped.empty()) {
    to.family("skipped_names", "Names in directory trees that were skipped, by cause.");
    for (const pipeline::skipped_names& each : content.skipped)
      to.sample({{"cause", std::string(cause_of(each))}}, each.count);
  }
  to.family("bucket_bytes", "Bytes of text that were counted and verified, by bucket of each scheme.");
  to.buckets(content, {}, content.verified);
  if (!content.measuring.asked.empty()) {
    to.family("measure", "Measures of the bytes that were counted and verified; a measure without a value is absent.");
    to.measurements(content, {}, content.verified);
  }
  add_pairs(to, content);
  if (content.utf8) add_utf8_totals(to, content.utf8->counts);
  if (content.units) add_units(to, *content.units);
  if (content.units && content.units->groups) add_groups(to, *content.units->groups, terminal);
  if (content.unverified.bytes() == 0) return;
  to.family("unverified_bucket_bytes", "Unverified bytes by bucket of each scheme.");
  to.buckets(content, {}, content.unverified);
}

void add_inputs(exposition& to, const run_report& content, bool terminal) {
  if (content.inputs.empty()) return;
  using addition = std::function<void(const pipeline::input_report&, const labels&)>;
  const auto family = [&](std::string_view name, std::string_view help, const addition& add) {
    to.family(name, help);
    std::size_t index = 0;
    for (const pipeline::input_report& each : content.inputs) {
      add(each, {{"index", std::to_string(index++)}, {"input", terminal ? printable(each.name) : each.name}});
      to.write();
    }
  };
  family("input_bytes", "Bytes of an input that were counted and verified.", [&](const auto& each, labels with) {
    with.push_back({"format", each.format});
    to.sample(with, each.verified.bytes());
  });
  family("input_lines", "Line feeds of an input that were counted and verified.",
         [&](const auto& each, const labels& with) {
           to.sample(with, pipeline::lines_in(each.verified, content.partition));
         });
  family("input_complete", "1 if every byte of an input was counted and verified, else 0.",
         [&](const auto& each, const labels& with) { to.sample(with, each.complete ? 1 : 0); });
  family("input_unverified_bytes", "Bytes of an input that were decoded, but are not verified, or not yet.",
         [&](const auto& each, const labels& with) { to.sample(with, each.unverified.bytes()); });
  if (std::ranges::any_of(content.inputs,
                          [](const pipeline::input_report& each) { return each.compressed_bytes.has_value(); })) {
    family("input_compressed_bytes", "Compressed bytes of an input that were read.",
           [&](const auto& each, const labels& with) {
             if (each.compressed_bytes) to.sample(with, *each.compressed_bytes);
           });
  }
  family("input_bucket_bytes", "Bytes of an input that were counted and verified, by bucket of each scheme.",
         [&](const auto& each, const labels& with) { to.buckets(content, with, each.verified); });
  if (content.utf8) {
    for (const pipeline::utf8_number& number : pipeline::utf8_numbers) {
      family("input_utf8_" + std::string(number.name), number.help_of_input, [&](const auto& each, const labels& with) {
        if (each.utf8) to.sample(with, each.utf8->counts.*number.value);
      });
    }
    family("input_utf8_script_code_points", "Code points of an input by script.",
           [&](const auto& each, const labels& with) {
             if (each.utf8) to.scripts(with, each.utf8->counts);
           });
  }
  if (content.measuring.asked.empty()) return;
  family("input_measure", "Measures of an input; a measure without a value is absent.",
         [&](const auto& each, const labels& with) { to.measurements(content, with, each.verified); });
}

}  // namespace

void render_prometheus(const run_report& content, const render_target& target, const text_sink& out) {
  exposition to(out);
  add_totals(to, content, target.terminal);
  add_inputs(to, content, target.terminal);
  to.write();
}

}  // namespace gpuhist::report
