#include "io/size_text.hpp"

namespace gpuhist::io {

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0 bytes";
  if (bytes % (1U << 30U) == 0) return std::to_string(bytes >> 30U) + " GiB";
  if (bytes % (1U << 20U) == 0) return std::to_string(bytes >> 20U) + " MiB";
  if (bytes % (1U << 10U) == 0) return std::to_string(bytes >> 10U) + " KiB";
  return bytes_text(bytes);
}

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace gpuhist::io
