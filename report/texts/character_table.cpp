#include "report/texts/character_table.hpp"

#include "config/text.hpp"
#include "io/checksum.hpp"
#include "report/conditions/evaluation.hpp"
#include "report/texts/characters.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace gpuhist::report::texts {
namespace {

using nlohmann::json;

constexpr std::size_t code_points = 0x110000;
constexpr char end_of_histogram = ']';
constexpr const char* of_histogram = "a line is a character and its number, in UTF-8";
constexpr const char* of_result = "give the result of gpuhist --group-by character --format json";

[[noreturn]] void refuse(const std::string& error) { throw std::runtime_error(error); }

constexpr std::size_t max_bytes = std::size_t{512} << 20U;

std::string content_of(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, std::size_t{64} << 10U> piece{};
  while (file && text.size() <= max_bytes) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad() || !file.is_open()) {
    refuse("cannot be read: " + std::generic_category().message(errno) + "; give a file of characters");
  }
  if (text.size() > max_bytes) refuse("has more than 512 MiB; give a file of characters");
  return text;
}

// Python reads the lines of a text so.
std::string with_line_feeds(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r') {
      made += text[at];
    } else if (at + 1 == text.size() || text[at + 1] != '\n') {
      made += '\n';
    }
  }
  return made;
}

void check_utf8(std::string_view text) {
  if (config::is_utf8(text)) return;
  std::size_t line = 1;
  std::size_t end = text.find('\n');
  for (; end != std::string_view::npos && config::is_utf8(text.substr(0, end)); end = text.find('\n', end + 1)) ++line;
  refuse("line " + std::to_string(line) + " is not UTF-8; " + of_histogram);
}

// The line with the groups; nothing: it is a line of something else.
std::optional<json> result_in(std::string_view line, std::size_t number) {
  json made = json::parse(line, nullptr, false);
  if (made.is_discarded()) refuse("line " + std::to_string(number) + " is malformed JSON; " + of_result);
  const auto kind = made.find("kind");  // not copied: it may be nested deeply
  const bool is_result = kind != made.end() && kind->is_string() && *kind == "result" && made.contains("group_by");
  return is_result ? std::optional(std::move(made)) : std::nullopt;
}

json result_of(std::string_view text) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    ++number;
    if (!line.empty()) {
      if (std::optional<json> found = result_in(line, number)) return *std::move(found);
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  refuse(std::string("is a result without groups of characters; ") + of_result);
}

}  // namespace

character_table::character_table(const std::string& path, std::string_view group) : is_in_(code_points) {
  try {
    const std::string text = content_of(path);
    check_utf8(text);
    if (text.starts_with(R"({"kind":)")) {
      read_result(text, group);
    } else {
      if (!group.empty()) refuse("is a histogram, which has no group " + config::quote(group) + "; leave it out");
      read_histogram(with_line_feeds(text));
    }
    if (std::ranges::find(is_in_, true) == is_in_.end()) refuse(std::string("has no characters; ") + of_histogram);
  } catch (const std::runtime_error& error) {
    refuse(config::quote(path) + ": " + error.what());
  } catch (const json::exception&) {
    refuse(config::quote(path) + ": is a damaged result; " + of_result);
  }
}

void character_table::read_histogram(std::string_view text) {
  while (!text.empty() && text.front() != end_of_histogram) {
    is_in_[decode(text).code_point] = true;
    text.remove_prefix(std::min(text.size(), std::min(text.find('\n'), text.size()) + 1));
  }
}

void character_table::read_result(const std::string& text, std::string_view group) {
  const json result = result_of(text);
  const bool has_two = result.contains("then_by");
  if (result.at(has_two ? "then_by" : "group_by") != "character") {
    refuse(std::string("is a result without groups of characters; ") + of_result);
  }
  if (has_two && group.empty()) {
    refuse("has characters by " + result.at("group_by").dump() +
           R"x(; give one, as in known_characters("FILE", "en"))x");
  }
  if (!has_two && !group.empty()) {
    refuse("has no group " + config::quote(group) + ", but characters only; leave it out");
  }
  if (result.contains("other_groups")) {
    refuse("has not all characters; count with a higher --most-groups");
  }
  for (const json& each : result.at("groups")) {
    if (has_two && each.value("key", "") != group) continue;
    const auto key = each.find(has_two ? "then_key" : "key");
    if (key == each.end() || !key->is_string() || key->get_ref<const std::string&>().empty()) continue;
    is_in_[decode(key->get_ref<const std::string&>()).code_point] = true;
  }
}

double character_table::share_of(std::string_view text) const {
  const std::size_t characters = characters_in(text);
  if (characters == 0) return gates::unknown;
  std::size_t known = 0;
  for (std::string_view rest = without_trailing_space(without_leading_space(text)); !rest.empty();) {
    const decoded_character next = decode(rest);
    known += has(next.code_point) ? 1 : 0;
    rest.remove_prefix(next.bytes);
  }
  return static_cast<double>(known) / static_cast<double>(characters);
}

std::string character_table::hash() const {
  std::string bits;
  for (const bool each : is_in_) bits += each ? '1' : '0';
  return io::hash_text(bits);
}

}  // namespace gpuhist::report::texts
