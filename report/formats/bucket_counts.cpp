#include "report/formats/bucket_counts.hpp"

#include "config/text.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/result_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace gpuhist::report {
namespace {

constexpr std::size_t values_of_a_byte = 256;

std::uint64_t whole_number(const nlohmann::json& from, const std::string& key) {
  const auto found = from.find(key);
  if (found == from.end()) throw result_damage("\"" + key + "\" is missing");
  if (!found->is_number_unsigned()) {
    throw result_damage("\"" + key + "\" is not a whole number from 0 to 2^64 - 1");
  }
  return found->get<std::uint64_t>();
}

[[noreturn]] void throw_wrong_sum(const std::string& name) {
  throw result_damage("the counts do not add up: " + config::quote(name) + " is not the sum of its bytes");
}

}  // namespace

bucket_counts::bucket_counts(const gpu::partition& counted, std::span<const config::scheme> schemes)
    : of_text_(counted, schemes, line_feeds::are_lines),
      of_groups_(pipeline::pair_partition(schemes), schemes, line_feeds::are_bytes),
      class_of_group_class_(of_groups_.partition().classes) {
  for (std::size_t byte = 0; byte < values_of_a_byte; ++byte) {
    class_of_group_class_[of_groups_.partition().class_of[byte]] = counted.class_of[byte];
  }
}

gpu::tally bucket_counts::read_group(const nlohmann::json& from) const {
  const gpu::tally found = of_groups_.read(from);
  gpu::tally made = no_text();
  for (std::size_t i = 0; i < found.counts.size(); ++i) made.counts[class_of_group_class_[i]] += found.counts[i];
  return made;
}

bucket_counts::equations::equations(const gpu::partition& counted, std::span<const config::scheme> schemes,
                                    line_feeds are)
    : partition_(counted), schemes_(schemes.size()) {
  const auto classes_where = [&](const auto& holds) {
    std::vector<bool> is_member(partition_.classes);
    for (std::size_t byte = 0; byte < values_of_a_byte; ++byte) {
      if (holds(byte)) is_member[partition_.class_of[byte]] = true;
    }
    return is_member;
  };
  add_sum("", "bytes", classes_where([](std::size_t) { return true; }));
  if (are == line_feeds::are_lines) {
    add_sum("", "lines", classes_where([](std::size_t byte) { return byte == '\n'; }));
  }
  for (const config::scheme& each : schemes) {
    for (std::size_t bucket = 0; bucket < each.buckets.size(); ++bucket) {
      add_sum(each.name, each.buckets[bucket],
              classes_where([&](std::size_t byte) { return each.bucket_of[byte] == bucket; }));
    }
  }
  plan_steps();
}

void bucket_counts::equations::add_sum(std::string scheme, std::string name, const std::vector<bool>& is_member) {
  sum made{.scheme = std::move(scheme), .name = std::move(name), .classes = {}};
  for (std::size_t each = 0; each < is_member.size(); ++each) {
    if (is_member[each]) made.classes.push_back(static_cast<std::uint8_t>(each));
  }
  sums_.push_back(std::move(made));
}

void bucket_counts::equations::plan_steps() {
  std::vector<bool> is_known(partition_.classes);
  for (bool has_changed = true; std::exchange(has_changed, false);) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const auto is_unknown = [&](std::uint8_t each) { return !is_known[each]; };
      const std::vector<std::uint8_t>& classes = sums_[i].classes;
      if (std::ranges::count_if(classes, is_unknown) != 1) continue;
      const std::uint8_t solved = *std::ranges::find_if(classes, is_unknown);
      is_known[solved] = true;
      steps_.push_back({.sum = i, .solves = solved});
      has_changed = true;
    }
  }
}

gpu::tally bucket_counts::equations::read(const nlohmann::json& from) const {
  std::vector<std::uint64_t> values;
  for (const sum& each : sums_) values.push_back(value_of(each, from));
  if (from.at("buckets").size() != schemes_) throw result_damage("it has counts of schemes that are not in --buckets");
  const gpu::tally found = from.contains("byte_counts") ? fold_byte_counts(from) : solve(values);
  check(found, values);
  return found;
}

std::uint64_t bucket_counts::equations::value_of(const sum& wanted, const nlohmann::json& from) {
  if (wanted.scheme.empty()) return whole_number(from, wanted.name);
  const auto schemes = from.find("buckets");
  if (schemes == from.end() || !schemes->is_object()) throw result_damage("\"buckets\" is not an object");
  const auto scheme = schemes->find(wanted.scheme);
  if (scheme == schemes->end() || !scheme->is_object()) {
    throw result_damage("it has no counts of the scheme " + config::quote(wanted.scheme) + " of --buckets");
  }
  return whole_number(*scheme, wanted.name);
}

gpu::tally bucket_counts::equations::fold_byte_counts(const nlohmann::json& from) const {
  const nlohmann::json& all = from.at("byte_counts");
  if (!all.is_array() || all.size() != values_of_a_byte) {
    throw result_damage("\"byte_counts\" is not a list of 256 numbers");
  }
  gpu::tally made(partition_.classes);
  for (std::size_t byte = 0; byte < values_of_a_byte; ++byte) {
    if (!all[byte].is_number_unsigned()) throw result_damage("\"byte_counts\" is not a list of 256 numbers");
    made.counts[partition_.class_of[byte]] += all[byte].get<std::uint64_t>();
  }
  return made;
}

gpu::tally bucket_counts::equations::solve(const std::vector<std::uint64_t>& values) const {
  if (steps_.size() != partition_.classes) {
    throw result_damage(
        "its buckets do not determine the counts that are needed; a run with --byte-counts writes lines that do");
  }
  gpu::tally made(partition_.classes);
  for (const step& next : steps_) {
    std::uint64_t rest = values[next.sum];
    for (const std::uint8_t each : sums_[next.sum].classes) {
      if (__builtin_sub_overflow(rest, made.counts[each], &rest)) throw_wrong_sum(sums_[next.sum].name);
    }
    made.counts[next.solves] = rest;
  }
  return made;
}

void bucket_counts::equations::check(const gpu::tally& found, const std::vector<std::uint64_t>& values) const {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    std::uint64_t added = 0;
    for (const std::uint8_t each : sums_[i].classes) added += found.counts[each];
    if (added != values[i]) throw_wrong_sum(sums_[i].name);
  }
}

}  // namespace gpuhist::report
