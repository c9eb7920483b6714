#include "pipeline/flow/decoding/block_reader.hpp"

#include "async/event_loop.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <set>
#include <string>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

// A reader, and who takes every block that comes and keeps it. All is on one thread, which goes on only when told:
// after settle(), nothing can happen before somebody gives a block back.
struct reading {
  async::event_loop& context;
  std::shared_ptr<io::source> source;
  stage_clock clock;
  std::stop_source stop;
  std::shared_ptr<block_reader> reader;
  std::vector<block> taken;
  bool ended = false;

  reading(async::event_loop& on, io::source from, std::shared_ptr<block_pool> pool, std::size_t own,
          std::string_view head = {})
      : context(on), source(std::make_shared<io::source>(std::move(from))) {
    reader = std::make_shared<block_reader>(std::move(pool), own, *source, clock, stop.get_token());
    const auto bytes = std::as_bytes(std::span(head));
    block_reader::start(on, reader, source, {bytes.begin(), bytes.end()});
    async::spawn(on, take(), [](const std::exception_ptr&) noexcept {});
  }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
  ~reading() {  // both coroutines end before what they use
    reader->give_up();
    taken.clear();
    settle();
  }

  async::task<> take() {
    while (!ended) {
      block next = co_await reader->next();
      ended = next.end;
      taken.push_back(std::move(next));
    }
  }

  void settle() const { context.poll(); }

  // How many blocks hold bytes and were not given back.
  [[nodiscard]] std::ptrdiff_t on_loan() const {
    return std::ranges::count_if(taken, [](const block& each) { return each.memory != nullptr; });
  }
};

std::string text_of(const block& each) { return {reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size()}; }

struct workshop {
  test::temporary_folder folder;
  async::event_loop context;

  io::source file(std::string_view content) {
    return io::open_source(folder.file("file", content), context.context().get_executor(), 0);
  }
};

std::string numbered(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
  text.resize(size);
  return text;
}

}  // namespace

TEST_CASE("blocks hold the bytes of a file once and in order, whatever the sizes and however they come back") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    workshop it;
    const std::string text = numbered(random() % 3 == 0 ? random() % 3 : random() % 2000);
    const std::size_t block_bytes = 1 + random() % 300;
    const std::size_t own = 2 + random() % 3;
    const auto pool = std::make_shared<block_pool>(block_bytes, random() % 3);
    reading from(it.context, it.file(text), pool, own);
    if (random() % 2 == 0) from.reader->read_farther_ahead();
    std::string got;
    std::size_t looked_at = 0;
    while (!from.ended) {
      from.settle();
      for (; looked_at < from.taken.size(); ++looked_at) got += text_of(from.taken[looked_at]);
      // any of those on loan, one at the least
      const auto first = std::ranges::find_if(from.taken, [](const block& each) { return each.memory != nullptr; });
      if (first != from.taken.end()) *first = {};
      for (block& each : from.taken) {
        if (random() % 2 == 0) each = {};
      }
    }
    CHECK(got == text);
    CHECK(from.clock.bytes == text.size());
    CHECK(from.taken.back().error == nullptr);
    for (std::size_t i = 0; i + 2 < from.taken.size(); ++i) CHECK(from.taken[i].bytes.size() <= block_bytes);
  }
}

TEST_CASE("no more than its own blocks are on loan from a reader, and extra ones only where they are of use") {
  workshop it;
  const auto pool = std::make_shared<block_pool>(10, 3);
  reading from(it.context, it.file(numbered(1000)), pool, 2);
  from.settle();
  CHECK(from.on_loan() == 2);
  from.taken[0] = {};
  from.settle();
  CHECK(from.taken.size() == 3);
  CHECK(from.on_loan() == 2);
  from.reader->read_farther_ahead();
  from.taken[1] = {};
  from.settle();
  CHECK(from.on_loan() == 2 + 3);
}

TEST_CASE("readers share the extra blocks, and each has its own whatever the others hold") {
  workshop it;
  const auto pool = std::make_shared<block_pool>(10, 4);
  reading first(it.context, it.file(numbered(1000)), pool, 2);
  first.reader->read_farther_ahead();
  first.settle();
  CHECK(first.on_loan() == 2 + 4);
  reading second(it.context, it.file(numbered(1000)), pool, 3);
  second.reader->read_farther_ahead();
  second.settle();
  CHECK(second.on_loan() == 3);
  for (block& each : first.taken) each = {};
  first.reader->give_up();
  second.taken[0] = {};
  second.settle();
  CHECK(second.on_loan() == 3 + 4);
}

TEST_CASE("the memory of blocks is used again") {
  workshop it;
  const auto pool = std::make_shared<block_pool>(10, 1);
  reading from(it.context, it.file(numbered(2000)), pool, 2);
  from.reader->read_farther_ahead();
  std::set<const std::byte*> places;
  while (!from.ended) {
    from.settle();
    for (block& each : from.taken) {
      if (each.memory) places.insert(each.memory.get());
      each.memory.reset();
    }
  }
  CHECK(from.taken.size() == 201);
  CHECK(places.size() <= 3);
}

TEST_CASE("a part of a block keeps all of it, also when the reader and its pool are gone") {
  workshop it;
  block kept;
  {
    reading from(it.context, it.file(numbered(1000)), std::make_shared<block_pool>(500, 0), 2);
    from.settle();
    kept = {.memory = from.taken[0].memory, .bytes = from.taken[0].bytes.subspan(100)};
    from.taken.clear();
    from.settle();
    CHECK(from.ended);
  }
  CHECK(text_of(kept) == numbered(500).substr(100));
}

TEST_CASE("who gives up is told of the end though all blocks are on loan, and those stay readable") {
  workshop it;
  const auto pool = std::make_shared<block_pool>(10, 0);
  reading from(it.context, it.file(numbered(1000)), pool, 2);
  from.settle();
  CHECK_FALSE(from.ended);
  from.reader->give_up();
  from.settle();
  CHECK(from.ended);
  CHECK(from.taken.back().error == nullptr);
  CHECK(text_of(from.taken[0]) + text_of(from.taken[1]) == numbered(20));
}

TEST_CASE("after a stop nothing more is read") {
  workshop it;
  reading from(it.context, it.file(numbered(1000)), std::make_shared<block_pool>(10, 0), 2);
  from.stop.request_stop();
  from.settle();
  CHECK(from.ended);
  CHECK(from.taken.size() == 1);
}

TEST_CASE("of a stream, what was read before comes first, and then what there is, as it comes") {
  workshop it;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto write = [&](std::string_view text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  write("more");
  {
    io::source stream = io::open_source("/dev/fd/" + std::to_string(ends[0]), it.context.context().get_executor(), 0);
    reading from(it.context, std::move(stream), std::make_shared<block_pool>(10, 0), 9, "twelve bytes");
    from.settle();
    REQUIRE(from.taken.size() == 3);
    CHECK(text_of(from.taken[0]) == "twelve byt");
    CHECK(text_of(from.taken[1]) == "es");
    CHECK(text_of(from.taken[2]) == "more");
    CHECK_FALSE(from.ended);
    write("and more than a block");
    ::close(ends[1]);
    from.context.run_until([&] { return from.ended; });
    std::string got;
    for (std::size_t i = 3; i < from.taken.size(); ++i) got += text_of(from.taken[i]);
    CHECK(got == "and more than a block");
  }
  ::close(ends[0]);
}

TEST_CASE("what a source fails with comes behind what was read before") {
  workshop it;
  const std::string path = it.folder.file("file", "text");
  // a file that cannot be read any more, without the means of a test to make the disk fail
  io::source unreadable = io::file_source(io::descriptor(::open(path.c_str(), O_WRONLY)), 0, 4);
  reading from(it.context, std::move(unreadable), std::make_shared<block_pool>(10, 0), 2, "head");
  from.settle();
  REQUIRE(from.ended);
  REQUIRE(from.taken.size() == 2);
  CHECK(text_of(from.taken[0]) == "head");
  CHECK_THROWS_AS(std::rethrow_exception(from.taken[1].error), io::input_error);
}
