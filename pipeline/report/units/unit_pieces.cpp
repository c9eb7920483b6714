#include "pipeline/report/units/unit_pieces.hpp"

#include <map>
#include <utility>

namespace gpuhist::pipeline::units {
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

}  // namespace gpuhist::pipeline::units
