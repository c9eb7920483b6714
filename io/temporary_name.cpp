#include "io/temporary_name.hpp"

#include <cstddef>
#include <string>

namespace gpuhist::io {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view mark = ".gpuhist-";
constexpr std::size_t letters_of_name = 6;
constexpr std::size_t end_bytes = mark.size() + letters_of_name;
constexpr unsigned number_of_names = 1'000'000;  // as many as the digits permit
constexpr std::size_t longest = 255;             // of a name, in every filesystem of Linux

}  // namespace

std::string temporary_name(std::string last, unsigned number) {
  if (last.size() > longest - 1 - end_bytes) last.resize(longest - 1 - end_bytes);
  const std::string digits = std::to_string(number % number_of_names);
  return "." + last + std::string(mark) + std::string(letters_of_name - digits.size(), '0') + digits;
}

bool is_temporary_name(std::string_view last) {
  if (!last.starts_with('.') || last.size() < 1 + end_bytes) return false;
  const std::string_view end = last.substr(last.size() - letters_of_name);
  last.remove_suffix(letters_of_name);
  return last.ends_with(mark) && end.find_first_not_of(letters) == std::string_view::npos;
}

std::string_view name_of_replaced(std::string_view last) { return last.substr(1, last.size() - 1 - end_bytes); }

}  // namespace gpuhist::io
