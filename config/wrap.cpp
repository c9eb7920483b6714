#include "config/wrap.hpp"

#include <algorithm>

namespace gpuhist::config {
namespace {

constexpr std::size_t columns = 80;

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && indent + line.size() + 1 + word.size() > columns) end_line();
    if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
    if (end < text.size() && text[end] == '\n') end_line();
    if (text.substr(end).starts_with("\n\n")) out += "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  end_line();
  return out;
}

}  // namespace gpuhist::config
