// The table of formats: magic numbers, suffixes and what to do with what cannot be read.
#include "io/format.hpp"

#include "io/gzip_decoder.hpp"
#include "io/gzip_splitter.hpp"
#include "io/input_error.hpp"
#include "io/zstd_decoder.hpp"
#include "io/zstd_splitter.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace gpuhist::io {
namespace {

/// The first bytes of a format. A byte of the input matches where it agrees with `bytes` in the bits of `mask`.
struct magic_number {
  std::array<std::uint8_t, detection_bytes> bytes{};
  std::array<std::uint8_t, detection_bytes> mask{};
  std::size_t length = 0;
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

/// zstd's 0x184D2A50 to 0x184D2A5F, little endian.
constexpr magic_number skippable_magic() {
  magic_number result = exactly({0x50, 0x2A, 0x4D, 0x18});
  result.mask[0] = 0xF0;
  return result;
}

/// "BZh", a digit (the mask lets six characters after '9' in as well) and the front of a block's magic number, because
/// text may well begin with "BZh9".
constexpr magic_number bzip2_magic(std::initializer_list<std::uint8_t> block) {
  magic_number result = exactly({'B', 'Z', 'h', '0'});
  result.mask[3] = 0xF0;
  for (const std::uint8_t byte : block) {
    result.bytes[result.length] = byte;
    result.mask[result.length++] = 0xFF;
  }
  return result;
}

/// Two bytes, and a third whose bits 5 and 6 are not in use.
constexpr magic_number compress_magic() {
  magic_number result = exactly({0x1F, 0x9D, 0x00});
  result.mask[2] = 0x60;
  return result;
}

const std::array<format_row, 11>& table() {
  static const std::array<format_row, 11> rows{{
      {{.name = "raw", .readable = true, .hint = ""}, {}, {}},
      {{.name = "zstd",
        .readable = true,
        .hint = "",
        .make_decoder = make_zstd_decoder,
        .make_splitter = make_zstd_splitter,
        .frame_magic = "\x28\xB5\x2F\xFD"},
       {exactly({0x28, 0xB5, 0x2F, 0xFD}), skippable_magic()},
       {".zst", ".zstd", ".tzst"}},
      {{.name = "gzip",
        .readable = true,
        .hint = "",
        .make_decoder = make_gzip_decoder,
        .make_splitter = make_gzip_splitter,
        .frame_magic = "\x1F\x8B\x08"},
       {exactly({0x1F, 0x8B})},
       {".gz", ".tgz", ".bgz"}},
      {{.name = "bzip2", .readable = false, .hint = "decompress it first: bzip2 -dc FILE | gpuhist"},
       {bzip2_magic({0x31, 0x41, 0x59, 0x26}), bzip2_magic({0x17, 0x72, 0x45, 0x38})},
       {".bz2", ".tbz2", ".tbz"}},
      {{.name = "xz", .readable = false, .hint = "decompress it first: xz -dc FILE | gpuhist"},
       {exactly({0xFD, '7', 'z', 'X', 'Z', 0x00})},
       {".xz", ".txz"}},
      {{.name = "lz4", .readable = false, .hint = "decompress it first: lz4 -dc FILE | gpuhist"},
       {exactly({0x04, 0x22, 0x4D, 0x18}), exactly({0x02, 0x21, 0x4C, 0x18})},
       {".lz4"}},
      {{.name = "compress", .readable = false, .hint = "decompress it first: uncompress -c FILE | gpuhist"},
       {compress_magic()},
       {}},
      {{.name = "tar", .readable = true, .hint = "", .archive = archive_kind::tar}, {}, {}},
      {{.name = "zip", .readable = true, .hint = "", .archive = archive_kind::zip}, {}, {}},
      {{.name = "7z", .readable = true, .hint = "", .archive = archive_kind::seven_zip}, {}, {}},
      {{.name = "cpio", .readable = true, .hint = "", .archive = archive_kind::cpio}, {}, {}},
  }};
  return rows;
}

// As far as both go.
bool agrees_with(std::span<const std::byte> head, const magic_number& magic) {
  for (std::size_t i = 0; i < std::min(head.size(), magic.length); ++i) {
    const auto byte = std::to_integer<unsigned>(head[i]);
    if (((byte ^ magic.bytes[i]) & magic.mask[i]) != 0) return false;
  }
  return true;
}

bool begins_with(std::span<const std::byte> head, const magic_number& magic) {
  return head.size() >= magic.length && agrees_with(head, magic);
}

bool same_letters(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  });
}

struct promise {
  const format* what = nullptr;
  std::string_view suffix;
};

promise promise_of(std::string_view name) {
  const std::string_view file = name.substr(name.find_last_of('/') + 1);  // npos + 1 is 0
  for (const format_row& row : table()) {
    for (const std::string_view suffix : row.suffixes) {
      // a file that is called ".gz" is a hidden file, not a promise
      if (file.size() > suffix.size() && same_letters(file.substr(file.size() - suffix.size()), suffix)) {
        return {.what = &row.shown, .suffix = suffix};
      }
    }
  }
  return {};
}

[[noreturn]] void refuse_broken(const promise& promised, const format& found, bool empty) {
  std::string message = "is named " + std::string(promised.suffix) + " but ";
  if (empty) {
    message += "is empty";
  } else if (found.name == "raw") {
    message += "does not hold " + std::string(promised.what->name) +
               " data; if it is text, rename it or give --input-format raw";
  } else {
    message += "holds " + std::string(found.name) + " data; ";
    message += found.readable ? "rename it or give --input-format " + std::string(found.name)
                              : "rename it and " + std::string(found.hint);
  }
  throw input_error(message, 0);
}

}  // namespace

const format& detect(std::span<const std::byte> head) {
  for (const format_row& row : table()) {
    for (const magic_number& magic : row.magics) {
      if (begins_with(head, magic)) return row.shown;
    }
  }
  return table().front().shown;
}

bool is_undecided(std::span<const std::byte> head) {
  return std::ranges::any_of(table(), [head](const format_row& row) {
    return std::ranges::any_of(row.magics, [head](const magic_number& magic) {
      return head.size() < magic.length && agrees_with(head, magic);
    });
  });
}

const format* promised_by(std::string_view name) { return promise_of(name).what; }

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

const format& settle_format(std::string_view name, std::span<const std::byte> head, const format* forced) {
  if (forced != nullptr) return *forced;  // what is forced and wrong, its decoder reports
  const format& found = detect(head);
  const promise promised = promise_of(name);
  if (promised.what != nullptr && promised.what != &found) refuse_broken(promised, found, head.empty());
  if (!found.readable) {
    throw input_error("holds " + std::string(found.name) + " data, which gpuhist cannot read yet; " +
                          std::string(found.hint) + " (to count its bytes as they are: --input-format raw)",
                      0);
  }
  return found;
}

}  // namespace gpuhist::io
