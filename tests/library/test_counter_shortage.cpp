// Every allocation and every thread of a counter fails once: nothing hangs, and no input with lost bytes is complete.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/failing_resources.hpp"

#include <gpuhist/counter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <string>

namespace gpuhist {
namespace {

using test::failing_resource;
using testing::bytes_of;

struct run_result {
  std::optional<results> finished{};  // nothing: finish() threw, or there was no counter
  bool has_thrown = false;
  int borrowed = 0;  // calls of feed_borrowed() that were begun
  int released = 0;
};

struct texts {
  std::string large = std::string(300'000, 'a');
  test::byte_vector plain = test::sample_text(400'000);
  test::byte_vector packed = test::zstd_frame_of(plain);

  [[nodiscard]] std::uint64_t raw_bytes() const { return 3 + 2 * large.size() + 100; }
};

void feed_all(counter& counts, const texts& all, run_result& seen) {
  input raw = counts.open_input("raw");
  input packed = counts.open_input("packed", {.format = ""});
  raw.feed("abc");
  raw.feed(all.large);
  packed.feed(std::span(all.packed).first(all.packed.size() / 2));
  ++seen.borrowed;
  raw.feed_borrowed(bytes_of(all.large), [&seen] { ++seen.released; });
  static_cast<void>(counts.snapshot());
  lent_buffer buffer = raw.lend(100);
  std::ranges::fill(buffer.bytes(), std::byte{'b'});
  buffer.commit(100);
  packed.feed(std::span(all.packed).subspan(all.packed.size() / 2));
  raw.finish();
  packed.finish();
}

run_result run(const texts& all) {
  run_result seen;
  try {
    counter counts({.schemes = {"bytes"}, .counting_engine = engine::host, .threads = 2});
    try {
      feed_all(counts, all, seen);
    } catch (const std::exception&) {
      seen.has_thrown = true;
    }
    seen.finished = counts.finish();
  } catch (const std::exception&) {
    seen.has_thrown = true;
  }
  return seen;
}

void check(const run_result& seen, const texts& all) {
  CHECK(seen.released == seen.borrowed);
  if (!seen.finished) return;
  const results& result = *seen.finished;
  bool are_all_complete = result.inputs() == 2;
  for (std::size_t i = 0; i < result.inputs(); ++i) {
    const input_result found = result.input(i);
    const std::uint64_t expected = found.name == "raw" ? all.raw_bytes() : all.plain.size();
    if (found.complete) CHECK(found.bytes == expected);
    CHECK(found.bytes <= expected);
    are_all_complete = are_all_complete && found.complete;
  }
  if (!are_all_complete && result.inputs() > 0) CHECK_FALSE(result.complete());
  if (!seen.has_thrown) CHECK((!result.complete() || are_all_complete));
}

void fail_each(test::resource kind) {
  const texts all;
  check(run(all), all);  // the process makes some allocations only once
  for (unsigned nth = 1;; ++nth) {
    CAPTURE(nth);
    failing_resource failing(kind, nth);
    std::optional<run_result> seen;
    {
      const failing_resource::scope counted(failing);
      seen = run(all);
    }
    check(*seen, all);
    if (!failing.was_reached()) break;
  }
}

}  // namespace

TEST_CASE("whichever allocation fails, no input with lost bytes is complete, and borrowed bytes are released once") {
  fail_each(test::resource::memory);
}

TEST_CASE("whichever thread cannot be started, a counter counts with fewer threads, or is not made") {
  fail_each(test::resource::thread);
}

}  // namespace gpuhist
