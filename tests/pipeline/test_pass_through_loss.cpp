// A stage of a pipeline whose engine fails in the middle: every byte is handed on all the same, in order, and what was
// counted is a prefix that says where it ends. What comes out is compared byte by byte with what was put in.
#include "gpu/cuda/cuda_engine.hpp"
#include "tests/pipeline/parallel_runs.hpp"
#include "tests/support/failing_runtime.hpp"
#include "tests/support/fake_runtime.hpp"

#include <fcntl.h>

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::string_view bus = "the device fell off the bus";

enum class output { file, pipe };

// Standard output, of this process, into a file or through a pipe that a thread reads; back again by take().
class redirected_output {
 public:
  explicit redirected_output(output into) : before_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int writing = into == output::file ? open_file() : open_pipe();
    ::dup2(writing, STDOUT_FILENO);
    ::close(writing);
  }
  redirected_output(const redirected_output&) = delete;
  redirected_output& operator=(const redirected_output&) = delete;
  ~redirected_output() { put_back(); }

  std::string take() {
    put_back();
    if (reader_.joinable()) {
      reader_.join();
      return std::move(read_);
    }
    std::ifstream file(folder_ / "out", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  int open_file() const {
    const int fd = ::open((folder_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    return fd;
  }

  int open_pipe() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    reader_ = std::jthread([this, from = ends[0]] {
      char piece[4096];
      for (ssize_t got = 0; (got = ::read(from, piece, sizeof(piece))) > 0;) {
        read_.append(piece, static_cast<std::size_t>(got));
      }
      ::close(from);
    });
    return ends[1];
  }

  void put_back() {
    if (before_ < 0) return;
    ::dup2(before_, STDOUT_FILENO);
    ::close(std::exchange(before_, -1));
  }

  int before_;
  test::temporary_folder folder_;
  std::string read_;
  std::jthread reader_;
};

struct passed {
  outcome done;
  std::string pass_through_mode;
  std::vector<std::string> remarks;
};

plan stage(std::vector<std::string> inputs, config::pass_through_mode what, std::optional<std::uint64_t> window = {}) {
  config::options typed;
  typed.inputs = std::move(inputs);
  typed.buckets = {"bytes"};
  typed.engine = "host";
  typed.chunk_size = 1000;
  typed.slots = 4;
  typed.threads = 2;
  typed.pass_through = what;
  if (window) {
    typed.format = "jsonl";
    typed.window = config::window_extent{.unit = config::window_extent::measure::bytes, .amount = *window};
  }
  return make_plan(typed);
}

passed run_stage(const plan& planned, run_hooks hooks, output into) {
  passed all;
  if (!hooks.notice) hooks.notice = [&](const std::string& what) { all.remarks.push_back(what); };
  redirected_output out(into);
  all.done = run(planned, hooks);
  all.pass_through_mode = out.take();
  return all;
}

// `text`: what the input decompresses to.
void check_prefix(const input_report& said, const test::byte_vector& text) {
  const std::uint64_t verified = said.verified.bytes();
  const std::uint64_t bytes = verified + said.unverified.bytes();
  REQUIRE(bytes <= text.size());
  CHECK(said.verified.counts == test::counts_of(std::span(text).first(verified)));
  if (bytes < text.size()) {
    CHECK_FALSE(said.complete);
    CHECK(said.error == "not counted from offset " + std::to_string(bytes) + " on: " + std::string(bus));
  }
}

void check_loss(const passed& all) {
  CHECK_FALSE(all.done.result.complete);
  CHECK(all.done.engine_failure ==
        "counting failed: " + std::string(bus) + "; later input was forwarded, but not counted");
  CHECK(all.remarks == std::vector<std::string>{"counting failed: " + std::string(bus) +
                                                "; later input is forwarded, but not counted"});
}

std::string joined(const test::byte_vector& first, const test::byte_vector& second) {
  return std::string(test::characters(first)) + std::string(test::characters(second));
}

}  // namespace

TEST_CASE("where a chunk cannot be counted, the bytes of files and pipes go on to their end, into files and pipes") {
  const test::byte_vector text = test::noise(60'500);
  const test::temporary_folder folder;
  const std::string path = folder.file("text", test::characters(text));
  for (const auto mode : {config::pass_through_mode::raw, config::pass_through_mode::text}) {
    for (const output into : {output::file, output::pipe}) {
      for (const std::uint64_t failing : {0U, 1U, 17U, 60U}) {
        CAPTURE(failing);
        const test::piped_archive pipe(text);
        for (const std::string& name : {path, pipe.name()}) {
          CAPTURE(name);
          plan planned = stage({name}, mode);
          planned.forced_format = io::format_named("raw");
          const passed all = run_stage(planned, test::shuffled(1, failing), into);
          CHECK(all.pass_through_mode == test::characters(text));
          REQUIRE(all.done.result.inputs.size() == 1);
          check_prefix(all.done.result.inputs[0], text);
          check_loss(all);
        }
      }
    }
  }
}

TEST_CASE("archives go on as they are, or as text, whichever of their chunks cannot be counted") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 8 / test::fewer; ++seed) {
    test::dice random(seed);
    const test::temporary_folder folder;
    const test::decoder_sample first = test::random_archive(random, 1000, 8);
    const test::decoder_sample second = test::random_archive(random, 1000, 8);
    const std::string path = folder.file("first", test::characters(first.packed));
    for (const auto mode : {config::pass_through_mode::raw, config::pass_through_mode::text}) {
      const bool as_text = mode == config::pass_through_mode::text;
      for (std::uint64_t failing = 0;; failing += 1 + random(0, 2)) {
        watchdog.moved(seed);
        CAPTURE(seed);
        CAPTURE(failing);
        const test::piped_archive pipe(second.packed);
        plan planned = stage({path, pipe.name()}, mode);
        planned.forced_format = io::format_named("zstd");
        const passed all = run_stage(planned, test::shuffled(seed, failing), output::pipe);
        CHECK(all.pass_through_mode ==
              (as_text ? joined(first.plain, second.plain) : joined(first.packed, second.packed)));
        REQUIRE(all.done.result.inputs.size() == 2);
        check_prefix(all.done.result.inputs[0], first.plain);
        check_prefix(all.done.result.inputs[1], second.plain);
        if (all.done.engine_failure.empty()) {  // there are fewer chunks
          CHECK(all.done.result.complete);
          break;
        }
        check_loss(all);
      }
    }
  }
}

TEST_CASE("inputs behind the loss are handed on, and each one says that it was not counted") {
  const test::temporary_folder folder;
  std::vector<std::string> names;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string content(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
    names.push_back(folder.file(std::to_string(i), content));
    expected += content;
  }
  const passed all = run_stage(stage(names, config::pass_through_mode::raw), test::shuffled(1, 0), output::file);
  CHECK(all.pass_through_mode == expected);
  check_loss(all);
  REQUIRE(all.done.result.inputs.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const input_report& said = all.done.result.inputs[i];
    CHECK(said.complete == (i % 7 == 0));  // of nothing, nothing is missing
    CHECK(said.error == (i % 7 == 0 ? "" : "not counted from offset 0 on: " + std::string(bus)));
  }
}

TEST_CASE("windows behind the loss are told as incomplete while the bytes go on") {
  const test::byte_vector text = test::noise(50'000);
  const test::temporary_folder folder;
  plan planned = stage({folder.file("text", test::characters(text))}, config::pass_through_mode::raw, 500);
  planned.forced_format = io::format_named("raw");
  std::vector<closed_window> told;
  run_hooks hooks = test::shuffled(1, 20);
  hooks.window = [&](const closed_window& window) {
    told.push_back(window);
    return false;
  };
  const passed all = run_stage(planned, hooks, output::pipe);
  CHECK(all.pass_through_mode == test::characters(text));
  check_loss(all);
  REQUIRE(told.size() == 100);
  const std::uint64_t counted = all.done.result.inputs[0].verified.bytes();
  for (const closed_window& each : told) {
    const bool whole = each.head.end_offset <= counted;
    CHECK((each.head.end_reason == window_end::error) == !whole);
    const std::uint64_t end = std::min(each.head.end_offset, std::max(counted, each.head.first_offset));
    CHECK(each.counts.bytes() == end - each.head.first_offset);
    if (!whole) CHECK(each.head.error == "not all of its text was counted: " + std::string(bus));
  }
}

TEST_CASE("what the receiver of the remark about the loss throws ends the run and comes back from it") {
  const test::byte_vector text = test::noise(50'000);
  const test::temporary_folder folder;
  plan planned = stage({folder.file("text", test::characters(text))}, config::pass_through_mode::raw);
  planned.forced_format = io::format_named("raw");
  run_hooks hooks = test::shuffled(1, 20);
  hooks.notice = [](const std::string&) { throw std::runtime_error("nothing more is said"); };
  CHECK_THROWS_WITH(run_stage(planned, hooks, output::file), "nothing more is said");
}

TEST_CASE("where the only device fails for good, whichever of its calls it is, the bytes go on") {
  constexpr gpu::cuda::result launch_failure = 719;
  constexpr unsigned max_calls = 400;
  const test::byte_vector text = test::noise(30'000);
  const test::temporary_folder folder;
  const std::string path = folder.file("text", test::characters(text));
  plan planned = stage({path}, config::pass_through_mode::raw);
  planned.forced_format = io::format_named("raw");
  test::watchdog watchdog;
  unsigned in_the_middle = 0;
  for (unsigned call = 1; call <= max_calls; call += 7 * test::fewer) {
    watchdog.moved(call);
    CAPTURE(call);
    const auto failure =
        std::make_shared<gpu::cuda::planned_failure>(call, gpu::cuda::planned_failure::kind::sticky, launch_failure);
    run_hooks hooks;
    hooks.make_engine = [&](std::string_view, gpu::engine_request request) {
      request.streams = 2;
      request.forecast = {};
      const auto seen = std::make_shared<gpu::cuda::ledger>();
      seen->may_be_lost = true;
      auto fake = gpu::cuda::make_fake_runtime(seen);
      return gpu::engine_choice{.taken = std::make_unique<gpu::cuda::cuda_engine>(
                                    gpu::cuda::make_failing_runtime(std::move(fake), failure), request),
                                .reason = {}};
    };
    passed all;
    try {
      all = run_stage(planned, hooks, output::pipe);
    } catch (const gpu::engine_error&) {
      continue;                         // it failed before there was an engine: nothing was begun
    } catch (const unclean_end& end) {  // likewise, and the device must not be called any more
      CHECK_THROWS_AS(std::rethrow_exception(end.cause()), gpu::engine_error);
      continue;
    }
    CHECK(all.pass_through_mode == test::characters(text));
    const input_report& said = all.done.result.inputs[0];
    CHECK(said.verified.counts == test::counts_of(std::span(text).first(said.verified.bytes())));
    CHECK(all.done.result.complete == all.done.engine_failure.empty());
    CHECK(said.complete == (said.verified.bytes() == text.size()));
    if (!all.done.engine_failure.empty()) ++in_the_middle;
  }
  CHECK(in_the_middle > 0);  // how many calls there are hangs on how chunks happen to be cut
}
