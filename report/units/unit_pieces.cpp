#include "report/units/unit_pieces.hpp"

#include <map>
#include <utility>

namespace gpuhist::report::units {
namespace {

// The coarsest partition of which each class lies in one class of `counted` and inside or outside of each set. '\n' is
// a class of its own, for the numbers of lines.
gpu::partition common_partition(const gpu::host::unit_columns& columns, const gpu::partition& counted) {
  using signature = std::pair<std::vector<bool>, unsigned>;
  gpu::partition made;
  std::map<signature, std::uint8_t> known;
  for (std::size_t value = 0; value < made.class_of.size(); ++value) {
    signature own{{value == '\n'}, counted.class_of[value]};
    for (const auto& each : columns.sets) own.first.push_back(each.test(value));
    const auto number = static_cast<std::uint8_t>(known.size());
    made.class_of[value] = known.try_emplace(std::move(own), number).first->second;
  }
  made.classes = static_cast<std::uint16_t>(known.size());
  return made;
}

using gpu::cuda::units::condition_step;
using gpu::cuda::units::piece_condition;

condition_step::operation operation_of(config::expression::operation what) {
  using typed = config::expression::operation;
  using step = condition_step::operation;
  switch (what) {
    case typed::negate:
      return step::negate;
    case typed::multiply:
      return step::multiply;
    case typed::divide:
      return step::divide;
    case typed::add:
      return step::add;
    case typed::subtract:
      return step::subtract;
    case typed::less:
      return step::less;
    case typed::at_most:
      return step::at_most;
    case typed::greater:
      return step::greater;
    case typed::at_least:
      return step::at_least;
    case typed::equal:
      return step::equal;
    case typed::unequal:
      return step::unequal;
    case typed::invert:
      return step::invert;
    case typed::both:
      return step::both;
    case typed::either:
      return step::either;
    default:
      return step::constant;
  }
}

condition_step::operation operation_of(name_source::kind type) {
  switch (type) {
    case name_source::kind::count:
      return condition_step::operation::count;
    case name_source::kind::share:
      return condition_step::operation::share;
    default:
      return condition_step::operation::bytes;
  }
}

}  // namespace

std::optional<unit_pieces> unit_pieces::make(const gpu::host::unit_columns& columns, const gpu::partition& partition,
                                             std::byte delimiter) {
  const auto classes = gpu::cuda::units::piece_classes::make(common_partition(columns, partition), delimiter);
  if (!classes) return std::nullopt;
  unit_pieces made(*classes);
  made.values_.resize(classes->classes);
  for (std::size_t value = 0; value < classes->class_of.size(); ++value) {
    made.values_[classes->class_of[value]] = static_cast<std::uint8_t>(value);
  }
  for (const auto& set : columns.sets) {
    std::uint32_t& of_set = made.columns_.emplace_back();
    for (std::size_t i = 0; i < made.values_.size(); ++i) {
      if (set.test(made.values_[i])) of_set |= 1U << i;
    }
  }
  return made;
}

std::optional<unit_pieces> unit_pieces::with_strings(const std::vector<gpu::cuda::units::searched_string>& strings) {
  constexpr std::byte line_feed{'\n'};
  std::optional<unit_pieces> made = make({.sets = {}, .word_separators = {}}, gpu::partition(), line_feed);
  made->classes_.strings = gpu::cuda::units::searched_strings::make(strings, line_feed);
  return made->classes_.strings ? std::move(made) : std::nullopt;
}

void unit_pieces::omit_unless(const config::expression& condition, std::span<const name_source> names) {
  piece_condition made;
  if (condition.steps.size() > piece_condition::max_steps) return;
  for (const config::expression::step& each : condition.steps) {
    condition_step& to = made.steps[made.size++];
    if (each.what == config::expression::operation::name) {
      const name_source& name = names[each.reference];
      to.what = operation_of(name.type);
      if (name.type != name_source::kind::bytes) to.classes = classes_of(name.column);
    } else {
      to = {.what = operation_of(each.what), .constant = each.constant};
    }
  }
  const unsigned depth = gpu::formula_values::depth_of(std::span(made.steps).first(made.size));
  if (depth <= piece_condition::max_operands) classes_.condition = made;
}

}  // namespace gpuhist::report::units
