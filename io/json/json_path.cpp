#include "io/json/json_path.hpp"

#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuhist::io {
namespace {

// The index that a step of a pointer names: 0, or digits that do not begin with 0.
std::optional<std::size_t> array_index(std::string_view step) {
  if (step.empty() || (step.size() > 1 && step.front() == '0')) return std::nullopt;
  if (step.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::size_t index = 0;
  const auto parsed = std::from_chars(step.data(), step.data() + step.size(), index);
  return parsed.ec == std::errc() ? std::optional(index) : std::nullopt;
}

// A step of a pointer with ~1 for '/' and ~0 for '~'.
json_step parse_step(std::string_view written) {
  json_step step{.key = {}, .index = array_index(written)};
  while (!written.empty()) {
    const bool is_escape = written.front() == '~';
    if (is_escape && !written.starts_with("~0") && !written.starts_with("~1")) {
      throw std::invalid_argument("'~' in a JSON Pointer is written ~0, and '/' in a key is written ~1");
    }
    step.key += !is_escape ? written.front() : written[1] == '0' ? '~' : '/';
    written.remove_prefix(is_escape ? 2 : 1);
  }
  return step;
}

}  // namespace

std::vector<json_step> parse_json_path(std::string_view typed) {
  std::vector<json_step> steps;
  if (!typed.starts_with('/')) {
    steps.push_back({.key = std::string(typed)});
    return steps;
  }
  while (!typed.empty()) {
    typed.remove_prefix(1);
    const std::string_view step = typed.substr(0, typed.find('/'));
    steps.push_back(parse_step(step));
    typed.remove_prefix(step.size());
  }
  if (steps.size() > max_json_steps) {
    throw std::invalid_argument("the JSON Pointer has more than " + std::to_string(max_json_steps) +
                                " steps; use a shorter one");
  }
  return steps;
}

}  // namespace gpuhist::io
