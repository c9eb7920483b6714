// The fixed part of each record of the journal of a job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// Its bytes are in the order of the processor.
struct record_head {
  std::uint64_t entry = 0;  ///< its number in the manifest
  std::uint32_t part = 0;   ///< a member or a part of the entry
  std::uint32_t type = 0;   ///< job_ledger and input_units have different ones
};

/// The bytes of a structure without pointers, and back. Nothing: there are fewer bytes.
template <typename Fixed>
std::string fixed_bytes(const Fixed& value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename Fixed>
std::optional<Fixed> fixed_in(std::string_view bytes) {
  if (bytes.size() < sizeof(Fixed)) return std::nullopt;
  Fixed value;
  std::copy_n(bytes.begin(), sizeof value, reinterpret_cast<char*>(&value));
  return value;
}

}  // namespace gpuhist::pipeline
