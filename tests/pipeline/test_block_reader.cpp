// Blocks of an input that are read ahead and lent to decoders. frame_divider: the pieces are the bytes of the input in
// order, and groups begin where frames begin.
#include "async/event_loop.hpp"
#include "async/task_group.hpp"
#include "async/worker_pool.hpp"
#include "io/format.hpp"
#include "pipeline/flow/decoding/block_pool.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/frame_divider.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/pipeline/parallel_runs.hpp"
#include "tests/support/staging_engine.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/texts.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using gpuhist::test::numbered;

namespace {

// A reader, and a consumer that takes every block and keeps it. Both are on one thread and run only in settle(). After
// settle() nothing happens before the test releases a block.
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
  ~reading() {  // both coroutines end before the objects that they use
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

  // The number of blocks that hold bytes and were not released.
  [[nodiscard]] std::ptrdiff_t on_loan() const {
    return std::ranges::count_if(taken, [](const block& each) { return each.memory != nullptr; });
  }
};

std::string text_of(const block& each) { return {reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size()}; }

// Appends all blocks to `to`. Throws the error of the reader.
async::task<> receive(block_reader& reader, std::string& to) {
  for (;;) {
    const block next = co_await reader.next();
    if (next.error) std::rethrow_exception(next.error);
    if (next.end) co_return;
    to += text_of(next);
  }
}

struct workshop {
  test::temporary_folder folder;
  async::event_loop context;

  io::source file(std::string_view content) {
    return io::open_source(folder.file("file", content), context.context().get_executor(), 0);
  }
};

}  // namespace

TEST_CASE("blocks hold the bytes of a file once and in order, whatever their sizes and the order of their release") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    workshop fixture;
    const std::string text = numbered(random() % 3 == 0 ? random() % 3 : random() % 2000);
    const std::size_t block_bytes = 1 + random() % 300;
    const std::size_t own = 2 + random() % 3;
    const auto pool = std::make_shared<block_pool>(block_bytes, random() % 3);
    reading consumer(fixture.context, fixture.file(text), pool, own);
    if (random() % 2 == 0) consumer.reader->read_farther_ahead();
    std::string received;
    std::size_t checked = 0;
    while (!consumer.ended) {
      consumer.settle();
      for (; checked < consumer.taken.size(); ++checked) received += text_of(consumer.taken[checked]);
      // releases any of those on loan, but at least one
      const auto first = std::ranges::find_if(consumer.taken, [](const block& each) { return each.memory != nullptr; });
      if (first != consumer.taken.end()) *first = {};
      for (block& each : consumer.taken) {
        if (random() % 2 == 0) each = {};
      }
    }
    CHECK(received == text);
    CHECK(consumer.clock.bytes == text.size());
    CHECK(consumer.taken.back().error == nullptr);
    for (std::size_t i = 0; i + 2 < consumer.taken.size(); ++i) CHECK(consumer.taken[i].bytes.size() <= block_bytes);
  }
}

TEST_CASE("a reader lends at most its own blocks, and extra ones only if it reads farther ahead") {
  workshop fixture;
  const auto pool = std::make_shared<block_pool>(10, 3);
  reading consumer(fixture.context, fixture.file(numbered(1000)), pool, 2);
  consumer.settle();
  CHECK(consumer.on_loan() == 2);
  consumer.taken[0] = {};
  consumer.settle();
  CHECK(consumer.taken.size() == 3);
  CHECK(consumer.on_loan() == 2);
  consumer.reader->read_farther_ahead();
  consumer.taken[1] = {};
  consumer.settle();
  CHECK(consumer.on_loan() == 2 + 3);
}

TEST_CASE("readers share the extra blocks, and each has its own blocks whatever the others hold") {
  workshop fixture;
  const auto pool = std::make_shared<block_pool>(10, 4);
  reading first(fixture.context, fixture.file(numbered(1000)), pool, 2);
  first.reader->read_farther_ahead();
  first.settle();
  CHECK(first.on_loan() == 2 + 4);
  reading second(fixture.context, fixture.file(numbered(1000)), pool, 3);
  second.reader->read_farther_ahead();
  second.settle();
  CHECK(second.on_loan() == 3);
  for (block& each : first.taken) each = {};
  first.reader->give_up();
  second.taken[0] = {};
  second.settle();
  CHECK(second.on_loan() == 3 + 4);
}

TEST_CASE("the memory of blocks is reused") {
  workshop fixture;
  const auto pool = std::make_shared<block_pool>(10, 1);
  reading consumer(fixture.context, fixture.file(numbered(2000)), pool, 2);
  consumer.reader->read_farther_ahead();
  std::set<const std::byte*> places;
  while (!consumer.ended) {
    consumer.settle();
    for (block& each : consumer.taken) {
      if (each.memory) places.insert(each.memory.get());
      each.memory.reset();
    }
  }
  CHECK(consumer.taken.size() == 201);
  CHECK(places.size() <= 3);
}

TEST_CASE(
    "memory that is page-locked holds all blocks that are lent from then on, and the blocks before when they return") {
  workshop fixture;
  test::staging_engine engine;
  const auto pool = std::make_shared<block_pool>(std::size_t{1} << 17U, 30);
  const std::string text = numbered(std::size_t{5} << 20U);
  reading before(fixture.context, fixture.file(text), pool, 2);
  before.settle();
  const std::byte* const first = before.taken[0].memory.get();
  CHECK_FALSE(before.taken[0].lent->is_locked);
  pool->lock_pages(engine);
  pool->lock_pages(engine);
  CHECK(engine.registrations() == 1);
  CHECK_FALSE(before.taken[0].lent->is_locked);
  CHECK(engine.is_registered(before.taken[0].bytes));
  before.reader->give_up();
  before.settle();
  before.taken[0] = {};
  reading after(fixture.context, fixture.file(text), pool, 2);
  after.reader->read_farther_ahead();
  after.settle();
  CHECK(after.on_loan() == 32);
  const auto check_all = [&] {
    for (const block& each : after.taken) {
      if (each.memory) CHECK(each.lent->is_locked == engine.is_registered(each.bytes));
    }
  };
  check_all();
  const auto again = std::ranges::find(after.taken, first, [](const block& each) { return each.memory.get(); });
  REQUIRE(again != after.taken.end());
  CHECK(again->lent->is_locked);
  pool->lock_pages(engine);
  CHECK(engine.registrations() > 1);  // slabs of 2 MiB
  for (block& each : after.taken) each = {};
  after.settle();
  check_all();
  for (const block& each : after.taken) {
    if (each.memory) CHECK(each.lent->is_locked);
  }
}

TEST_CASE("memory that the system does not page-lock is lent as before, and is not said to be locked") {
  workshop fixture;
  test::staging_engine engine({}, 1);
  const auto pool = std::make_shared<block_pool>(std::size_t{1} << 17U, 30);
  {
    reading first(fixture.context, fixture.file(numbered(std::size_t{5} << 20U)), pool, 2);
    first.reader->read_farther_ahead();
    first.settle();
    pool->lock_pages(engine);
  }
  reading consumer(fixture.context, fixture.file(numbered(std::size_t{5} << 20U)), pool, 2);
  consumer.reader->read_farther_ahead();
  consumer.settle();
  CHECK(engine.registrations() == 1);
  CHECK(consumer.on_loan() == 32);
  CHECK(std::ranges::any_of(consumer.taken, [](const block& each) { return each.lent && each.lent->is_locked; }));
  for (const block& each : consumer.taken) {
    if (each.memory) CHECK(each.lent->is_locked == engine.is_registered(each.bytes));
  }
}

TEST_CASE("a block whose memory is exchanged returns the other memory") {
  workshop fixture;
  const auto pool = std::make_shared<block_pool>(10, 0);
  reading consumer(fixture.context, fixture.file(numbered(1000)), pool, 2);
  consumer.settle();
  std::array<std::byte, 10> other{};
  std::byte* const taken = std::exchange(consumer.taken[0].lent->bytes, other.data());
  CHECK(text_of(consumer.taken[0]) == numbered(1000).substr(0, 10));
  CHECK(taken == consumer.taken[0].memory.get());
  consumer.taken[0] = {};
  consumer.settle();
  CHECK(consumer.taken[2].bytes.data() == other.data());
  CHECK(text_of(consumer.taken[2]) == numbered(1000).substr(20, 10));
}

TEST_CASE("a part of a block keeps the whole block alive, also after the reader and its pool were destroyed") {
  workshop fixture;
  block part;
  {
    reading consumer(fixture.context, fixture.file(numbered(1000)), std::make_shared<block_pool>(500, 0), 2);
    consumer.settle();
    part = {.memory = consumer.taken[0].memory, .bytes = consumer.taken[0].bytes.subspan(100)};
    consumer.taken.clear();
    consumer.settle();
    CHECK(consumer.ended);
  }
  CHECK(text_of(part) == numbered(500).substr(100));
}

TEST_CASE("after give_up() the end is reported even if all blocks are on loan, and those blocks stay readable") {
  workshop fixture;
  const auto pool = std::make_shared<block_pool>(10, 0);
  reading consumer(fixture.context, fixture.file(numbered(1000)), pool, 2);
  consumer.settle();
  CHECK_FALSE(consumer.ended);
  consumer.reader->give_up();
  consumer.settle();
  CHECK(consumer.ended);
  CHECK(consumer.taken.back().error == nullptr);
  CHECK(text_of(consumer.taken[0]) + text_of(consumer.taken[1]) == numbered(20));
}

TEST_CASE("after a stop no more bytes are read") {
  workshop fixture;
  reading consumer(fixture.context, fixture.file(numbered(1000)), std::make_shared<block_pool>(10, 0), 2);
  consumer.stop.request_stop();
  consumer.settle();
  CHECK(consumer.ended);
  CHECK(consumer.taken.size() == 1);
}

TEST_CASE("for a stream, bytes that were read before come first, followed by the available bytes as they arrive") {
  workshop fixture;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto write = [&](std::string_view text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  write("more");
  {
    io::source stream =
        io::open_source("/dev/fd/" + std::to_string(ends[0]), fixture.context.context().get_executor(), 0);
    reading consumer(fixture.context, std::move(stream), std::make_shared<block_pool>(10, 0), 9, "twelve bytes");
    consumer.settle();
    REQUIRE(consumer.taken.size() == 3);
    CHECK(text_of(consumer.taken[0]) == "twelve byt");
    CHECK(text_of(consumer.taken[1]) == "es");
    CHECK(text_of(consumer.taken[2]) == "more");
    CHECK_FALSE(consumer.ended);
    write("and more than a block");
    ::close(ends[1]);
    consumer.context.run_until([&] { return consumer.ended; });
    std::string received;
    for (std::size_t i = 3; i < consumer.taken.size(); ++i) received += text_of(consumer.taken[i]);
    CHECK(received == "and more than a block");
  }
  ::close(ends[0]);
}

TEST_CASE("the error of a source comes after the bytes that were read before it") {
  workshop fixture;
  const std::string path = fixture.folder.file("file", "text");
  // a file that cannot be read; a test has no means to make the disk fail
  io::source unreadable = io::file_source(io::descriptor(::open(path.c_str(), O_WRONLY)), 0, 4);
  reading consumer(fixture.context, std::move(unreadable), std::make_shared<block_pool>(10, 0), 2, "head");
  consumer.settle();
  REQUIRE(consumer.ended);
  REQUIRE(consumer.taken.size() == 2);
  CHECK(text_of(consumer.taken[0]) == "head");
  CHECK_THROWS_AS(std::rethrow_exception(consumer.taken[1].error), io::input_error);
}

TEST_CASE("blocks that several threads read are those of the file, in order, up to its end or the end of its part") {
  std::mt19937 random(6);
  async::worker_pool pool(4);
  for (int round = 0; round < 300; ++round) {
    workshop fixture;
    const std::string text = numbered(random() % 5000);
    const std::uint64_t begin = random() % 2 == 0 ? 0 : random() % (text.size() + 1);
    const std::uint64_t end = random() % 2 == 0 ? text.size() + random() % 200 : begin + random() % 3000;
    const auto source = std::make_shared<io::source>(fixture.file(text));
    const auto blocks = std::make_shared<block_pool>(1 + random() % 300, random() % 8);
    stage_clock clock;
    const auto reader =
        std::make_shared<block_reader>(blocks, 2, *source, clock, std::stop_token(), io::file_range{begin, end});
    reader->read_farther_ahead();
    reader->read_concurrently();
    block_reader::start(pool, reader, source, {});
    std::string received;
    async::run_blocking(pool, receive(*reader, received));
    CHECK(received == text.substr(begin, end - begin));
    CHECK(clock.bytes == received.size());
  }
}

TEST_CASE("each block of a file has the places of what its reader looks for, until it stops looking") {
  std::mt19937 random(7);
  async::worker_pool pool(4);
  for (int round = 0; round < 100; ++round) {
    workshop fixture;
    const auto source = std::make_shared<io::source>(fixture.file(numbered(random() % 200'000)));
    stage_clock clock;
    const auto reader = std::make_shared<block_reader>(std::make_shared<block_pool>(1 + random() % 900, random() % 8),
                                                       2, *source, clock, std::stop_token());
    reader->read_farther_ahead();
    reader->look_for("12");
    if (round % 2 == 0) reader->read_concurrently();
    block_reader::start(pool, reader, source, {});
    const auto check_all = [&]() -> async::task<> {
      constexpr int most_in_flight = 2 + 8 + 24;  // blocks that may have been read before it stopped
      int after_stop = 0;
      for (bool has_stopped = false;;) {
        const block next = co_await reader->next();
        if (next.end) co_return;
        if (has_stopped && ++after_stop > most_in_flight) CHECK_FALSE(next.places);
        const std::string_view text(reinterpret_cast<const char*>(next.bytes.data()), next.bytes.size());
        std::vector<std::uint32_t> places;
        for (std::size_t at = text.find("12"); at < text.size(); at = text.find("12", at + 1)) {
          places.push_back(static_cast<std::uint32_t>(at));
        }
        const bool are_few = places.size() <= next.bytes.size() / 64;
        if (next.places || (!has_stopped && are_few)) {
          REQUIRE(next.places);
          CHECK(are_few);
          CHECK(*next.places == places);
        }
        has_stopped = has_stopped || random() % 16 == 0;
        if (has_stopped) reader->stop_looking();
      }
    };
    async::run_blocking(pool, check_all());
  }
}

TEST_CASE("of blocks that several threads read, those before an error come first, whatever was read after it") {
  async::worker_pool pool(4);
  workshop fixture;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::string text = numbered(page);
  // the second page lies after the end of the mapped file: the memory of this process, as a file, ends there in an
  // error
  const io::descriptor mapped(::open(fixture.folder.file("file", text).c_str(), O_RDONLY));
  void* const memory = ::mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, mapped.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  io::descriptor self(::open("/proc/self/mem", O_RDONLY));
  REQUIRE(self.get() >= 0);
  const auto source = std::make_shared<io::source>(
      io::file_source(std::move(self), reinterpret_cast<std::uintptr_t>(memory), 2 * page));
  stage_clock clock;
  const auto reader = std::make_shared<block_reader>(std::make_shared<block_pool>(1000, 8), 2, *source, clock,
                                                     std::stop_token(), io::file_range{0, 2 * page});
  reader->read_farther_ahead();
  reader->read_concurrently();
  block_reader::start(pool, reader, source, {});
  std::string received;
  CHECK_THROWS_AS(async::run_blocking(pool, receive(*reader, received)), io::input_error);
  CHECK(received == text.substr(0, page / 1000 * 1000));
  reader->wait_for_end();
  ::munmap(memory, 2 * page);
}

TEST_CASE("a reader that is given up or stopped while several threads read passes a prefix, and ends") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    workshop fixture;
    async::worker_pool pool(1 + random() % 4);
    const std::string text = numbered(20'000);
    const auto source = std::make_shared<io::source>(fixture.file(text));
    stage_clock clock;
    std::stop_source stop;
    const auto reader =
        std::make_shared<block_reader>(std::make_shared<block_pool>(100, 20), 4, *source, clock, stop.get_token());
    reader->read_farther_ahead();
    reader->read_concurrently();
    block_reader::start(pool, reader, source, {});
    std::size_t blocks = random() % 150;
    std::string received;
    const auto receive_and_end = [&]() -> async::task<> {
      for (;;) {
        const block next = co_await reader->next();
        if (next.end) co_return;
        received += text_of(next);
        if (blocks-- > 0) continue;
        if (round % 2 == 0) reader->give_up();
        if (round % 2 == 1) stop.request_stop();
      }
    };
    async::run_blocking(pool, receive_and_end());
    reader->wait_for_end();
    CHECK(received == text.substr(0, received.size()));
  }
}

namespace {

struct division {
  test::byte_vector bytes;
  std::vector<io::decode_start> starts{{}};  // of the groups, in order; the last one may have no bytes
  bool lost = false;
};

// Divides `packed`, which arrives in blocks of the sizes that `size` gives.
division divide(std::string_view format, const test::byte_vector& packed, std::size_t group_bytes,
                const test::size_chooser& size) {
  frame_divider divider(io::format_named(format)->make_splitter(), group_bytes);
  division result;
  const auto take = [&](const frame_divider::piece& piece) {
    CHECK(piece.start.compressed_bytes == result.starts.back().compressed_bytes);
    result.bytes.insert(result.bytes.end(), piece.bytes.bytes.begin(), piece.bytes.bytes.end());
    result.lost |= piece.bytes.lost;
    if (!piece.ends_group) return;
    CHECK(result.bytes.size() - piece.start.compressed_bytes >= group_bytes);
    CHECK(divider.start().compressed_bytes == result.bytes.size());
    result.starts.push_back(divider.start());
  };
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t next = std::min(packed.size() - at, size());
    // a copy, so that the address sanitizer detects a use of bytes after their block was released
    const auto copy = std::make_shared<const test::byte_vector>(
        packed.begin() + static_cast<std::ptrdiff_t>(at), packed.begin() + static_cast<std::ptrdiff_t>(at + next));
    block_memory lent;
    const block source{.memory = {copy, copy->data()}, .bytes = *copy, .lent = &lent};
    while (const auto piece = divider.next(source)) {
      const bool is_whole = piece->bytes.bytes.data() == copy->data() && piece->bytes.bytes.size() == copy->size();
      CHECK(piece->bytes.lent == (is_whole ? &lent : nullptr));
      take(*piece);
    }
    at += next;
  }
  while (const auto piece = divider.rest()) take(*piece);
  CHECK(divider.frames() >= result.starts.back().frames);
  return result;
}

void check(std::string_view format, const test::decoder_sample& sample, test::dice& random) {
  const std::size_t group_bytes = random.one_of({1U, 100U, 1000U, 100000U});
  const std::uint32_t most = random.one_of({1U, 7U, 300U, 100000U});
  CAPTURE(format);
  CAPTURE(group_bytes);
  CAPTURE(most);
  const division found = divide(format, sample.packed, group_bytes, [&] { return std::size_t{random(1, most)}; });
  CHECK(found.bytes == sample.packed);
  CHECK_FALSE(found.lost);
  for (const io::decode_start& each : found.starts) {
    // as many frames as have ended there
    const auto ended =
        std::ranges::count_if(sample.ends, [&](const auto& end) { return end.packed <= each.compressed_bytes; });
    CHECK(each.frames == static_cast<std::uint64_t>(ended));
  }
  const auto divided = divide(format, sample.packed, 1, test::always(test::everything));
  if (sample.ends.size() > 1) CHECK(divided.starts.size() >= sample.ends.size());
}

TEST_CASE("the pieces are all bytes in order, and groups begin at ends of frames, however the bytes arrive") {
  test::dice random(5);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    check("zstd", test::random_archive(random, 500, 20), random);
    test::gzip_sample_builder members("blocks");
    for (std::uint32_t left = random(1, 9); left > 0; --left)
      members.block(test::sample_text(random(1, 3000), random()));
    check("gzip", members.build(), random);
  }
}

TEST_CASE("pieces end where parts of a frame end, unless its group has no parts") {
  const test::byte_vector packed =
      test::zstd_sample_builder("long").frame(test::noise(6'000'000), {.content_size = false}).build().packed;
  for (const bool has_parts : {true, false}) {
    frame_divider divider(io::format_named("zstd")->make_splitter(), 1);
    divider.set_group(1, has_parts);
    std::size_t pieces = 0;
    std::size_t parts = 0;
    const auto memory = std::make_shared<const test::byte_vector>(packed);
    while (const auto piece = divider.next({.memory = {memory, memory->data()}, .bytes = *memory})) {
      ++pieces;
      if (piece->bytes.part) ++parts;
    }
    CHECK((parts > 1) == has_parts);  // the part with the first block is always reported
    CHECK((pieces > 2) == has_parts);
    CHECK(parts >= 1);
  }
}

TEST_CASE("a group has the same parts whether the group before it has parts or not") {
  const auto packed = test::zstd_sample_builder("two")
                          .frame(test::noise(100'000), {.content_size = false})
                          .frame(test::noise(6'000'000), {.content_size = false})
                          .build()
                          .packed;
  std::vector<std::vector<std::size_t>> places;
  for (const bool has_parts : {true, false}) {
    frame_divider divider(io::format_named("zstd")->make_splitter(), 1);
    places.emplace_back();
    bool is_second = false;
    bool begins = true;
    std::size_t at = 0;
    const auto memory = std::make_shared<const test::byte_vector>(packed);
    while (const auto piece = divider.next({.memory = {memory, memory->data()}, .bytes = *memory})) {
      if (std::exchange(begins, piece->ends_group)) divider.set_group(1, has_parts || is_second);
      if (is_second && piece->bytes.part) places.back().push_back(at);
      at += piece->bytes.bytes.size();
      is_second = is_second || piece->ends_group;
    }
    CHECK(at == packed.size());
  }
  CHECK(places[0].size() > 2);
  CHECK(places[0] == places[1]);
}

// Reports the same ends as a splitter that needs one byte more to decide whether a frame ends before an 'L': only "LZ"
// begins a frame, and 'E' ends one.
class hesitant_splitter final : public io::splitter {
 public:
  io::split_step advance(std::span<const std::byte> bytes) override {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char each = static_cast<char>(bytes[i]);
      if (std::exchange(after_l_, each == 'L') && each == 'Z') return {.taken = i + 1, .frame_ends = true, .beyond = 2};
      if (each == 'E') return {.taken = i + 1, .frame_ends = true};
    }
    return {.taken = bytes.size()};
  }
  [[nodiscard]] std::size_t held_back() const override { return after_l_ ? 1 : 0; }
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] std::string_view manner() const override { return "by letters"; }

 private:
  bool after_l_ = false;
};

TEST_CASE("bytes that are held back come before the bytes after them, wherever the blocks end") {
  const std::string_view input = "LZaaaLbbbELZccLddLZeeELLLEf";
  const auto groups_of = [&](std::size_t group_bytes, unsigned cuts) {
    frame_divider divider(std::make_unique<hesitant_splitter>(), group_bytes);
    std::vector<std::string> groups{""};
    const auto take = [&](const frame_divider::piece& piece) {
      for (const std::byte each : piece.bytes.bytes) groups.back().push_back(static_cast<char>(each));
      if (piece.ends_group) groups.emplace_back();
    };
    std::string part;
    for (std::size_t i = 0; i < input.size(); ++i) {
      part.push_back(input[i]);
      if ((cuts >> i & 1U) == 0 && i + 1 < input.size()) continue;
      const block source{.bytes = std::as_bytes(std::span(part))};
      while (const auto piece = divider.next(source)) take(*piece);
      part.clear();
    }
    while (const auto piece = divider.rest()) take(*piece);
    return groups;
  };
  test::dice random(7);
  for (const std::size_t group_bytes : {1U, 4U, 9U}) {
    const auto expected = groups_of(group_bytes, 0);
    CAPTURE(group_bytes);
    for (int round = 0; round < 3000; ++round) {
      const unsigned cuts = random(0, (1U << 27U) - 1);
      CAPTURE(cuts);
      CHECK(groups_of(group_bytes, cuts) == expected);
    }
  }
}

TEST_CASE("bytes in which no frame is found are one group, and lost") {
  test::dice random(6);
  const test::byte_vector noise = test::noise(5000, 1);
  for (const std::uint32_t most : {1U, 50U, 5000U}) {
    const division found = divide("zstd", noise, 1, [&] { return std::size_t{random(1, most)}; });
    CHECK(found.bytes == noise);
    CHECK(found.lost);
    CHECK(found.starts.size() == 1);
  }
}

}  // namespace
