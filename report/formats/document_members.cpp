#include "report/formats/document_members.hpp"

#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace gpuhist::report::documents {
namespace {

using nlohmann::json;

std::string named(std::string_view key) { return "\"" + std::string(key) + "\""; }

}  // namespace

void damaged(const std::string& cause) { throw result_damage(cause); }

const json& member(const json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end()) damaged(named(key) + " is missing");
  return *found;
}

std::uint64_t number(const json& value, std::string_view key) {
  if (!value.is_number_unsigned()) damaged(named(key) + " is not a whole number from 0 to 2^64 - 1");
  return value.get<std::uint64_t>();
}

double real(const json& value, std::string_view key) {
  if (!value.is_number()) damaged(named(key) + " is not a number");
  return value.get<double>();
}

bool flag(const json& value, std::string_view key) {
  if (!value.is_boolean()) damaged(named(key) + " is neither true nor false");
  return value.get<bool>();
}

std::string text(const json& value, std::string_view key) {
  if (!value.is_string()) damaged(named(key) + " is not a string");
  return value.get<std::string>();
}

bool flag_if_any(const json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && flag(*found, key);
}

std::string raw_text(const json& from, const std::string& key) {
  std::string read = text(member(from, key.c_str()), key);
  const std::string encoded_key = key + "_base64";
  const auto encoded = from.find(encoded_key);
  if (encoded == from.end()) return read;
  const std::optional<std::string> raw = from_base64(text(*encoded, encoded_key));
  if (!raw) damaged(named(encoded_key) + " is not base64");
  return *raw;
}

}  // namespace gpuhist::report::documents
