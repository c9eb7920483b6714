#include "io/zstd/zstd_seek_table.hpp"

#include <stdexcept>

namespace gpuhist::io {
namespace {

constexpr std::byte has_checksums{0x80};  // the descriptor: entries have checksums
constexpr std::size_t entry_bytes = 12;

void put(std::vector<std::byte>& into, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) into.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
}

}  // namespace

std::vector<std::byte> zstd_seek_table(std::span<const seekable_frame> frames) {
  if (frames.size() > max_seekable_frames) throw std::length_error("too many frames for a seek table");
  const std::size_t content = entry_bytes * frames.size() + seek_table_footer_bytes;
  std::vector<std::byte> table;
  table.reserve(seek_table_header_bytes + content);
  put(table, seek_table_frame_magic);
  put(table, static_cast<std::uint32_t>(content));
  for (const seekable_frame& each : frames) {
    put(table, each.compressed_bytes);
    put(table, each.text_bytes);
    put(table, each.checksum);
  }
  put(table, static_cast<std::uint32_t>(frames.size()));
  table.push_back(has_checksums);
  put(table, seek_table_magic);
  return table;
}

}  // namespace gpuhist::io
