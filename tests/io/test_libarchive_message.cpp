// Messages of libarchive as clauses: no numeric codes, no line ends.
#include "io/archive/libarchive_message.hpp"

#include <doctest/doctest.h>

using gpuhist::io::clause_of;

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
