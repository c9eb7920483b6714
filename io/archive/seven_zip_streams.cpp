// The list of members follows the packed streams, and is usually packed itself:
//
//     start header | packed streams | packed list | description of the packed list
//
//     streams = 6 position of the packed streams, their number, 9 sizes | 7 folders: coders, sizes of texts, checksums
//     |
//               8 texts of each folder: number, sizes, checksums | 0
//
// Numbers before the fields are the marks of the format (7zFormat.txt of the LZMA SDK).
#include "io/archive/seven_zip_streams.hpp"

#include "io/archive/archive_format.hpp"
#include "io/archive/seven_zip_decoder.hpp"
#include "io/input_error.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

namespace gpuhist::io {
namespace {

constexpr std::size_t start_bytes = 32;
constexpr std::size_t most_list = std::size_t{16} << 20U;  // bytes of the list of members

enum class mark : std::uint8_t {
  end = 0,
  header = 1,
  main_streams = 4,
  pack_info = 6,
  unpack_info = 7,
  texts_info = 8,
  size = 9,
  crc = 10,
  folders = 11,
  unpack_sizes = 12,
  number_of_texts = 13,
  encoded_header = 23,
};

/// The list is damaged, or has something that this reader does not know.
struct unknown_list {};

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return crc32_gzip_refl(0, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::uint64_t little_endian_number(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | std::to_integer<std::uint64_t>(bytes[at + i]);
  return value;
}

/// The fields of a list, in order. Each call throws unknown_list if the list ends before.
class list_fields {
 public:
  explicit list_fields(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> bytes(std::uint64_t size) {
    if (size > rest_.size()) throw unknown_list();
    const auto taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::uint8_t byte() { return std::to_integer<std::uint8_t>(bytes(1).front()); }
  std::uint32_t crc() { return static_cast<std::uint32_t>(little_endian_number(bytes(4), 0, 4)); }

  // As many leading ones in the first byte as bytes follow; its other bits are the highest ones of the number.
  std::uint64_t number() {
    const unsigned first = byte();
    std::uint64_t value = 0;
    unsigned follow = 0;
    for (unsigned bit = 0x80; bit != 0 && (first & bit) != 0; bit >>= 1U) {
      value |= std::uint64_t{byte()} << (8 * follow);
      ++follow;
    }
    if (follow < 7) value |= std::uint64_t{first & ((0x80U >> follow) - 1)} << (8 * follow);
    return value;
  }

  /// A number of objects, each of which takes at least one byte of the list, or of the file.
  std::size_t count(std::uint64_t most) {
    const std::uint64_t value = number();
    if (value > most) throw unknown_list();
    return static_cast<std::size_t>(value);
  }

  [[nodiscard]] bool take(mark wanted) {
    if (rest_.empty() || rest_.front() != static_cast<std::byte>(wanted)) return false;
    rest_ = rest_.subspan(1);
    return true;
  }
  void expect(mark wanted) {
    if (!take(wanted)) throw unknown_list();
  }

  /// Checksums, where they are defined.
  std::vector<std::optional<std::uint32_t>> crcs(std::size_t number) {
    std::vector<bool> defined(number, true);
    if (byte() == 0) {
      const auto bits = bytes((number + 7) / 8);
      for (std::size_t i = 0; i < number; ++i)
        defined[i] = (std::to_integer<unsigned>(bits[i / 8]) >> (7 - i % 8) & 1U) != 0;
    }
    std::vector<std::optional<std::uint32_t>> found(number);
    for (std::size_t i = 0; i < number; ++i) {
      if (defined[i]) found[i] = crc();
    }
    return found;
  }

 private:
  std::span<const std::byte> rest_;
};

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
  streams_reader(list_fields& list, std::uint64_t file_bytes, std::size_t most)
      : list_(list), file_bytes_(file_bytes), most_(most) {}

  std::vector<seven_zip_stream> read(std::uint64_t max_bytes) {
    read_packed();
    read_folders();
    read_texts();
    list_.expect(mark::end);
    return simple_streams(max_bytes);
  }

 private:
  void read_packed();
  void read_folders();
  folder read_folder();
  void read_coder(folder& to, std::size_t& inputs, bool is_only);
  void read_texts();
  std::vector<seven_zip_stream> simple_streams(std::uint64_t max_bytes) const;

  list_fields& list_;
  const std::uint64_t file_bytes_;
  const std::size_t most_;
  std::uint64_t packed_at_ = 0;
  std::vector<std::uint64_t> packed_{};  // sizes
  std::vector<folder> folders_{};
  std::vector<std::uint64_t> sizes_{};                // of the texts of all folders, without the last of each folder
  std::vector<std::optional<std::uint32_t>> crcs_{};  // of texts for which a folder has none
};

void streams_reader::read_packed() {
  list_.expect(mark::pack_info);
  const std::uint64_t at = list_.number();
  if (at > file_bytes_ - start_bytes) throw unknown_list();
  packed_at_ = start_bytes + at;
  packed_.resize(list_.count(most_));
  list_.expect(mark::size);
  std::uint64_t left = file_bytes_ - packed_at_;
  for (std::uint64_t& each : packed_) {
    each = list_.number();
    if (each > left) throw unknown_list();
    left -= each;
  }
  if (list_.take(mark::crc)) list_.crcs(packed_.size());
  list_.expect(mark::end);
}

void streams_reader::read_folders() {
  list_.expect(mark::unpack_info);
  list_.expect(mark::folders);
  const std::size_t number = list_.count(most_);
  if (list_.byte() != 0) throw unknown_list();  // described elsewhere
  for (std::size_t i = 0; i < number; ++i) folders_.push_back(read_folder());
  list_.expect(mark::unpack_sizes);
  for (folder& each : folders_) {
    for (std::size_t i = 0; i < each.texts_of_coders; ++i) each.bytes = list_.number();
  }
  if (list_.take(mark::crc)) {
    const auto crcs = list_.crcs(number);
    for (std::size_t i = 0; i < number; ++i) folders_[i].crc = crcs[i];
  }
  list_.expect(mark::end);
}

folder streams_reader::read_folder() {
  constexpr std::size_t most_coders = 32;
  folder found;
  std::size_t inputs = 0;
  const std::size_t coders = list_.count(most_coders);
  if (coders == 0) throw unknown_list();
  for (std::size_t i = 0; i < coders; ++i) read_coder(found, inputs, coders == 1);
  const std::size_t bonds = found.texts_of_coders - 1;
  if (bonds > inputs) throw unknown_list();
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
  if ((flags & ~(size_of_id | has_streams | has_properties)) != 0) throw unknown_list();
  const auto id = list_.bytes(flags & size_of_id);
  const bool is_complex = (flags & has_streams) != 0;
  inputs += is_complex ? list_.count(most_streams) : 1;
  const std::size_t texts = is_complex ? list_.count(most_streams) : 1;
  to.texts_of_coders += texts;
  if (texts == 0) throw unknown_list();
  const auto properties = (flags & has_properties) != 0 ? list_.bytes(list_.number()) : std::span<const std::byte>();
  const auto method = method_of(id);
  to.is_simple = is_only && !is_complex && method && properties.size() <= to.stream.properties.size();
  if (!to.is_simple) return;
  to.stream.coder = *method;
  to.stream.number_of_properties = static_cast<std::uint8_t>(properties.size());
  std::ranges::copy(properties, to.stream.properties.begin());
}

void streams_reader::read_texts() {
  if (!list_.take(mark::texts_info)) return;
  std::size_t texts = folders_.size();
  if (list_.take(mark::number_of_texts)) {
    texts = 0;
    for (folder& each : folders_) {
      each.texts = list_.count(most_ - texts);
      texts += each.texts;
    }
  }
  if (list_.take(mark::size)) {
    for (const folder& each : folders_) {
      for (std::size_t i = 1; i < each.texts; ++i) sizes_.push_back(list_.number());
    }
  }
  if (list_.take(mark::crc)) {
    std::size_t unknown = 0;
    for (const folder& each : folders_) unknown += each.texts == 1 && each.crc ? 0 : each.texts;
    crcs_ = list_.crcs(unknown);
  }
  list_.expect(mark::end);
}

std::vector<seven_zip_stream> streams_reader::simple_streams(std::uint64_t max_bytes) const {
  std::vector<seven_zip_stream> streams;
  std::uint64_t at = packed_at_;
  std::size_t packed = 0;
  std::size_t crc = 0;
  for (const folder& each : folders_) {
    if (each.texts == 0) {  // libarchive decodes no such folder
      for (std::size_t i = 0; i < each.packed_streams && packed < packed_.size(); ++i) at += packed_[packed++];
      continue;
    }
    if (!each.is_simple || each.texts != 1 || packed == packed_.size()) break;
    seven_zip_stream found = each.stream;
    found.offset = at;
    found.packed = packed_[packed++];
    found.bytes = each.bytes;
    at += found.packed;
    std::optional<std::uint32_t> sum = each.crc;
    if (!sum && crc < crcs_.size()) sum = crcs_[crc++];
    if (!sum || found.packed > max_bytes || found.bytes > max_bytes) break;
    found.crc = *sum;
    if (found.bytes > 0) streams.push_back(found);
  }
  return streams;
}

std::vector<std::byte> read_at(byte_reader& file, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.seek(offset);
  for (std::size_t filled = 0; filled < bytes.size();) {
    const std::size_t read = file.read(std::span(bytes).subspan(filled));
    if (read == 0) throw unknown_list();
    filled += read;
  }
  return bytes;
}

/// The list itself, from the place that the start header names.
std::vector<std::byte> read_list(byte_reader& file, std::uint64_t file_bytes, std::uint64_t most_bytes) {
  constexpr std::size_t covered_at = 12;  // begin of the bytes that the CRC covers
  if (file_bytes < start_bytes) throw unknown_list();
  const std::vector<std::byte> start = read_at(file, 0, start_bytes);
  if (detect_archive(start) != archive_kind::seven_zip) throw unknown_list();  // a program that extracts itself
  if (checksum_of(std::span(start).subspan(covered_at)) != little_endian_number(start, 8, 4)) throw unknown_list();
  const std::uint64_t at = little_endian_number(start, covered_at, 8);
  const std::uint64_t size = little_endian_number(start, 20, 8);
  if (at > file_bytes - start_bytes || size > file_bytes - start_bytes - at || size > most_bytes) throw unknown_list();
  std::vector<std::byte> list = read_at(file, start_bytes + at, size);
  if (checksum_of(list) != little_endian_number(start, 28, 4)) throw unknown_list();
  return list;
}

/// Unpacks a packed list.
std::vector<std::byte> unpack(byte_reader& file, const seven_zip_stream& stream) {
  std::vector<std::byte> packed = read_at(file, stream.offset, stream.packed);
  packed.resize(packed.size() + whole_inflater::padding);
  std::vector<std::byte> list(static_cast<std::size_t>(stream.bytes));
  const auto bytes = std::span<const std::byte>(packed).first(static_cast<std::size_t>(stream.packed));
  if (!seven_zip_decoder().decode(stream, bytes, list)) throw unknown_list();
  return list;
}

}  // namespace

std::vector<seven_zip_stream> read_seven_zip_streams(byte_reader& file, std::size_t most, std::uint64_t max_bytes) {
  try {
    const std::uint64_t file_bytes = file.seekable_bytes().value_or(0);
    const std::uint64_t most_bytes = std::min<std::uint64_t>(most_list, max_bytes);
    std::vector<std::byte> list = read_list(file, file_bytes, most_bytes);
    list_fields fields(list);
    if (fields.take(mark::encoded_header)) {
      const auto packed = streams_reader(fields, file_bytes, 1).read(most_bytes);
      if (packed.size() != 1) return {};
      const std::vector<std::byte> unpacked = unpack(file, packed.front());
      list_fields of_list(unpacked);
      of_list.expect(mark::header);
      of_list.expect(mark::main_streams);
      return streams_reader(of_list, file_bytes, most).read(max_bytes);
    }
    fields.expect(mark::header);
    fields.expect(mark::main_streams);
    return streams_reader(fields, file_bytes, most).read(max_bytes);
  } catch (const unknown_list&) {
    return {};
  } catch (const input_error&) {
    return {};  // the walk over the archive reports it
  }
}

}  // namespace gpuhist::io
