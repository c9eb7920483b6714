#include "io/zstd/zstd_seek_table.hpp"

#include <stdexcept>

namespace gpuhist::io {
namespace {

constexpr std::uint32_t skippable_magic = 0x184D2A5E;
constexpr std::uint32_t table_magic = 0x8F92EAB1;
constexpr std::byte has_checksums{0x80};  // the descriptor: entries have checksums
constexpr std::size_t header_bytes = 8;
constexpr std::size_t entry_bytes = 12;
constexpr std::size_t footer_bytes = 9;

void put(std::vector<std::byte>& into, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) into.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
}

}  // namespace

std::vector<std::byte> zstd_seek_table(std::span<const seekable_frame> frames) {
  if (frames.size() > max_seekable_frames) throw std::length_error("too many frames for a seek table");
  const std::size_t content = entry_bytes * frames.size() + footer_bytes;
  std::vector<std::byte> table;
  table.reserve(header_bytes + content);
  put(table, skippable_magic);
  put(table, static_cast<std::uint32_t>(content));
  for (const seekable_frame& each : frames) {
    put(table, each.compressed_bytes);
    put(table, each.text_bytes);
    put(table, each.checksum);
  }
  put(table, static_cast<std::uint32_t>(frames.size()));
  table.push_back(has_checksums);
  put(table, table_magic);
  return table;
}

}  // namespace gpuhist::io
