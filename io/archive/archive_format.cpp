// The magic numbers of archives; if a magic number is too short, the whole first header is checked.
#include "io/archive/archive_format.hpp"

#include "io/archive/tar_headers.hpp"
#include "io/archive/zip_records.hpp"
#include "io/failure.hpp"
#include "io/format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace gpuhist::io {
namespace {

using head_bytes = std::span<const std::byte>;

enum class verdict { no, perhaps, yes };  // perhaps: yes for the bytes so far

verdict begins_with(head_bytes head, std::string_view magic) {
  const std::size_t known = std::min(head.size(), magic.size());
  if (!std::ranges::equal(head.first(known), std::as_bytes(std::span(magic)).first(known))) return verdict::no;
  return known == magic.size() ? verdict::yes : verdict::perhaps;
}

// ---- tar: "ustar" is at offset 257, if there is a magic, so the fields before it are checked as well

constexpr std::size_t block_bytes = 512;
constexpr std::size_t name_bytes = 100;
constexpr std::size_t checksum_at = 148;
constexpr std::size_t checksum_bytes = 8;
constexpr std::size_t magic_at = 257;

std::string_view text_of(head_bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool could_be_octal(head_bytes field) {
  return std::ranges::all_of(text_of(field), [](char c) { return c == '\0' || c == ' ' || (c >= '0' && c <= '7'); });
}

bool could_be_name(head_bytes name) {
  for (const std::byte byte : name) {
    if (byte == std::byte{0}) return true;
    if (std::to_integer<unsigned char>(byte) < ' ') return false;
  }
  return true;
}

bool is_zero(head_bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

head_bytes part(head_bytes head, std::size_t begin, std::size_t size) {
  begin = std::min(begin, head.size());
  return head.subspan(begin, std::min(size, head.size() - begin));
}

// Spaces, octal digits, and then spaces or zeros; or a number of base 256.
bool is_number_field(head_bytes field) {
  std::string_view text = text_of(field);
  if (text.starts_with('\x80')) return true;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of("01234567"), text.size()));
  return text.find_first_not_of(std::string_view(" \0", 2)) == std::string_view::npos;
}

// A text (a name, or the target of a link) and then only zeros.
bool is_text_field(head_bytes field) {
  const std::string_view text = text_of(field);
  return could_be_name(field) &&
         text.find_first_not_of('\0', std::min(text.find('\0'), text.size())) == std::string_view::npos;
}

// The header of an archive of the seventh edition of Unix, or a volume label or the rest of a file, for which GNU tar
// writes no magic: all fields are valid, there are zeros in the place of the magic, and the checksum matches.
verdict is_tar_without_magic(head_bytes head) {
  constexpr std::size_t type_at = 156;
  constexpr std::size_t link_at = 157;
  constexpr std::string_view types = "01234567DKLMNSV";
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> numbers{
      {{100, 8}, {108, 8}, {116, 8}, {124, 12}, {136, 12}}};
  const head_bytes type = part(head, type_at, 1);
  const bool is_valid =
      !head.empty() && head[0] != std::byte{0} && is_text_field(part(head, 0, name_bytes)) &&
      is_text_field(part(head, link_at, name_bytes)) &&
      std::ranges::all_of(numbers,
                          [&](auto field) { return is_number_field(part(head, field.first, field.second)); }) &&
      (is_zero(type) || types.find(text_of(type)) != std::string_view::npos) && is_zero(part(head, magic_at, 8));
  if (!is_valid) return verdict::no;
  if (head.size() < block_bytes) return verdict::perhaps;
  return has_tar_checksum(text_of(head.first(block_bytes))) ? verdict::yes : verdict::no;
}

verdict is_tar_header(head_bytes head) {
  constexpr std::size_t mode_bytes = 8;
  if (!could_be_name(part(head, 0, name_bytes)) || !could_be_octal(part(head, name_bytes, mode_bytes)) ||
      !could_be_octal(part(head, checksum_at, checksum_bytes))) {
    return verdict::no;
  }
  return std::max(begins_with(part(head, magic_at, 8), "ustar"), is_tar_without_magic(head));
}

// Some devices write a zero block before every member.
verdict is_tar(head_bytes head) {
  const head_bytes second = head.subspan(std::min(head.size(), block_bytes));
  return !head.empty() && is_zero(part(head, 0, block_bytes)) ? is_tar_header(second) : is_tar_header(head);
}

// ---- cpio: its magic numbers of six digits or two bytes also occur in text, so more fields are checked

verdict all_digits(head_bytes head, std::size_t wanted, bool (*is_digit)(unsigned char)) {
  const head_bytes digits = part(head, 0, wanted);
  const bool good = std::ranges::all_of(
      digits, [is_digit](std::byte byte) { return is_digit(std::to_integer<unsigned char>(byte)); });
  if (!good) return verdict::no;
  return digits.size() == wanted ? verdict::yes : verdict::perhaps;
}

bool is_octal(unsigned char c) { return c >= '0' && c <= '7'; }
bool is_hexadecimal(unsigned char c) { return std::isxdigit(c) != 0; }

verdict is_ascii_cpio(head_bytes head, std::string_view magic, std::size_t header_bytes,
                      bool (*is_digit)(unsigned char)) {
  const verdict magic_verdict = begins_with(head, magic);
  return magic_verdict == verdict::no ? magic_verdict
                                      : std::min(magic_verdict, all_digits(head, header_bytes, is_digit));
}

// 16-bit words in either byte order: magic, device, inode, mode (8), ..., length of the name (20), length of the file.
verdict is_binary_cpio(head_bytes head, bool big_endian) {
  constexpr std::size_t header_bytes = 26;
  constexpr unsigned max_name_bytes = 4096;
  const verdict magic_verdict =
      begins_with(head, big_endian ? std::string_view("\x71\xC7") : std::string_view("\xC7\x71"));
  if (magic_verdict == verdict::no || head.size() < header_bytes) return std::min(magic_verdict, verdict::perhaps);
  const auto word = [&](std::size_t at) {
    const auto first = std::to_integer<unsigned>(head[at]);
    const auto second = std::to_integer<unsigned>(head[at + 1]);
    return big_endian ? first << 8U | second : second << 8U | first;
  };
  const unsigned type = word(6) >> 12U;
  const unsigned name = word(20);
  const bool known_type = type == 1 || type == 2 || type == 4 || type == 6 || type == 8 || type == 10 || type == 12;
  if (!known_type || name < 2 || name > max_name_bytes) return verdict::no;
  const std::size_t name_end = header_bytes + name;
  return name_end <= head.size() && head[name_end - 1] != std::byte{0} ? verdict::no : verdict::yes;
}

// ---- ar: text may begin with its magic number, so the end of the first header is checked as well

verdict is_ar(head_bytes head) {
  constexpr std::size_t end_at = 66;
  return std::min(begins_with(head, "!<arch>\n"), begins_with(part(head, end_at, 2), "`\n"));
}

struct archive_row {
  archive_kind kind;
  verdict (*matches)(head_bytes);
};

constexpr std::array archive_rows = {
    archive_row{archive_kind::tar, is_tar},
    archive_row{archive_kind::zip, [](head_bytes head) { return begins_with(head, "PK\x03\x04"); }},
    archive_row{archive_kind::zip, [](head_bytes head) { return begins_with(head, "PK\x05\x06"); }},
    archive_row{archive_kind::zip, [](head_bytes head) { return begins_with(head, "PK\x06\x06"); }},  // without members
    // the markers of an archive that was to be split, and has one part
    archive_row{archive_kind::zip, [](head_bytes head) { return begins_with(head, "PK00PK\x03\x04"); }},
    archive_row{archive_kind::zip, [](head_bytes head) { return begins_with(head, zip_split_magic); }},
    archive_row{archive_kind::seven_zip, [](head_bytes head) { return begins_with(head, "7z\xBC\xAF\x27\x1C"); }},
    archive_row{archive_kind::cpio, [](head_bytes head) { return is_ascii_cpio(head, "070701", 110, is_hexadecimal); }},
    archive_row{archive_kind::cpio, [](head_bytes head) { return is_ascii_cpio(head, "070702", 110, is_hexadecimal); }},
    archive_row{archive_kind::cpio, [](head_bytes head) { return is_ascii_cpio(head, "070707", 76, is_octal); }},
    archive_row{archive_kind::cpio, [](head_bytes head) { return is_binary_cpio(head, false); }},
    archive_row{archive_kind::cpio, [](head_bytes head) { return is_binary_cpio(head, true); }},
    archive_row{archive_kind::ar, is_ar},
    archive_row{archive_kind::rpm, [](head_bytes head) { return begins_with(head, "\xED\xAB\xEE\xDB"); }},
};

// ---- names

bool ends_in(std::string_view name, std::string_view suffix) {
  // a file named ".tar" is a hidden file and promises nothing
  return name.size() > suffix.size() &&
         std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         });
}

constexpr std::array<archive_promise, 18> suffixes{{{.kind = archive_kind::tar, .suffix = ".tar"},
                                                    {.kind = archive_kind::zip, .suffix = ".zip"},
                                                    {.kind = archive_kind::zip, .suffix = ".zipx"},
                                                    {.kind = archive_kind::seven_zip, .suffix = ".7z"},
                                                    {.kind = archive_kind::cpio, .suffix = ".cpio"},
                                                    {.kind = archive_kind::ar, .suffix = ".ar"},
                                                    {.kind = archive_kind::ar, .suffix = ".deb"},
                                                    {.kind = archive_kind::ar, .suffix = ".udeb"},
                                                    {.kind = archive_kind::rpm, .suffix = ".rpm"},
                                                    // tar and its compression in one suffix
                                                    {.kind = archive_kind::tar, .suffix = ".tgz"},
                                                    {.kind = archive_kind::tar, .suffix = ".tzst"},
                                                    {.kind = archive_kind::tar, .suffix = ".tbz2"},
                                                    {.kind = archive_kind::tar, .suffix = ".tbz"},
                                                    {.kind = archive_kind::tar, .suffix = ".tb2"},
                                                    {.kind = archive_kind::tar, .suffix = ".txz"},
                                                    {.kind = archive_kind::tar, .suffix = ".tlz4"},
                                                    {.kind = archive_kind::tar, .suffix = ".tlz"},
                                                    {.kind = archive_kind::tar, .suffix = ".taz"}}};

constexpr std::array<std::string_view, 15> compressions{".sz",   ".snappy", ".zz",  ".zlib", ".zst",
                                                        ".zstd", ".gz",     ".bgz", ".bz2",  ".xz",
                                                        ".lz4",  ".lzma",   ".lz",  ".z",    ".br"};

archive_promise promise_of_last_suffix(std::string_view name) {
  const auto found = std::ranges::find_if(suffixes, [name](const auto& each) { return ends_in(name, each.suffix); });
  return found == suffixes.end() ? archive_promise{} : *found;
}

}  // namespace

std::string_view name_of(archive_kind kind) {
  switch (kind) {
    case archive_kind::tar:
      return "tar";
    case archive_kind::zip:
      return "zip";
    case archive_kind::seven_zip:
      return "7z";
    case archive_kind::cpio:
      return "cpio";
    case archive_kind::ar:
      return "ar";
    case archive_kind::rpm:
      return "rpm";
    case archive_kind::none:
      break;
  }
  return "raw";
}

std::string archive_text(archive_kind kind) {
  const bool has_vowel = kind == archive_kind::ar || kind == archive_kind::rpm;  // as they are spoken
  return (has_vowel ? "an " : "a ") + std::string(name_of(kind)) + " archive";
}

archive_kind detect_archive(std::span<const std::byte> head) {
  head = part(head, 0, archive_head_bytes);
  for (const archive_row& row : archive_rows) {
    if (row.matches(head) == verdict::yes) return row.kind;
  }
  return archive_kind::none;
}

std::size_t bytes_for_archive(std::span<const std::byte> head) {
  const auto may_match = [head](const archive_row& row) { return row.matches(head) == verdict::perhaps; };
  const bool is_undecided = detect_archive(head) == archive_kind::none && std::ranges::any_of(archive_rows, may_match);
  return is_undecided ? archive_head_bytes : 0;
}

archive_promise promised_archive(std::string_view name) {
  const std::string_view file = name.substr(name.find_last_of('/') + 1);  // npos + 1 is 0
  for (const std::string_view suffix : compressions) {
    if (ends_in(file, suffix)) return promise_of_last_suffix(file.substr(0, file.size() - suffix.size()));
  }
  return promise_of_last_suffix(file);
}

settled_archive settle_archive(std::string_view name, std::span<const std::byte> head, const content_rules& rules) {
  const archive_kind found = detect_archive(head);
  const archive_promise promised = promised_archive(name);
  if (promised.kind == archive_kind::none || promised.kind == found) return {.kind = found};
  if (promised.kind == archive_kind::tar && found == archive_kind::none && head.size() >= block_bytes &&
      (has_tar_checksum(text_of(head.first(block_bytes))) || is_zero(part(head, 0, block_bytes)))) {
    return {.kind = archive_kind::tar};
  }
  const std::string named = "is named " + std::string(promised.suffix) + " but ";
  if (head.empty()) throw input_error(named + "is empty", 0, failure_kind::damaged);
  const auto note = [&](const std::string& content, const std::string& consequence) {
    return settled_archive{
        .kind = found, .notice = noted(notice_kind::name_differs, {named + content, consequence, "rename it"}, rules)};
  };
  if (found != archive_kind::none) {
    return note("holds " + archive_text(found), "it is read as one");
  }
  // a name, with which a tar archive begins, is no magic number
  const bool is_cut =
      promised.kind != archive_kind::tar && std::ranges::any_of(archive_rows, [&](const archive_row& row) {
        return row.kind == promised.kind && row.matches(head) == verdict::perhaps;
      });
  if (may_be_text(head) && !is_cut) return note("holds text", "it is counted as text");
  throw input_error(named + "does not hold " + archive_text(promised.kind) +
                        "; if it is something else, rename it or give --input-format",
                    0, failure_kind::damaged);
}

}  // namespace gpuhist::io
