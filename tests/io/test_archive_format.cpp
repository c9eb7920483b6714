// Detection of archives by content and name; typed text is decided without a wait.
#include "io/archive/archive_format.hpp"

#include "io/archive/volume_name.hpp"
#include "io/failure.hpp"
#include "tests/io/tar_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>

using namespace gpuhist::io;
using namespace gpuhist::test;

namespace {

archive_kind kind_of(std::string_view head) { return detect_archive(bytes_of(head)); }

std::string refusal(std::string_view name, std::string_view head) {
  try {
    (void)settle_archive(name, bytes_of(head));
  } catch (const input_error& error) {
    return error.what();
  }
  return {};
}

const std::string newc_header = "070701" + std::string(104, '0');

// As GNU tar writes them: no magic, and fields of zeros where a label or the rest of a file has no value.
std::string volume_label() {
  return with_checksum(std::string("nightly").append(149, '\0') + "V" + std::string(355, '\0'));
}

std::string rest_of_file() {
  std::string block = volume_label();
  block.replace(124, 11, "00000001274");  // bytes of this volume
  block[156] = 'M';
  block.replace(369, 11, "00000024000");  // bytes of the volumes before
  return with_checksum(block);
}

std::string old_header() { return tar_header("logs/a.log", 700, '\0', false); }

}  // namespace

TEST_CASE("archives are found by content") {
  CHECK(kind_of(tar_header("a", 1)) == archive_kind::tar);
  CHECK(kind_of(std::string("PK\3\4\x14", 5)) == archive_kind::zip);
  CHECK(kind_of("PK\5\6") == archive_kind::zip);
  for (const char* marker : {"PK00", "PK\7\b"}) CHECK(kind_of(marker + std::string("PK\3\4")) == archive_kind::zip);
  CHECK(kind_of("7z\xBC\xAF\x27\x1C") == archive_kind::seven_zip);
  CHECK(kind_of(newc_header) == archive_kind::cpio);
  CHECK(kind_of("070702" + newc_header.substr(6)) == archive_kind::cpio);
  CHECK(kind_of("070707" + std::string(70, '0')) == archive_kind::cpio);
  std::string binary("\xC7\x71", 2);
  binary +=
      std::string(4, '\0') + std::string("\xA4\x81", 2) + std::string(12, '\0') + std::string("\2\0\0\0\0\0a\0", 8);
  CHECK(kind_of(binary) == archive_kind::cpio);
}

TEST_CASE("a tar header without magic is found by its checksum") {
  CHECK(kind_of(old_header()) == archive_kind::tar);
  CHECK(kind_of(tar_header("link", 0, '2', false)) == archive_kind::tar);
  CHECK(kind_of(volume_label()) == archive_kind::tar);
  CHECK(kind_of(rest_of_file()) == archive_kind::tar);
  std::string spaced = old_header();  // as some old programs write numbers
  spaced.replace(100, 8, std::string("   644 \0", 8));
  spaced.replace(124, 12, "       1274 ");
  CHECK(kind_of(with_checksum(spaced)) == archive_kind::tar);
  CHECK(kind_of(with_checksum(std::string(100, 'n') + old_header().substr(100))) == archive_kind::tar);
}

TEST_CASE("one zero block may precede the first header of a tar archive") {
  const std::string zero_block(512, '\0');
  for (const std::string& header : {tar_header("a", 1), old_header(), volume_label()}) {
    CHECK(kind_of(zero_block + header) == archive_kind::tar);
    CHECK(kind_of(zero_block + zero_block + header) == archive_kind::none);
    CHECK(kind_of(zero_block.substr(1) + header) == archive_kind::none);
  }
  CHECK(kind_of(zero_block + std::string(512, 'x')) == archive_kind::none);
}

TEST_CASE("a header without magic in which any byte differs is not tar") {
  for (const std::string& header : {old_header(), volume_label(), rest_of_file()}) {
    for (std::size_t at = 0; at < header.size(); ++at) {
      if (at >= 148 && at < 156) continue;  // the checksum has several forms
      for (const int change : {1, 0x10, 0x20, 0x80, 0xFF}) {
        std::string other = header;
        other[at] = static_cast<char>(other[at] ^ change);
        CHECK_MESSAGE(kind_of(other) == archive_kind::none, at, ' ', change);
      }
    }
  }
}

TEST_CASE("a valid checksum does not make tar of text, numbers, or records of a fixed size") {
  std::mt19937 random(44);
  for (const std::string_view letters :
       {std::string_view("01234567"), std::string_view("01234567 "), std::string_view("01234567 \0", 10),
        std::string_view("abc \n"), std::string_view("\0\1", 2), std::string_view("0\0", 2)}) {
    for (int i = 0; i < 2000; ++i) {
      std::string block(512, ' ');
      for (char& each : block) each = letters[random() % letters.size()];
      CHECK_MESSAGE(kind_of(with_checksum(block)) == archive_kind::none, letters);
    }
  }
  for (std::size_t record = 1; record <= 128; ++record) {  // zeros between fields, as in a core file or a database
    std::string block(512, '\0');
    for (std::size_t at = 0; at < block.size(); at += record) block[at] = static_cast<char>('0' + at % 8);
    CHECK_MESSAGE(kind_of(with_checksum(block)) == archive_kind::none, record);
  }
}

TEST_CASE("text is never an archive") {
  for (const char* text : {"", "a", "PK", "PK\3", "7z", "070701", "0707011234 is a number", "070707", "\xC7q", "q\xC7",
                           "ustar", "hello\n"}) {
    CHECK_MESSAGE(kind_of(text) == archive_kind::none, text);
  }
  std::string with_magic(512, 'x');
  with_magic.replace(257, 5, "ustar");
  CHECK(kind_of(with_magic) == archive_kind::none);
  std::string with_line = tar_header("a\nb", 1);
  CHECK(kind_of(with_line) == archive_kind::none);
}

TEST_CASE("one line of text decides, and more bytes do not change a decision") {
  CHECK_FALSE(is_undecided_archive(bytes_of("hello\n")));
  CHECK_FALSE(is_undecided_archive(bytes_of("\n")));
  CHECK_FALSE(is_undecided_archive(bytes_of(std::string(108, 'x'))));
  for (const std::string& whole :
       {tar_header("a", 1), old_header(), volume_label(), rest_of_file(), newc_header, std::string("PK\3\4"),
        std::string(600, '\0'), std::string(512, '\0') + old_header(), std::string("PK\7\bPK\3\4"),
        std::string("PK then text that goes on and on\n"), std::string(512, '0')}) {
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const auto head = bytes_of(whole).first(size);
      if (!is_undecided_archive(head)) CHECK(detect_archive(head) == kind_of(whole));
    }
    CHECK(is_undecided_archive({}));
  }
}

TEST_CASE("a suffix promises an archive, with or without compression") {
  for (const char* name :
       {"a.tar", "a.TAR", "a.tar.gz", "a.tar.zst", "a.tgz", "dir.zip/a.tzst", "a.txz", "a.tb2", "a.tar.Z"}) {
    CHECK_MESSAGE(promised_archive(name).kind == archive_kind::tar, name);
  }
  CHECK(promised_archive("a.zip").kind == archive_kind::zip);
  CHECK(promised_archive("a.7z").kind == archive_kind::seven_zip);
  CHECK(promised_archive("a.cpio.gz").kind == archive_kind::cpio);
  for (const char* name : {"", "-", "a", "a.gz", "tar", ".tar", "dir/.zip", "a.tar/b", "a.tar.txt", ".tar.gz"}) {
    CHECK_MESSAGE(promised_archive(name).kind == archive_kind::none, name);
  }
}

TEST_CASE("a name admits content that is not certain by itself; other content is damaged") {
  const std::string odd_tar = tar_header("a\nb", 1, '0', false);  // a name that looks like lines of text
  CHECK(settle_archive("a.tar", bytes_of(odd_tar)).kind == archive_kind::tar);
  CHECK(settle_archive("a", bytes_of(odd_tar)).kind == archive_kind::none);
  CHECK(settle_archive("a.tar", bytes_of(tar_end())).kind == archive_kind::tar);
  CHECK(settle_archive("a", bytes_of(tar_end())).kind == archive_kind::none);
  std::string damaged = odd_tar;
  damaged[0] = 'b';
  CHECK(refusal("a.tar", damaged).starts_with("is named .tar but does not hold a tar archive"));
  CHECK(refusal("a.tar.gz", "").starts_with("is named .tar but is empty"));
  CHECK(refusal("a.zip", std::string("\1\2\3")).starts_with("is named .zip but does not hold a zip archive"));
  CHECK(settle_archive("a.log", bytes_of(tar_header("a", 1))).kind == archive_kind::tar);
}

TEST_CASE("if a name contradicts the content, the content decides, and a notice names both") {
  const settled_archive other = settle_archive("a.zip", bytes_of(tar_header("a", 1)));
  CHECK(other.kind == archive_kind::tar);
  CHECK(other.notice ==
        notice{.kind = notice_kind::name_differs, .text = "is named .zip but holds a tar archive; it is read as one"});
  const settled_archive text = settle_archive("a.tar.gz", bytes_of("a line\n"));
  CHECK(text.kind == archive_kind::none);
  CHECK(text.notice ==
        notice{.kind = notice_kind::name_differs, .text = "is named .tar but holds text; it is counted as text"});
  for (const char* name : {"e.tar", "e.tar.gz", "e.tgz", "e.zip", "e.7z", "e.cpio"}) {
    for (const char* content : {"404: Not Found", "{\"error\":\"x\"}"}) {
      CAPTURE(name);
      CHECK(settle_archive(name, bytes_of(content)).notice);
    }
  }
  for (const char* cut : {"PK", "07070"})
    CHECK_THROWS_AS((void)settle_archive(cut[0] == 'P' ? "e.zip" : "e.cpio", bytes_of(cut)), input_error);
  CHECK_THROWS_WITH_AS((void)settle_archive("a.zip", bytes_of("a line\n"), {.strict_names = true}),
                       "is named .zip but holds text, which --strict-names refuses; rename it", input_error);
}

TEST_CASE("the name of a volume has its number in exactly three digits, two after z, or after part") {
  const auto number = [](std::string_view name) {
    const auto volume = volume_named(name);
    return volume ? volume->number : 0;
  };
  CHECK(number("a.7z.001") == 1);
  CHECK(number("dir/a.tar.gz.012") == 12);
  CHECK(number("a.z01") == 1);
  CHECK(number("a.Z123") == 123);
  CHECK(number("a.part1.rar") == 1);
  CHECK(number("a.part07.rar") == 7);
  for (const char* name : {"backup.tar.gz.20241128", "enc.gz.20240101", "a.tar.2024", "a.tar.01", "a.log.001", "a.001",
                           "a.tar.000", "a.z1", "a.part.rar", "a.rar", "dir.7z/.001", "a.7z.001/b"}) {
    CHECK_MESSAGE(number(name) == 0, name);
  }
}

TEST_CASE("the remedy for a volume is a command with the folder of the volume, quoted for a shell") {
  CHECK(volume_named("sub/s7.7z.001")->remedy == "join the volumes first: cat sub/s7.7z.??? > sub/s7.7z");
  CHECK(volume_named("my logs/it's.zip.002")->remedy ==
        R"(join the volumes first: cat 'my logs/it'\''s.zip'.??? > 'my logs/it'\''s.zip')");
  CHECK(volume_named("-a.7z.001")->remedy == "join the volumes first: cat ./-a.7z.??? > ./-a.7z");
  CHECK(volume_named("sub/a b.z02")->remedy == "join the volumes first: zip -s 0 'sub/a b.zip' --out joined.zip");
  CHECK(volume_named("sub/a.part12.rar")->remedy == "to count its text: unrar p -inul sub/a.part01.rar | gpuhist");
}
