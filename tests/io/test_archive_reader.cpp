// Archives made by the test: names and bytes of members, and errors for incomplete archives. Messages of libarchive as
// clauses: no numeric codes, no line ends.
#include "io/archive/archive_reader.hpp"
#include "io/archive/libarchive_message.hpp"
#include "io/input_error.hpp"

#include "tests/io/tar_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using gpuhist::io::clause_of;
using gpuhist::io::failure_kind;
using gpuhist::io::meaning_of;
using namespace gpuhist::io;
using namespace gpuhist::test;

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
