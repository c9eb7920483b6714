#include "io/temporary_name.hpp"

#include <cstddef>
#include <random>

namespace gpuhist::io {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view mark = ".gpuhist-";
constexpr std::size_t letters_of_name = 6;
constexpr std::size_t end_bytes = mark.size() + letters_of_name;
constexpr std::size_t longest = 255;  // of a name, in every filesystem of Linux

std::string random_letters() {
  std::random_device source;
  std::uniform_int_distribution<std::size_t> any(0, letters.size() - 1);
  std::string text;
  for (std::size_t i = 0; i < letters_of_name; ++i) text += letters[any(source)];
  return text;
}

}  // namespace

std::string temporary_name(std::string last) {
  if (last.size() > longest - 1 - end_bytes) last.resize(longest - 1 - end_bytes);
  return "." + last + std::string(mark) + random_letters();
}

bool is_temporary_name(std::string_view last) {
  if (!last.starts_with('.') || last.size() < 1 + end_bytes) return false;
  const std::string_view end = last.substr(last.size() - letters_of_name);
  last.remove_suffix(letters_of_name);
  return last.ends_with(mark) && end.find_first_not_of(letters) == std::string_view::npos;
}

std::string_view name_of_replaced(std::string_view last) { return last.substr(1, last.size() - 1 - end_bytes); }

}  // namespace gpuhist::io
