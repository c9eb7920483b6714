// text_track: all text that is passed is observed and counted once, in its order, with the verdicts on its frames;
// compared with a model that keeps the text.
#include "async/event_loop.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/text_track.hpp"

#include "tests/support/shuffling_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

std::vector<std::uint64_t> counted_bytes(std::string_view text) {
  std::vector<std::uint64_t> counts(256);
  for (const char each : text) ++counts[static_cast<unsigned char>(each)];
  return counts;
}

// Keeps the text of one input. `limit`: bytes, after which it has no memory.
class keeping_observer final : public text_observer {
 public:
  std::unique_ptr<input_observer> open(const std::string& /*name*/, std::uint64_t /*order*/) override {
    return std::make_unique<keeper>(*this);
  }
  [[nodiscard]] bool wants_publishing() const override { return false; }
  void publish() override {}
  [[nodiscard]] bool filters() const override { return false; }

  std::string text{};
  std::size_t limit = ~std::size_t{0};
  std::size_t gaps = 0;

 private:
  struct keeper final : input_observer {
    explicit keeper(keeping_observer& to) : owner(to) {}
    void take(std::span<const std::byte> text, bool /*verified*/) override {
      if (owner.text.size() + text.size() > owner.limit) throw std::bad_alloc();
      owner.text.append(reinterpret_cast<const char*>(text.data()), text.size());
    }
    void note_gap() override { ++owner.gaps; }
    void end(ending /*how*/) override {}

    keeping_observer& owner;
  };
};

struct track_run {
  // Runs a task, and then all that it has put is counted.
  void run(async::task<> work) {
    bool settled = false;
    const auto all = [](track_run& self, async::task<> first) -> async::task<> {
      co_await std::move(first);
      self.cut.flush();
      co_await self.collected.settled();
    };
    async::spawn(loop, all(*this, std::move(work)), [&](const std::exception_ptr& error) noexcept {
      CHECK_FALSE(error);
      settled = true;
    });
    loop.run_until([&] { return settled; });
  }

  ring slots{{.slots = 4, .chunk_bytes = 64, .max_extents = 4, .row_columns = 256}};
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"input"}};
  std::stop_source stop;
  test::shuffling_engine engine{gpu::partition::identity()};
  collector collected{slots, engine, counts, stop, [] {}};
  cutter cut{slots, collected};
  async::first_failure failures{stop};
  async::event_loop loop;
  keeping_observer observer;
  text_taps taps{{.observer = &observer}, loop, counts, failures};
};

std::string random_text(std::size_t size, std::mt19937& random) {
  std::string text(size, ' ');
  for (char& each : text) each = static_cast<char>(random());
  return text;
}

std::span<const std::byte> bytes_in(std::string_view text) { return std::as_bytes(std::span(text)); }

// Passes the text in room of its own, in pieces.
async::task<> take_all(text_track& track, cutter& cut, std::string_view text) {
  while (!text.empty()) {
    held_reservation room(cut, co_await cut.reserve(text.size()));
    const std::size_t size = room.bytes().size();
    std::ranges::copy(bytes_in(text.substr(0, size)), room.bytes().begin());
    co_await track.take(std::move(room), size);
    text.remove_prefix(size);
  }
}

}  // namespace

TEST_CASE("text of frames is counted by their verdicts, and observed in its order, however it is passed") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    track_run of;
    std::string all;
    std::array<std::string, 2> by_verdict;  // damaged, verified
    std::size_t lost = 0;
    text_track track({.counts = of.counts, .taps = &of.taps}, {.input = 0});
    track.open_group(1);
    track.begin_group();
    of.run([](track_run& in, text_track& to, std::mt19937& numbers, std::string& whole,
              std::array<std::string, 2>& judged, std::size_t& gaps) -> async::task<> {
      for (unsigned frame = 0; frame < 6; ++frame) {
        std::string of_frame;
        for (unsigned piece = numbers() % 4; piece > 0; --piece) {
          const std::string text = random_text(numbers() % 200, numbers);
          if (numbers() % 2 == 0) {
            co_await to.put(in.cut, bytes_in(text));
          } else {
            co_await take_all(to, in.cut, text);
          }
          of_frame += text;
        }
        CHECK(to.frame_bytes() == of_frame.size());
        whole += of_frame;
        CHECK(to.bytes() == whole.size());
        const bool is_verified = numbers() % 3 > 0;
        judged[is_verified ? 1 : 0] += of_frame;
        if (is_verified) {
          co_await to.end_frame(numbers() % 2 == 0 ? &in.cut : nullptr);
        } else {
          co_await to.lose_frame("damaged");
          ++gaps;
        }
      }
      co_await to.end_group(true);
    }(of, track, random, all, by_verdict, lost));
    track.close_group({});
    of.counts.finish(0, track.bytes());
    CHECK(of.observer.text == all);
    CHECK(of.observer.gaps == lost);
    CHECK(of.counts.counts().verified.counts == counted_bytes(by_verdict[1]));
    if (!by_verdict[0].empty()) CHECK(of.counts.counts().unverified.counts == counted_bytes(by_verdict[0]));
  }
}

TEST_CASE("text that cannot be observed is not counted, and its room is free again") {
  std::mt19937 random(7);
  const std::string text = random_text(1000, random);
  for (const std::size_t limit : {0U, 1U, 64U, 500U, 999U}) {
    CAPTURE(limit);
    track_run of;
    of.observer.limit = limit;
    text_track track({.counts = of.counts, .taps = &of.taps}, {.input = 0});
    bool has_failed = false;
    of.run([](track_run& in, text_track& to, std::string_view whole, bool& failed) -> async::task<> {
      try {
        co_await take_all(to, in.cut, whole);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }(of, track, text, has_failed));
    CHECK(has_failed);
    track.fail(left_at(track.bytes()));
    CHECK(track.bytes() == of.observer.text.size());
    CHECK(of.counts.counts().verified.counts == counted_bytes(of.observer.text));
    CHECK_FALSE(of.counts.input_in_order(0).complete);
    std::vector<slot*> free;
    while (slot* const next = of.slots.try_acquire()) free.push_back(next);
    CHECK(free.size() + 1 == of.slots.slots().size());  // the cutter keeps one
    for (slot* const each : free) {
      of.slots.begin_counting(*each);
      of.slots.release(*each);
    }
  }
}

}  // namespace gpuhist::pipeline
