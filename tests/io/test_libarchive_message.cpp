// Messages of libarchive as clauses: no numeric codes, no line ends.
#include "io/archive/libarchive_message.hpp"

#include <doctest/doctest.h>

using gpuhist::io::clause_of;
using gpuhist::io::failure_kind;
using gpuhist::io::meaning_of;

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
