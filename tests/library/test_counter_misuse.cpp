#include "error_kind.hpp"
#include "fed_text.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist {
namespace {

using testing::bytes_of;
using testing::error_of;

counting_options host() { return {.schemes = {"letters"}, .counting_engine = engine::host, .threads = 1}; }

}  // namespace

// A pointer or an array of char has no known end.
template <typename Text>
concept can_be_fed = requires(input& to, Text text) {
  to.feed(text);
};
static_assert(can_be_fed<std::string> && can_be_fed<std::string_view> && can_be_fed<std::span<const std::byte>>);
static_assert(!can_be_fed<const char*> && !can_be_fed<char*> && !can_be_fed<char (&)[10]>);

TEST_CASE("impossible options are errors that name the value") {
  counting_options options = host();
  options.schemes = {"leters"};
  CHECK(error_of([&] { counter counts(options); }) == errc::invalid_argument);
  options = host();
  options.memory_limit = 1;
  CHECK(error_of([&] { counter counts(options); }) == errc::invalid_argument);
  options = host();
  options.threads = 1000000;
  CHECK(error_of([&] { counter counts(options); }) == errc::invalid_argument);
}

TEST_CASE("an input that has ended accepts no call") {
  counter counts(host());
  input text = counts.open_input("text");
  text.finish();
  CHECK(error_of([&] { text.feed("a"); }) == errc::misuse);
  CHECK(error_of([&] { text.finish(); }) == errc::misuse);
  CHECK(error_of([&] { text.fail("late"); }) == errc::misuse);
  CHECK(error_of([&] { static_cast<void>(text.lend(1)); }) == errc::misuse);
  CHECK(counts.finish().complete());
}

TEST_CASE("a finished counter accepts no call, and its inputs neither") {
  counter counts(host());
  input text = counts.open_input("text");
  counts.finish();
  CHECK(error_of([&] { text.feed("a"); }) == errc::closed);
  CHECK(error_of([&] { text.finish(); }) == errc::closed);
  CHECK(error_of([&] { static_cast<void>(counts.open_input("late")); }) == errc::closed);
  CHECK(error_of([&] { static_cast<void>(counts.snapshot()); }) == errc::closed);
  CHECK(error_of([&] { counts.finish(); }) == errc::closed);
  counts.cancel();
}

TEST_CASE("an input outlives its counter, and accepts no call then") {
  std::optional<counter> counts(std::in_place, host());
  input text = counts->open_input("text");
  counts.reset();
  CHECK(error_of([&] { text.feed("a"); }) == errc::closed);
}

TEST_CASE("an input whose lent buffer is not committed accepts no other text") {
  counter counts(host());
  input text = counts.open_input("text");
  {
    lent_buffer buffer = text.lend(10);
    CHECK(error_of([&] { text.feed("a"); }) == errc::misuse);
    CHECK(error_of([&] { counts.finish(); }) == errc::misuse);
    CHECK(error_of([&] { buffer.commit(buffer.bytes().size() + 1); }) == errc::invalid_argument);
    std::ranges::copy(bytes_of("ab"), buffer.bytes().begin());
    buffer.commit(2);
    CHECK(error_of([&] { buffer.commit(0); }) == errc::misuse);
    CHECK(buffer.bytes().empty());
  }
  { const lent_buffer unused = text.lend(5); }
  CHECK(error_of([&] { static_cast<void>(text.lend(0)); }) == errc::invalid_argument);
  text.feed("c");
  CHECK(counts.finish().bytes() == 3);
}

TEST_CASE("a lent buffer outlives its counter") {
  std::optional<counter> counts(std::in_place, host());
  input text = counts->open_input("text");
  lent_buffer buffer = text.lend(1000);
  counts.reset();
  std::ranges::fill(buffer.bytes(), std::byte{1});
  CHECK(error_of([&] { buffer.commit(1); }) == errc::closed);
}

TEST_CASE("the exception of a release is in the result, and the text is counted") {
  counter counts(host());
  input text = counts.open_input("text");
  text.feed_borrowed(bytes_of("abc"), [] { throw std::runtime_error("from a callback"); });
  text.feed("d");
  const results result = counts.finish();
  CHECK(result.bytes() == 4);
  CHECK(result.error() == "a release callback failed: from a callback");
  CHECK(result.error_kind() == errc::callback);
}

TEST_CASE("a lent buffer that is kept delays no other input, no snapshot, and no end") {
  counter counts(host());
  input keeps = counts.open_input("keeps");
  input text = counts.open_input("text");
  lent_buffer kept = keeps.lend(100);
  std::vector<lent_buffer> more;
  std::vector<input> others;
  for (int i = 0; i < 40; ++i) {
    others.push_back(counts.open_input("other"));
    more.push_back(others.back().lend(100));
  }
  for (int i = 0; i < 40; ++i) text.feed(std::string(100000, 'a'));
  CHECK(counts.snapshot().bytes() == 4000000);
  counts.cancel();
  const results result = counts.finish();
  CHECK(result.bytes() == 4000000);
  CHECK_FALSE(result.complete());
  CHECK(error_of([&] { kept.commit(1); }) == errc::closed);
}

TEST_CASE("a counter that is replaced ends, and one that was moved from accepts no call") {
  counter counts(host());
  input text = counts.open_input("text");
  counter other(host());
  counts = std::move(other);
  CHECK(error_of([&] { text.feed("a"); }) == errc::closed);
  CHECK(error_of([&] { other.finish(); }) == errc::misuse);  // NOLINT(bugprone-use-after-move)
  CHECK(counts.finish().complete());
}

TEST_CASE("release is also called where feeding is refused") {
  counter counts(host());
  input text = counts.open_input("text");
  counts.finish();
  int releases = 0;
  CHECK(error_of([&] { text.feed_borrowed(bytes_of("abc"), [&] { ++releases; }); }) == errc::closed);
  CHECK(releases == 1);
}

}  // namespace gpuhist
