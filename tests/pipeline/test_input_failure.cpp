// The kind of a failure does not depend on its text.
#include "pipeline/counts/input_report.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <new>
#include <set>
#include <stdexcept>

using namespace gpuhist::pipeline;
using gpuhist::io::failure_kind_named;
using gpuhist::io::input_error;
using gpuhist::io::is_cut_short;
using gpuhist::io::name_of;

TEST_CASE("each kind of failure has a unique name and is found by it") {
  std::set<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(failure_kind::unknown); ++i) {
    const auto kind = static_cast<failure_kind>(i);
    CHECK(failure_kind_named(name_of(kind)) == kind);
    names.insert(name_of(kind));
  }
  CHECK(names.size() == static_cast<std::size_t>(failure_kind::unknown) + 1);
  CHECK_FALSE(failure_kind_named("not a kind"));
}

TEST_CASE("a failure has the kind of the exception, whatever its text") {
  const auto kind = [](const auto& thrown) { return failure_from(std::make_exception_ptr(thrown)).kind; };
  for (const char* words : {"not read", "stopped at offset 7", "frame 1 is damaged", ""}) {
    CAPTURE(words);
    CHECK(kind(input_error(words, 0)) == failure_kind::unreadable);
    CHECK(kind(input_error(words, 0, failure_kind::damaged)) == failure_kind::damaged);
    CHECK(kind(input_error(words, 7, failure_kind::refused)) == failure_kind::refused);
    CHECK(kind(std::runtime_error(words)) == failure_kind::unreadable);
  }
  CHECK(kind(std::bad_alloc()) == failure_kind::out_of_memory);
}

TEST_CASE("a failure that is thrown and caught again is the same failure") {
  for (const input_failure& each : {not_read(), left_at(0), left_at(12), not_verified_in_archive()}) {
    CHECK(failure_from(std::make_exception_ptr(as_error(each))) == each);
  }
}

TEST_CASE("a lack of memory or descriptors is not a property of the input") {
  for (const int each : {ENOMEM, EMFILE, ENFILE}) {
    CHECK(gpuhist::io::kind_of_errno(each) == failure_kind::out_of_memory);
  }
  for (const int each : {ENOENT, EACCES, EIO, EISDIR}) {
    CHECK(gpuhist::io::kind_of_errno(each) == failure_kind::unreadable);
  }
}

TEST_CASE("an input is cut short only if the run ended before it") {
  for (unsigned i = 0; i <= static_cast<unsigned>(failure_kind::unknown); ++i) {
    const auto kind = static_cast<failure_kind>(i);
    CHECK(is_cut_short(kind) == (kind == not_read().kind || kind == left_at(1).kind));
  }
}
