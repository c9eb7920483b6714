#include "library/results.hpp"

#include "config/scheme.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "gpuhist/errors.hpp"
#include "io/descriptor.hpp"
#include "library/errors.hpp"
#include "library/event_publisher.hpp"
#include "library/unit_reports.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/report_alert.hpp"
#include "report/formats/report_groups.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/result_file.hpp"
#include "report/measures/measure.hpp"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist {

namespace {

using pipeline::scheme_view;
using report::run_report;

run_report no_counts() {
  run_report made;
  made.partition = gpu::partition::identity();
  made.verified = made.unverified = gpu::tally(made.partition.classes);
  return made;
}

pipeline::input_report input_at(const run_report& content, std::size_t number) {
  if (number < content.inputs.size()) return content.inputs[number];
  throw error(errc::invalid_argument, "there is no input " + std::to_string(number) + ": the result has " +
                                          std::to_string(content.inputs.size()));
}

failure failure_of(io::failure_kind kind) {
  switch (kind) {
    case io::failure_kind::none:
      return failure::none;
    case io::failure_kind::not_read:
      return failure::not_read;
    case io::failure_kind::stopped:
      return failure::stopped;
    case io::failure_kind::unreadable:
      return failure::unreadable;
    case io::failure_kind::damaged:
      return failure::damaged;
    case io::failure_kind::refused:
      return failure::refused;
    case io::failure_kind::out_of_memory:
      return failure::out_of_memory;
    case io::failure_kind::not_counted:
      return failure::not_counted;
    case io::failure_kind::unknown:
      break;
  }
  return failure::unknown;
}

skipped_kind kind_of(io::skipped_kind kind) {
  switch (kind) {
    case io::skipped_kind::link:
      return skipped_kind::link;
    case io::skipped_kind::special:
      return skipped_kind::special;
    case io::skipped_kind::output:
      return skipped_kind::output;
    case io::skipped_kind::directory:
      return skipped_kind::directory;
    case io::skipped_kind::unknown:
      break;
  }
  return skipped_kind::unknown;
}

input_notice::kind kind_of(io::notice_kind kind) {
  switch (kind) {
    case io::notice_kind::name_differs:
      return input_notice::kind::name_differs;
    case io::notice_kind::unknown_compression:
      return input_notice::kind::unknown_compression;
    case io::notice_kind::no_end_marker:
      return input_notice::kind::no_end_marker;
    case io::notice_kind::trailing_data:
      return input_notice::kind::trailing_data;
    case io::notice_kind::no_end_blocks:
      return input_notice::kind::no_end_blocks;
    case io::notice_kind::replaced_characters:
      return input_notice::kind::replaced_characters;
    case io::notice_kind::unknown:
      break;
  }
  return input_notice::kind::unknown;
}

std::vector<input_notice> notices_of(const pipeline::input_report& input) {
  std::vector<input_notice> all;
  for (const io::notice& each : input.notices) all.push_back({.type = kind_of(each.kind), .text = each.text});
  return all;
}

}  // namespace

counting_failure failure_of(std::string text, const std::exception_ptr& cause) {
  if (text.empty()) return {};
  return {.text = std::move(text), .kind = cause ? kind_of(cause) : errc::internal};
}

results::results() : state_(std::make_shared<const state>(state{.content = no_counts(), .failed = {}})) {}
results::results(std::shared_ptr<const state> shared) : state_(std::move(shared)) {}

const results::state& results::shared() const noexcept { return *state_; }

results::kind results::type() const {
  return state_->content.type == run_report::kind::snapshot ? kind::snapshot : kind::result;
}

bool results::complete() const { return state_->content.complete; }

std::uint64_t results::bytes() const { return state_->content.verified.bytes(); }

std::uint64_t results::lines() const { return pipeline::lines_in(state_->content.verified, state_->content.partition); }

std::string_view results::error() const { return state_->failed.text; }

std::optional<errc> results::error_kind() const { return state_->failed.kind; }

std::uint64_t results::unverified_bytes() const { return state_->content.unverified.bytes(); }

std::chrono::duration<double> results::elapsed() const {
  return std::chrono::duration<double>(state_->content.elapsed_seconds);
}

std::vector<skipped_inputs> results::skipped() const {
  std::vector<skipped_inputs> all;
  for (const pipeline::skipped_names& each : state_->content.skipped) {
    all.push_back({.cause = each.cause,
                   .count = each.count,
                   .first = each.first,
                   .bytes = each.bytes,
                   .kind = kind_of(each.kind)});
  }
  return all;
}

std::vector<std::string> results::schemes() const {
  std::vector<std::string> names;
  for (const scheme_view& each : state_->content.schemes) names.push_back(each.scheme.name);
  return names;
}

std::vector<std::string> results::buckets(std::string_view scheme) const {
  return find_scheme(state_->content, scheme).scheme.buckets;
}

std::vector<std::uint64_t> results::counts(std::string_view scheme) const {
  return find_scheme(state_->content, scheme).fold(state_->content.verified);
}

std::size_t results::inputs() const { return state_->content.inputs.size(); }

input_result results::input(std::size_t number) const {
  const pipeline::input_report found = input_at(state_->content, number);
  const auto matched = report::matches_of(state_->content, found);
  return {.name = found.name,
          .format = found.format,
          .compressed_bytes = found.compressed_bytes,
          .bytes = found.verified.bytes(),
          .lines = pipeline::lines_in(found.verified, state_->content.partition),
          .unverified_bytes = found.unverified.bytes(),
          .complete = found.complete,
          .kind = failure_of(found.error_kind),
          .error = found.error,
          .is_failure_of_archive = found.error_origin != pipeline::failure_origin::input,
          .notices = notices_of(found),
          .matches = matched ? library::matches_of(*matched) : std::vector<match_count>()};
}

std::vector<std::uint64_t> results::counts(std::string_view scheme, std::size_t input) const {
  return find_scheme(state_->content, scheme).fold(input_at(state_->content, input).verified);
}

bool results::has_pairs() const {
  const run_report& content = state_->content;
  return !content.schemes.empty() && content.schemes.front().has_pairs();
}

std::vector<std::uint64_t> results::pairs(std::string_view scheme) const {
  return pairs_of(state_->content, state_->content.verified, scheme);
}

std::vector<std::uint64_t> results::pairs(std::string_view scheme, std::size_t input) const {
  return pairs_of(state_->content, input_at(state_->content, input).verified, scheme);
}

bool results::has_byte_counts() const { return state_->content.partition == gpu::partition::identity(); }

measurement results::measure(std::string_view name) const {
  return measure_of(state_->content, state_->content.verified, name);
}

measurement results::measure(std::string_view name, std::size_t input) const {
  return measure_of(state_->content, input_at(state_->content, input).verified, name);
}

std::optional<unit_summary> results::units() const {
  if (!state_->content.units) return std::nullopt;
  return library::summary_of(*state_->content.units, {state_, &state_->content});
}

std::string results::to_json() const {
  std::string text;
  report::render_json(state_->content, {}, [&](std::string_view part) { text += part; });
  return text;
}

// The sum of gpuhist::results.

namespace {

using pipeline::scheme_view;
using pipeline::view_through;
using pipeline::views_with_own_pairs;
using report::run_report;

bool have_same_schemes(const run_report& a, const run_report& b) {
  return std::ranges::equal(a.schemes, b.schemes, {}, &scheme_view::scheme, &scheme_view::scheme);
}

// That of all parts, or the coarsest if some have the counts of all byte values and others do not.
const gpu::partition& common_partition(std::span<const results> parts) {
  const auto classes = [](const results& each) { return each.shared().content.partition.classes; };
  return std::ranges::min_element(parts, {}, classes)->shared().content.partition;
}

bool have_pairs(const results& each) { return each.has_pairs(); }

// Counts over a coarser partition. Of pairs, every scheme has a matrix of its own.
class coarsening {
 public:
  coarsening(const run_report& from, const gpu::partition& to, bool with_pairs)
      : from_(from), classes_(to.classes), with_pairs_(with_pairs), class_of_(from.partition.classes) {
    for (std::size_t byte = 0; byte < to.class_of.size(); ++byte) {
      class_of_[from.partition.class_of[byte]] = to.class_of[byte];
    }
  }

  [[nodiscard]] gpu::tally operator()(const gpu::tally& counts) const {
    gpu::tally made(classes_);
    for (std::size_t i = 0; i < counts.counts.size(); ++i) made.counts[class_of_[i]] += counts.counts[i];
    if (!with_pairs_) return made;
    for (const scheme_view& each : from_.schemes) {
      const pipeline::pair_matrix pairs = each.fold_pairs(counts);
      made.pairs.insert(made.pairs.end(), pairs.counts.begin(), pairs.counts.end());
    }
    return made;
  }

 private:
  const run_report& from_;
  std::size_t classes_;
  bool with_pairs_;
  std::vector<std::uint8_t> class_of_;
};

// Adds results with the same schemes. Inputs are kept in memory.
class adder {
 public:
  adder(const run_report& first, const gpu::partition& partition, bool with_pairs)
      : with_pairs_(with_pairs),
        inputs_(std::make_shared<pipeline::finished_inputs>(partition.classes, 0, pipeline::spill_folder{.path = ""})) {
    sum_.partition = partition;
    sum_.verified = sum_.unverified = coarsening(first, partition, with_pairs)(gpu::tally());
    sum_.complete = true;
    sum_.byte_counts = true;
    sum_.ignore_case = first.ignore_case;
    sum_.measuring = first.measuring;
    std::vector<config::scheme> schemes;
    for (const scheme_view& each : first.schemes) schemes.push_back(each.scheme);
    if (with_pairs) {
      sum_.schemes = views_with_own_pairs(schemes, partition);
    } else {
      for (const config::scheme& each : schemes) sum_.schemes.push_back(view_through(each, partition));
    }
  }

  void add(const run_report& part) {
    const coarsening coarse(part, sum_.partition, with_pairs_);
    add_totals(part, coarse);
    for (const pipeline::input_report& each : part.inputs) {
      pipeline::input_report folded = each;
      folded.verified = coarse(each.verified);
      folded.unverified = coarse(each.unverified);
      inputs_->append(inputs_->spill(folded));
      ++number_;
    }
  }

  run_report take() {
    if (!all_have_utf8_) sum_.utf8.reset();
    sum_.inputs = pipeline::input_reports(inputs_, number_);
    return std::move(sum_);
  }

 private:
  void add_totals(const run_report& part, const coarsening& coarse) {
    const auto exceeds = [](const gpu::tally& a, const gpu::tally& b) {
      std::uint64_t bytes = 0;
      return __builtin_add_overflow(a.bytes(), b.bytes(), &bytes);
    };
    if (exceeds(sum_.verified, part.verified) || exceeds(sum_.unverified, part.unverified)) {
      throw error(errc::invalid_argument, "merge: the sum exceeds 2^64 - 1 bytes");
    }
    sum_.add(part, coarse(part.verified), coarse(part.unverified));
    if (part.type == run_report::kind::snapshot) sum_.type = run_report::kind::snapshot;
    all_have_utf8_ = all_have_utf8_ && part.utf8;
    sum_.byte_counts = sum_.byte_counts && part.byte_counts;
    sum_.elapsed_seconds = std::max(sum_.elapsed_seconds, part.elapsed_seconds);
  }

  bool with_pairs_;
  bool all_have_utf8_ = true;
  run_report sum_;
  std::shared_ptr<pipeline::finished_inputs> inputs_;
  std::size_t number_ = 0;
};

results sum_of(std::span<const results> parts) {
  if (parts.empty()) throw error(errc::invalid_argument, "merge: there are no results");
  const run_report& first = parts.front().shared().content;
  adder sum(first, common_partition(parts), std::ranges::all_of(parts, have_pairs));
  counting_failure failed;
  for (const results& each : parts) {
    const run_report& part = each.shared().content;
    if (!have_same_schemes(first, part)) {
      throw error(errc::invalid_argument, "merge: the results have different schemes");
    }
    if (!failed.kind) failed = each.shared().failed;
    sum.add(part);
  }
  return results(
      std::make_shared<const results::state>(results::state{.content = sum.take(), .failed = std::move(failed)}));
}

}  // namespace

results results::merge(std::span<const results> parts) {
  try {
    return sum_of(parts);
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
}

// gpuhist::results from earlier results, as text and as files.

namespace {

using pipeline::view_through;
using report::letter_case;
using report::result_sum;

std::vector<config::scheme> schemes_of(const read_options& options) {
  try {
    return config::make_schemes(options.schemes, options.ignore_case);
  } catch (const config::usage_error& refused) {
    throw error(errc::invalid_argument, "--buckets: " + std::string(refused.what()));
  }
}

// Throws if the file cannot be opened: result_sum reports that as an error of its content.
void check_readable(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument, "a path cannot contain a zero byte: " + config::quote(path));
  }
  const io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw error(errc::system, path + ": " + std::system_category().message(errno));
}

template <typename Add>
results read_results(const read_options& options, const Add& add) {
  const std::vector<config::scheme> schemes = schemes_of(options);
  result_sum sum({options.ignore_case ? letter_case::ignored : letter_case::exact,
                  options.pairs ? schemes : std::vector<config::scheme>()},
                 {.path = ""});
  try {
    add(sum);
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
  if (!sum.errors().empty()) throw error(errc::invalid_argument, sum.errors().front());
  auto made = std::make_shared<results::state>(results::state{.content = sum.take(), .failed = {}});
  report::run_report& content = made->content;
  if (!options.pairs) {
    for (const config::scheme& each : schemes) content.schemes.push_back(view_through(each, content.partition));
  }
  content.ignore_case = options.ignore_case;
  content.byte_counts = true;
  return results(std::move(made));
}

}  // namespace

results results::read(std::string_view json, const read_options& options) {
  return read_results(options, [&](result_sum& sum) { sum.add_text("the text", json); });
}

results results::read_file(const std::string& path, const read_options& options) {
  check_readable(path);
  return read_results(options, [&](result_sum& sum) { sum.add_file(path == "-" ? "./-" : path); });
}

using pipeline::scheme_view;
using report::run_report;
namespace measures = report::measures;

const scheme_view& find_scheme(const run_report& frame, std::string_view name) {
  const auto found = std::ranges::find(frame.schemes, name, [](const scheme_view& each) { return each.scheme.name; });
  if (found != frame.schemes.end()) return *found;
  throw error(errc::invalid_argument, "the result has no scheme '" + std::string(name) + "'");
}

std::vector<std::uint64_t> pairs_of(const run_report& frame, const gpu::tally& counts, std::string_view scheme) {
  const scheme_view& view = find_scheme(frame, scheme);
  if (view.has_pairs()) return view.fold_pairs(counts).counts;
  throw error(errc::invalid_argument, "the result has no pairs; give --pairs");
}

measurement measure_of(const run_report& frame, const gpu::tally& counts, std::string_view name,
                       const measures::byte_counts* baseline) {
  const measures::measure* const definition = measures::find_measure(name);
  if (definition == nullptr) {
    throw error(errc::invalid_argument, "there is no measure '" + std::string(name) + "'");
  }
  if (frame.partition != gpu::partition::identity()) {
    throw error(errc::invalid_argument, "measure '" + std::string(name) +
                                            "': needs the counts of the 256 byte values, which the result does not "
                                            "have; give --byte-counts");
  }
  const measures::byte_counts bytes = measures::counts_of(counts);
  const measures::byte_counts* const compared = baseline != nullptr ? baseline : frame.measuring.baseline.get();
  const measures::measurement taken = measures::take_measure(*definition, {.counts = bytes, .baseline = compared});
  return {.name = std::string(definition->name),
          .unit = std::string(definition->unit),
          .value = taken.found.value,
          .reason = std::string(taken.found.reason)};
}

namespace {

std::string_view text_of(const pipeline::source_name& name) {
  return name ? std::string_view(*name) : std::string_view();
}

}  // namespace

window::window(std::shared_ptr<const state> shared) : state_(std::move(shared)) {}
window::window(const window&) = default;
// A move is a copy, so that no object is without counts. NOLINTNEXTLINE(performance-move-constructor-init)
window::window(window&& other) noexcept : state_(other.state_) {}
window& window::operator=(const window&) = default;
window& window::operator=(window&& other) noexcept { return *this = std::as_const(other); }
window::~window() = default;

const window::state& window::shared() const noexcept { return *state_; }

std::uint64_t window::index() const { return state_->content.head.index; }

std::string_view window::input() const { return text_of(state_->content.head.source); }

std::string_view window::last_input() const {
  const pipeline::window_head& head = state_->content.head;
  return text_of(head.last_source ? head.last_source : head.source);
}

std::uint64_t window::first_offset() const { return state_->content.head.first_offset; }

std::uint64_t window::end_offset() const { return state_->content.head.end_offset; }

std::optional<line_range> window::line_numbers() const {
  const std::optional<pipeline::line_range>& found = state_->content.lines;
  if (!found) return std::nullopt;
  return line_range{.first = found->first, .last = found->last};
}

window::time_point window::start_time() const { return state_->content.head.start; }

window::time_point window::end_time() const { return state_->content.head.end; }

window::end window::end_reason() const {
  switch (state_->content.head.end_reason) {
    case pipeline::window_end::full:
      return end::full;
    case pipeline::window_end::input:
      return end::input;
    case pipeline::window_end::error:
      break;
  }
  return end::error;
}

std::string_view window::error() const { return state_->content.head.error; }

bool window::verified() const { return state_->content.head.verified; }

std::uint64_t window::bytes() const { return state_->content.counts.bytes(); }

std::uint64_t window::lines() const { return pipeline::lines_in(state_->content.counts, state_->frame->partition); }

std::vector<std::uint64_t> window::counts(std::string_view scheme) const {
  return find_scheme(*state_->frame, scheme).fold(state_->content.counts);
}

std::vector<std::uint64_t> window::pairs(std::string_view scheme) const {
  return pairs_of(*state_->frame, state_->content.counts, scheme);
}

measurement window::measure(std::string_view name) const {
  const auto& baseline = state_->baseline;
  return measure_of(*state_->frame, state_->content.counts, name, baseline ? &*baseline : nullptr);
}

std::string window::to_json() const {
  const auto& baseline = state_->baseline;
  return report::window_line(*state_->frame, {}, state_->content, baseline ? &*baseline : nullptr);
}

std::string verdict::to_json() const {
  return report::verdict_line({}, {.first = first, .last = last, .verified = verified});
}

std::string alert::to_json() const { return report::alert_line(library::firing_of(*this), {}); }

}  // namespace gpuhist
