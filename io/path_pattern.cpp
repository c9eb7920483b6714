#include "io/path_pattern.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <clocale>
#include <cstddef>

namespace gpuhist::io {
namespace {

// In a UTF-8 locale fnmatch rejects names that are not valid UTF-8, and a ? would match more than one byte.
class byte_locale {
 public:
  byte_locale() : before_(::uselocale(c_locale())) {}
  byte_locale(const byte_locale&) = delete;
  byte_locale& operator=(const byte_locale&) = delete;
  ~byte_locale() { ::uselocale(before_); }

 private:
  static locale_t c_locale() {
    static const locale_t made = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return made;
  }

  locale_t before_;
};

bool matches_component(const std::string& pattern, std::string_view name) {
  const byte_locale bytes;
  return ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

std::vector<std::string> split_at_slashes(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

bool any_matches(const std::vector<path_pattern>& patterns, std::string_view path, bool is_directory) {
  return std::ranges::any_of(patterns, [&](const path_pattern& each) { return each.matches(path, is_directory); });
}

}  // namespace

path_pattern::path_pattern(std::string_view pattern) {
  while (pattern.size() > 1 && pattern.ends_with('/')) {
    directories_only_ = true;
    pattern.remove_suffix(1);
  }
  last_only_ = pattern.find('/') == std::string_view::npos;
  components_ = split_at_slashes(pattern);
}

bool path_pattern::matches(std::string_view path, bool is_directory) const {
  if (directories_only_ && !is_directory) return false;
  if (!last_only_) return matches_whole(path);
  return !components_.empty() &&
         matches_component(components_.front(), path.substr(path.find_last_of('/') + 1));  // npos + 1 is 0
}

// If a component does not match, only the last ** can take one more component: it can take whatever an earlier one
// could. So the time is at most proportional to the product of the lengths.
bool path_pattern::matches_whole(std::string_view path) const {
  std::size_t component = 0;
  std::size_t after_stars = components_.size() + 1;  // the component after the last ** that was reached; none yet
  std::string_view untaken;                          // the part of the path that this ** has not taken
  while (!path.empty() || component < components_.size()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view rest = path.substr(std::min(end + 1, path.size()));
    if (component < components_.size() && components_[component] == "**") {
      after_stars = ++component;
      untaken = path;
    } else if (component < components_.size() && !path.empty() &&
               matches_component(components_[component], path.substr(0, end))) {
      ++component;
      path = rest;
    } else if (after_stars <= components_.size() && !untaken.empty()) {
      untaken.remove_prefix(std::min(std::min(untaken.find('/'), untaken.size()) + 1, untaken.size()));
      path = untaken;
      component = after_stars;
    } else {
      return false;
    }
  }
  return true;
}

bool path_filter::takes_file(std::string_view path) const {
  return (include.empty() || any_matches(include, path, false)) && !any_matches(exclude, path, false);
}

bool path_filter::enters_directory(std::string_view path) const { return !any_matches(exclude, path, true); }

}  // namespace gpuhist::io
