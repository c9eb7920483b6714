// A counter counts every byte of every input once, in all ways of feeding, with snapshots and cancellation. Misuse:
// impossible options, and calls that an input, a buffer or a counter does not accept.
#include "fed_text.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>
#include <gpuhist/gpuhist.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist {
namespace {

using namespace testing;

counting_options host(std::vector<std::string> schemes) {
  return {.schemes = std::move(schemes), .counting_engine = engine::host, .threads = 2};
}

enum class manner { fed, borrowed, lent };

// Feeds the text in random parts. Every part is between empty and 1/4 of the text.
void feed_in_parts(input& to, std::string_view text, manner how_fed, unsigned seed) {
  std::mt19937 random(seed);
  while (!text.empty()) {
    const std::size_t limit = random() % 3 == 0 ? text.size() / 4 + 1 : 2000;
    const std::string_view part = text.substr(0, random() % (limit + 1));
    if (how_fed == manner::fed) {
      to.feed(part);
    } else if (how_fed == manner::borrowed) {
      to.feed_borrowed(bytes_of(part), [] {});
    } else if (!part.empty()) {
      lent_buffer buffer = to.lend(part.size());
      const std::size_t filled = buffer.bytes().size();
      std::ranges::copy(bytes_of(part).first(filled), buffer.bytes().begin());
      buffer.commit(filled);
      text.remove_prefix(filled);
      continue;
    }
    text.remove_prefix(part.size());
  }
}

}  // namespace

TEST_CASE("a counter counts every byte of every input once, however it is cut and whichever threads feed it") {
  const unsigned inputs = gpuhist::test::unless_sampled(9U, 7U);
  for (const manner each_manner : {manner::fed, manner::borrowed, manner::lent}) {
    CAPTURE(static_cast<int>(each_manner));
    std::vector<std::string> texts;
    for (unsigned i = 0; i < inputs; ++i) texts.push_back(random_text(i == 0 ? 0 : std::size_t{1} << (2 * i + 4), i));
    counter counts(host({"bytes"}));
    std::vector<input> opened;
    for (unsigned i = 0; i < inputs; ++i) opened.push_back(counts.open_input("input " + std::to_string(i)));
    {
      std::vector<std::jthread> feeding;
      for (unsigned i = 0; i < inputs; ++i) {
        feeding.emplace_back([&, i] {
          feed_in_parts(opened[i], texts[i], each_manner, i);
          opened[i].finish();
        });
      }
    }
    const results result = counts.finish();
    CHECK(result.complete());
    REQUIRE(result.inputs() == inputs);
    std::vector<std::uint64_t> sum(256);
    for (unsigned i = 0; i < inputs; ++i) {
      CAPTURE(i);
      const input_result found = result.input(i);
      CHECK(found.name == "input " + std::to_string(i));
      CHECK(found.format == "raw");
      CHECK(found.bytes == texts[i].size());
      CHECK(found.lines == byte_counts(texts[i])['\n']);
      CHECK(found.complete);
      CHECK(result.counts("bytes", i) == byte_counts(texts[i]));
      for (std::size_t b = 0; b < 256; ++b) sum[b] += byte_counts(texts[i])[b];
    }
    CHECK(result.counts("bytes") == sum);
    CHECK(result.bytes() == std::accumulate(sum.begin(), sum.end(), std::uint64_t{0}));
  }
}

TEST_CASE("several schemes, also custom ones, are counted in one pass") {
  counter counts(host({"letters", "vowels=aeiou;digits=0-9"}));
  input text = counts.open_input("text");
  text.feed("hello, world 42\n");
  const results result = counts.finish();
  CHECK(result.schemes() == std::vector<std::string>{"letters", "custom"});
  CHECK(result.buckets("custom") == std::vector<std::string>{"vowels", "digits", "other"});
  CHECK(result.counts("custom") == std::vector<std::uint64_t>{3, 2, 11});
  CHECK(result.counts("letters").front() == 1);
  CHECK(result.lines() == 1);
}

TEST_CASE("a snapshot counts everything that was fed before, and later text is not in it") {
  counter counts(host({"letters"}));
  input text = counts.open_input("text");
  const std::string large(std::size_t{3} << 20U, 'a');
  text.feed("abc");
  CHECK(counts.snapshot().bytes() == 3);
  text.feed(large);
  const results then = counts.snapshot();
  text.feed("more");
  CHECK(then.bytes() == 3 + large.size());
  CHECK(then.counts("letters").front() == 3 + large.size());
  CHECK_FALSE(then.complete());
  CHECK(counts.finish().bytes() == 7 + large.size());
}

TEST_CASE("open inputs end with the counter, and failed ones make the result incomplete") {
  counter counts(host({"letters"}));
  input first = counts.open_input("first");
  input second = counts.open_input("second");
  first.feed("a");
  second.feed("bb");
  second.fail("the connection was reset");
  const results result = counts.finish();
  CHECK_FALSE(result.complete());
  CHECK(result.input(0).complete);
  CHECK_FALSE(result.input(1).complete);
  CHECK(result.input(1).error == "the connection was reset");
  CHECK(result.bytes() == 3);
}

TEST_CASE("a cancelled counter returns what was counted, as incomplete") {
  counter counts(host({"letters"}));
  input text = counts.open_input("text");
  text.feed("abc");
  counts.cancel();
  const results result = counts.finish();
  CHECK_FALSE(result.complete());
  CHECK(result.bytes() == 3);
  CHECK(result.input(0).kind == failure::stopped);
}

TEST_CASE("a stop token cancels a counter") {
  std::stop_source stop;
  counting_options options = host({"letters"});
  options.stop = stop.get_token();
  counter counts(options);
  input text = counts.open_input("text");
  stop.request_stop();
  CHECK_THROWS_AS(text.feed("abc"), error);
  CHECK_FALSE(counts.finish().complete());
}

TEST_CASE("borrowed text is released once, after it was read") {
  counter counts(host({"letters"}));
  input text = counts.open_input("text");
  std::atomic<int> releases = 0;
  auto large = std::make_shared<std::string>(std::size_t{9} << 20U, 'a');
  text.feed_borrowed(bytes_of(*large), [large, &releases] { ++releases; });
  text.feed_borrowed(bytes_of("small"), [&releases] { ++releases; });
  text.feed_borrowed({}, [&releases] { ++releases; });
  const results result = counts.finish();
  CHECK(releases == 3);
  CHECK(large.use_count() == 1);
  CHECK(result.bytes() == large->size() + 5);
}

TEST_CASE("counters without inputs, and inputs without text, are complete") {
  CHECK(counter(host({"letters"})).finish().complete());
  counter counts(host({"letters"}));
  input text = counts.open_input("text");
  text.feed(std::string_view());
  text.finish();
  const results result = counts.finish();
  CHECK(result.complete());
  CHECK(result.inputs() == 1);
  CHECK(result.bytes() == 0);
}

TEST_CASE("several counters count side by side") {
  counter letters(host({"letters"}));
  counter bytes(host({"bytes"}));
  input to_letters = letters.open_input("text");
  input to_bytes = bytes.open_input("text");
  to_letters.feed("abc");
  to_bytes.feed("abcd");
  CHECK(letters.finish().bytes() == 3);
  CHECK(bytes.finish().bytes() == 4);
}

TEST_CASE("the result is written as gpuhist.result/1") {
  counter counts(host({"letters"}));
  input text = counts.open_input("text");
  text.feed("abc");
  const std::string json = counts.finish().to_json();
  CHECK(json.find("\"schema\":\"gpuhist.result/1\"") != std::string::npos);
  CHECK(json.find("\"a-d\":3") != std::string::npos);
  CHECK(json.back() == '\n');
}

namespace {

using testing::bytes_of;
using testing::error_of;

counting_options host() { return {.schemes = {"letters"}, .counting_engine = engine::host, .threads = 1}; }

}  // namespace

// A pointer or an array of char has no known end.
template <typename Text>
concept can_be_fed = requires(input& to, Text text) { to.feed(text); };
static_assert(can_be_fed<std::string> && can_be_fed<std::string_view> && can_be_fed<std::span<const std::byte>>);
static_assert(!can_be_fed<const char*> && !can_be_fed<char*> && !can_be_fed<char (&)[10]>);

TEST_CASE("impossible options are errors that name the option, and advise none that a counter does not have") {
  counting_options options = host();
  options.schemes = {"leters"};
  CHECK(message_of(options).starts_with("--buckets: there is no scheme"));
  options = host();
  options.memory_limit = 1;
  CHECK(message_of(options).starts_with("--memory-limit: "));
  CHECK(message_of(options).ends_with("; give a higher --memory-limit"));
  options = host();
  options.threads = 1000000;
  CHECK(message_of(options) == "--threads: 1000000 is not a number from 1 to 1024");
  options = host();
  options.fail_if = {"malformed > 1"};
  CHECK(message_of(options).find("--utf8") == std::string::npos);
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
  {
    const lent_buffer unused = text.lend(5);
  }
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
