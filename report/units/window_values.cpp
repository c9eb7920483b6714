#include "report/units/window_values.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

namespace gpuhist::report::units {
namespace {

// The key of a group.
struct value_key {
  static constexpr std::uint32_t no_value = ~std::uint32_t{0};

  std::uint32_t formula = 0;
  std::uint32_t bin = no_value;  // distribution::fine_bin_of()
};
static_assert(std::has_unique_object_representations_v<value_key>);

std::string_view bytes_of(const value_key& key) { return {reinterpret_cast<const char*>(&key), sizeof key}; }

std::optional<value_key> key_in(std::string_view bytes) {
  value_key made;
  if (bytes.size() != sizeof made) return std::nullopt;
  std::memcpy(&made, bytes.data(), sizeof made);
  return made;
}

}  // namespace

std::optional<group_table> empty_values(const unit_plan& plan) {
  if (!plan.watched.in_windows || plan.watched.is_empty()) return std::nullopt;
  return group_table({.classes = 0, .windows = plan.lines->events->windows});
}

std::optional<group_sum> no_values(const unit_plan& plan) {
  std::optional<group_table> empty = empty_values(plan);
  if (!empty) return std::nullopt;
  return group_sum(*std::move(empty),
                   {.in_memory = plan.lines->groups_in_memory, .spilled_to = plan.lines->spilled_to});
}

void add_values(group_table& to, std::int64_t time, std::span<const double> by_formula) {
  for (std::size_t formula = 0; formula < by_formula.size(); ++formula) {
    value_key key{.formula = static_cast<std::uint32_t>(formula)};
    if (!std::isnan(by_formula[formula])) key.bin = distribution::fine_bin_of(by_formula[formula]);
    ++to.counts(to.place_of({.window = time, .key = bytes_of(key)})).lines;
  }
}

// The lowest and the highest value are not known: a quantile is the bound of its bin.
window_quantiles::window_quantiles(const watched_values& plan, const group_sum& found) : plan_(plan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  found.for_each_part([&](const group_table& part) {
    for (std::size_t place = 0; place < part.size(); ++place) {
      const group_id id = part.at(place);
      const std::optional<value_key> key = key_in(id.key.value_or(std::string_view()));
      if (!key || key->formula >= plan.formulas.size() || key->bin == value_key::no_value) continue;
      auto& values = windows_[id.window];
      values.resize(plan.formulas.size(), {.lowest = -infinity, .highest = infinity});
      values[key->formula].bins.emplace_back(key->bin, part.counts(place).lines);
    }
  });
}

std::vector<std::optional<double>> window_quantiles::of(std::int64_t start) const {
  std::vector<distribution> values;
  if (const auto found = windows_.find(start); found != windows_.end()) {
    for (const distribution::numbers& each : found->second) values.push_back(distribution::joined(each));
  }
  return plan_.numbers(values);
}

}  // namespace gpuhist::report::units
