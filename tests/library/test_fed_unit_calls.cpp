// Callbacks for units of fed inputs: what they may not do, their exceptions, and how waits for them end.
#include "error_kind.hpp"
#include "fed_text.hpp"

#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using testing::error_of;

counting_options options_of(unit_options units) {
  return {.schemes = {"s:x=x"}, .units = std::move(units), .counting_engine = engine::host, .threads = 2};
}

const unit_options lines_with_x{.where = "s.x > 0"};

std::string message_of(const counting_options& options) {
  try {
    const counter counts(options);
  } catch (const error& thrown) {
    CHECK(thrown.kind() == errc::invalid_argument);
    return thrown.what();
  }
  return "";
}

}  // namespace

TEST_CASE("on_unit is called on one thread, which is not the one that feeds, before feed() returns") {
  std::vector<std::thread::id> callers;
  std::atomic<std::size_t> calls = 0;
  counter counts(options_of(lines_with_x), {.on_unit = [&](const unit&) {
                   callers.push_back(std::this_thread::get_id());
                   ++calls;
                 }});
  input fed = counts.open_input("text");
  fed.feed("x\n");
  CHECK(calls == 1);
  fed.feed("y\nx");
  CHECK(calls == 1);
  fed.finish();
  CHECK(calls == 2);
  counts.finish();
  REQUIRE(callers.size() == 2);
  CHECK(callers[0] == callers[1]);
  CHECK(callers[0] != std::this_thread::get_id());
}

TEST_CASE("in on_unit, calls of the counter and its inputs are refused, except cancel()") {
  counter* counts = nullptr;
  input* fed = nullptr;
  std::vector<std::optional<errc>> refusals;
  counter made(options_of(lines_with_x), {.on_unit = [&](const unit&) {
                 refusals.push_back(error_of([&] { fed->feed("x\n"); }));
                 refusals.push_back(error_of([&] { static_cast<void>(counts->snapshot()); }));
                 refusals.push_back(error_of([&] { static_cast<void>(counts->finish()); }));
                 counts->cancel();
               }});
  counts = &made;
  input opened = made.open_input("text");
  fed = &opened;
  static_cast<void>(error_of([&] { opened.feed("x\n"); }));
  CHECK(error_of([&] { opened.feed("x\n"); }) == errc::closed);
  CHECK_FALSE(made.finish().complete());
  CHECK(refusals == std::vector<std::optional<errc>>(3, errc::misuse));
}

TEST_CASE("an exception of on_unit ends the counting, and is thrown by finish()") {
  using kind = unit_options::kind;
  for (const unit_options& asked : {lines_with_x, unit_options{.each = kind::input, .where = "s.x > 0"}}) {
    std::atomic<unsigned> calls = 0;
    counter counts(options_of(asked), {.on_unit = [&](const unit&) {
                     ++calls;
                     throw std::runtime_error("enough");
                   }});
    static_cast<void>(error_of([&] {
      input fed = counts.open_input("text");
      fed.feed("x\nx\nx\n");
      fed.finish();
    }));
    CHECK_THROWS_WITH_AS(static_cast<void>(counts.finish()), "enough", std::runtime_error);
    CHECK(calls == 1);
  }
}

TEST_CASE("cancel() ends the wait of feed() for a callback that blocks") {
  std::promise<void> may_continue;
  std::atomic<bool> is_blocked = false;
  counter counts(options_of(lines_with_x), {.on_unit = [&](const unit&) {
                   is_blocked = true;
                   may_continue.get_future().wait();
                 }});
  input fed = counts.open_input("text");
  std::optional<errc> refused;
  {
    const std::jthread feeding([&] { refused = error_of([&] { fed.feed("x\n"); }); });
    while (!is_blocked) std::this_thread::yield();
    counts.cancel();
  }
  CHECK(refused == errc::closed);
  may_continue.set_value();
  CHECK_FALSE(counts.finish().complete());
}

TEST_CASE("a counter and its input may be destroyed without finish(), with a unit that is open") {
  std::atomic<unsigned> calls = 0;
  {
    counter counts(options_of(lines_with_x), {.on_unit = [&](const unit&) { ++calls; }});
    {
      input dropped = counts.open_input("dropped");
      dropped.feed("xx");
    }
    CHECK(calls == 1);
    input left = counts.open_input("left");
    left.feed("x\nxx");
    CHECK(calls == 2);
  }
  auto counts = std::make_unique<counter>(options_of(lines_with_x));
  input outliving = counts->open_input("text");
  outliving.feed("x");
  counts.reset();
  CHECK(error_of([&] { outliving.feed("x\n"); }) == errc::closed);
}

TEST_CASE("an input that fails ends its last unit, and others go on") {
  counter counts(options_of({.where = "s.x > 0"}));
  input failed = counts.open_input("failed");
  failed.feed("x\nx");
  failed.fail("lost");
  input good = counts.open_input("good");
  good.feed("y\nx");
  good.finish();
  const results result = counts.finish();
  CHECK_FALSE(result.complete());
  CHECK(result.units()->seen == 4);
  CHECK(result.units()->selected == 3);
}

TEST_CASE("errors of the units of a counter name its fields") {
  using kind = unit_options::kind;
  const auto begins = [](std::string_view text, std::string_view with) { return text.starts_with(with); };
  CHECK(begins(message_of(options_of({.where = "digits > 1"})), "unit_options::where: there is no \"digits\""));
  CHECK(begins(message_of(options_of({.top = 1, .top_by = "bites"})), "unit_options::top_by: "));
  CHECK(begins(message_of(options_of({.top = 1'000'001, .top_by = "bytes"})), "unit_options::top: "));
  CHECK(begins(message_of(options_of({.each = kind::part})), "counting_options::units: "));
  CHECK(begins(message_of(options_of({.each = kind::window})), "counting_options::units: "));
  CHECK(begins(message_of(options_of({.filter = unit_filter::keep})), "unit_options::filter: requires"));
}

}  // namespace gpuhist
