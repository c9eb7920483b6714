// tar_headers alone: blocks are built by the test, and expected offsets are counted in blocks of 512 bytes.
#include "io/archive/tar_headers.hpp"

#include "tests/io/tar_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

using gpuhist::io::tar_headers;
using namespace gpuhist::test;

namespace {

const std::string zero_block(512, '\0');

/// One pax record. Its length, which is part of it, is found by counting up.
std::string record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

/// A special header of this type, and its body, padded to whole blocks.
std::string special(char type, const std::string& body) {
  std::string blocks = tar_header("special", body.size(), type) + body;
  blocks.resize((blocks.size() + 511) / 512 * 512);
  return blocks;
}

std::string pax(const std::string& body) { return special('x', body); }

/// The state after all of `archive`, which begins at `offset` and arrives `step` bytes at a time.
tar_headers after(std::string_view archive, std::size_t step = 1 << 20, std::uint64_t offset = 0) {
  tar_headers headers;
  headers.begin(offset);
  for (std::size_t at = 0; at < archive.size(); at += step) {
    headers.advance(offset + at, bytes_of(archive.substr(at, step)));
  }
  return headers;
}

std::string cause_of(const tar_headers& headers) { return headers.first_error() ? headers.first_error()->cause : ""; }

}  // namespace

TEST_CASE("a header of a member is found for any sizes of reads, with the end of its content") {
  const std::string archive = tar_member("a", std::string(700, 'x'));
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{7}, std::size_t{511}, std::size_t{512}, std::size_t{513}, std::size_t{4096}}) {
    const tar_headers headers = after(archive, step);
    CHECK(headers.has_member());
    CHECK(headers.header_at() == 0);
    CHECK(headers.content_end() == 3 * 512);  // header, 700 bytes padded to two blocks
    CHECK_FALSE(headers.first_error());
  }
}

TEST_CASE("offsets count from the start of the archive, not from begin()") {
  const tar_headers headers = after(pax(record("mtime", "1")) + tar_member("b", "text"), 100, 10 * 512);
  CHECK(headers.has_member());
  CHECK(headers.first_header_at() == 10 * 512);
  CHECK(headers.header_at() == 12 * 512);    // after the pax header and its body
  CHECK(headers.content_end() == 14 * 512);  // header and one block
}

TEST_CASE("bytes before begin() and after the header of a member are ignored") {
  tar_headers headers;
  headers.begin(512);
  const std::string archive = std::string(512, '?') + tar_header("a", 600) + std::string(1024, '?');
  headers.advance(0, bytes_of(archive));
  CHECK(headers.has_member());
  CHECK(headers.content_end() == 4 * 512);
  CHECK_FALSE(headers.first_error());
}

TEST_CASE("two zero blocks are an end mark, and so is one zero block at the end of the input") {
  CHECK(after(zero_block).has_end_mark());
  CHECK(after(zero_block + zero_block).has_end_mark());
  CHECK(after(zero_block + zero_block + zero_block.substr(0, 100)).has_end_mark());  // padding
  CHECK_FALSE(after("").has_end_mark());
  CHECK_FALSE(after(zero_block.substr(1)).has_end_mark());
  CHECK_FALSE(after(zero_block + zero_block.substr(1)).has_end_mark());
}

TEST_CASE("one zero block is no end mark in an archive in which one precedes a header") {
  tar_headers headers = after(zero_block + tar_header("a", 0));
  headers.begin(1024);
  headers.advance(1024, bytes_of(zero_block));
  CHECK_FALSE(headers.has_end_mark());
  headers.advance(1536, bytes_of(zero_block));
  CHECK(headers.has_end_mark());
  headers = after(zero_block + zero_block + tar_header("a", 0));  // two blocks are an end
  headers.begin(1536);
  headers.advance(1536, bytes_of(zero_block));
  CHECK(headers.has_end_mark());
}

TEST_CASE("the index of pixz follows two zero blocks, at the start of a block, whole or in part") {
  const std::string end = zero_block + zero_block;
  const std::string index = "\xA6\x4C\x32\x2E\xD6\x14\xAE\xDB" + std::string("a.log\0\0", 7);
  for (const std::size_t step : {std::size_t{1}, std::size_t{513}, std::size_t{4096}}) {
    for (const std::string& archive : {end + index, end + zero_block + index, end + index + std::string(1000, 'x')}) {
      CHECK(after(archive, step).has_index());
      CHECK(after(archive, step).has_end_mark());
    }
  }
  for (const std::string& archive :
       {index, zero_block + index, end + index.substr(0, 7), end + "x" + index, end + special('L', "name") + index}) {
    CHECK_FALSE(after(archive).has_index());
    CHECK_FALSE(after(archive).has_end_mark());
  }
}

TEST_CASE("a member may follow any number of zero blocks") {
  for (const std::string& zeros : {zero_block, zero_block + zero_block, zero_block + zero_block + zero_block}) {
    CHECK(after(zeros + tar_header("b", 0)).has_member());
  }
}

TEST_CASE("input that ends within a header, or before the member of a special header, is not the end of an archive") {
  const std::string archive = pax(record("path", "long")) + tar_header("a", 0);
  for (std::size_t size = 1; size < archive.size(); ++size) {
    const tar_headers headers = after(archive.substr(0, size));
    CAPTURE(size);
    CHECK(headers.is_within_header());
    CHECK_FALSE(headers.has_end_mark());
    CHECK_FALSE(headers.has_member());
  }
}

TEST_CASE("zeros after a special header are an error at the offset of that header") {
  for (const char type : std::string_view("xXLKA")) {
    const tar_headers headers = after(zero_block + zero_block + special(type, "20 path=some\n") + zero_block);
    CAPTURE(type);
    if (type == 'x' || type == 'X') {
      CHECK(cause_of(headers).find("cannot be parsed") != std::string::npos);  // the record has 13 bytes, not 20
    } else {
      REQUIRE(headers.first_error());
      CHECK(headers.first_error()->at == 2 * 512);
    }
  }
  CHECK(after(pax(record("path", "a")) + zero_block).first_error()->at == 0);
}

TEST_CASE("a global pax header and a volume label need no member") {
  CHECK(after(special('g', record("comment", "x")) + zero_block + zero_block).has_end_mark());
  CHECK(after(tar_header("label", 0, 'V') + zero_block + zero_block).has_end_mark());
}

TEST_CASE("a size in a pax header replaces the size in the header of the member") {
  const tar_headers headers = after(pax(record("size", "5000")) + tar_header("a", 1));
  CHECK(headers.has_member());
  CHECK(headers.content_end() == (2 + 1 + 10) * 512);  // pax header and body, header, 5000 bytes in ten blocks
}

TEST_CASE("a pax header with a malformed record or number is an error") {
  CHECK(cause_of(after(pax(record("size", "5000")))).empty());
  CHECK(cause_of(after(pax("9 size=50"))) == "a pax header with a record that cannot be parsed");  // no line end
  CHECK(cause_of(after(pax("x size=50\n"))) == "a pax header with a record that cannot be parsed");
  CHECK(cause_of(after(pax("99 size=50\n"))) == "a pax header with a record that cannot be parsed");
  CHECK(cause_of(after(pax(record("size", "0x10")))) == "a pax header whose record size cannot be parsed");
  CHECK(cause_of(after(pax(record("GNU.sparse.map", "0,1,2")))) ==
        "a pax header whose record GNU.sparse.map cannot be parsed");  // an odd count of numbers
  CHECK(cause_of(after(pax(record("GNU.sparse.map", "0,1,2,3")))).empty());
  CHECK(cause_of(after(pax(record("GNU.sparse.major", "2") + record("GNU.sparse.minor", "0")))) ==
        "a pax header of a sparse file of an unknown format");
}

TEST_CASE("a member with two pax headers, or with more than 32 headers, is an error") {
  const std::string header = pax(record("mtime", "1"));
  const tar_headers two = after(header + header);
  REQUIRE(two.first_error());
  CHECK(two.first_error()->at == 2 * 512);
  std::string links;
  for (int i = 0; i < 31; ++i) links += special('K', "target");
  CHECK(after(links + tar_header("a", 0)).has_member());
  const tar_headers too_many = after(links + special('L', "name") + tar_header("a", 0));
  REQUIRE(too_many.first_error());
  CHECK(too_many.first_error()->at == 64 * 512);
}

TEST_CASE("a header with a wrong checksum is no member and no error: libarchive reports it") {
  std::string header = tar_header("a", 0);
  header[0] = 'b';
  const tar_headers headers = after(header);
  CHECK_FALSE(headers.has_member());
  CHECK_FALSE(headers.first_error());
  CHECK(headers.is_within_header());
}

TEST_CASE("extra blocks of the map of a GNU sparse file belong to its header") {
  std::string header = tar_header("a", 512, 'S');
  const auto put = [&header](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(257, "ustar  ");
  put(386, "00000000000");
  put(482, "\1");  // an extra block follows
  put(148, "        ");
  unsigned sum = 0;
  for (const char each : header) sum += static_cast<unsigned char>(each);
  char digits[16];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string(digits) + '\0');
  std::string first(512, '\0');
  first[504] = '\1';  // and another one
  CHECK_FALSE(after(header + first).has_member());
  const tar_headers headers = after(header + first + zero_block);
  CHECK(headers.has_member());
  CHECK(headers.content_end() == 4 * 512);
}

TEST_CASE("a volume that begins with the rest of a file is recognized by its global header") {
  CHECK(after(special('g', record("GNU.volume.filename", "a")) + tar_header("a", 0)).continues_file());
  CHECK_FALSE(after(special('g', record("comment", "a")) + tar_header("a", 0)).continues_file());
}
