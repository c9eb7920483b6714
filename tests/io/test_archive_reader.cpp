// Detection of archives by content and name; typed text is decided without a wait. Archives made by the test: names and
// bytes of members, and errors for incomplete archives. Messages of libarchive as clauses: no numeric codes, no line
// ends.
#include "io/archive/archive_format.hpp"
#include "io/archive/archive_reader.hpp"
#include "io/archive/libarchive_reports.hpp"
#include "io/archive/volume_name.hpp"
#include "io/failure.hpp"

#include "tests/io/archive_samples.hpp"
#include "tests/io/tar_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist::io;
using namespace gpuhist::test;
using gpuhist::io::clause_of;
using gpuhist::io::failure_kind;
using gpuhist::io::meaning_of;

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
  const std::string package = "!<arch>\ndebian-binary   1342943816  0     0     100644  4         `\n2.0\n";
  CHECK(kind_of(package) == archive_kind::ar);
  for (std::size_t size = 1; size < 68; ++size) {
    CHECK(kind_of(std::string_view(package).substr(0, size)) == archive_kind::none);
    CHECK(bytes_for_archive(bytes_of(std::string_view(package).substr(0, size))) > size);
  }
  CHECK(kind_of("!<arch>\nis text, and more than the header of a member has: sixty-eight bytes") == archive_kind::none);
  CHECK(kind_of("\xED\xAB\xEE\xDB\x03") == archive_kind::rpm);
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
  CHECK(bytes_for_archive(bytes_of("hello\n")) == 0);
  CHECK(bytes_for_archive(bytes_of("\n")) == 0);
  CHECK(bytes_for_archive(bytes_of(std::string(108, 'x'))) == 0);
  for (const std::string& whole :
       {tar_header("a", 1), old_header(), volume_label(), rest_of_file(), newc_header, std::string("PK\3\4"),
        std::string(600, '\0'), std::string(512, '\0') + old_header(), std::string("PK\7\bPK\3\4"),
        std::string("PK then text that goes on and on\n"), std::string(512, '0')}) {
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const auto head = bytes_of(whole).first(size);
      if (bytes_for_archive(head) == 0) CHECK(detect_archive(head) == kind_of(whole));
    }
    CHECK(bytes_for_archive({}) == archive_head_bytes);
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
  CHECK(promised_archive("a_1.0_amd64.deb").kind == archive_kind::ar);
  CHECK(promised_archive("a.rpm").kind == archive_kind::rpm);
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

TEST_CASE("a message of libarchive has no numeric code and no line end") {
  CHECK(clause_of("ZIP decompression failed (-3)", false) == "its data does not decode");
  CHECK(clause_of("Decompression failed(9)", true) == "its data does not decode");
  CHECK(clause_of("Malformed attribute \"x\" (5)", false) == "Malformed attribute \"x\"");
  CHECK(clause_of("ZIP uncompressed data is wrong size (read 59747, expected 60000)\n", false) ==
        "has a wrong size after decompression (read 59747, expected 60000)");
  CHECK(clause_of("ZIP bad CRC: 0x1 should be 0x2", false) == "does not match its CRC: 0x1 should be 0x2");
  CHECK(clause_of("Damaged tar archive", true) == "Damaged tar archive");
  CHECK(clause_of("Too-small extra data: Need at least 4 bytes, but only found 1 bytes", false) ==  // style-ok
        "Too-small extra data: Need at least 4 bytes, but only found 1 byte");
  CHECK(clause_of("", false) == "cannot be read");
  CHECK(clause_of("(", false) == "(");
  CHECK(clause_of("x ()", false) == "x ()");
}

TEST_CASE("an archive whose bytes are missing ends early only where its input ends") {
  for (const char* const message :
       {"Truncated tar archive", "Truncated input file (needed 5163 bytes, only 0 available)",
        "ZIP decompression failed (-5)", ""}) {
    CAPTURE(message);
    CHECK(clause_of(message, true) == "ends early");
    CHECK(clause_of(message, false) != "ends early");
  }
}

TEST_CASE(
    "a message about a method that is not supported is a refusal with a remedy, one about anything else has none") {
  for (const char* const message : {"Unsupported ZIP compression method (9: deflate64)", "Unsupported filter 3 for 21",
                                    "Unknown codec ID: 4F10", "Unexpected codec ID: 40202"}) {
    CAPTURE(message);
    CHECK(meaning_of(message).kind == failure_kind::refused);
    CHECK(meaning_of(message).remedy.find("7z x -so") != std::string_view::npos);
  }
  CHECK(meaning_of("The archive header is encrypted, but currently not supported").kind == failure_kind::refused);
  CHECK(meaning_of("The archive header is encrypted, but currently not supported").remedy.empty());
  CHECK(meaning_of("ZIP bad CRC: 0x1 should be 0x2").kind == failure_kind::damaged);
  CHECK(meaning_of("").remedy.empty());
}

namespace {

/// Reads the bytes of a string, at most `step` at a time; can fail at their end.
class string_bytes : public byte_reader {
 public:
  explicit string_bytes(std::string text, std::size_t step = 1 << 20, bool fails = false)
      : text_(std::move(text)), step_(step), fails_(fails) {}

  /// As a file can.
  void let_seek() { is_file_ = true; }

  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override {
    return is_file_ ? std::optional<std::uint64_t>(text_.size()) : std::nullopt;
  }

  void seek(std::uint64_t offset) override { at_ = std::min<std::size_t>(offset, text_.size()); }

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t size = std::min({out.size(), step_, text_.size() - at_});
    if (size == 0 && fails_) throw std::runtime_error("below");
    std::copy_n(bytes_of(text_).begin() + static_cast<std::ptrdiff_t>(at_), size, out.begin());
    at_ += size;
    return size;
  }

 private:
  std::string text_;
  std::size_t step_;
  bool fails_;
  bool is_file_ = false;
  std::size_t at_ = 0;
};

using members = std::vector<std::pair<std::string, std::string>>;

std::string rest_of(archive_reader& reader) {
  std::string text;
  for (;;) {
    const auto bytes = reader.read();
    if (bytes.empty()) return text;
    std::transform(bytes.begin(), bytes.end(), std::back_inserter(text),
                   [](std::byte b) { return static_cast<char>(b); });
  }
}

members all_of(byte_reader& input, archive_kind kind = archive_kind::tar) {
  archive_reader reader(kind, input);
  members found;
  while (const auto path = reader.next()) found.emplace_back(*path, rest_of(reader));
  return found;
}

std::string failure_of(const std::string& archive, archive_kind kind = archive_kind::tar) {
  string_bytes input(archive);
  try {
    all_of(input, kind);
  } catch (const input_error& error) {
    return error.what();
  }
  return {};
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::to_string(i) + '\n';
  return text;
}

}  // namespace

TEST_CASE("members have their stored paths and bytes, for any sizes of reads") {
  const members expected{{"a", lines(10)}, {"../b", ""}, {"/c", lines(30000)}, {"d\xFF\n", std::string(512, 'x')}};
  std::string archive;
  for (const auto& [name, text] : expected) archive += tar_member(name, text);
  archive += tar_end();
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{7}, std::size_t{512}, std::size_t{10000}, archive.size()}) {
    string_bytes input(archive, step);
    CHECK(all_of(input) == expected);
  }
}

TEST_CASE("directories and links are not members") {
  string_bytes input(tar_header("dir/", 0, '5') + tar_header("soft", 0, '2') + tar_member("a", "text") +
                     tar_header("hard", 0, '1') + tar_end());
  CHECK(all_of(input) == members{{"a", "text"}});
}

TEST_CASE("unread members are skipped") {
  string_bytes input(tar_member("a", lines(30000)) + tar_member("b", "text") + tar_end());
  archive_reader reader(archive_kind::tar, input);
  REQUIRE(reader.next() == "a");
  REQUIRE(reader.next() == "b");
  CHECK(rest_of(reader) == "text");
  CHECK_FALSE(reader.next());
}

TEST_CASE("concatenated archives are read as one") {
  const std::string archive = tar_member("a", "one") + tar_end() + tar_end();
  string_bytes input(archive + tar_member("b", "two") + tar_end());
  CHECK(all_of(input) == members{{"a", "one"}, {"b", "two"}});
}

TEST_CASE("a truncated archive is an error with the offset of its end") {
  const std::string archive = tar_member("a", lines(100)) + tar_member("b", "text") + tar_end();
  const std::size_t end = archive.size() - 1024;
  for (std::size_t size = 1; size <= archive.size(); ++size) {
    const std::string message = failure_of(archive.substr(0, size));
    const bool whole = size >= end + 512 && size % 512 == 0;
    CHECK_MESSAGE(message.empty() == whole, size, ' ', message);
    if (!whole && size > 1) CHECK_MESSAGE(message.ends_with("offset " + std::to_string(size)), message);
  }
}

TEST_CASE("a file that is cut off anywhere lacks its end, and one with a wrong byte does not") {
  struct sample {
    archive_kind kind;
    int (*set_format)(archive*);
    std::size_t first_cut;
    std::size_t byte_of_header;
  };
  const members two{{"a", lines(100)}, {"b", "text"}};
  for (const sample& each : {sample{archive_kind::tar, archive_write_set_format_ustar, 512, 3},
                             sample{archive_kind::zip, archive_write_set_format_zip, 4, 30},
                             sample{archive_kind::seven_zip, archive_write_set_format_7zip, 6, 8}}) {
    const auto missing = [&](std::string content) -> std::optional<lack> {
      string_bytes input(std::move(content));
      input.let_seek();
      archive_reader reader(each.kind, input);
      for (;;) {
        try {
          while (reader.next()) rest_of(reader);
          return {};
        } catch (const input_error& error) {
          CHECK_MESSAGE(error.kind() == failure_kind::damaged, error.what());
          if (reader.is_broken()) return error.missing();
        }
      }
    };
    CAPTURE(name_of(each.kind));
    const std::string whole = archive_of(two, each.set_format);
    CHECK_FALSE(missing(whole));
    for (std::size_t size = each.first_cut; size < whole.size(); ++size) {
      CAPTURE(size);
      const auto found = missing(whole.substr(0, size));
      const bool is_padding = each.kind == archive_kind::tar && size >= whole.size() - 1024;
      CHECK((found == lack::end || (is_padding && !found)));
    }
    std::string wrong = whole;
    wrong[each.byte_of_header] ^= 1;
    CHECK(missing(wrong) == lack::nothing);
  }
}

TEST_CASE("a damaged header makes the archive unreadable after the members before it") {
  std::string archive = tar_member("a", "one") + tar_member("b", "two") + tar_end();
  archive[1024 + 3] = 'x';
  string_bytes input(archive);
  archive_reader reader(archive_kind::tar, input);
  REQUIRE(reader.next() == "a");
  CHECK(rest_of(reader) == "one");
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS((void)reader.next(), doctest::Contains("Damaged tar archive"), input_error);
    CHECK(reader.is_broken());
  }
}

TEST_CASE("an exception of the input passes through unchanged, at every call") {
  string_bytes input(tar_member("a", lines(1000)).substr(0, 1000), 300, true);
  archive_reader reader(archive_kind::tar, input);
  REQUIRE(reader.next() == "a");
  CHECK_THROWS_WITH_AS(rest_of(reader), "below", std::runtime_error);
  CHECK(reader.is_broken());
  CHECK_THROWS_WITH_AS((void)reader.next(), "below", std::runtime_error);
}

TEST_CASE("data that is not an archive is an error") {
  CHECK_FALSE(failure_of(lines(1000)).empty());
  CHECK_FALSE(failure_of(lines(1000), archive_kind::zip).empty());
  CHECK_FALSE(failure_of(lines(1000), archive_kind::cpio).empty());
  CHECK_FALSE(failure_of("", archive_kind::zip).empty());
}

TEST_CASE("a 7z archive is refused if the input cannot seek") {
  CHECK(failure_of("7z\xBC\xAF\x27\x1C", archive_kind::seven_zip).starts_with("is a 7z archive"));
}

TEST_CASE("any number of zeros after the two end blocks of a tar archive is padding") {
  const std::string archive = tar_member("a", "one") + tar_end();
  for (const std::size_t padding :
       {std::size_t{0}, std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{70000}}) {
    string_bytes input(archive + std::string(padding, '\0'));
    CHECK(all_of(input) == members{{"a", "one"}});
  }
  CHECK(failure_of(archive.substr(0, archive.size() - 512) + "x").ends_with("offset 1537"));
}

TEST_CASE("entries that are not files are skipped and listed by kind") {
  string_bytes input(tar_header("dir/", 0, '5') + tar_header("soft", 0, '2') + tar_header("softer", 0, '2') +
                     tar_member("a", "text") + tar_end());
  archive_reader reader(archive_kind::tar, input);
  while (reader.next()) {
  }
  REQUIRE(reader.skipped().size() == 2);
  CHECK(reader.skipped()[0].kind == "directory");
  CHECK(reader.skipped()[1].kind == "symbolic link");
  CHECK(reader.skipped()[1].count == 2);
  CHECK(reader.skipped()[1].first == "soft");
}
