#include "report/formats/result_document.hpp"

#include "config/text.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

namespace gpuhist::report {
namespace {

using documents::damaged;
using documents::flag;
using documents::flag_if_any;
using documents::member;
using documents::number;
using documents::text;
using nlohmann::json;

constexpr std::string_view schema = "gpuhist.result/1";
constexpr std::size_t byte_values = 256;

gpu::tally kept_counts(const json& value) {
  if (!value.is_array() || value.size() != byte_values) damaged("\"byte_counts\" is not a list of 256 numbers");
  gpu::tally counts(byte_values);
  for (std::size_t i = 0; i < byte_values; ++i) counts.counts[i] = number(value[i], "byte_counts");
  return counts;
}

/// The buckets of the scheme `bytes`, which are the byte counts, too; null if there are none.
const json* bytes_scheme(const json& from) {
  const auto buckets = from.find("buckets");
  if (buckets == from.end() || !buckets->is_object()) return nullptr;
  const auto bytes = buckets->find("bytes");
  return bytes != buckets->end() && bytes->is_object() ? &*bytes : nullptr;
}

gpu::tally counts_by_scheme(const json& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (bytes.size() != byte_values) damaged("the scheme \"bytes\" does not have 256 buckets");
  gpu::tally counts(byte_values);
  for (std::size_t i = 0; i < byte_values; ++i) {
    const std::string name = {'0', 'x', digits[i >> 4U], digits[i & 0xfU]};
    counts.counts[i] = number(member(bytes, name.c_str()), name);
  }
  return counts;
}

gpu::tally counts_in(const json& from, const wanted_counts& wanted, bool folded) {
  if (const auto kept = from.find("byte_counts"); kept != from.end()) return kept_counts(*kept);
  const json* const bytes = bytes_scheme(from);
  if (bytes == nullptr) damaged("no byte counts were kept; count again with --byte-counts");
  if (folded && wanted.letters == letter_case::exact) {
    damaged(
        "counted with --ignore-case, and no byte counts were kept; give --ignore-case, or count again with "
        "--byte-counts");
  }
  return counts_by_scheme(*bytes);
}

std::vector<std::string> names_in(const json& list) {
  std::vector<std::string> names;
  if (list.is_array()) {
    for (const json& each : list) names.push_back(text(each, "buckets"));
  }
  return names;
}

const json& pairs_of(const json& from, const config::scheme& scheme) {
  const std::string remedy = "; count again with --pairs --buckets " + scheme.name + ", or leave --pairs out";
  const auto all = from.find("pairs");
  if (all == from.end() || !all->is_object()) damaged("no pairs were counted" + remedy);
  const auto found = all->find(scheme.name);
  if (found == all->end() || !found->is_object()) damaged("no pairs of " + scheme.name + " were counted" + remedy);
  if (!config::are_buckets_of(scheme, names_in(member(*found, "buckets")))) {
    damaged("the pairs of " + scheme.name + " are of other buckets than those of --buckets" + remedy);
  }
  return member(*found, "counts");
}

std::vector<std::uint64_t> buckets_of(const gpu::tally& counts, const config::scheme& scheme) {
  std::vector<std::uint64_t> buckets(scheme.buckets.size());
  for (std::size_t byte = 0; byte < byte_values; ++byte) buckets[scheme.bucket_of[byte]] += counts.counts[byte];
  return buckets;
}

void subtract(std::uint64_t& remaining, std::uint64_t pairs, const config::scheme& scheme) {
  if (__builtin_sub_overflow(remaining, pairs, &remaining)) {
    damaged("the pairs of " + scheme.name + " do not add up: there are more than bytes");
  }
}

/// Appends the matrix of a scheme to the pairs of a tally. Every byte is the first one of at most one pair, and the
/// second one of at most one.
void append_pairs(gpu::tally& to, const json& from, const config::scheme& scheme) {
  const std::size_t size = scheme.buckets.size();
  const json& rows = pairs_of(from, scheme);
  if (!rows.is_array() || rows.size() != size) damaged("\"pairs\" is not a square matrix of numbers");
  std::vector<std::uint64_t> as_first = buckets_of(to, scheme);
  std::vector<std::uint64_t> as_second = as_first;
  for (std::size_t first = 0; first < size; ++first) {
    if (!rows[first].is_array() || rows[first].size() != size) damaged("\"pairs\" is not a square matrix of numbers");
    for (std::size_t second = 0; second < size; ++second) {
      const std::uint64_t count = number(rows[first][second], "pairs");
      subtract(as_first[first], count, scheme);
      subtract(as_second[second], count, scheme);
      to.pairs.push_back(count);
    }
  }
}

// The counts of the 256 byte values, which must match "bytes".
gpu::tally read_byte_counts(const json& from, const wanted_counts& wanted, bool folded) {
  gpu::tally counts = counts_in(from, wanted, folded);
  const std::uint64_t bytes = number(member(from, "bytes"), "bytes");
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts.counts) {
    if (__builtin_add_overflow(sum, count, &sum)) damaged("the counts do not add up: their sum exceeds 2^64 - 1");
  }
  if (sum != bytes) {
    damaged("the counts do not add up: their sum is " + std::to_string(sum) + ", but \"bytes\" is " +
            std::to_string(bytes));
  }
  return counts;
}

/// The counts of an object. They must match its fields "bytes" and "lines".
gpu::tally read_counts(const json& from, const wanted_counts& wanted, bool folded) {
  if (wanted.by_bucket != nullptr) return wanted.by_bucket->read(from);
  gpu::tally counts = read_byte_counts(from, wanted, folded);
  if (const std::uint64_t lines = number(member(from, "lines"), "lines"); lines != counts.counts['\n']) {
    damaged("\"lines\" is " + std::to_string(lines) + ", but " + std::to_string(counts.counts['\n']) +
            " line feeds were counted");
  }
  for (const config::scheme& each : wanted.pairs) append_pairs(counts, from, each);
  return counts;
}

gpu::tally read_unverified(const json& from, const wanted_counts& wanted, bool folded) {
  const auto found = from.find("unverified");
  if (found == from.end()) return wanted.no_text();
  if (!found->is_object()) damaged("\"unverified\" is not an object");
  return read_counts(*found, wanted, folded);
}

std::vector<pipeline::skipped_names> read_skipped(const json& from) {
  const auto found = from.find("skipped");
  if (found == from.end()) return {};
  const std::uint64_t all = number(*found, "skipped");
  const auto by_cause = from.find("skipped_by_cause");
  if (by_cause == from.end()) return {pipeline::skipped_names{.cause = "", .count = all, .first = ""}};
  if (!by_cause->is_object()) damaged("\"skipped_by_cause\" is not an object");
  std::vector<pipeline::skipped_names> causes;
  std::uint64_t sum = 0;
  const json none = json::object();
  const auto with_bytes = from.find("skipped_bytes_by_cause");
  const json& bytes_by_cause = with_bytes == from.end() ? none : *with_bytes;
  if (!bytes_by_cause.is_object()) damaged("\"skipped_bytes_by_cause\" is not an object");
  for (const auto& [cause, count] : by_cause->items()) {
    const auto bytes = bytes_by_cause.find(cause);
    const pipeline::skipped_names each{
        .cause = cause == cause_of({}) ? "" : cause,
        .count = number(count, "skipped_by_cause"),
        .first = "",
        .bytes = bytes == bytes_by_cause.end() ? 0 : number(*bytes, "skipped_bytes_by_cause")};
    if (__builtin_add_overflow(sum, each.count, &sum)) damaged("\"skipped\" is not the sum of its causes");
    pipeline::add_skipped(causes, each);
  }
  if (sum != all) damaged("\"skipped\" is not the sum of its causes");
  return causes;
}

std::optional<pipeline::utf8_report> read_utf8(const json& from) {
  const auto found = from.find("utf8");
  if (found == from.end()) return std::nullopt;
  if (!found->is_object()) damaged("\"utf8\" is not an object");
  const json& scripts = member(*found, "scripts");
  if (!scripts.is_object()) damaged("\"scripts\" is not an object");
  pipeline::utf8_report made;
  for (const pipeline::utf8_number& each : pipeline::utf8_numbers) {
    const std::string name(each.name);
    made.counts.*each.value = number(member(*found, name.c_str()), name);
  }
  for (std::size_t i = 0; i < made.counts.scripts.size(); ++i) {
    const std::string name(gpu::host::script_names()[i]);
    made.counts.scripts[i] = number(member(scripts, name.c_str()), name);
  }
  if (!found->contains("first_malformed")) return made;
  made.first_malformed = number((*found)["first_malformed"], "first_malformed");
  made.first_malformed_line = number(member(*found, "first_malformed_line"), "first_malformed_line");
  return made;
}

// Older results state no kind.
io::failure_kind read_kind_of_lost(const json& from) {
  const auto found = from.find("error_kind");
  if (found == from.end()) return io::failure_kind::damaged;
  return io::failure_kind_named(text(*found, "error_kind")).value_or(io::failure_kind::unknown);
}

pipeline::lost_range read_lost_range(const json& from) {
  if (!from.is_object()) damaged("\"lost\" is not a list of objects");
  return {.compressed_begin = number(member(from, "compressed_begin"), "compressed_begin"),
          .compressed_end = number(member(from, "compressed_end"), "compressed_end"),
          .text_offset = number(member(from, "text_offset"), "text_offset"),
          .unverified_bytes = number(member(from, "unverified_bytes"), "unverified_bytes"),
          .cause = text(member(from, "error"), "error"),
          .kind = read_kind_of_lost(from)};
}

void read_lost(const json& from, pipeline::input_report& into) {
  const auto found = from.find("lost_stretches");
  if (found == from.end()) return;
  into.number_of_lost_ranges = number(*found, "lost_stretches");
  const json& all = member(from, "lost");
  if (!all.is_array()) damaged("\"lost\" is not a list of objects");
  for (const json& each : all) into.lost_ranges.push_back(read_lost_range(each));
}

std::vector<io::notice> read_notices(const json& from) {
  const auto found = from.find("notices");
  if (found == from.end()) return {};
  if (!found->is_array()) damaged("\"notices\" is not a list of objects");
  std::vector<io::notice> made;
  for (const json& each : *found) {
    if (!each.is_object()) damaged("\"notices\" is not a list of objects");
    pipeline::add_notice(made, {.kind = io::notice_kind_named(text(member(each, "kind"), "kind")),
                                .text = text(member(each, "text"), "text")});
  }
  return made;
}

}  // namespace

gpu::tally wanted_counts::no_text() const {
  if (by_bucket != nullptr) return by_bucket->no_text();
  std::size_t columns = 0;
  for (const config::scheme& each : pairs) columns += each.buckets.size() * each.buckets.size();
  return gpu::tally(byte_values, columns);
}

void check_schema(const json& document) {
  if (!document.is_object()) damaged("not a JSON object; results are written by " + std::string(writer_of_results));
  if (const std::string found = text(member(document, "schema"), "schema"); found != schema) {
    damaged("the schema is " + config::quote(found) + "; this program reads " + config::quote(schema));
  }
}

std::string kind_of(const json& document) { return text(member(document, "kind"), "kind"); }

std::string run_of(const json& document) {
  constexpr std::size_t longest = 64;
  const auto found = document.find("run");
  if (found == document.end()) return {};
  std::string run = text(*found, "run");
  if (run.empty() || run.size() > longest) damaged("\"run\" is empty, or longer than 64 bytes");
  return run;
}

bool is_folded(const json& document) { return flag_if_any(document, "ignore_case"); }

// Older results have a message only.
io::failure_kind read_error_kind(const json& document, const std::string& error) {
  if (error.empty()) return io::failure_kind::none;
  const auto found = document.find("error_kind");
  if (found == document.end()) return io::failure_kind::unknown;
  return io::failure_kind_named(text(*found, "error_kind")).value_or(io::failure_kind::unknown);
}

gpu::tally read_group_counts(const json& group, const wanted_counts& wanted, bool folded) {
  if (wanted.by_bucket != nullptr) return wanted.by_bucket->read_group(group);
  return read_byte_counts(group, wanted, folded);
}

pipeline::input_report read_input(const json& document, const wanted_counts& wanted, bool folded) {
  if (!document.is_object()) damaged("an input is not an object");
  pipeline::input_report input;
  input.name = documents::raw_text(document, "name");
  try {
    input.format = text(member(document, "format"), "format");
    input.complete = flag(member(document, "complete"), "complete");
    if (const auto found = document.find("error"); found != document.end()) input.error = text(*found, "error");
    input.error_kind = read_error_kind(document, input.error);
    if (const auto found = document.find("compressed_bytes"); found != document.end()) {
      input.compressed_bytes = number(*found, "compressed_bytes");
    }
    input.verified = read_counts(document, wanted, folded);
    input.unverified = read_unverified(document, wanted, folded);
    input.counted_unverified = flag_if_any(document, "counted_unverified");
    read_lost(document, input);
    input.notices = read_notices(document);
    input.utf8 = read_utf8(document);
  } catch (const result_damage& damage) {
    damaged("input " + config::quote(printable(input.name)) + ": " + damage.what());
  }
  return input;
}

run_report read_totals(const json& document, const wanted_counts& wanted) {
  if (!wanted.pairs.empty() && is_folded(document) != (wanted.letters == letter_case::ignored)) {
    damaged(is_folded(document) ? "the pairs were counted with --ignore-case; give --ignore-case, or leave --pairs out"
                                : "the pairs were counted without --ignore-case; leave --ignore-case or --pairs out");
  }
  run_report totals;
  totals.partition = gpu::partition::identity();
  totals.complete = flag(member(document, "complete"), "complete");
  totals.verified = read_counts(document, wanted, is_folded(document));
  totals.unverified = read_unverified(document, wanted, is_folded(document));
  totals.counted_unverified = flag_if_any(document, "counted_unverified");
  totals.skipped = read_skipped(document);
  totals.utf8 = read_utf8(document);
  return totals;
}

bool is_by_scheme(const json& input) {
  const auto lacks_counts = [](const json& part) { return part.is_object() && !part.contains("byte_counts"); };
  if (!input.is_object()) return false;
  const auto unverified = input.find("unverified");
  return lacks_counts(input) || (unverified != input.end() && lacks_counts(*unverified));
}

void check_sums(const run_report& totals, const gpu::tally& verified, const gpu::tally& unverified) {
  if (verified != totals.verified || unverified != totals.unverified) {
    damaged("the totals are not the sums of the inputs");
  }
}

}  // namespace gpuhist::report
