#include "pipeline/flow/text_divider.hpp"

#include <memory>
#include <string>

namespace gpuhist::pipeline {

source_name window_divider::name_if_new(input_id input) const {
  return windows_.is_new(input) ? std::make_shared<const std::string>(counts_.name_of(input)) : nullptr;
}

void window_divider::divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts) {
  windows_.cut(text, owner, name_if_new(owner.input), parts);
}

void window_divider::divide_parts(std::span<const planned_part> text, const text_owner& owner,
                                  std::vector<pane_part>& parts) {
  windows_.cut_parts(text, owner, name_if_new(owner.input), parts);
}

}  // namespace gpuhist::pipeline
