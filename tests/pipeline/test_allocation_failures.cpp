// Every allocation of small runs fails once. Each of these runs ends, with the right counts or reported as incomplete.
#include "async/event_loop.hpp"
#include "command/plan.hpp"
#include "io/source.hpp"
#include "io/stream_sink.hpp"
#include "io/zstd/zstd_parts.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/driver.hpp"
#include "tests/io/archive_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

// The number of allocations before one fails; negative: none fails.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<long> allocations_left{-1};

bool fails_now() {
  if (allocations_left.load(std::memory_order_relaxed) < 0) return false;
  return allocations_left.fetch_sub(1) == 0;
}

void* allocated(std::size_t size) {
  void* const memory = fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocated(size); }
void* operator new[](std::size_t size) { return allocated(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

constexpr long never = 1'000'000'000;

config::options options_of(const std::vector<std::string>& inputs) {
  config::options typed;
  typed.inputs = inputs;
  typed.run.counting.counting_engine = gpuhist::engine::host;
  typed.run.counting.threads = 2;
  typed.run.chunk_size = 4096;
  typed.run.slots = 6;
  return typed;
}

plan plan_of(const std::vector<std::string>& inputs) { return make_plan(options_of(inputs)); }

// Fails up to 700 allocations, one per run, evenly spread over all that a run without a failure makes. The first run is
// spared, because the process makes some allocations only once. ctest ends a run that hangs: a thread for that purpose
// would allocate, too.
void fail_each(const plan& planned, const run_hooks& hooks, std::uint64_t expected) {
  const auto allocations_of_a_run = [&] {
    allocations_left = never;
    const outcome finished = run(planned, hooks);
    const long remaining = allocations_left.exchange(-1);
    REQUIRE(finished.result.complete);
    REQUIRE(finished.result.verified.bytes() == expected);
    return never - remaining;
  };
  const long all = allocations_of_a_run();
  for (long at = 0; at < all; at += 1 + all / 700) {
    CAPTURE(at);
    bool is_right = false;
    allocations_left = at;
    try {
      const outcome finished = run(planned, hooks);
      allocations_left = -1;
      is_right = !finished.result.complete || finished.result.verified.bytes() == expected;
    } catch (const std::exception&) {
      is_right = true;
    }
    allocations_left = -1;
    CHECK(is_right);
  }
}

std::string sample(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "line " + std::to_string(text.size()) + "\n";
  text.resize(bytes);
  return text;
}

std::string frame_of(std::string_view text) {
  return test::string_of(test::zstd_frame_of(std::as_bytes(std::span(text))));
}

std::string many_frames(const std::string& text) {
  constexpr std::size_t frame = 10'000;
  std::string all;
  for (std::size_t at = 0; at < text.size(); at += frame) {
    all += frame_of(std::string_view(text).substr(at, frame));
  }
  return all;
}

}  // namespace

TEST_CASE("a layer of an archive that ends without its verdict throws nothing, whichever allocation fails") {
  for (const bool is_interrupted : {false, true}) {
    long at = 0;
    for (bool has_failed = true; has_failed; ++at) {
      CAPTURE(at);
      rolling_counts counts(gpu::partition::identity(), gpu::partition::identity(), {"member"});
      counts.open_group(0);
      {
        verdict_gate layer(counts, nullptr);
        layer.note_bytes();
        layer.submit({.input = 0, .bytes = 0});
        if (is_interrupted) layer.note_interruption();
        allocations_left = at;
      }
      has_failed = allocations_left.exchange(-1) < 0;
      run_counts counted = counts.counts();
      CHECK_FALSE(counted.complete);
      CHECK((counts.failure() != nullptr) == has_failed);
      if (has_failed) continue;
      CHECK((*counted.inputs.begin()).error_kind == (is_interrupted ? failure_kind::stopped : failure_kind::damaged));
    }
    CHECK(at > 3);
  }
}

TEST_CASE("bytes of a forwarded stream are not lost if memory is insufficient") {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  REQUIRE(::pipe2(in.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, out.data()) == 0);
  while (::send(out[1], "stalled", 7, MSG_NOSIGNAL) > 0) {
  }
  const std::string text = sample(50'000);
  REQUIRE(::write(in[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  async::event_loop loop;
  io::stream_sink to(loop, io::descriptor(out[1]), 0, {.written = {}, .failed = {}});
  io::stream_source from(loop.context().get_executor(), io::descriptor(in[0]), 0);
  from.pass_through_to(to);
  std::string buffer(2 * text.size(), '\0');
  allocations_left = 0;
  CHECK_THROWS_AS(static_cast<void>(from.read_some(std::as_writable_bytes(std::span(buffer)))), std::bad_alloc);
  allocations_left = -1;
  const std::optional<std::size_t> length = from.read_some(std::as_writable_bytes(std::span(buffer)));
  REQUIRE(length == text.size());
  CHECK(buffer.starts_with(text));
  CHECK(to.position() + to.unwritten_bytes() == text.size());
  for (const int end : {in[1], out[0]}) ::close(end);
}

TEST_CASE("whichever allocation of a run fails, the run ends and never reports incomplete counts as complete") {
  const test::temporary_folder folder;
  const std::string text = sample(100'000);
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) names.push_back(folder.file("small" + std::to_string(i), sample(1000)));
  SUBCASE("plain") { fail_each(plan_of({folder.file("text", text)}), {}, text.size()); }
  SUBCASE("small files") { fail_each(plan_of(names), {}, 6000); }
  SUBCASE("one zstd frame") { fail_each(plan_of({folder.file("one", frame_of(text))}), {}, text.size()); }
  SUBCASE("one zstd frame in parts") {
    const std::string log = test::string_of(test::sample_text(io::zstd_least_text));
    const std::string frame = frame_of(log);
    REQUIRE(frame.size() > io::zstd_part_format().least_bytes);
    config::options typed = options_of({folder.file("long", frame)});
    typed.run.chunk_size = std::uint64_t{1} << 18U;
    fail_each(make_plan(typed), {}, log.size());
  }
  SUBCASE("many zstd frames") { fail_each(plan_of({folder.file("many", many_frames(text))}), {}, text.size()); }
  const std::vector<std::pair<std::string, std::string>> members{{"first", sample(50'000)}, {"second", sample(50'000)}};
  SUBCASE("tar") {
    const std::string archive = test::archive_of(members, archive_write_set_format_ustar);
    fail_each(plan_of({folder.file("tar", archive)}), {}, 100'000);
  }
  SUBCASE("zip") {
    const std::string archive = test::archive_of(members, archive_write_set_format_zip);
    fail_each(plan_of({folder.file("zip", archive)}), {}, 100'000);
  }
  SUBCASE("more zstd inputs than are read at once") {  // a lost permit would be noticed
    for (std::string& each : names) each = folder.file(each + ".zst", frame_of(sample(1000)));
    fail_each(plan_of(names), {}, 6000);
  }
  SUBCASE("more archives than are read at once") {
    for (std::string& each : names) {
      each = folder.file(each + ".tar", test::archive_of({{"member", sample(1000)}}, archive_write_set_format_ustar));
    }
    fail_each(plan_of(names), {}, 6000);
  }
  SUBCASE("windows") {
    config::options typed = options_of({folder.file("text", text)});
    typed.format = "jsonl";
    typed.run.counting.windows = window_options{.length = 10'000};
    run_hooks hooks;
    hooks.window = [](const closed_window&) { return false; };
    fail_each(make_plan(typed), hooks, text.size());
  }
}
