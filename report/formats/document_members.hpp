// Reads members of JSON documents. Each function throws result_damage if a member is missing or of another type.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpuhist::report {

/// An invalid document. The message follows the name of its file.
struct result_damage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace documents {

[[noreturn]] void damaged(const std::string& cause);

const nlohmann::json& member(const nlohmann::json& from, const char* key);

/// The values of members; `key` is for the message.
std::uint64_t number(const nlohmann::json& value, std::string_view key);
double real(const nlohmann::json& value, std::string_view key);
bool flag(const nlohmann::json& value, std::string_view key);
std::string text(const nlohmann::json& value, std::string_view key);

/// A member that may be missing.
bool flag_if_any(const nlohmann::json& from, const char* key);

/// Raw bytes: those of the member KEY_base64 if there is one, else the text of KEY.
std::string raw_text(const nlohmann::json& from, const std::string& key);

}  // namespace documents
}  // namespace gpuhist::report
