// Every allocation and every thread of a counter fails once: nothing hangs, and no input with lost bytes is complete.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/failing_resources.hpp"

#include <gpuhist/counter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
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
  std::string kept{};  // of the input `raw`
};

constexpr std::size_t part_bytes = 70'000;

// All parts but the last one, which is shorter.
unit_options keeps_whole_parts() {
  return {.each = unit_options::kind::part,
          .part_bytes = part_bytes,
          .where = "bytes == 70000",
          .top = 3,
          .top_by = "bytes",
          .filter = unit_filter::keep};
}

struct texts {
  std::string large = std::string(300'000, 'a');
  test::byte_vector plain = test::sample_text(400'000);
  test::byte_vector packed = test::zstd_frame_of(plain);

  std::string raw = "abc" + large + large + std::string(100, 'b');
  std::string kept = raw.substr(0, raw.size() / part_bytes * part_bytes);
};

input_options kept_in(std::string& kept) {
  return {.on_kept = [&kept](std::span<const std::byte> text) {
    kept.append(reinterpret_cast<const char*>(text.data()), text.size());
  }};
}

void feed_all(counter& counts, const texts& all, bool filters, run_result& seen) {
  std::string kept_of_packed;
  input raw = counts.open_input("raw", filters ? kept_in(seen.kept) : input_options{});
  input_options compressed = filters ? kept_in(kept_of_packed) : input_options{};
  compressed.format = "";
  input packed = counts.open_input("packed", compressed);
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

run_result run(const texts& all, bool filters) {
  run_result seen;
  try {
    counting_options options{.schemes = {"bytes"}, .counting_engine = engine::host, .threads = 2};
    if (filters) options.units = keeps_whole_parts();
    counter counts(options, {.on_unit = [](const unit&) {}});
    try {
      feed_all(counts, all, filters, seen);
    } catch (const std::exception&) {
      seen.has_thrown = true;
    }
    seen.finished = counts.finish();
  } catch (const std::exception&) {
    seen.has_thrown = true;
  }
  return seen;
}

void check(const run_result& seen, const texts& all, bool filters) {
  CHECK(seen.released == seen.borrowed);
  CHECK(all.kept.starts_with(seen.kept));
  if (!seen.finished) return;
  const results& result = *seen.finished;
  bool are_all_complete = result.inputs() == 2;
  for (std::size_t i = 0; i < result.inputs(); ++i) {
    const input_result found = result.input(i);
    const std::uint64_t expected = found.name == "raw" ? all.raw.size() : all.plain.size();
    if (found.complete) CHECK(found.bytes == expected);
    CHECK(found.bytes <= expected);
    are_all_complete = are_all_complete && found.complete;
  }
  if (!are_all_complete && result.inputs() > 0) CHECK_FALSE(result.complete());
  if (!seen.has_thrown) CHECK((!result.complete() || are_all_complete));
  if (filters && !seen.has_thrown && result.complete()) CHECK(seen.kept == all.kept);
}

void fail_each(test::resource kind, bool filters) {
  const texts all;
  check(run(all, filters), all, filters);  // the process makes some allocations only once
  for (unsigned nth = 1;; ++nth) {
    CAPTURE(nth);
    failing_resource failing(kind, nth);
    std::optional<run_result> seen;
    {
      const failing_resource::scope counted(failing);
      seen = run(all, filters);
    }
    check(*seen, all, filters);
    if (!failing.was_reached()) break;
  }
}

}  // namespace

TEST_CASE("whichever allocation fails, no input with lost bytes is complete, and borrowed bytes are released once") {
  fail_each(test::resource::memory, false);
}

TEST_CASE("whichever allocation of a counter with a filter fails, what it has kept is the beginning of what it keeps") {
  fail_each(test::resource::memory, true);
}

TEST_CASE("whichever thread cannot be started, a counter counts with fewer threads, or is not made") {
  fail_each(test::resource::thread, false);
}

}  // namespace gpuhist
