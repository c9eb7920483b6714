// The table of formats: magic numbers, suffixes, and remedies for formats that cannot be read.
#include "io/format.hpp"

#include "io/archive/volume_name.hpp"
#include "io/archive/zip_records.hpp"
#include "io/bzip2/bzip2_decoder.hpp"
#include "io/bzip2/bzip2_parts.hpp"
#include "io/compress/compress_decoder.hpp"
#include "io/failure.hpp"
#include "io/frame_magic.hpp"
#include "io/gzip/gzip_decoder.hpp"
#include "io/gzip/gzip_splitter.hpp"
#include "io/gzip/zlib_head.hpp"
#include "io/lz4/lz4_decoder.hpp"
#include "io/lz4/lz4_parts.hpp"
#include "io/splitter.hpp"
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
      row_of({.name = "lzop", .readable = false, .hint = "decompress it first: lzop -dc FILE | gpuhist"},
             {exactly({0x89, 'L', 'Z', 'O', 0x00, 0x0D, 0x0A, 0x1A})}, {".lzo", ".tzo"}),
      row_of({.name = "zlib", .readable = false, .hint = "decompress it first: pigz -dc < FILE | gpuhist"},
             {},  // see zlib_head.hpp
             {".zz", ".zlib"}),
      row_of({.name = "compress",
              .readable = true,
              .make_decoder = make_compress_decoder,
              .make_splitter = make_whole_splitter},
             {compress_magic()}, {".Z", ".taZ"}),
  };
}

/// Their bytes are counted as they are, with a notice. The name is what an input holds, and the hint a command that
/// passes its text on.
std::vector<format_row> unknown_formats() {
  const auto row = [](std::string_view name, std::string_view command, std::vector<magic_number> magics,
                      std::vector<std::string_view> suffixes) {
    return row_of({.name = name, .hint = command, .counted = true}, std::move(magics), std::move(suffixes));
  };
  return {
      row("brotli data", "brotli -dc FILE | gpuhist", {}, {".br"}),
      row("snappy data", "snzip -dc FILE | gpuhist", {exactly({0xFF, 0x06, 0x00, 0x00, 's', 'N', 'a', 'P'})}, {".sz"}),
      row("Hadoop snappy data", "snzip -t hadoop-snappy -dc FILE | gpuhist", {}, {".snappy"}),
      row("lrzip data", "lrzip -q -d -o - FILE | gpuhist", {word("LRZI")}, {".lrz"}),
      row("a rar archive", "unrar p -inul FILE | gpuhist", {exactly({'R', 'a', 'r', '!', 0x1A, 0x07})}, {".rar"}),
      row("an rpm package", "rpm2cpio FILE | gpuhist", {exactly({0xED, 0xAB, 0xEE, 0xDB})}, {}),
      row("a Debian package", "dpkg-deb --fsys-tarfile FILE | gpuhist", {exactly("!<arch>\ndebian-binary   ")}, {}),
      row("Parquet data", "duckdb -csv -c \"FROM 'FILE'\" | gpuhist", {word("PAR1")}, {}),
      row("ORC data", "orc-contents FILE | gpuhist", {word("ORC")}, {}),
      row("Arrow data",
          "python3 -c \"import sys, pyarrow.csv, pyarrow.feather as f; "
          "pyarrow.csv.write_csv(f.read_table('FILE'), sys.stdout.buffer)\" | gpuhist",
          {word("ARROW1"), word("FEA1")}, {}),
      row("a systemd journal", "journalctl --file FILE -o cat | gpuhist", {word("LPKSHHRH")}, {}),
  };
}

std::vector<format_row> archives() {
  return {
      row_of({.name = "tar", .readable = true, .archive = archive_kind::tar}, {}, {}),
      row_of({.name = "zip", .readable = true, .archive = archive_kind::zip}, {}, {}),
      row_of({.name = "7z", .readable = true, .archive = archive_kind::seven_zip}, {}, {}),
      row_of({.name = "cpio", .readable = true, .archive = archive_kind::cpio}, {}, {}),
  };
}

std::vector<format_row> all_formats() {
  std::vector<format_row> all;
  all.push_back({.shown = {.name = "raw", .readable = true, .is_plain = true}, .magics = {}, .suffixes = {}});
  for (auto* const make_rows : {&compressed_formats, &rare_formats, &unknown_formats, &archives}) {
    std::ranges::move(make_rows(), std::back_inserter(all));
  }
  return all;
}

const std::vector<format_row>& table() {
  static const std::vector<format_row> rows = all_formats();
  return rows;
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
      !head.empty() && detect(head).is_plain && !may_be_text(head) && detect_archive(head) == archive_kind::none;
  return may_have_no_magic ? without_magic : nullptr;
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

identity counted_as_they_are(const std::string& cause, const std::string& remedy, const content_rules& rules) {
  return {
      table().front().shown,
      noted(notice_kind::unknown_compression,
            {.cause = cause, .consequence = "its bytes are counted as they are; " + remedy, .remedy = remedy}, rules),
      archive_kind::none};
}

identity unknown(const format& found, bool is_promised, const content_rules& rules) {
  const std::string holds = "holds " + std::string(found.name);
  if (rules.strict_names && !is_promised) {
    (void)noted(notice_kind::name_differs, {holds, "", "rename it"}, rules);
  }
  return counted_as_they_are(holds + " that gpuhist does not read", "to count its text: " + std::string(found.hint),
                             rules);
}

// The end of the name and the content do not agree.
identity differing(const promise& promised, const format& found, std::span<const std::byte> head,
                   const content_rules& rules) {
  const std::string named = "is named " + std::string(promised.suffix) + " but ";
  if (head.empty() && promised.first->shown.counted) return {found};
  if (head.empty()) throw input_error(named + "is empty", 0, failure_kind::damaged);
  const auto note = [&](const std::string& content, const std::string& consequence) {
    return identity{found, noted(notice_kind::name_differs, {named + content, consequence, "rename it"}, rules)};
  };
  if (!found.is_plain) {
    const std::string name(found.name);
    return note("holds " + name + " data", "it is read as " + name);
  }
  if (const archive_kind kind = detect_archive(head); kind != archive_kind::none) {
    return note("holds a " + std::string(name_of(kind)) + " archive", "it is read as one");
  }
  if (may_be_text(head) && !may_begin(promised, head)) return note("holds text", "it is counted as text");
  if (promised.first->shown.counted) {
    return note("does not hold " + std::string(promised.first->shown.name), "its bytes are counted as they are");
  }
  if (rules.skip_damage && promised.first->shown.readable) return {promised.first->shown};
  throw input_error(named + "does not hold " + std::string(promised.first->shown.name) +
                        " data; to count its bytes as they are, rename it or give --input-format raw",
                    0, failure_kind::damaged);
}

/// The notice for decompressed content that is not text but of a format of the table. `outer`: the name of the format
/// around it; `name`: of the input, with the suffix of that format or without. Throws input_error if the rules refuse
/// it.
std::optional<notice> notice_of_inner(std::string_view outer, std::string_view name, std::span<const std::byte> head,
                                      const content_rules& rules) {
  if (const promise around = promise_of(name); around.first != nullptr && around.first->shown.name == outer) {
    name.remove_suffix(around.suffix.size());
  }
  const promise promised = promise_of(name);
  const format* const matching = promised.first == nullptr ? nullptr : matching_format(promised, head);
  const format& found = matching == nullptr ? detect_all(head) : *matching;
  if (found.is_plain) return std::nullopt;
  const std::string inner = std::string(found.name) + (found.counted ? "" : " data");
  return counted_as_they_are(
             "holds " + inner + " within " + std::string(outer) + " data, of which gpuhist decodes one layer",
             "to count its text, decompress it once and give gpuhist the result", rules)
      .notice;
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
  return may_have_magic || looks_like_zlib(head) == zlib_verdict::perhaps ? archive_head_bytes : 0;
}

const format* promised_by(std::string_view name) {
  const promise promised = promise_of(name);
  return promised.first == nullptr || promised.first->shown.counted ? nullptr : &promised.first->shown;
}

const format* format_named(std::string_view name) {
  for (const format_row& row : table()) {
    if (row.shown.readable && row.shown.name == name) return &row.shown;
  }
  return nullptr;
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
    identity made = identify({}, head, nullptr, rules);
    if (!made.archive) made.archive = forced->archive;
    return made;
  }
  if (forced != nullptr) return {*forced, {}, archive_kind::none};  // if it is wrong, its decoder reports the error
  const promise promised = promise_of(name);
  const format* const matching = promised.first == nullptr ? nullptr : matching_format(promised, head);
  const format& found = matching == nullptr ? detect_all(head) : *matching;
  const bool is_opaque =
      found.counted || (found.is_plain && !may_be_text(head) && detect_archive(head) == archive_kind::none);
  const bool may_be_volume = is_opaque || has_magic(head, zip_split_magic);
  if (const auto volume = may_be_volume ? volume_named(name) : std::nullopt) {
    return counted_as_they_are(volume->cause(), volume->remedy, rules);
  }
  if (found.counted) return unknown(found, promised.first == nullptr || matching != nullptr, rules);
  if (!found.readable) {
    throw input_error("holds " + std::string(found.name) + " data, which gpuhist cannot read yet; " +
                          std::string(found.hint) + " (to count its bytes as they are: --input-format raw)",
                      0, failure_kind::refused);
  }
  if (promised.first != nullptr && matching == nullptr) return differing(promised, found, head, rules);
  return {found};
}

settled_archive identify_text(std::string_view name, std::span<const std::byte> text, const format* outer,
                              const content_rules& rules) {
  settled_archive made = settle_archive(name, text, rules);
  if (outer != nullptr && made.kind == archive_kind::none && !made.notice) {
    made.notice = notice_of_inner(outer->name, name, text, rules);
  }
  return made;
}

}  // namespace gpuhist::io
