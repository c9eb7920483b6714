#include "fed_text.hpp"

#include "tests/support/campaign.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <thread>

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

}  // namespace gpuhist
