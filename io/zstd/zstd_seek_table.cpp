#include "io/zstd/zstd_seek_table.hpp"

#include "io/frame_magic.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::byte has_checksums{0x80};  // the descriptor: entries have checksums
constexpr std::size_t entry_bytes = 12;

void put(std::vector<std::byte>& into, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) into.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
}

constexpr std::uint32_t data_frame_magic = 0xFD2FB528;
constexpr std::uint32_t first_skippable_magic = 0x184D2A50;
constexpr std::uint32_t skippable_magics = 16;

std::uint32_t field_at(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(little_endian(bytes.subspan(at, 4)));
}

template <std::size_t size>
std::optional<std::array<std::byte, size>> bytes_at(const offset_reader& read, std::uint64_t offset) {
  std::array<std::byte, size> bytes{};
  if (read(bytes, offset) != size) return std::nullopt;
  return bytes;
}

bool begins_frame(const offset_reader& read, std::uint64_t offset) {
  const auto head = bytes_at<4>(read, offset);
  if (!head) return false;
  const std::uint32_t magic = field_at(*head, 0);
  return magic == data_frame_magic || magic - first_skippable_magic < skippable_magics;
}

// Keeps the points that are far enough from the one before and from the end.
class point_chooser {
 public:
  point_chooser(std::uint64_t size, std::uint64_t apart) : size_(size), apart_(apart) {}

  [[nodiscard]] bool wants(std::uint64_t stored_bytes) const {
    return stored_bytes - last_ >= apart_ && stored_bytes < size_ && size_ - stored_bytes >= apart_;
  }
  void add(const split_point& point) {
    last_ = point.stored_bytes;
    chosen_.push_back(point);
  }
  [[nodiscard]] std::vector<split_point> take() { return std::move(chosen_); }

 private:
  std::uint64_t size_;
  std::uint64_t apart_;
  std::uint64_t last_ = 0;
  std::vector<split_point> chosen_;
};

// Where the entries of the table are, and of what size.
struct table_shape {
  std::uint64_t table_begin = 0;
  std::uint64_t entries_begin = 0;
  std::uint32_t frames = 0;
  std::size_t entry_bytes = 0;
};

// The footer: number of frames, descriptor (bit 7: entries have checksums, bits 2 to 6: zero), magic number.
std::optional<table_shape> table_of(const offset_reader& read, std::uint64_t size) {
  constexpr std::size_t footer_bytes = seek_table_footer_bytes;
  constexpr std::size_t header_bytes = seek_table_header_bytes;
  if (size < header_bytes + footer_bytes) return std::nullopt;
  const auto footer = bytes_at<footer_bytes>(read, size - footer_bytes);
  if (!footer || field_at(*footer, 5) != seek_table_magic) return std::nullopt;
  const auto descriptor = std::to_integer<unsigned>((*footer)[4]);
  if ((descriptor & 0x7CU) != 0) return std::nullopt;
  table_shape made{.frames = field_at(*footer, 0), .entry_bytes = (descriptor & 0x80U) != 0 ? 12U : 8U};
  const std::uint64_t content = std::uint64_t{made.frames} * made.entry_bytes + footer_bytes;
  if (made.frames > max_seekable_frames || content + header_bytes > size) return std::nullopt;
  made.table_begin = size - content - header_bytes;
  made.entries_begin = made.table_begin + header_bytes;
  const auto header = bytes_at<header_bytes>(read, made.table_begin);
  if (!header || field_at(*header, 0) != seek_table_frame_magic || field_at(*header, 4) != content) return std::nullopt;
  return made;
}

// Passes the begin of each frame to `visit`, until that returns false. The end of the frames; nothing: not all were
// visited, or they do not end where the table begins.
template <class Visit>
std::optional<split_point> walk(const offset_reader& read, const table_shape& table, Visit visit) {
  constexpr std::size_t entries_at_once = 4096;
  std::vector<std::byte> entries(entries_at_once * table.entry_bytes);
  split_point at{.text_bytes = 0};
  for (std::uint64_t done = 0; done < table.frames;) {
    const std::uint64_t now = std::min<std::uint64_t>(entries_at_once, table.frames - done);
    const auto wanted = std::span(entries).first(now * table.entry_bytes);
    if (read(wanted, table.entries_begin + done * table.entry_bytes) != wanted.size()) return std::nullopt;
    for (std::size_t i = 0; i < now; ++i) {
      if (!visit(at)) return std::nullopt;
      ++at.frames;
      at.stored_bytes += field_at(wanted, i * table.entry_bytes);
      *at.text_bytes += field_at(wanted, i * table.entry_bytes + 4);
    }
    done += now;
  }
  return at.stored_bytes == table.table_begin ? std::optional(at) : std::nullopt;
}

std::vector<split_point> points_of_table(const offset_reader& read, const table_shape& table, point_chooser chooser) {
  const auto choose = [&](const split_point& at) {
    if (!chooser.wants(at.stored_bytes)) return true;
    if (!begins_frame(read, at.stored_bytes)) return false;
    chooser.add(at);
    return true;
  };
  return walk(read, table, choose) ? chooser.take() : std::vector<split_point>();
}

// A skippable frame whose content is the size of the frame after it, before each frame.
std::vector<split_point> points_of_sizes(const offset_reader& read, std::uint64_t size, point_chooser chooser) {
  constexpr std::size_t header_bytes = 12;
  split_point at;
  while (at.stored_bytes < size) {
    const auto header = bytes_at<header_bytes>(read, at.stored_bytes);
    if (!header || field_at(*header, 0) != first_skippable_magic || field_at(*header, 4) != 4) return {};
    if (chooser.wants(at.stored_bytes)) {
      if (!begins_frame(read, at.stored_bytes + header_bytes)) return {};
      chooser.add(at);
    }
    at.stored_bytes += header_bytes + field_at(*header, 8);
    ++at.frames;
  }
  return at.stored_bytes == size ? chooser.take() : std::vector<split_point>();
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

std::optional<split_point> zstd_end_of_frames(const offset_reader& read, std::uint64_t size) {
  const auto table = table_of(read, size);
  return table ? walk(read, *table, [](const split_point&) { return true; }) : std::nullopt;
}

std::vector<split_point> zstd_split_points(const offset_reader& read, std::uint64_t size, std::uint64_t apart) {
  const point_chooser chooser(size, std::max<std::uint64_t>(apart, 1));
  if (const auto table = table_of(read, size)) return points_of_table(read, *table, chooser);
  return points_of_sizes(read, size, chooser);
}

}  // namespace gpuhist::io
