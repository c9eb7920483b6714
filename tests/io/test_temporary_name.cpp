// Names of temporary files: their form, their length, and what is none.
#include "io/file_access.hpp"

#include <doctest/doctest.h>

#include <string>

using gpuhist::io::is_temporary_name;
using gpuhist::io::name_of_replaced;
using gpuhist::io::temporary_name;

TEST_CASE("a temporary name is hidden, differs for each number, and states which output it replaces") {
  for (const std::string output : {"a", "report.json", ".hidden", "a.gpuhist-b", ".a.gpuhist-abcdef", "caf\xe9"}) {
    const std::string name = temporary_name(output, 7);
    CAPTURE(name);
    CHECK(name.starts_with('.'));
    CHECK(name == temporary_name(output, 7));
    CHECK(name != temporary_name(output, 8));
    CHECK(is_temporary_name(name));
    CHECK(name_of_replaced(name) == output);
  }
}

TEST_CASE("the temporary name of a long name has 255 bytes, the most that a filesystem permits") {
  for (const std::size_t bytes : {238U, 239U, 240U, 255U}) {
    const std::string output(bytes, 'n');
    const std::string name = temporary_name(output, 0);
    CAPTURE(bytes);
    CHECK(name.size() == (bytes < 239 ? bytes + 16 : 255));
    CHECK(is_temporary_name(name));
    CHECK(output.starts_with(name_of_replaced(name)));
  }
}

TEST_CASE("other names are not temporary") {
  for (const char* name : {"", ".", "a", ".a", "a.gpuhist-abcdef", ".a.gpuhist-abcde", ".a.gpuhist-abcdeF",
                           ".a.gpuhist-abcde.", ".a.gpuhist-abcdefg", ".gpuhist-abcde", ".agpuhist-abcdef"}) {
    CAPTURE(name);
    CHECK_FALSE(is_temporary_name(name));
  }
}
