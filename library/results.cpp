#include "library/results.hpp"

#include "gpuhist/errors.hpp"
#include "library/errors.hpp"
#include "library/scheme_counts.hpp"
#include "library/unit_reports.hpp"
#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist {
namespace {

using pipeline::report;
using pipeline::scheme_view;

report no_counts() {
  report made;
  made.partition = gpu::partition::identity();
  made.verified = made.unverified = gpu::tally(made.partition.classes);
  return made;
}

pipeline::input_report input_at(const report& content, std::size_t number) {
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
results::results(const results&) = default;
// A move is a copy, so that no object is without counts. NOLINTNEXTLINE(performance-move-constructor-init)
results::results(results&& other) noexcept : state_(other.state_) {}
results& results::operator=(const results&) = default;
results& results::operator=(results&& other) noexcept { return *this = std::as_const(other); }
results::~results() = default;
results::results(std::shared_ptr<const state> shared) : state_(std::move(shared)) {}

const results::state& results::shared() const noexcept { return *state_; }

results::kind results::type() const {
  return state_->content.type == report::kind::snapshot ? kind::snapshot : kind::result;
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
          .notices = notices_of(found)};
}

std::vector<std::uint64_t> results::counts(std::string_view scheme, std::size_t input) const {
  return find_scheme(state_->content, scheme).fold(input_at(state_->content, input).verified);
}

bool results::has_pairs() const {
  const report& content = state_->content;
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
  return pipeline::summary_of(*state_->content.units);
}

std::string results::to_json() const {
  std::string text;
  pipeline::render_json(state_->content, {}, [&](std::string_view part) { text += part; });
  return text;
}

}  // namespace gpuhist
