// Texts for tests: made, searched, and split into lines.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The numbers from 0, so that a wrong offset shows.
inline std::string numbered(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
  text.resize(size);
  return text;
}

}  // namespace gpuhist::test
