// Detection of formats by content and name: the rows of the table, compared with bytes written by the tools themselves.
#include "io/format.hpp"

#include "io/failure.hpp"
#include "tests/io/tar_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace gpuhist::io;
using namespace std::string_view_literals;
namespace test = gpuhist::test;
using gpuhist::test::bytes_of;

namespace {

/// The first bytes of files written by zstd, gzip, bzip2, xz, lz4, lzip, lzma and lzop.
constexpr std::string_view zstd_head("\x28\xB5\x2F\xFD\x04\x58\x29\x00", 8);
constexpr std::string_view skippable_head("\x5A\x2A\x4D\x18\x00\x00\x00\x00", 8);
constexpr std::string_view gzip_head("\x1F\x8B\x08\x00\x00\x00\x00\x00", 8);
constexpr std::string_view bzip2_head("BZh91AY&", 8);
constexpr std::string_view empty_bzip2_head("BZh9\x17\x72\x45\x38", 8);
constexpr std::string_view xz_head("\xFD\x37zXZ\x00\x00\x04", 8);
constexpr std::string_view lz4_head("\x04\x22\x4D\x18\x64\x40\xA7\x6F", 8);
constexpr std::string_view legacy_lz4_head("\x02\x21\x4C\x18\x07\x00\x00\x00", 8);
constexpr std::string_view lzip_head("LZIP\x01\x0C\x00\x30", 8);
constexpr std::string_view lzma_head("\x5D\x00\x00\x80\x00\xFF\xFF\xFF", 8);
constexpr std::string_view lzop_head("\x89LZO\x00\x0D\x0A\x1A", 8);

std::string refusal(std::string_view name, std::string_view head, const format* forced = nullptr) {
  try {
    (void)identify(name, bytes_of(head), forced);
  } catch (const input_error& error) {
    CHECK(error.offset() == 0);
    return error.what();
  }
  return {};
}

/// "PROMISED/FOUND: NOTICE", for a name that promises a format.
std::string remark(std::string_view name, std::string_view head) {
  const identity as = identify(name, bytes_of(head), nullptr);
  REQUIRE(as.notice);
  CHECK(as.notice->kind == notice_kind::name_differs);
  return std::string(promised_by(name)->name) + "/" + std::string(as.format.name) + ": " + as.notice->text;
}

}  // namespace

TEST_CASE("formats are found by content") {
  CHECK(detect(bytes_of(zstd_head)).name == "zstd");
  CHECK(detect(bytes_of(skippable_head)).name == "zstd");
  CHECK(detect(bytes_of(gzip_head)).name == "gzip");
  CHECK(detect(bytes_of(bzip2_head)).name == "bzip2");
  CHECK(detect(bytes_of(empty_bzip2_head)).name == "bzip2");
  CHECK(detect(bytes_of(xz_head)).name == "xz");
  CHECK(detect(bytes_of(lz4_head)).name == "lz4");
  CHECK(detect(bytes_of(legacy_lz4_head)).name == "lz4");
  CHECK(detect(bytes_of(lzip_head)).name == "lzip");
  CHECK(detect(bytes_of(lzop_head)).name == "lzop data");
  CHECK(detect(bytes_of("\x1F\x9D\x90it")).name == "compress");
}

TEST_CASE("content without a complete magic number is raw, even if it begins like one") {
  for (const std::string_view text :
       {"", "a", "BZh", "BZh9 is ", "BZh91AX&", "BZh9\n\033[0m is text", "\x28\xB5\x2F", "\x60\x2A\x4D\x18", "xz",
        "7zXZ", "LZIP", "LZIP is", "LZIP\n", "LZIP f\xFCr Text", "\x89LZO"}) {
    CHECK_MESSAGE(detect(bytes_of(text)).name == "raw", text);
  }
}

TEST_CASE(
    "whatever byte of their head is damaged or missing, bzip2 and lzip are recognised by the letters they begin with") {
  // as bzip2 -9, bzip2 < /dev/null and lzip write them
  constexpr std::string_view bzip2_stream("BZh91AY&SY\x94\xC5\x9A\x33\x00\x00", 16);
  constexpr std::string_view empty_bzip2_stream("BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00", 14);
  constexpr std::string_view lzip_member("LZIP\x01\x0C\x00\x30\xC8\x41\x20\x6F\x6E\x65\x20\x74", 16);
  for (const std::string_view whole : {bzip2_stream, empty_bzip2_stream, lzip_member}) {
    const std::string_view name = detect(bytes_of(whole)).name;
    CHECK(name == (whole.starts_with("BZh") ? "bzip2" : "lzip"));
    for (std::size_t at = 4; at < whole.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        std::string damaged(whole);
        damaged[at] = static_cast<char>(value);
        CHECK_MESSAGE(detect(bytes_of(damaged)).name == name, "byte ", at, " is ", value);
      }
      if (at > 4) CHECK_MESSAGE(detect(bytes_of(whole.substr(0, at))).name == name, at, " bytes");
    }
  }
}

TEST_CASE("a magic number that is a word needs a control character after it, and more text leaves it undecided") {
  for (const std::string_view word : {"ORC", "PAR1", "LRZI", "ARROW1", "FEA1", "LPKSHHRH"}) {
    const std::string text = std::string(word) + " is a word of this log\n";
    CHECK(detect(bytes_of(text + std::string(100, '\0'))).name == "raw");
    for (std::size_t size = 1; size < text.size(); ++size) {
      CHECK((bytes_for_format(bytes_of(std::string_view(text).substr(0, size))) > 0) == (size < 16));
    }
    CHECK_FALSE(detect(bytes_of(std::string(word) + std::string("\0\0", 2))).readable);
    CHECK_FALSE(detect(bytes_of(std::string(word) + "text\x15")).readable);
  }
}

TEST_CASE("a suffix of zlib is kept only by a valid header and data that decodes") {
  for (const char* stream :
       {"x\x9C\x4B\4\0", "\x08\x1D\x4B\4\0", "x\xBB\1\2\3\4"}) {  // windows of 32 KiB and 256 bytes; a dictionary
    CHECK(identify("a.zz", bytes_of(stream), nullptr).format.name == "zlib");
  }
  for (const std::string_view other : {"\x01\x02\x9F\xE1"sv, "x\x9D\x01\x02"sv, "x\x9C\xFF\xFF\x01"sv}) {
    CHECK(refusal("a.zz", other).starts_with("is named .zz but does not hold zlib data"));
  }
}

TEST_CASE("content within a compression that is of a format of the table is refused, and text is not") {
  const auto text_of = [](std::string_view outer, std::string_view name, std::string_view head) {
    try {
      const settled_archive found = identify_text(name, bytes_of(head), format_named(outer), {});
      CHECK(found.kind == archive_kind::none);
      CHECK_FALSE(found.notice);
    } catch (const input_error& error) {
      CHECK(error.kind() == failure_kind::refused);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(text_of("gzip", "d", gzip_head) ==
        "holds gzip data within gzip data, of which gpuhist decodes one layer; to count its text, decompress it once "
        "and give gpuhist the result (to count its bytes as they are: --input-format gzip)");
  CHECK(text_of("gzip", "x.br.gz", "\1\2\3").starts_with("holds brotli data within gzip data"));
  CHECK(text_of("zstd", "x.rar.zst", "Rar!\x1A\x07\1").starts_with("holds a rar archive within zstd"));
  CHECK(text_of("gzip", "x.log.gz", "text") == "");
  CHECK(text_of("gzip", "x.gz", "\1\2\3") == "");
  CHECK_FALSE(identify_text("d", bytes_of(gzip_head), nullptr, {}).notice);  // not within a compression
  const settled_archive member = identify_text("d", bytes_of(test::tar_header("a", 1)), format_named("gzip"), {});
  CHECK(member.kind == archive_kind::tar);
  CHECK_FALSE(member.notice);
}

TEST_CASE("a suffix promises a format in upper and lower case, but not as the whole name of a hidden file") {
  for (const char* name : {"a.zst", "a.ZST", "dir.gz/a.tar.zstd", "x.tzst"}) CHECK(promised_by(name)->name == "zstd");
  for (const char* name : {"a.gz", "a.tgz", "reads.fq.BGZ"}) CHECK(promised_by(name)->name == "gzip");
  for (const char* name : {"a.bz2", "a.tbz2", "a.tbz", "a.tb2"}) CHECK(promised_by(name)->name == "bzip2");
  for (const char* name : {"a.xz", "a.TXZ"}) CHECK(promised_by(name)->name == "xz");
  for (const char* name : {"a.lz4", "a.tlz4"}) CHECK(promised_by(name)->name == "lz4");
  for (const char* name : {"a.lzma", "a.tlz"}) CHECK(promised_by(name)->name == "lzma");
  CHECK(promised_by("a.lz")->name == "lzip");
  CHECK(promised_by("a.lzo")->name == "lzop data");
  for (const char* name : {"-", "", "a", "a.txt", "azst", ".zst", "dir/.gz", "dir.zst/a", "a.zst.txt"}) {
    CHECK_MESSAGE(promised_by(name) == nullptr, name);
  }
}

TEST_CASE("content decides if the name promises nothing") {
  CHECK(identify("data", bytes_of(zstd_head), nullptr).format.name == "zstd");
  CHECK(identify("-", bytes_of(zstd_head), nullptr).format.name == "zstd");
  CHECK(identify("-", bytes_of(gzip_head), nullptr).format.name == "gzip");
  CHECK(identify("-", bytes_of(lzip_head), nullptr).format.name == "lzip");
  CHECK(identify("data", bytes_of("text"), nullptr).format.name == "raw");
  CHECK(identify("-", {}, nullptr).format.name == "raw");
  CHECK(identify("a.zst", bytes_of(zstd_head), nullptr).format.name == "zstd");
}

TEST_CASE("if a name contradicts the content, the content decides, and a notice names both") {
  CHECK(remark("a.zst", "text") == "zstd/raw: is named .zst but holds text; it is counted as text");
  CHECK(remark("a.gz", "\xFF\xFEt\0e\0x\0t\0"sv) == "gzip/raw: is named .gz but holds text; it is counted as text");
  CHECK(identify("a.gz", bytes_of("\xFF\xFEt\0"sv), nullptr, {.encoding = text_encoding::by_mark}).notice->text ==
        "is named .gz but holds UTF-16 text; it is read as utf-16le");
  CHECK(remark("a.gz", zstd_head) == "gzip/zstd: is named .gz but holds zstd data; it is read as zstd");
  CHECK(remark("a.zst", gzip_head) == "zstd/gzip: is named .zst but holds gzip data; it is read as gzip");
  CHECK(remark("a.lz", xz_head) == "lzip/xz: is named .lz but holds xz data; it is read as xz");
  CHECK(remark("a.lzma", xz_head) == "lzma/xz: is named .lzma but holds xz data; it is read as xz");
  CHECK(remark("a.lzma", "text\n") == "lzma/raw: is named .lzma but holds text; it is counted as text");
  CHECK(remark("a.zlib", "text\n") == "zlib/raw: is named .zlib but holds text; it is counted as text");
  CHECK(remark("a.tgz", test::tar_header("a", 1)) ==
        "gzip/raw: is named .tgz but holds a tar archive; it is read as one");
}

TEST_CASE("if a name promises a format, content of no known format is damaged, and so is no content") {
  CHECK(refusal("a.zst", "te\1xt"sv) ==
        "is named .zst but does not hold zstd data; to count its bytes as they are, rename it or give --input-format "
        "raw");
  CHECK(refusal("a.zst", "") == "is named .zst but is empty");
  CHECK(refusal("a.tgz", "") == "is named .tgz but is empty");
  CHECK(refusal("a.lzma", "") == "is named .lzma but is empty");
  CHECK(identify("a.gz", bytes_of("te\1xt"), nullptr, {.skip_damage = true}).format.name == "gzip");
}

TEST_CASE("with strict names, content that the name does not promise is refused") {
  const std::string archive = test::tar_header("a", 1);
  for (const std::string_view head : {"text"sv, gzip_head, std::string_view(archive)}) {
    try {
      (void)identify("a.zst", bytes_of(head), nullptr, {.strict_names = true});
      FAIL("it is accepted");
    } catch (const input_error& error) {
      CHECK(error.kind() == failure_kind::refused);
      CHECK(std::string(error.what()).ends_with(", which --strict-names refuses; rename it"));
    }
  }
  CHECK_FALSE(identify("a.gz", bytes_of(gzip_head), nullptr, {.strict_names = true}).notice);
}

TEST_CASE("a format without a magic number is found by its name, if the content has no other format") {
  CHECK(identify("-", bytes_of(lzma_head), nullptr).format.name == "raw");
  CHECK(identify("a.lzma", bytes_of(lzma_head), nullptr).format.name == "lzma");
  CHECK(identify("a.tlz", bytes_of(lzma_head), nullptr).format.name == "lzma");
}

TEST_CASE("a short stream of brotli that may be text is brotli if it decodes to its end, and it is named so") {
  CHECK(identify("a.br", bytes_of(";"), nullptr).format.name == "brotli");  // as brotli -q 0 packs nothing
  CHECK(identify("a", bytes_of(";"), nullptr).format.name == "raw");
  for (const char* text : {"a", "text", ";more", "a text that is longer than this\n"}) {
    CHECK(identify("a.br", bytes_of(text), nullptr).format.name == "raw");
  }
  CHECK(identify("a.br", bytes_of(std::string(2000, 'x') + "\n"), nullptr).format.name == "raw");
}

TEST_CASE("content of either format matches a suffix of two formats") {
  CHECK(identify("a.tlz", bytes_of(lzip_head), nullptr).format.name == "lzip");
  CHECK(identify("a.lz4", bytes_of(skippable_head), nullptr).format.name == "lz4");
  CHECK(identify("a.zst", bytes_of(skippable_head), nullptr).format.name == "zstd");
}

TEST_CASE("a recognised but unreadable format is refused with a hint, even on standard input") {
  for (const char* name : {"a.lzo", "-", "data", "a.zst"}) {
    const std::string error = refusal(name, lzop_head);
    CHECK_MESSAGE(error.find("lzop -dc FILE | gpuhist") != std::string::npos, error);
  }
}

TEST_CASE("a forced format is used without a check") {
  CHECK(identify("a.zst", bytes_of(gzip_head), format_named("raw")).format.name == "raw");
  CHECK(identify("a.txt", bytes_of("text"), format_named("zstd")).format.name == "zstd");
  CHECK(identify("a.txt", bytes_of("text"), format_named("zstd")).archive == archive_kind::none);
}

TEST_CASE("within a forced archive format, the content decides the compression") {
  const identity as = identify("a.zst", bytes_of(gzip_head), format_named("tar"), {.strict_names = true});
  CHECK(as.format.name == "gzip");
  CHECK(as.archive == archive_kind::tar);
  CHECK_FALSE(identify("a.tar", bytes_of(gzip_head), nullptr).archive);
}

TEST_CASE("content of a format that is not read is refused, whatever the name or a forced archive format promises") {
  constexpr std::string_view rar("Rar!\x1A\x07\1", 7);
  for (const format* const forced : {static_cast<const format*>(nullptr), format_named("tar")}) {
    CHECK(refusal("a.tar", rar, forced) ==
          "holds a rar archive, which gpuhist does not read; to count its text: unrar p -inul FILE | gpuhist (to count "
          "its bytes as they are: --input-format raw)");
  }
  CHECK_FALSE(identify("a.tar", bytes_of(rar), format_named("raw")).notice);
}

TEST_CASE("random bytes look compressed, from 4 KiB on, unless they are named as an archive, forced, or text") {
  std::mt19937 random(1);
  std::string noise(std::size_t{1} << 16U, '\0');
  for (char& each : noise) each = static_cast<char>(random());
  const auto has_notice = [](std::string_view name, std::string_view head) {
    const identity as = identify(name, bytes_of(head), nullptr);
    CHECK(as.format.is_plain);
    if (as.notice) CHECK(as.notice->kind == notice_kind::unknown_compression);
    return as.notice.has_value();
  };
  for (const std::size_t size : {4096U, 10'000U, 65'536U})
    CHECK(has_notice("data", std::string_view(noise).substr(0, size)));
  CHECK_FALSE(has_notice("data", std::string_view(noise).substr(0, 4095)));
  CHECK_FALSE(has_notice("a.tar", noise));  // the archive reports what is wrong
  CHECK_FALSE(has_notice("data", "\xFF\xFE" + noise));
  CHECK_FALSE(identify("a", bytes_of(noise), format_named("raw")).notice);
  CHECK_FALSE(identify("a", bytes_of(noise), format_named("tar")).notice);
  CHECK_THROWS_AS((void)identify("a", bytes_of(noise), nullptr, {.fail_on_unknown = true}), input_error);
  std::string half = noise;  // of which every second byte is below 128
  for (std::size_t i = 0; i < half.size(); i += 2) half[i] = static_cast<char>(half[i] & 0x7F);
  CHECK_FALSE(has_notice("data", half));
  CHECK(bytes_for_format(bytes_of(noise).first(100)) == archive_head_bytes);
  CHECK(bytes_for_format(bytes_of(noise).first(archive_head_bytes)) == 16'384);
  CHECK(bytes_for_format(bytes_of(noise).first(16'384)) == 0);
}

TEST_CASE("text is in UTF-16 by its mark, or as it is stated; what is compressed or binary is not") {
  const auto format_of = [](std::string_view head, text_encoding wanted, const format* forced = nullptr) {
    return std::string(identify("data", bytes_of(head), forced, {.encoding = wanted}).format.name);
  };
  using enum text_encoding;
  for (const auto wanted : {by_mark, utf16}) {
    CHECK(format_of("\xFF\xFEt\0"sv, wanted) == "utf-16le");
    CHECK(format_of("\xFE\xFF\0t"sv, wanted) == "utf-16be");
    CHECK(format_of(zstd_head, wanted) == "zstd");
    CHECK(format_of("", wanted) == "raw");
  }
  CHECK(format_of("\xFF\xFEt\0"sv, utf8) == "raw");
  CHECK(format_of("\xFF\xFE\0\0t\0\0\0"sv, by_mark) == "raw");  // UTF-32
  CHECK(format_of("t\0"sv, by_mark) == "raw");
  CHECK(format_of("t\0"sv, utf16) == "utf-16le");
  CHECK(format_of("\xFF\xFEt\0"sv, utf16be) == "utf-16be");
  CHECK(format_of("\xFF\xFEt\0"sv, by_mark, format_named("raw")) == "raw");
  CHECK(format_of("t\0"sv, utf16le, format_named("raw")) == "utf-16le");
  CHECK(format_of(test::tar_header("a", 1), utf16) == "raw");
  for (const char first : {'\xFF', '\xFE'}) CHECK(bytes_for_format(bytes_of(std::string(1, first))) > 1);
  const auto within = [](std::string_view text, text_encoding wanted) {
    return identify_text("x.gz", bytes_of(text), format_named("gzip"), {.encoding = wanted}).encoding;
  };
  CHECK(within("\xFF\xFEt\0"sv, by_mark) == utf16le);
  CHECK(within("text", by_mark) == utf8);
  CHECK(within("t\0"sv, utf16be) == utf16be);
  CHECK(within(test::tar_header("a", 1), utf16be) == utf8);
  CHECK(encoded_format(utf16be, format_named("gzip")).name == "utf-16be.gzip");
}

TEST_CASE("only readable formats can be forced") {
  CHECK(input_format_names() ==
        std::vector<std::string_view>{"auto",       "raw",    "zstd", "gzip",     "xz",     "lzma",
                                      "lzip",       "bzip2",  "lz4",  "compress", "snappy", "hadoop-snappy",
                                      "hadoop-lz4", "brotli", "zlib", "deflate",  "tar",    "zip",
                                      "7z",         "cpio",   "ar",   "rpm"});
  for (const std::string_view name : {"lzop data", "auto", "", "ZSTD"}) CHECK(format_named(name) == nullptr);
}

TEST_CASE("more bytes do not change a decision, and only a partial magic number is undecided") {
  for (const std::string_view full :
       {zstd_head, skippable_head, gzip_head, bzip2_head, xz_head, lz4_head, legacy_lz4_head, lzip_head, lzop_head,
        std::string_view("BZh9 is text"), std::string_view("LZIP is text"),
        std::string_view("LZIP is text of more bytes"), std::string_view("BZh9 has a late control character \1"),
        std::string_view("BZh9 has one: \1"), std::string_view("BZh91AY is a number")}) {
    for (std::size_t length = 0; length <= full.size(); ++length) {
      const auto head = bytes_of(full.substr(0, length));
      if (bytes_for_format(head) == 0) CHECK(&detect(head) == &detect(bytes_of(full)));
    }
    CHECK(bytes_for_format(bytes_of(full.substr(0, 1))) > 1);
  }
  CHECK(bytes_for_format({}) > 0);
  CHECK(bytes_for_format(bytes_of("a")) == 0);
  CHECK(bytes_for_format(bytes_of("\n")) == 0);
}

TEST_CASE(
    "after skippable frames, the next frame decides, and its magic number is wanted as far as their sizes are known") {
  std::string whole;
  for (const std::size_t size : {700U, 3000U}) {
    whole += std::string("\x50\x2A\x4D\x18", 4);
    for (unsigned i = 0; i < 4; ++i) whole += static_cast<char>(size >> (8 * i));
    whole += std::string(size, 'x');
  }
  const std::size_t skipped = whole.size();
  whole += lz4_head;
  for (std::size_t size = 4; size < skipped + 4; ++size) {
    const std::size_t wanted = bytes_for_format(bytes_of(whole).first(size));
    CAPTURE(size);
    CHECK(wanted > size);
    CHECK(wanted <= skipped + 4);
  }
  CHECK(bytes_for_format(bytes_of(whole).first(8)) == 8 + 700 + 4);
  CHECK(bytes_for_format(bytes_of(whole).first(skipped + 4)) == 0);
  CHECK(detect(bytes_of(whole).first(skipped + 4)).name == "lz4");
  const std::string_view too_long("\x50\x2A\x4D\x18\0\0\0\x7F", 8);
  CHECK(bytes_for_format(bytes_of(too_long)) == 0);
}
