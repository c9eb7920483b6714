// The list of members follows the packed streams, and is usually packed itself:
//
//     start header | packed streams | packed list | description of the packed list
//
//     list    = 1 | 4 streams | 5 files: number, properties (names, which of them have a text, attributes) | 0
//     streams = 6 position of the packed streams, their number, 9 sizes |
//               7 folders: coders, sizes of texts, checksums |
//               8 texts of each folder: number, sizes, checksums | 0
//
// Numbers before the fields are the marks of the format (7zFormat.txt of the LZMA SDK).
#include "io/archive/seven_zip_streams.hpp"

#include "io/archive/archive_format.hpp"
#include "io/archive/seven_zip_decoder.hpp"
#include "io/archive/seven_zip_fields.hpp"
#include "io/archive/seven_zip_files.hpp"
#include "io/failure.hpp"
#include "io/frame_magic.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::io {
namespace {

constexpr std::size_t start_bytes = 32;
constexpr unsigned bits_of_hash = 40;                      // of a name
constexpr std::size_t most_list = std::size_t{16} << 20U;  // bytes of the list of members

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return crc32_gzip_refl(0, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

struct folder {
  bool is_simple = false;  // one coder that is known
  std::size_t packed_streams = 0;
  std::size_t texts_of_coders = 0;
  seven_zip_stream stream{};           // coder and its properties
  std::uint64_t bytes = 0;             // of the text of a simple folder
  std::optional<std::uint32_t> crc{};  // of all texts together
  std::size_t texts = 1;
};

std::optional<seven_zip_stream::method> method_of(std::span<const std::byte> id) {
  std::uint64_t value = 0;
  for (const std::byte each : id) value = value << 8U | std::to_integer<std::uint64_t>(each);
  switch (value) {
    case 0x00:
      return seven_zip_stream::method::copy;
    case 0x21:
      return seven_zip_stream::method::lzma2;
    case 0x030101:
      return seven_zip_stream::method::lzma;
    case 0x040108:
      return seven_zip_stream::method::deflate;
    case 0x040202:
      return seven_zip_stream::method::bzip2;
    default:
      return std::nullopt;
  }
}

/// Reads the streams of a list, which are in the first `file_bytes` of the file.
class streams_reader {
 public:
  static constexpr std::size_t bytes_of_text = sizeof(seven_zip_stream) + sizeof(folder) + sizeof(std::uint64_t) +
                                               3 * sizeof(std::optional<std::uint32_t>);  // the most, of memory

  streams_reader(seven_zip_fields& list, std::uint64_t file_bytes, std::size_t most)
      : list_(list), file_bytes_(file_bytes), most_(most) {}

  std::vector<seven_zip_stream> read(std::uint64_t max_bytes) {
    read_packed();
    read_folders();
    read_texts();
    list_.expect(seven_zip_mark::end);
    return simple_streams(max_bytes);
  }

  /// Of all folders, after read().
  [[nodiscard]] std::size_t texts() const { return texts_; }

 private:
  void read_packed();
  void read_folders();
  folder read_folder();
  void read_coder(folder& to, std::size_t& inputs, bool is_only);
  void read_texts();
  std::vector<seven_zip_stream> simple_streams(std::uint64_t max_bytes) const;

  seven_zip_fields& list_;
  const std::uint64_t file_bytes_;
  const std::size_t most_;
  std::uint64_t packed_at_ = 0;
  std::vector<std::uint64_t> packed_{};  // sizes
  std::vector<folder> folders_{};
  std::size_t texts_ = 0;
  std::vector<std::optional<std::uint32_t>> crcs_{};  // of texts for which a folder has none
};

void streams_reader::read_packed() {
  list_.expect(seven_zip_mark::pack_info);
  const std::uint64_t at = list_.number();
  if (at > file_bytes_ - start_bytes) throw unknown_seven_zip_list();
  packed_at_ = start_bytes + at;
  packed_.resize(list_.count(most_));
  list_.expect(seven_zip_mark::size);
  std::uint64_t left = file_bytes_ - packed_at_;
  for (std::uint64_t& each : packed_) {
    each = list_.number();
    if (each > left) throw unknown_seven_zip_list();
    left -= each;
  }
  if (list_.take(seven_zip_mark::crc)) list_.crcs(packed_.size());
  list_.expect(seven_zip_mark::end);
}

void streams_reader::read_folders() {
  list_.expect(seven_zip_mark::unpack_info);
  list_.expect(seven_zip_mark::folders);
  const std::size_t number = list_.count(most_);
  if (list_.byte() != 0) throw unknown_seven_zip_list();  // described elsewhere
  folders_.reserve(number);
  for (std::size_t i = 0; i < number; ++i) folders_.push_back(read_folder());
  list_.expect(seven_zip_mark::unpack_sizes);
  for (folder& each : folders_) {
    for (std::size_t i = 0; i < each.texts_of_coders; ++i) {
      each.bytes = list_.number();
      if (each.bytes == 0) throw unknown_seven_zip_list();
    }
  }
  if (list_.take(seven_zip_mark::crc)) {
    const auto crcs = list_.crcs(number);
    for (std::size_t i = 0; i < number; ++i) folders_[i].crc = crcs[i];
  }
  list_.expect(seven_zip_mark::end);
}

folder streams_reader::read_folder() {
  constexpr std::size_t most_coders = 32;
  folder found;
  std::size_t inputs = 0;
  const std::size_t coders = list_.count(most_coders);
  if (coders == 0) throw unknown_seven_zip_list();
  for (std::size_t i = 0; i < coders; ++i) read_coder(found, inputs, coders == 1);
  const std::size_t bonds = found.texts_of_coders - 1;
  if (bonds > inputs) throw unknown_seven_zip_list();
  for (std::size_t i = 0; i < 2 * bonds; ++i) list_.count(most_coders);
  found.packed_streams = inputs - bonds;
  if (found.packed_streams > 1) {
    for (std::size_t i = 0; i < found.packed_streams; ++i) list_.count(most_coders);
  }
  return found;
}

void streams_reader::read_coder(folder& to, std::size_t& inputs, bool is_only) {
  constexpr unsigned size_of_id = 0x0F;
  constexpr unsigned has_streams = 0x10;
  constexpr unsigned has_properties = 0x20;
  constexpr std::size_t most_streams = 32;
  const unsigned flags = list_.byte();
  if ((flags & ~(size_of_id | has_streams | has_properties)) != 0) throw unknown_seven_zip_list();
  const auto id = list_.bytes(flags & size_of_id);
  const bool is_complex = (flags & has_streams) != 0;
  inputs += is_complex ? list_.count(most_streams) : 1;
  const std::size_t texts = is_complex ? list_.count(most_streams) : 1;
  to.texts_of_coders += texts;
  if (texts == 0) throw unknown_seven_zip_list();
  const auto properties = (flags & has_properties) != 0 ? list_.bytes(list_.number()) : std::span<const std::byte>();
  const auto method = method_of(id);
  to.is_simple = is_only && !is_complex && method && properties.size() <= to.stream.properties.size();
  if (!to.is_simple) return;
  to.stream.coder = *method;
  to.stream.number_of_properties = static_cast<std::uint8_t>(properties.size());
  std::ranges::copy(properties, to.stream.properties.begin());
}

void streams_reader::read_texts() {
  texts_ = folders_.size();
  if (!list_.take(seven_zip_mark::texts_info)) return;
  if (list_.take(seven_zip_mark::number_of_texts)) {
    texts_ = 0;
    for (folder& each : folders_) {
      each.texts = list_.count(most_ - texts_);
      if (each.texts == 0) throw unknown_seven_zip_list();
      texts_ += each.texts;
    }
  }
  const bool has_sizes = list_.take(seven_zip_mark::size);
  if (!has_sizes && texts_ > folders_.size()) throw unknown_seven_zip_list();
  for (const folder& each : folders_) {
    for (std::size_t i = 1; i < each.texts; ++i) list_.number();  // the last one has the rest of the folder
  }
  if (list_.take(seven_zip_mark::crc)) {
    std::size_t unknown = 0;
    for (const folder& each : folders_) unknown += each.texts == 1 && each.crc ? 0 : each.texts;
    crcs_ = list_.crcs(unknown);
  }
  list_.expect(seven_zip_mark::end);
}

std::vector<seven_zip_stream> streams_reader::simple_streams(std::uint64_t max_bytes) const {
  std::vector<seven_zip_stream> streams;
  streams.reserve(folders_.size());
  std::uint64_t at = packed_at_;
  std::size_t crc = 0;
  for (const folder& each : folders_) {
    if (!each.is_simple || each.texts != 1 || streams.size() == packed_.size()) break;
    seven_zip_stream found = each.stream;
    found.offset = at;
    found.packed = packed_[streams.size()];
    found.bytes = each.bytes;
    at += found.packed;
    std::optional<std::uint32_t> sum = each.crc;
    if (!sum && crc < crcs_.size()) sum = crcs_[crc++];
    if (!sum || found.packed > max_bytes || found.bytes > max_bytes) break;
    found.crc = *sum;
    streams.push_back(found);
  }
  return streams;
}

/// Gives the streams the names of their files. The others are removed from the first one on that is not a regular file.
void name_streams(std::vector<seven_zip_stream>& streams, seven_zip_files files, std::size_t texts) {
  std::size_t regular = streams.size();
  for (std::size_t i = 0; i < texts; ++i) {
    const auto file = files.next_with_text();
    if (!file) throw unknown_seven_zip_list();
    if (i >= regular) continue;
    if (file->name && file->is_regular) {
      streams[i].key = seven_zip_key(i, *file->name);
    } else {
      regular = i;
    }
  }
  if (files.next_with_text()) throw unknown_seven_zip_list();
  streams.resize(regular);
}

/// The rest of a list, after the mark that begins it.
std::vector<seven_zip_stream> read_members(seven_zip_fields& list, std::uint64_t file_bytes, std::size_t most,
                                           std::uint64_t max_bytes) {
  list.expect(seven_zip_mark::main_streams);
  streams_reader reader(list, file_bytes, most);
  std::vector<seven_zip_stream> streams = reader.read(max_bytes);
  const seven_zip_files files(list);
  list.expect(seven_zip_mark::end);
  if (!list.is_at_end()) throw unknown_seven_zip_list();
  name_streams(streams, files, reader.texts());
  return streams;
}

std::vector<std::byte> read_all(byte_reader& file, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (read_at(file, offset, bytes) < bytes.size()) throw unknown_seven_zip_list();
  return bytes;
}

/// The list itself, from the place that the start header names.
std::vector<std::byte> read_list(byte_reader& file, std::uint64_t file_bytes, std::uint64_t most_bytes) {
  constexpr std::size_t covered_at = 12;  // begin of the bytes that the CRC covers
  if (file_bytes < start_bytes) throw unknown_seven_zip_list();
  const std::vector<std::byte> start = read_all(file, 0, start_bytes);
  if (detect_archive(start) != archive_kind::seven_zip)
    throw unknown_seven_zip_list();  // a program that extracts itself
  if (checksum_of(std::span(start).subspan(covered_at)) != little_endian(std::span(start).subspan(8, 4)))
    throw unknown_seven_zip_list();
  const std::uint64_t at = little_endian(std::span(start).subspan(covered_at, 8));
  const std::uint64_t size = little_endian(std::span(start).subspan(20, 8));
  if (at > file_bytes - start_bytes || size > file_bytes - start_bytes - at || size > most_bytes)
    throw unknown_seven_zip_list();
  std::vector<std::byte> list = read_all(file, start_bytes + at, size);
  if (checksum_of(list) != little_endian(std::span(start).subspan(28, 4))) throw unknown_seven_zip_list();
  return list;
}

/// Unpacks a packed list.
std::vector<std::byte> unpack(byte_reader& file, const seven_zip_stream& stream) {
  std::vector<std::byte> packed = read_all(file, stream.offset, stream.packed);
  packed.resize(packed.size() + whole_inflater::padding);
  std::vector<std::byte> list(static_cast<std::size_t>(stream.bytes));
  const auto bytes = std::span<const std::byte>(packed).first(static_cast<std::size_t>(stream.packed));
  if (!seven_zip_decoder().decode(stream, bytes, list)) throw unknown_seven_zip_list();
  return list;
}

[[noreturn]] void throw_damaged(const std::string& message, lack missing = lack::nothing) {
  throw input_error(message, 0, failure_kind::damaged, failure_origin::input, missing);
}

}  // namespace

std::uint64_t first_seven_zip_key(std::uint64_t number) { return number << bits_of_hash; }

std::uint64_t seven_zip_key(std::uint64_t number, std::string_view name) {
  const std::uint64_t hash = std::hash<std::string_view>{}(name) >> (64U - bits_of_hash);
  return first_seven_zip_key(number) | hash | 1U;
}

std::vector<seven_zip_stream> read_seven_zip_streams(byte_reader& file, std::size_t most_memory,
                                                     std::uint64_t max_bytes) {
  // a half for the packed list, the list, its dictionary and a name; the other one for what is found in it
  const std::size_t most_bytes = std::min(most_list, most_memory / 8);
  const std::size_t most = most_memory / 2 / streams_reader::bytes_of_text;
  try {
    const std::uint64_t file_bytes = file.seekable_bytes().value_or(0);
    const std::vector<std::byte> list = read_list(file, file_bytes, most_bytes);
    seven_zip_fields fields(list);
    if (!fields.take(seven_zip_mark::encoded_header)) {
      fields.expect(seven_zip_mark::header);
      return read_members(fields, file_bytes, most, max_bytes);
    }
    const auto packed = streams_reader(fields, file_bytes, 1).read(most_bytes);
    if (packed.size() != 1 || !fields.is_at_end()) return {};
    const std::vector<std::byte> unpacked = unpack(file, packed.front());
    seven_zip_fields of_list(unpacked);
    of_list.expect(seven_zip_mark::header);
    return read_members(of_list, file_bytes, most, max_bytes);
  } catch (const unknown_seven_zip_list&) {
    return {};
  } catch (const input_error&) {
    return {};  // the walk over the archive reports it
  }
}

// magic (6) | version (2) | CRC of the following bytes (4) | offset of the list after this header (8) | its size (8) |
// its CRC (4)
std::uint64_t check_seven_zip_start(byte_reader& file) {
  constexpr std::size_t covered_at = 12;  // begin of the bytes that the CRC covers
  std::array<std::byte, start_bytes> start{};
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
