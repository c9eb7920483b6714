#include "pipeline/flow/text_divider.hpp"

#include <memory>
#include <string>

namespace gpuhist::pipeline {

source_name window_divider::name_if_new(input_id input) const {
  return windows_.is_new(input) ? std::make_shared<const std::string>(counts_.name_of(input)) : nullptr;
}

void window_divider::divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_slice>& slices) {
  windows_.cut(text, owner, name_if_new(owner.input), slices);
}

void window_divider::divide_slices(std::span<const planned_slice> text, const text_owner& owner,
                                   std::vector<pane_slice>& slices) {
  windows_.cut_slices(text, owner, name_if_new(owner.input), slices);
}

}  // namespace gpuhist::pipeline
