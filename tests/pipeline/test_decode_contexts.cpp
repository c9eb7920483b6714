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

// Contexts with everything behind them. All but the engine is on one thread, which goes on only when told.
struct workshop {
  async::event_loop context;
  ring slots{{.slots = 4, .chunk_bytes = 100, .max_extents = 4, .row_classes = 256}};
  rolling_counts counts{gpu::partition::identity(), gpu::partition::identity(), {"input"}};
  std::stop_source stop;
  test::shuffling_engine engine{gpu::partition::identity()};
  collector collected{slots, engine, counts, stop, [] {}};
  decode_contexts contexts;

  explicit workshop(std::size_t number, std::uint64_t window_bytes = 1024 * kib)
      : contexts(number, window_bytes, nullptr, slots, collected) {}

  void settle() { context.poll(); }

  // Asks for a context; there once its turn came.
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

  // Asks for the window that its decoder wants; whether it was granted.
  std::shared_ptr<bool> ask_for_window(decode_context& of) {
    auto answer = std::make_shared<bool>(false);
    const auto wait = [](decode_context& on, std::shared_ptr<bool> to) -> async::task<> {
      co_await on.grant_window();
      *to = true;
    };
    async::spawn(context, wait(of, answer), [](const std::exception_ptr&) noexcept {});
    settle();
    return answer;
  }
};

// A frame of little text that needs a window of 2^window_log bytes to be decoded.
test::byte_vector frame_of_window(int window_log) {
  return test::zstd_frame_of(test::sample_text(50), {.content_size = false, .window_log = window_log});
}

io::fill_result begin_frame(decode_context& on, int window_log, std::span<std::byte> out) {
  io::decoder& decoder = on.decoder_for(zstd());
  decoder.restart({});
  return decoder.fill(frame_of_window(window_log), out);
}

}  // namespace

TEST_CASE("there are as many contexts as were made, and who waits first is served first") {
  workshop it(3);
  CHECK(it.contexts.size() == 3);
  std::vector<decode_contexts::lease> out;
  for (int i = 0; i < 3; ++i) out.push_back(it.take());
  CHECK(std::set{&*out[0], &*out[1], &*out[2]}.size() == 3);
  const auto first = it.ask();
  const auto second = it.ask();
  CHECK_FALSE(*first);
  decode_context* released = &*out[0];
  out[0].release();
  it.settle();
  CHECK(&**first == released);
  CHECK_FALSE(*second);
  released = &*out[2];
  out[2].release();
  it.settle();
  CHECK(&**second == released);
}

TEST_CASE("a decoder serves one group after another of its format, until its words are wanted longer") {
  workshop it(1);
  decode_contexts::lease borrowed = it.take();
  decode_context& context = *borrowed;
  const io::decoder* const first = &context.decoder_for(zstd());
  borrowed.release();
  borrowed = it.take();
  CHECK(&*borrowed == &context);
  CHECK(&context.decoder_for(zstd()) == first);
  std::byte out[64];
  const std::byte junk[8]{};
  REQUIRE(context.decoder_for(zstd()).fill(junk, out).status == io::fill_status::failed);
  const auto kept = context.keep_decoder();
  CHECK(kept.get() == first);
  CHECK(&context.decoder_for(zstd()) != first);
  CHECK(begin_frame(context, 10, out).status == io::fill_status::frame_verified);
  CHECK(kept->fault(7).find("is not zstd data") == 0);
}

TEST_CASE("a decoder of another format takes the place of the first") {
  workshop it(1);
  const decode_contexts::lease borrowed = it.take();
  decode_context& context = *borrowed;
  std::byte out[64];
  REQUIRE(begin_frame(context, 10, out).status == io::fill_status::frame_verified);
  const std::byte magic[]{std::byte{0x1F}, std::byte{0x8B}};
  CHECK(context.decoder_for(*io::format_named("gzip")).fill(magic, out).status == io::fill_status::needs_input);
  CHECK(begin_frame(context, 10, out).status == io::fill_status::frame_verified);
}

// Of 1 MiB, two contexts have 128 KiB each for themselves, and 768 KiB are for who needs more.
TEST_CASE("small windows are every context's own, larger ones share what is left and wait for each other in order") {
  workshop it(2);
  decode_contexts::lease borrowed = it.take();
  const decode_contexts::lease other_borrowed = it.take();
  decode_context& first = *borrowed;
  decode_context& second = *other_borrowed;
  std::byte out[64];
  CHECK(begin_frame(first, 17, out).status == io::fill_status::frame_verified);
  const io::fill_result begun = begin_frame(first, 19, out);
  CHECK(begun.status == io::fill_status::needs_window);
  CHECK(first.decoder_for(zstd()).window_wanted() == 512 * kib);
  CHECK(begin_frame(second, 19, out).status == io::fill_status::needs_window);
  CHECK(*it.ask_for_window(first));
  const auto other = it.ask_for_window(second);
  CHECK_FALSE(*other);
  const test::byte_vector frame = frame_of_window(19);
  const auto rest = std::span(frame).subspan(begun.consumed);
  CHECK(first.decoder_for(zstd()).fill(rest, out).status == io::fill_status::frame_verified);
  borrowed.release();
  it.settle();
  CHECK(*other);
}

TEST_CASE("what was granted to a group is not its successor's") {
  workshop it(1);
  std::byte out[64];
  for (int i = 0; i < 3; ++i) {
    const decode_contexts::lease borrowed = it.take();
    decode_context& context = *borrowed;
    CHECK(begin_frame(context, 19, out).status == io::fill_status::needs_window);
    CHECK(*it.ask_for_window(context));
  }
}

TEST_CASE("a group that needs another window gives back what it has before it waits") {
  workshop it(1, 1536 * kib);  // of which 384 KiB are its own
  const decode_contexts::lease borrowed = it.take();
  decode_context& context = *borrowed;
  std::byte out[64];
  CHECK(begin_frame(context, 19, out).status == io::fill_status::needs_window);
  CHECK(*it.ask_for_window(context));
  CHECK(begin_frame(context, 20, out).status == io::fill_status::needs_window);
  CHECK(*it.ask_for_window(context));  // both together would be more than there is
  CHECK(begin_frame(context, 20, out).status == io::fill_status::frame_verified);
}

TEST_CASE("a window that is more than all of the memory for windows is refused, not waited for") {
  workshop it(2);
  std::byte out[64];
  const decode_contexts::lease borrowed = it.take();
  decode_context& context = *borrowed;
  CHECK(begin_frame(context, 20, out).status == io::fill_status::failed);
  CHECK(context.decoder_for(zstd()).fault(0).find("needs a window of 1 MiB, more than the 768 KiB left") !=
        std::string::npos);
}

TEST_CASE("what all contexts have cut is counted after a flush, of those in use and of those that are not") {
  workshop it(2);
  decode_contexts::lease both[]{it.take(), it.take()};
  std::uint64_t written = 0;
  const auto write = [&](decode_context& on) -> async::task<> {
    const reservation where = co_await on.cut.reserve(30);
    std::memset(where.bytes.data(), 'x', where.bytes.size());
    on.cut.commit(where, where.bytes.size(), {.input = 0});
    written += where.bytes.size();
  };
  for (const auto& each : both) async::spawn(it.context, write(*each), [](const std::exception_ptr&) noexcept {});
  it.settle();
  CHECK(written == 60);
  both[1].release();
  std::vector<cut_mark> marks;
  it.contexts.flush(marks);
  CHECK(marks.size() == 2);
  bool settled = false;
  const auto wait = [](collector& of) -> async::task<> { co_await of.settled(); };
  async::spawn(it.context, wait(it.collected), [&](const std::exception_ptr&) noexcept { settled = true; });
  it.context.run_until([&] { return settled; });
  CHECK(it.collected.has_merged(marks));
  CHECK(it.counts.merged_bytes() == 60);
}
