// Zip archives, written field by field: order, descriptors, zip64 and data in front as a test needs them.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist::test {

struct zip_member {
  std::string name{};
  std::string text{};
  bool stored = false;
  bool has_descriptor = false;  ///< checksum and sizes follow the member, and are zero in the local header
  bool has_zip64 = false;       ///< the sizes of the local header are in an extra field
  std::size_t extra_bytes = 0;  ///< of another extra field in the local header
};

struct zip_layout {
  std::string front{};                         ///< data in front of the archive, which its offsets do not count
  std::vector<std::size_t> directory_order{};  ///< of the members; empty: as they were given
};

inline std::string little_endian(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  return bytes;
}

/// Raw deflate data of zlib.
inline std::string deflated(const std::string& text, int level = 6, int strategy = Z_DEFAULT_STRATEGY) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, -15, 8, strategy) != Z_OK) throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

inline std::string zip_of(const std::vector<zip_member>& members, const zip_layout& layout = {}) {
  std::string archive;
  std::vector<std::string> entries;
  for (const zip_member& each : members) {
    const std::string packed = each.stored ? each.text : deflated(each.text);
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(each.text.data()), static_cast<uInt>(each.text.size()));
    const std::string sums =
        little_endian(crc, 4) + little_endian(packed.size(), 4) + little_endian(each.text.size(), 4);
    const std::string common = little_endian(each.has_descriptor ? 8 : 0, 2) + little_endian(each.stored ? 0 : 8, 2) +
                               little_endian(0x5a215a21, 4);
    std::string extra;
    if (each.extra_bytes > 0) {
      extra += little_endian(0xcafe, 2) + little_endian(each.extra_bytes, 2) + std::string(each.extra_bytes, 'e');
    }
    std::string stated = each.has_descriptor ? std::string(12, '\0') : sums;
    if (each.has_zip64) {
      stated = (each.has_descriptor ? std::string(4, '\0') : little_endian(crc, 4)) + std::string(8, '\xFF');
      const std::uint64_t size = each.has_descriptor ? 0 : each.text.size();
      const std::uint64_t packed_size = each.has_descriptor ? 0 : packed.size();
      extra += little_endian(1, 2) + little_endian(16, 2) + little_endian(size, 8) + little_endian(packed_size, 8);
    }
    const std::string name_size = little_endian(each.name.size(), 2);
    entries.push_back("PK\1\2" + little_endian(20, 2) + little_endian(45, 2) + common + sums + name_size +
                      std::string(12, '\0') + little_endian(archive.size(), 4) + each.name);
    archive += "PK\3\4" + little_endian(45, 2) + common + stated + name_size + little_endian(extra.size(), 2) +
               each.name + extra + packed;
    if (each.has_descriptor) {
      const std::size_t width = each.has_zip64 ? 8 : 4;
      archive += "PK\7\10" + little_endian(crc, 4) + little_endian(packed.size(), width) +
                 little_endian(each.text.size(), width);
    }
  }
  std::vector<std::size_t> order = layout.directory_order;
  if (order.empty()) {
    order.resize(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  std::string directory;
  for (const std::size_t each : order) directory += entries[each];
  return layout.front + archive + directory + "PK\5\6" + std::string(4, '\0') + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) + little_endian(archive.size(), 4) +
         std::string(2, '\0');
}

}  // namespace gpuhist::test
