// magic (6) | version (2) | CRC of the following bytes (4) | offset of the list after this header (8) | its size (8) |
// its CRC (4)
#include "io/archive/seven_zip_start.hpp"

#include "io/archive/archive_format.hpp"
#include "io/failure.hpp"
#include "io/frame_magic.hpp"

#include <isa-l/crc.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace gpuhist::io {
namespace {

constexpr std::size_t start_header_bytes = 32;

[[noreturn]] void throw_damaged(const std::string& message, lack missing = lack::nothing) {
  throw input_error(message, 0, failure_kind::damaged, failure_origin::input, missing);
}

}  // namespace

std::uint64_t check_seven_zip_start(byte_reader& file) {
  constexpr std::size_t covered_at = 12;  // begin of the bytes that the CRC covers
  std::array<std::byte, start_header_bytes> start{};
  const std::size_t filled = read_at(file, 0, start);
  file.seek(0);
  if (detect_archive(start) != archive_kind::seven_zip) return 0;  // a program that extracts itself
  const auto number = [&start](std::size_t at, std::size_t size) {
    return little_endian(std::span<const std::byte>(start).subspan(at, size));
  };
  const std::uint64_t size = *file.seekable_bytes();
  if (filled < start.size()) throw_damaged("damaged 7z archive: it ends early, at " + file.place_of(filled), lack::end);
  const auto* const covered = reinterpret_cast<const std::uint8_t*>(&start[covered_at]);
  if (crc32_gzip_refl(0, covered, start.size() - covered_at) != number(8, 4)) {
    throw_damaged("damaged 7z archive: the checksum of its start header does not match, at " + file.place_of(8));
  }
  const std::uint64_t rest = size - start.size();
  const std::uint64_t list_at = number(covered_at, 8);
  const std::uint64_t list_bytes = number(20, 8);
  if (list_at > rest || list_bytes > rest - list_at) {
    throw_damaged("damaged 7z archive: it ends early, before the end of its list of members, at " + file.place_of(size),
                  lack::end);
  }
  if (list_at + list_bytes < rest) {
    throw_damaged("holds other data after its end, which was not counted, at " +
                  file.place_of(start.size() + list_at + list_bytes));
  }
  if (list_bytes == 0 && rest > 0) {
    throw_damaged("damaged 7z archive: it has bytes and no list of members, at " + file.place_of(20));
  }
  return list_bytes;
}

}  // namespace gpuhist::io
