// The table of formats: magic numbers, suffixes, and remedies for formats that cannot be read.
#include "io/format.hpp"

#include "io/archive/volume_name.hpp"
#include "io/archive/zip_records.hpp"
#include "io/brotli/brotli_decoder.hpp"
#include "io/byte_entropy.hpp"
#include "io/bzip2/bzip2_decoder.hpp"
#include "io/bzip2/bzip2_parts.hpp"
#include "io/compress/compress_decoder.hpp"
#include "io/failure.hpp"
#include "io/frame_magic.hpp"
#include "io/gzip/deflate_decoder.hpp"
#include "io/gzip/gzip_decoder.hpp"
#include "io/gzip/gzip_splitter.hpp"
#include "io/gzip/zlib_head.hpp"
#include "io/lz4/lz4_decoder.hpp"
#include "io/lz4/lz4_parts.hpp"
#include "io/snappy/snappy_decoder.hpp"
#include "io/splitter.hpp"
#include "io/utf16/utf16_decoder.hpp"
#include "io/xz/lzip_decoder.hpp"
#include "io/xz/xz_decoder.hpp"
#include "io/xz/xz_parts.hpp"
#include "io/zstd/zstd_decoder.hpp"
#include "io/zstd/zstd_head.hpp"
#include "io/zstd/zstd_parts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

namespace gpuhist::io {
namespace {

// A splitter for formats whose frames cannot be found without decoding them: it is lost from the first byte, and the
// whole input is one frame.
class whole_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override { return {.taken = bytes.size()}; }
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] bool is_lost() const override { return true; }
  [[nodiscard]] std::string_view manner() const override {
    return "streams of this format cannot be found without decoding them";
  }
};

std::unique_ptr<splitter> make_whole_splitter() { return std::make_unique<whole_splitter>(); }

/// The first bytes of a format. A byte of the input matches if it agrees with `bytes` in the bits of `mask`.
///
/// `letters`: text may begin with that many of the bytes. The bytes after them may be damaged, so others are accepted
/// if one of the first bytes_with_control is a control character. An intact stream always has one there: bzip2 the
/// highest bits of a position in a block (byte 14, at most 6) or the begin of the end mark (0x17); lzip its version (0
/// or 1). If all bytes are letters, this control character is required.
struct magic_number {
  std::array<std::uint8_t, detection_bytes> bytes{};
  std::array<std::uint8_t, detection_bytes> mask{};
  std::size_t length = 0;
  std::size_t letters = 0;  ///< 0: all bytes are required
};

struct format_row {
  format shown;
  std::vector<magic_number> magics;
  std::vector<std::string_view> suffixes;
};

constexpr magic_number exactly(std::initializer_list<std::uint8_t> bytes) {
  magic_number result;
  for (const std::uint8_t byte : bytes) {
    result.bytes[result.length] = byte;
    result.mask[result.length++] = 0xFF;
  }
  return result;
}

constexpr magic_number exactly(std::string_view text) {
  magic_number result;
  for (const char each : text) {
    result.bytes[result.length] = static_cast<std::uint8_t>(each);
    result.mask[result.length++] = 0xFF;
  }
  return result;
}

/// 0x184D2A50 to 0x184D2A5F, little endian: skippable frames, which zstd and lz4 share.
constexpr magic_number skippable_magic() {
  magic_number result = exactly({0x50, 0x2A, 0x4D, 0x18});
  result.mask[0] = 0xF0;
  return result;
}

/// Zstandard before version 0.8: 1E or 22 to 27, B5 2F FD.
constexpr magic_number old_zstd_magic() {
  magic_number result = exactly({0x20, 0xB5, 0x2F, 0xFD});
  result.mask[0] = 0xF8;
  return result;
}

/// "SEQ" and a version from 0 to 7.
constexpr magic_number sequence_file_magic() {
  magic_number result = exactly({'S', 'E', 'Q', 0});
  result.mask[3] = 0xF8;
  result.letters = 3;
  return result;
}

/// A word, such as ORC: text may begin with it.
constexpr magic_number word(std::string_view text) {
  magic_number result = exactly(text);
  result.letters = result.length;
  return result;
}

/// "BZh", a digit (the mask also admits six characters after '9') and the first bytes of a block's magic number.
constexpr magic_number bzip2_magic(std::initializer_list<std::uint8_t> block) {
  magic_number result = exactly({'B', 'Z', 'h', '0'});
  result.mask[3] = 0xF0;
  result.letters = result.length;
  for (const std::uint8_t byte : block) {
    result.bytes[result.length] = byte;
    result.mask[result.length++] = 0xFF;
  }
  return result;
}

/// "LZIP" and a version from 0 to 7.
constexpr magic_number lzip_magic() {
  magic_number result = exactly({'L', 'Z', 'I', 'P', 0});
  result.mask[4] = 0xF8;
  result.letters = 4;
  return result;
}

/// Two bytes, and a third one whose bits 5 and 6 are unused.
constexpr magic_number compress_magic() {
  magic_number result = exactly({0x1F, 0x9D, 0x00});
  result.mask[2] = 0x60;
  return result;
}

// Decoding ahead takes up to twice the time of the decoder, in sum. The text of a log has seven times the size of the
// part, and two bytes a symbol while it has marks.
part_format gzip_parts() {
  return {.make = make_gzip_part_decoder,
          .part_bytes = std::size_t{512} << 10U,
          .decoder_is_faster = true,
          .look_ahead_bytes = std::size_t{128} << 10U,
          .memory_bytes = std::size_t{16} << 20U};
}

// A function, because GCC 12 takes the members of a row in an initializer list for uninitialized
// (-Wmaybe-uninitialized with -O3).
format_row row_of(format shown, std::vector<magic_number> magics, std::vector<std::string_view> suffixes) {
  return {.shown = std::move(shown), .magics = std::move(magics), .suffixes = std::move(suffixes)};
}

std::vector<format_row> compressed_formats() {
  return {
      row_of({.name = "zstd",
              .readable = true,
              .on_device = true,
              .has_split_points = true,
              .make_decoder = make_zstd_decoder,
              .make_splitter = make_zstd_splitter,
              .parts = zstd_part_format(),
              .read_head = read_zstd_head,
              .frame_magic = "\x28\xB5\x2F\xFD"},
             {exactly({0x28, 0xB5, 0x2F, 0xFD}), skippable_magic()}, {".zst", ".zstd", ".tzst"}),
      row_of({.name = "gzip",
              .readable = true,
              .on_device = true,
              .make_decoder = make_gzip_decoder,
              .make_splitter = make_gzip_splitter,
              .parts = gzip_parts(),
              .frame_magic = "\x1F\x8B\x08"},
             {exactly({0x1F, 0x8B})}, {".gz", ".tgz", ".bgz"}),
      row_of({.name = "xz",
              .readable = true,
              .make_decoder = make_xz_decoder,
              .make_splitter = make_xz_splitter,
              .read_parts = read_xz_parts,
              .frame_magic = {"\xFD\x37zXZ\0", 6}},
             {exactly({0xFD, '7', 'z', 'X', 'Z', 0x00})}, {".xz", ".txz"}),
      row_of(
          {.name = "lzma", .readable = true, .make_decoder = make_lzma_decoder, .make_splitter = make_whole_splitter},
          {},  // it has no magic number: only a name identifies it
          {".lzma", ".tlz"}),
      row_of({.name = "lzip",
              .readable = true,
              .make_decoder = make_lzip_decoder,
              .make_splitter = make_lzip_splitter,
              .frame_magic = "LZIP"},
             {lzip_magic()}, {".lz", ".tlz"}),
      row_of({.name = "bzip2",
              .readable = true,
              .make_decoder = make_bzip2_decoder,
              .make_splitter = make_whole_splitter,
              .parts = {.make = make_bzip2_part_decoder,
                        .part_bytes = bzip2_part_bytes,
                        .look_ahead_bytes = bzip2_look_ahead_bytes,
                        .memory_bytes = bzip2_part_memory},
              .frame_magic = "BZh"},
             {bzip2_magic({0x31, 0x41, 0x59, 0x26}), bzip2_magic({0x17, 0x72, 0x45, 0x38})},
             {".bz2", ".tbz2", ".tbz", ".tb2"}),
      row_of({.name = "lz4",
              .readable = true,
              .make_decoder = make_lz4_decoder,
              .make_splitter = make_lz4_splitter,
              .parts = {.make = make_lz4_part_decoder,
                        .part_bytes = lz4_usual_part_bytes,
                        .splitter_divides = true,
                        .memory_bytes = lz4_part_memory},
              .frame_magic = "\x04\x22\x4D\x18"},
             {exactly({0x04, 0x22, 0x4D, 0x18}), exactly({0x02, 0x21, 0x4C, 0x18}), skippable_magic()},
             {".lz4", ".tlz4"}),
  };
}

std::vector<format_row> rare_formats() {
  return {
      row_of({.name = "compress",
              .readable = true,
              .make_decoder = make_compress_decoder,
              .make_splitter = make_whole_splitter},
             {compress_magic()}, {".Z", ".taZ"}),
      row_of({.name = "snappy",
              .readable = true,
              .make_decoder = make_snappy_decoder,
              .make_splitter = make_snappy_splitter,
              .frame_magic = snappy_identifier},
             {exactly({0xFF, 0x06, 0x00, 0x00, 's', 'N', 'a', 'P', 'p', 'Y'})}, {".sz", ".snappy"}),
      // those that follow have no magic number: only a name identifies them
      row_of({.name = "hadoop-snappy",
              .readable = true,
              .make_decoder = make_hadoop_snappy_decoder,
              .make_splitter = make_whole_splitter},
             {}, {".snappy"}),
      row_of({.name = "hadoop-lz4",
              .readable = true,
              .make_decoder = make_hadoop_lz4_decoder,
              .make_splitter = make_whole_splitter},
             {}, {}),
      row_of({.name = "brotli",
              .readable = true,
              .make_decoder = make_brotli_decoder,
              .make_splitter = make_whole_splitter},
             {}, {".br"}),
      row_of(
          {.name = "zlib", .readable = true, .make_decoder = make_zlib_decoder, .make_splitter = make_whole_splitter},
          {}, {".zz", ".zlib"}),  // see zlib_head.hpp
      row_of({.name = "deflate",
              .readable = true,
              .make_decoder = make_deflate_decoder,
              .make_splitter = make_whole_splitter},
             {}, {}),
  };
}

/// The name is what an input holds, and the hint a command that passes its text on.
std::vector<format_row> refused_formats() {
  const auto row = [](std::string_view name, std::string_view command, std::vector<magic_number> magics,
                      std::vector<std::string_view> suffixes) {
    return row_of({.name = name, .hint = command}, std::move(magics), std::move(suffixes));
  };
  return {
      row("lzop data", "lzop -dc FILE | gpuhist", {exactly({0x89, 'L', 'Z', 'O', 0x00, 0x0D, 0x0A, 0x1A})},
          {".lzo", ".tzo"}),
      row("lrzip data", "lrzip -q -d -o - FILE | gpuhist", {word("LRZI")}, {".lrz"}),
      row("bzip3 data", "bzip3 -dc < FILE | gpuhist", {word("BZ3v1")}, {".bz3"}),
      row("LZFSE data", "lzfse -decode -i FILE | gpuhist", {word("bvx2"), word("bvx1"), word("bvxn"), word("bvx-")},
          {".lzfse"}),
      row("data of Zstandard before 0.8", "zstd -dc FILE | gpuhist",
          {old_zstd_magic(), exactly({0x1E, 0xB5, 0x2F, 0xFD})}, {}),
      row("a rar archive", "unrar p -inul FILE | gpuhist", {exactly({'R', 'a', 'r', '!', 0x1A, 0x07})}, {".rar"}),
      row("a zpaq archive", "zpaq extract FILE -to text && gpuhist -r text",
          {exactly({'7', 'k', 'S', 't', 0xA0, 0x31, 0x83, 0xD3}), word("zPQ")}, {".zpaq"}),
      row("a cabinet", "bsdtar -xOf FILE | gpuhist", {exactly({'M', 'S', 'C', 'F', 0, 0, 0, 0})}, {".cab"}),
      row("a xar archive", "bsdtar -xOf FILE | gpuhist", {exactly({'x', 'a', 'r', '!', 0})}, {".xar"}),
      row("a squashfs image", "sqfs2tar FILE | gpuhist", {word("hsqs")}, {".squashfs"}),
      row("Parquet data", "duckdb -csv -c \"FROM 'FILE'\" | gpuhist", {word("PAR1"), word("PARE")}, {}),
      row("ORC data", "orc-contents FILE | gpuhist", {word("ORC")}, {}),
      row("Arrow data",
          "python3 -c \"import sys, pyarrow.csv, pyarrow.feather as f; "
          "pyarrow.csv.write_csv(f.read_table('FILE'), sys.stdout.buffer)\" | gpuhist",
          {word("ARROW1"), word("FEA1")}, {}),
      row("Avro data", "fastavro FILE | gpuhist", {exactly({'O', 'b', 'j', 1})}, {}),
      row("a Hadoop sequence file", "hadoop fs -text FILE | gpuhist", {sequence_file_magic()}, {}),
      row("a systemd journal", "journalctl --file FILE -o cat | gpuhist", {word("LPKSHHRH")}, {}),
      row("a Windows event log", "evtx_dump FILE | gpuhist", {exactly({'E', 'l', 'f', 'F', 'i', 'l', 'e', 0})}, {}),
  };
}

std::vector<format_row> archives() {
  return {
      row_of({.name = "tar", .readable = true, .archive = archive_kind::tar}, {}, {}),
      row_of({.name = "zip", .readable = true, .archive = archive_kind::zip}, {}, {}),
      row_of({.name = "7z", .readable = true, .archive = archive_kind::seven_zip}, {}, {}),
      row_of({.name = "cpio", .readable = true, .archive = archive_kind::cpio}, {}, {}),
      row_of({.name = "ar", .readable = true, .archive = archive_kind::ar}, {}, {}),
      row_of({.name = "rpm", .readable = true, .archive = archive_kind::rpm}, {}, {}),
  };
}

std::vector<format_row> all_formats() {
  std::vector<format_row> all;
  all.push_back({.shown = {.name = "raw", .readable = true, .is_plain = true}, .magics = {}, .suffixes = {}});
  for (auto* const make_rows : {&compressed_formats, &rare_formats, &refused_formats, &archives}) {
    std::ranges::move(make_rows(), std::back_inserter(all));
  }
  return all;
}

/// The formats of text in UTF-16: in the first row not compressed, and then in each compression.
struct encoded_formats {
  struct row {
    std::string name;
    const format* compression = nullptr;
    format shown;
  };

  explicit encoded_formats(text_encoding order);

  std::vector<row> rows;
};

const std::vector<format_row>& table() {
  static const std::vector<format_row> rows = all_formats();
  return rows;
}

// Frames cannot be decoded apart: a character may begin in one and end in the next.
format in_encoding(const format* compression, text_encoding order) {
  format made = compression != nullptr ? *compression : format{.name = {}, .readable = true};
  const auto decode = compression != nullptr ? compression->make_decoder : make_stored_decoder;
  made.make_decoder = [decode, order](const decoder_limits& limits) {
    return make_utf16_decoder(decode(limits), order);
  };
  made.make_splitter = make_whole_splitter;
  made.on_device = made.has_split_points = false;
  if (made.parts.splitter_divides) made.parts = {};
  made.is_encoding = true;
  return made;
}

encoded_formats::encoded_formats(text_encoding order) {
  const std::string name = order == text_encoding::utf16be ? "utf-16be" : "utf-16le";
  rows.push_back({.name = name, .compression = nullptr, .shown = in_encoding(nullptr, order)});
  for (const format_row& each : table()) {
    if (each.shown.make_decoder == nullptr) continue;
    rows.push_back({.name = name + "." + std::string(each.shown.name),
                    .compression = &each.shown,
                    .shown = in_encoding(&each.shown, order)});
  }
  for (row& each : rows) each.shown.name = each.name;  // they move no more
}

// Whether more bytes decide whether there is a mark.
bool may_be_mark(std::span<const std::byte> head) {
  return !head.empty() && head.size() < 4 && (head[0] == std::byte{0xFF} || head[0] == std::byte{0xFE});
}

// Compares the bytes that both have.
bool agrees_with(std::span<const std::byte> head, const magic_number& magic) {
  for (std::size_t i = 0; i < std::min(head.size(), magic.length); ++i) {
    const auto byte = std::to_integer<unsigned>(head[i]);
    if (((byte ^ magic.bytes[i]) & magic.mask[i]) != 0) return false;
  }
  return true;
}

// A control character that text does not have: text has those from \a to \r, and ESC.
bool is_control(std::byte byte) {
  const auto value = std::to_integer<unsigned>(byte);
  return value < 0x20 && (value < 0x07 || value > 0x0D) && value != 0x1B;
}

/// Compressed data has a control character among so many first bytes.
constexpr std::size_t bytes_with_control = 16;

/// Whether `head` begins with the letters of the magic number, as far as it goes.
bool begins_with_letters(std::span<const std::byte> head, const magic_number& magic) {
  return magic.letters != 0 && agrees_with(head.first(std::min(head.size(), magic.letters)), magic);
}

bool has_control(std::span<const std::byte> head) {
  return std::ranges::any_of(head.first(std::min(head.size(), bytes_with_control)), is_control);
}

bool begins_with(std::span<const std::byte> head, const magic_number& magic) {
  const bool is_long_enough = magic.letters == 0 ? head.size() >= magic.length : head.size() > magic.letters;
  if (is_long_enough && magic.letters < magic.length && agrees_with(head, magic)) return true;
  return head.size() > magic.letters && begins_with_letters(head, magic) && has_control(head);
}

bool may_still_begin_with(std::span<const std::byte> head, const magic_number& magic) {
  if (head.size() < magic.length && agrees_with(head, magic)) return true;
  return head.size() < bytes_with_control && begins_with_letters(head, magic) && !begins_with(head, magic);
}

bool same_letters(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  });
}

bool matches(const format_row& row, std::span<const std::byte> head) {
  return std::ranges::any_of(row.magics, [head](const magic_number& magic) { return begins_with(head, magic); });
}

/// The formats that a name promises: all that have the suffix. `first` is named in messages.
struct promise {
  const format_row* first = nullptr;
  std::string_view suffix;
};

promise promise_of(std::string_view name) {
  const std::string_view file = name.substr(name.find_last_of('/') + 1);  // npos + 1 is 0
  for (const format_row& row : table()) {
    for (const std::string_view suffix : row.suffixes) {
      // a file named ".gz" is a hidden file and promises nothing
      if (file.size() > suffix.size() && same_letters(file.substr(file.size() - suffix.size()), suffix)) {
        return {.first = &row, .suffix = suffix};
      }
    }
  }
  return {};
}

// Whether content that may be text is of a format without a magic number: it decodes, a short one to its end.
bool decodes(const format& named, std::span<const std::byte> head) {
  if (named.make_decoder == nullptr) return false;
  const std::unique_ptr<decoder> own = named.make_decoder({});
  std::array<std::byte, text_head_bytes> text{};
  fill_result got{.status = fill_status::output_full};
  std::span<const std::byte> in = head;
  while (got.status == fill_status::output_full || (got.status == fill_status::frame_verified && !in.empty())) {
    got = own->fill(in, text);
    in = in.subspan(got.consumed);
  }
  const bool has_ended = got.status == fill_status::frame_verified && in.empty();
  return has_ended || (got.status == fill_status::needs_input && head.size() >= text_head_bytes);
}

/// The promised format that the content has, or null. A format without a magic number matches content that has no other
/// format.
const format* matching_format(const promise& promised, std::span<const std::byte> head) {
  const format* without_magic = nullptr;
  for (const format_row& row : table()) {
    if (std::ranges::count(row.suffixes, promised.suffix) == 0) continue;
    if (matches(row, head)) return &row.shown;
    if (row.magics.empty() && (row.shown.name != "zlib" || has_zlib_begin(head))) without_magic = &row.shown;
  }
  const bool may_have_no_magic =
      without_magic != nullptr && !head.empty() && detect(head).is_plain && detect_archive(head) == archive_kind::none;
  return may_have_no_magic && (!may_be_text(head) || decodes(*without_magic, head)) ? without_magic : nullptr;
}

// Of the skippable frames that the head begins with, as far as their sizes are known: they may be more than it has.
std::size_t skipped_bytes(std::span<const std::byte> head) {
  std::uint64_t at = 0;
  while (at < head.size() && head.size() - at >= magic_bytes && may_begin_skippable(head.subspan(at))) {
    at += skippable_header_bytes + skippable_bytes(head.subspan(at)).value_or(0);
  }
  return at;
}

// The format with skippable frames whose own frame follows those of the head. Null: there are none, or it is not known.
const format* format_after_skippable(std::span<const std::byte> head) {
  const std::size_t at = skipped_bytes(head);
  if (at == 0 || at + magic_bytes > head.size()) return nullptr;
  const auto next = head.subspan(at);
  const auto found =
      std::ranges::find_if(table(), [&](const format_row& row) { return matches(row, head) && matches(row, next); });
  return found == table().end() ? nullptr : &found->shown;
}

// Includes formats without a magic number.
const format& detect_all(std::span<const std::byte> head) {
  const format& found = detect(head);
  if (!found.is_plain || looks_like_zlib(head) != zlib_verdict::yes) return found;
  return std::ranges::find(table(), "zlib", [](const format_row& row) { return row.shown.name; })->shown;
}

/// Whether the head is a part of a magic number of a promised format.
bool may_begin(const promise& promised, std::span<const std::byte> head) {
  return std::ranges::any_of(table(), [&](const format_row& row) {
    return std::ranges::count(row.suffixes, promised.suffix) > 0 &&
           std::ranges::any_of(row.magics,
                               [head](const magic_number& magic) { return may_still_begin_with(head, magic); });
  });
}

// What an input holds: "zstd data", "a rar archive".
std::string content_of(const format& found) {
  if (found.is_encoding) return "UTF-16 text";
  return std::string(found.name) + (found.readable ? " data" : "");
}

[[noreturn]] void refuse(const std::string& cause, const std::string& remedy, std::string_view as_it_is = "raw") {
  throw input_error(
      cause + "; " + remedy + " (to count its bytes as they are: --input-format " + std::string(as_it_is) + ")", 0,
      failure_kind::refused);
}

// The end of the name and the content do not agree.
identity differing(const promise& promised, const format& found, std::span<const std::byte> head,
                   const content_rules& rules) {
  const std::string named = "is named " + std::string(promised.suffix) + " but ";
  if (head.empty()) throw input_error(named + "is empty", 0, failure_kind::damaged);
  const auto note = [&](const std::string& content, const std::string& consequence) {
    return identity{found, noted(notice_kind::name_differs, {named + content, consequence, "rename it"}, rules)};
  };
  if (!found.is_plain) {
    return note("holds " + content_of(found), "it is read as " + std::string(found.name));
  }
  if (const archive_kind kind = detect_archive(head); kind != archive_kind::none) {
    return note("holds " + archive_text(kind), "it is read as one");
  }
  if (may_be_text(head) && !may_begin(promised, head)) return note("holds text", "it is counted as text");
  if (rules.skip_damage && promised.first->shown.readable) return {promised.first->shown};
  throw input_error(named + "does not hold " + content_of(promised.first->shown) +
                        "; to count its bytes as they are, rename it or give --input-format raw",
                    0, failure_kind::damaged);
}

/// Refuses decompressed content that is of a format of the table, because one compression is decoded. `outer`: the name
/// of the format around it; `name`: of the input, with the suffix of that format or without.
void refuse_inner(std::string_view outer, std::string_view name, std::span<const std::byte> head) {
  if (const promise around = promise_of(name); around.first != nullptr && around.first->shown.name == outer) {
    name.remove_suffix(around.suffix.size());
  }
  const promise promised = promise_of(name);
  const format* const matching = promised.first == nullptr ? nullptr : matching_format(promised, head);
  const format& found = matching == nullptr ? detect_all(head) : *matching;
  if (found.is_plain) return;
  refuse("holds " + content_of(found) + " within " + std::string(outer) + " data, of which gpuhist decodes one layer",
         "to count its text, decompress it once and give gpuhist the result", outer);
}

}  // namespace

const format& detect(std::span<const std::byte> head) {
  if (const format* const found = format_after_skippable(head)) return *found;
  for (const format_row& row : table()) {
    if (matches(row, head)) return row.shown;
  }
  return table().front().shown;
}

std::size_t bytes_for_format(std::span<const std::byte> head) {
  if (const std::size_t wanted = skipped_bytes(head) + magic_bytes; wanted > magic_bytes && wanted > head.size()) {
    return wanted <= max_skipped_bytes ? wanted : 0;
  }
  const bool may_have_magic = std::ranges::any_of(table(), [head](const format_row& row) {
    return std::ranges::any_of(row.magics,
                               [head](const magic_number& magic) { return may_still_begin_with(head, magic); });
  });
  if (may_have_magic || may_be_mark(head) || looks_like_zlib(head) == zlib_verdict::perhaps) return archive_head_bytes;
  if (head.size() >= sampled_bytes || may_be_text(head) || !detect(head).is_plain) return 0;
  if (head.size() < archive_head_bytes) return archive_head_bytes;
  return looks_random(head) ? sampled_bytes : 0;
}

const format* promised_by(std::string_view name) {
  const promise promised = promise_of(name);
  return promised.first == nullptr ? nullptr : &promised.first->shown;
}

const format* format_named(std::string_view name) {
  for (const text_encoding order : {text_encoding::utf16le, text_encoding::utf16be}) {
    if (encoded_format(order).name == name) return &encoded_format(order);
  }
  for (const format_row& row : table()) {
    if (row.shown.readable && row.shown.name == name) return &row.shown;
  }
  return nullptr;
}

const format& encoded_format(text_encoding encoding, const format* compression) {
  static const encoded_formats little(text_encoding::utf16le);
  static const encoded_formats big(text_encoding::utf16be);
  const encoded_formats& all = encoding == text_encoding::utf16be ? big : little;
  return std::ranges::find(all.rows, compression, &encoded_formats::row::compression)->shown;
}

std::vector<std::string_view> input_format_names() {
  std::vector<std::string_view> names{"auto"};
  for (const format_row& row : table()) {
    if (row.shown.readable) names.push_back(row.shown.name);
  }
  return names;
}

bool may_be_text(std::span<const std::byte> head) {
  constexpr std::array<std::array<std::byte, 2>, 2> marks{
      {{std::byte{0xFF}, std::byte{0xFE}}, {std::byte{0xFE}, std::byte{0xFF}}}};
  const auto begins_with_mark = [head](const auto& mark) {
    return head.size() >= mark.size() && std::ranges::equal(head.first(mark.size()), mark);
  };
  head = head.first(std::min(head.size(), text_head_bytes));
  return std::ranges::any_of(marks, begins_with_mark) || std::ranges::none_of(head, is_control);
}

identity identify(std::string_view name, std::span<const std::byte> head, const format* forced,
                  const content_rules& rules) {
  if (forced != nullptr && forced->archive != archive_kind::none) {
    return {identify({}, head, nullptr).format, {}, forced->archive};
  }
  if (forced != nullptr) {  // if it is wrong, its decoder reports the error
    const bool is_named = rules.encoding != text_encoding::by_mark;
    const text_encoding encoding =
        forced->is_plain && is_named ? encoding_of(head, rules.encoding) : text_encoding::utf8;
    return {encoding == text_encoding::utf8 ? *forced : encoded_format(encoding), {}, archive_kind::none};
  }
  const promise promised = promise_of(name);
  const format* const matching = promised.first == nullptr ? nullptr : matching_format(promised, head);
  const format& by_content = matching == nullptr ? detect_all(head) : *matching;
  const bool is_text = by_content.is_plain && detect_archive(head) == archive_kind::none;
  const text_encoding encoding = is_text ? encoding_of(head, rules.encoding) : text_encoding::utf8;
  const format& found = encoding == text_encoding::utf8 ? by_content : encoded_format(encoding);
  const bool is_opaque = found.is_plain && !may_be_text(head) && detect_archive(head) == archive_kind::none;
  const bool may_be_volume = is_opaque || !found.readable || has_magic(head, zip_split_magic);
  if (const auto volume = may_be_volume ? volume_named(name) : std::nullopt) refuse(volume->cause(), volume->remedy);
  if (!found.readable) {
    refuse("holds " + content_of(found) + ", which gpuhist does not read",
           "to count its text: " + std::string(found.hint));
  }
  if (promised.first != nullptr && matching == nullptr) return differing(promised, found, head, rules);
  if (is_opaque && looks_compressed(head) && promised_archive(name).kind == archive_kind::none) {
    return {found, noted(notice_kind::unknown_compression,
                         {"looks compressed or encrypted, and is of no format that gpuhist knows",
                          "its bytes are counted as they are", "decompress it first, or give --input-format raw"},
                         rules)};
  }
  return {found};
}

settled_archive identify_text(std::string_view name, std::span<const std::byte> text, const format* outer,
                              const content_rules& rules) {
  settled_archive made = settle_archive(name, text, rules);
  if (outer == nullptr || outer->is_encoding || made.kind != archive_kind::none) return made;
  made.encoding = encoding_of(text, rules.encoding);
  if (made.encoding == text_encoding::utf8 && !made.notice) refuse_inner(outer->name, name, text);
  return made;
}

}  // namespace gpuhist::io
