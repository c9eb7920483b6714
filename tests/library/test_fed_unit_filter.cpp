// The text that a filter keeps of fed inputs: that of a plain loop, in order, however it is fed.
#include "error_kind.hpp"
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using test::temporary_folder;
using testing::bytes_of;
using testing::error_of;

counting_options options_of(unit_filter filter, char delimiter = '\n') {
  return {.schemes = {"s:x=x"},
          .units =
              unit_options{
                  .each = unit_options::kind::record, .delimiter = delimiter, .where = "s.x > 0.5", .filter = filter},
          .counting_engine = engine::host,
          .threads = 2};
}

std::string lines_of(unsigned seed, std::size_t lines) {
  std::mt19937 random(seed);
  std::string made;
  for (std::size_t i = 0; i < lines; ++i) {
    for (auto left = random() % 30; left > 0; --left) made += random() % 2 == 0 ? 'x' : 'y';
    made += '\n';
  }
  return made + "xxx";
}

// By a plain loop: the lines that are mostly x, or all others.
std::string kept_of(std::string_view text, unit_filter filter) {
  std::string kept;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    const bool holds = 2 * std::ranges::count(line, 'x') > std::ssize(line);
    if (holds == (filter == unit_filter::keep)) kept += line;
    text.remove_prefix(line.size());
  }
  return kept;
}

input_options appends_to(std::string& kept, std::string format = "raw") {
  return {.format = std::move(format), .on_kept = [&kept](std::span<const std::byte> text) {
            kept.append(reinterpret_cast<const char*>(text.data()), text.size());
          }};
}

void feed(input& to, std::string_view text, std::size_t piece) {
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) to.feed(text.substr(0, piece));
}

// Calls the function when it is destroyed.
class at_end {
 public:
  explicit at_end(std::function<void()> called) : called_(std::move(called)) {}
  at_end(const at_end&) = delete;
  at_end& operator=(const at_end&) = delete;
  ~at_end() { called_(); }

 private:
  std::function<void()> called_;
};

}  // namespace

TEST_CASE("the text of the units that are kept is that of a plain loop, in pieces of any size") {
  const std::string text = lines_of(3, 10'000);
  for (const unit_filter filter : {unit_filter::keep, unit_filter::drop}) {
    const std::string expected = kept_of(text, filter);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{777}, text.size()}) {
      CAPTURE(piece);
      std::string kept;
      std::uint64_t reported = 0;
      counter counts(options_of(filter), {.on_unit = [&](const unit& each) { reported += each.bytes; }});
      input fed = counts.open_input("text", appends_to(kept));
      feed(fed, text, piece);
      fed.finish();
      CHECK(kept == expected);
      const results result = counts.finish();
      CHECK(result.complete());
      CHECK(result.bytes() == text.size());
      CHECK(reported == text.size() - kept.size());
    }
  }
}

TEST_CASE("text is kept within the calls of the thread that feeds, for each input by itself") {
  constexpr unsigned threads = 4;
  counter counts(options_of(unit_filter::keep));
  std::vector<std::string> kept(threads);
  std::vector<std::string> texts;
  for (unsigned i = 0; i < threads; ++i) texts.push_back(lines_of(20 + i, 5000));
  {
    std::vector<std::jthread> feeding;
    for (unsigned i = 0; i < threads; ++i) {
      feeding.emplace_back([&, i] {
        const auto own = std::this_thread::get_id();
        input fed = counts.open_input("same name", {.on_kept = [&, i, own](std::span<const std::byte> text) {
                                        if (std::this_thread::get_id() != own) return;
                                        kept[i].append(reinterpret_cast<const char*>(text.data()), text.size());
                                      }});
        feed(fed, texts[i], 300);
        fed.finish();
      });
    }
  }
  CHECK(counts.finish().complete());
  for (unsigned i = 0; i < threads; ++i) CHECK(kept[i] == kept_of(texts[i], unit_filter::keep));
}

TEST_CASE("compressed text is filtered, before damage too, and the end of an input that has failed") {
  const std::string text = lines_of(4, 30'000);
  auto packed = test::zstd_frame_of(bytes_of(text));
  std::string kept;
  std::string damaged;
  {
    counter counts(options_of(unit_filter::keep));
    input good = counts.open_input("good", appends_to(kept, "zstd"));
    good.feed(packed);
    good.finish();
    packed.back() ^= std::byte{1};  // of the checksum
    input bad = counts.open_input("bad", appends_to(damaged, "zstd"));
    bad.feed(packed);
    CHECK(bad.failed());
    bad.finish();
    CHECK_FALSE(counts.finish().complete());
  }
  CHECK(kept == kept_of(text, unit_filter::keep));
  CHECK(damaged == kept);
}

TEST_CASE("finish() and fail() pass the last unit, the destruction of an input and cancel() do not") {
  std::string finished;
  std::string failed;
  std::string dropped;
  std::string left_to_counter;
  std::string cancelled;
  counter counts(options_of(unit_filter::keep));
  input a = counts.open_input("a", appends_to(finished));
  a.feed("x\nxx");
  CHECK(finished == "");
  a.feed("xx\nyxx");
  CHECK(finished == "xxxx\n");
  a.finish();
  CHECK(finished == "xxxx\nyxx");
  input b = counts.open_input("b", appends_to(failed));
  b.feed("xxx\nxx");
  b.fail("lost");
  CHECK(failed == "xxx\nxx");
  {
    input c = counts.open_input("c", appends_to(dropped));
    c.feed("xxx\nxx");
  }
  CHECK(dropped == "xxx\n");
  input d = counts.open_input("d", appends_to(left_to_counter));
  d.feed("xxx\nxx");
  CHECK(counts.finish().inputs() == 4);
  CHECK(left_to_counter == "xxx\nxx");

  counter ended(options_of(unit_filter::keep));
  input e = ended.open_input("e", appends_to(cancelled));
  e.feed("xxx\nxx");
  ended.cancel();
  CHECK(error_of([&] { e.finish(); }) == errc::closed);
  CHECK_FALSE(ended.finish().complete());
  CHECK(cancelled == "xxx\n");
}

TEST_CASE("an exception of on_kept ends the counting, and is thrown by finish()") {
  counter counts(options_of(unit_filter::keep));
  unsigned calls = 0;
  input fed = counts.open_input("text", {.on_kept = [&](std::span<const std::byte>) {
                                  ++calls;
                                  throw std::runtime_error("full");
                                }});
  CHECK(error_of([&] { fed.feed("xxx\nxxx\n"); }) == errc::closed);
  CHECK(error_of([&] { fed.feed("xxx\n"); }) == errc::closed);
  CHECK_THROWS_WITH_AS(static_cast<void>(counts.finish()), "full", std::runtime_error);
  CHECK(calls == 1);

  counter at_finish(options_of(unit_filter::keep));
  input open = at_finish.open_input("text", {.on_kept = [](std::span<const std::byte>) { throw 5; }});
  open.feed("xxx");
  CHECK_THROWS_AS(static_cast<void>(at_finish.finish()), int);
}

TEST_CASE("in on_kept, calls of the counter and its inputs are refused; also when the function is destroyed") {
  counter counts(options_of(unit_filter::keep));
  std::optional<input> other = counts.open_input("other", {.on_kept = [](std::span<const std::byte>) {}});
  std::vector<std::optional<errc>> refusals;
  const auto call = [&] { refusals.push_back(error_of([&] { other->feed("x"); })); };
  auto held = std::make_shared<const at_end>(call);
  {
    input fed =
        counts.open_input("text", {.on_kept = [call, kept = std::move(held)](std::span<const std::byte>) { call(); }});
    CHECK(refusals.empty());
    fed.feed("xxx\n");
    CHECK(refusals.size() == 1);
  }
  CHECK(refusals == std::vector<std::optional<errc>>(2, errc::misuse));
  other->finish();
  CHECK_FALSE(counts.finish().complete());
}

TEST_CASE("a unit that is long is spilled to the temporary folder, and without one the counting fails") {
  const temporary_folder folder;
  const std::string longer(20'000'000, 'x');
  for (const std::string& temporary : {folder / "", folder / "missing"}) {
    counting_options options = options_of(unit_filter::keep, ';');
    options.temporary_folder = temporary;
    std::string kept;
    counter counts(options);
    input fed = counts.open_input("text", appends_to(kept));
    const std::optional<errc> refused = error_of([&] {
      feed(fed, "y;" + longer + ";yy;x", 1'000'000);
      fed.finish();
    });
    if (temporary == folder / "") {
      CHECK_FALSE(refused);
      CHECK(counts.finish().complete());
      CHECK(kept == longer + ";x");
    } else {
      CHECK(refused == errc::closed);
      CHECK(error_of([&] { counts.finish(); }) == errc::system);
    }
  }
}

TEST_CASE("on_kept and a filter require each other") {
  counter filters(options_of(unit_filter::keep));
  CHECK(error_of([&] { static_cast<void>(filters.open_input("text")); }) == errc::invalid_argument);
  std::string kept;
  counter counts(options_of(unit_filter::none));
  CHECK(error_of([&] { static_cast<void>(counts.open_input("text", appends_to(kept))); }) == errc::invalid_argument);
  CHECK(counts.finish().inputs() == 0);
}

}  // namespace gpuhist
