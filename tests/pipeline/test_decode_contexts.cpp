// Decode contexts, and the memory for windows that they share.
#include "pipeline/flow/decoding/decode_contexts.hpp"

#include "async/event_loop.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/shuffling_engine.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::uint64_t kib = 1024;

const io::format& zstd() { return *io::format_named("zstd"); }

// Contexts with all later stages. Everything except the engine is on one thread and runs only in settle().
struct workshop {
  async::event_loop context;
  ring slots{{.slots = 4, .chunk_bytes = 100, .max_extents = 4, .row_columns = 256}};
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"input"}};
  std::stop_source stop;
  test::shuffling_engine engine{gpu::partition::identity()};
  collector collected{slots, engine, counts, stop, [] {}};
  stage_clock decoding;
  decode_contexts contexts;

  explicit workshop(std::size_t number, std::uint64_t window_bytes = 1024 * kib, std::size_t reserved = 0)
      : contexts({.number = number, .reserved = reserved, .window_bytes = window_bytes}, nullptr,
                 {.chunk_bytes = 50, .threads = 2}, decoding, slots, collected) {}

  void settle() { context.poll(); }

  // Requests a context. The lease is empty until the context is granted.
  std::shared_ptr<decode_contexts::lease> ask() {
    auto answer = std::make_shared<decode_contexts::lease>();
    const auto wait = [](decode_contexts& from, std::shared_ptr<decode_contexts::lease> to) -> async::task<> {
      *to = co_await from.acquire();
    };
    async::spawn(context, wait(contexts, answer), [](const std::exception_ptr&) noexcept {});
    settle();
    return answer;
  }

  decode_contexts::lease take() {
    decode_contexts::lease taken = std::move(*ask());
    REQUIRE(taken);
    return taken;
  }

  // Requests the window that the context's decoder wants. The value is whether it was granted.
  std::shared_ptr<bool> ask_for_window(decode_context& requester) {
    auto answer = std::make_shared<bool>(false);
    const auto wait = [](decode_context& on, std::shared_ptr<bool> to) -> async::task<> {
      co_await on.grant_window();
      *to = true;
    };
    async::spawn(context, wait(requester, answer), [](const std::exception_ptr&) noexcept {});
    settle();
    return answer;
  }
};

// A frame of little text. Decoding it needs a window of 2^window_log bytes.
test::byte_vector frame_of_window(int window_log) {
  return test::zstd_frame_of(test::sample_text(50), {.content_size = false, .window_log = window_log});
}

io::fill_result begin_frame(decode_context& on, int window_log, std::span<std::byte> out) {
  io::decoder& decoder = on.decoder_for(zstd());
  decoder.restart({});
  return decoder.fill(frame_of_window(window_log), out);
}

}  // namespace

TEST_CASE("there are as many contexts as requested, and waiting tasks are served in order") {
  workshop fixture(3);
  CHECK(fixture.contexts.size() == 3);
  std::vector<decode_contexts::lease> out;
  for (int i = 0; i < 3; ++i) out.push_back(fixture.take());
  CHECK(std::set{&*out[0], &*out[1], &*out[2]}.size() == 3);
  const auto first = fixture.ask();
  const auto second = fixture.ask();
  CHECK_FALSE(*first);
  decode_context* released = &*out[0];
  out[0].release();
  fixture.settle();
  CHECK(&**first == released);
  CHECK_FALSE(*second);
  released = &*out[2];
  out[2].release();
  fixture.settle();
  CHECK(&**second == released);
}

TEST_CASE("a reserved context is free while all others are used, and serves no other task") {
  workshop fixture(3, 1024 * kib, 1);
  std::vector<decode_contexts::lease> out;
  for (int i = 0; i < 2; ++i) out.push_back(fixture.take());
  const auto waiting = fixture.ask();
  CHECK_FALSE(*waiting);
  decode_contexts::lease reserved;
  const auto acquire = [](decode_contexts& from, decode_contexts::lease& to) -> async::task<> {
    to = co_await from.acquire_reserved();
  };
  async::spawn(fixture.context, acquire(fixture.contexts, reserved), [](const std::exception_ptr&) noexcept {});
  fixture.settle();
  REQUIRE(reserved);
  CHECK(std::set{&*out[0], &*out[1], &*reserved}.size() == 3);
  reserved.release();
  fixture.settle();
  CHECK_FALSE(*waiting);
  out[0].release();
  fixture.settle();
  CHECK(*waiting);
}

TEST_CASE("a decoder serves one group after another of its format, until its error message must be kept") {
  workshop fixture(1);
  decode_contexts::lease borrowed = fixture.take();
  decode_context& context = *borrowed;
  const io::decoder* const first = &context.decoder_for(zstd());
  borrowed.release();
  borrowed = fixture.take();
  CHECK(&*borrowed == &context);
  CHECK(&context.decoder_for(zstd()) == first);
  std::byte out[64];
  const std::byte junk[8]{};
  REQUIRE(context.decoder_for(zstd()).fill(junk, out).status == io::fill_status::failed);
  const auto kept_decoder = context.keep_decoder();
  CHECK(kept_decoder.get() == first);
  CHECK(&context.decoder_for(zstd()) != first);
  CHECK(begin_frame(context, 10, out).status == io::fill_status::frame_verified);
  CHECK(kept_decoder->fault(7).find("is not zstd data") == 0);
}

TEST_CASE("a decoder of another format replaces the first") {
  workshop fixture(1);
  const decode_contexts::lease borrowed = fixture.take();
  decode_context& context = *borrowed;
  std::byte out[64];
  REQUIRE(begin_frame(context, 10, out).status == io::fill_status::frame_verified);
  const std::byte magic[]{std::byte{0x1F}, std::byte{0x8B}};
  CHECK(context.decoder_for(*io::format_named("gzip")).fill(magic, out).status == io::fill_status::needs_input);
  CHECK(begin_frame(context, 10, out).status == io::fill_status::frame_verified);
}

// Of 1 MiB, the two contexts have 128 KiB each for themselves, and 768 KiB are shared.
TEST_CASE(
    "small windows come from each context's own memory; larger ones share the rest, in the order of their requests") {
  workshop fixture(2);
  decode_contexts::lease borrowed = fixture.take();
  const decode_contexts::lease other_borrowed = fixture.take();
  decode_context& first = *borrowed;
  decode_context& second = *other_borrowed;
  std::byte out[64];
  CHECK(begin_frame(first, 17, out).status == io::fill_status::frame_verified);
  const io::fill_result begun = begin_frame(first, 19, out);
  CHECK(begun.status == io::fill_status::needs_window);
  CHECK(first.decoder_for(zstd()).window_wanted() == 512 * kib);
  CHECK(begin_frame(second, 19, out).status == io::fill_status::needs_window);
  CHECK(*fixture.ask_for_window(first));
  const auto second_grant = fixture.ask_for_window(second);
  CHECK_FALSE(*second_grant);
  const test::byte_vector frame = frame_of_window(19);
  const auto rest = std::span(frame).subspan(begun.consumed);
  CHECK(first.decoder_for(zstd()).fill(rest, out).status == io::fill_status::frame_verified);
  borrowed.release();
  fixture.settle();
  CHECK(*second_grant);
}

TEST_CASE("a window that was granted to one group is not granted to the next") {
  workshop fixture(1);
  std::byte out[64];
  for (int i = 0; i < 3; ++i) {
    const decode_contexts::lease borrowed = fixture.take();
    decode_context& context = *borrowed;
    CHECK(begin_frame(context, 19, out).status == io::fill_status::needs_window);
    CHECK(*fixture.ask_for_window(context));
  }
}

TEST_CASE("a group that needs another window returns its first one before it waits") {
  workshop fixture(1, 1536 * kib);  // 384 KiB of it are the context's own
  const decode_contexts::lease borrowed = fixture.take();
  decode_context& context = *borrowed;
  std::byte out[64];
  CHECK(begin_frame(context, 19, out).status == io::fill_status::needs_window);
  CHECK(*fixture.ask_for_window(context));
  CHECK(begin_frame(context, 20, out).status == io::fill_status::needs_window);
  CHECK(*fixture.ask_for_window(context));  // both together would exceed the memory
  CHECK(begin_frame(context, 20, out).status == io::fill_status::frame_verified);
}

TEST_CASE("a window that exceeds all memory for windows is refused, not waited for") {
  workshop fixture(2);
  std::byte out[64];
  const decode_contexts::lease borrowed = fixture.take();
  decode_context& context = *borrowed;
  CHECK(begin_frame(context, 20, out).status == io::fill_status::failed);
  CHECK(context.decoder_for(zstd()).fault(0).find("needs a window of 1 MiB, more than the 768 KiB left") !=
        std::string::npos);
}

TEST_CASE("text is counted by the thread that decoded it, unless counting is slow and a thread is idle") {
  struct noting_engine final : test::shuffling_engine {
    using test::shuffling_engine::shuffling_engine;
    bool counts_here() const override { return on_calling_thread; }
    void submit(gpu::counting_job& job) override {
      asked.push_back({.here = job.count_here, .bytes = job.bytes.size()});
      shuffling_engine::submit(job);
    }
    struct chunk {
      bool here;
      std::size_t bytes;
      bool operator==(const chunk&) const = default;
    };
    bool on_calling_thread = true;
    std::vector<chunk> asked;
  };
  struct row {
    bool engine_can;
    bool is_slow;
    unsigned decoding;
    noting_engine::chunk expected;
  };
  for (const row& each : {row{true, false, 1, {true, 50}}, row{true, true, 1, {false, 100}},
                          row{true, true, 2, {true, 50}}, row{false, false, 2, {false, 100}}}) {
    CAPTURE(each.engine_can);
    CAPTURE(each.is_slow);
    CAPTURE(each.decoding);
    ring slots{{.slots = 4, .chunk_bytes = 100, .max_extents = 4, .row_columns = 256}};
    rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"input"}};
    std::stop_source stop;
    noting_engine engine{gpu::partition::identity()};
    engine.on_calling_thread = each.engine_can;
    collector collected{slots, engine, counts, stop, [] {}};
    stage_clock decoding;
    decoding.now_in_flight = each.decoding;
    decode_contexts contexts({.number = 1, .window_bytes = 1024 * kib}, nullptr,
                             {.chunk_bytes = 50, .is_slow = each.is_slow, .threads = 2}, decoding, slots, collected);
    async::event_loop loop;
    std::optional<decode_contexts::lease> lease;
    const auto take = [&]() -> async::task<> { lease = co_await contexts.acquire(); };
    async::spawn(loop, take(), [](const std::exception_ptr&) noexcept {});
    loop.poll();
    REQUIRE(lease);
    (*lease)->choose_chunking();
    const auto reserved = (*lease)->cut.try_reserve(1000);
    REQUIRE(reserved);
    std::memset(reserved->bytes.data(), 'x', reserved->bytes.size());
    (*lease)->cut.commit(*reserved, reserved->bytes.size(), {.input = 0});
    REQUIRE(engine.asked.size() == 1);
    CHECK(engine.asked.front() == each.expected);
    lease.reset();
    bool settled = false;
    const auto wait = [](collector& awaited) -> async::task<> { co_await awaited.settled(); };
    async::spawn(loop, wait(collected), [&](const std::exception_ptr&) noexcept { settled = true; });
    loop.run_until([&] { return settled; });
  }
}

TEST_CASE("after a flush the text in all contexts is counted, whether the contexts are in use or not") {
  workshop fixture(2);
  decode_contexts::lease both[]{fixture.take(), fixture.take()};
  std::uint64_t written = 0;
  const auto write = [&](decode_context& on) -> async::task<> {
    const reservation reserved = co_await on.cut.reserve(30);
    std::memset(reserved.bytes.data(), 'x', reserved.bytes.size());
    on.cut.commit(reserved, reserved.bytes.size(), {.input = 0});
    written += reserved.bytes.size();
  };
  for (const auto& each : both) async::spawn(fixture.context, write(*each), [](const std::exception_ptr&) noexcept {});
  fixture.settle();
  CHECK(written == 60);
  both[1].release();
  std::vector<cut_mark> marks;
  fixture.contexts.flush(marks);
  CHECK(marks.size() == 2);
  bool settled = false;
  const auto wait = [](collector& awaited) -> async::task<> { co_await awaited.settled(); };
  async::spawn(fixture.context, wait(fixture.collected), [&](const std::exception_ptr&) noexcept { settled = true; });
  fixture.context.run_until([&] { return settled; });
  CHECK(fixture.collected.has_merged(marks));
  CHECK(fixture.counts.merged_bytes() == 60);
}
