#include "pipeline/flow/window_divider.hpp"

#include <memory>
#include <string>

namespace gpuhist::pipeline {

void window_divider::divide(std::span<const std::byte> text, const text_owner& owner, std::vector<pane_part>& parts) {
  source_name name;
  if (windows_.is_new(owner.input)) name = std::make_shared<const std::string>(counts_.name_of(owner.input));
  windows_.cut(text, owner, name, parts);
}

}  // namespace gpuhist::pipeline
