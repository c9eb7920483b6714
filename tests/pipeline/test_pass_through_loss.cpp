// A stage of a pipeline whose engine fails during the run: every byte is still passed through in order, and the counts
// are those of a prefix whose end is reported. The output is compared with the input byte by byte.
#include "gpu/cuda/cuda_engine.hpp"
#include "tests/pipeline/parallel_runs.hpp"
#include "tests/support/failing_runtime.hpp"
#include "tests/support/fake_runtime.hpp"

#include <fcntl.h>

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

constexpr std::string_view bus = "the device fell off the bus";

enum class output { file, pipe };

// Redirects standard output of this process to a file, or to a pipe that a thread reads. take() restores it.
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
  ~redirected_output() { restore(); }

  std::string take() {
    restore();
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
      for (ssize_t length = 0; (length = ::read(from, piece, sizeof(piece))) > 0;) {
        read_.append(piece, static_cast<std::size_t>(length));
      }
      ::close(from);
    });
    return ends[1];
  }

  void restore() {
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
  outcome finished;
  std::string forwarded;
  std::vector<std::string> remarks;
};

plan stage(std::vector<std::string> inputs, pass_through_options::content mode,
           std::optional<std::uint64_t> window = {}) {
  config::options typed;
  typed.inputs = std::move(inputs);
  typed.run.counting.schemes = {"bytes"};
  typed.run.counting.counting_engine = gpuhist::engine::host;
  typed.run.chunk_size = 1000;
  typed.run.slots = 4;
  typed.run.counting.threads = 2;
  typed.run.pass_through = pass_through_options{.forwarded = mode};
  if (window) {
    typed.format = "jsonl";
    typed.run.counting.windows = window_options{.length = *window};
  }
  return make_plan(typed);
}

passed run_stage(const plan& planned, run_hooks hooks, output into) {
  passed all;
  if (!hooks.notice) hooks.notice = [&](const std::string& remark) { all.remarks.push_back(remark); };
  redirected_output out(into);
  all.finished = run(planned, hooks);
  all.forwarded = out.take();
  return all;
}

// `text`: the decompressed input.
void check_prefix(const input_report& input, const test::byte_vector& text) {
  const std::uint64_t verified = input.verified.bytes();
  const std::uint64_t bytes = verified + input.unverified.bytes();
  REQUIRE(bytes <= text.size());
  CHECK(input.verified.counts == test::counts_of(std::span(text).first(verified)));
  if (bytes < text.size()) {
    CHECK_FALSE(input.complete);
    CHECK(input.error == "not counted from offset " + std::to_string(bytes) + " on: " + std::string(bus));
  }
}

void check_loss(const passed& all) {
  CHECK_FALSE(all.finished.result.complete);
  CHECK(all.finished.engine_failure ==
        "counting failed: " + std::string(bus) + "; later input was forwarded, but not counted");
  CHECK(all.remarks == std::vector<std::string>{"counting failed: " + std::string(bus) +
                                                "; later input is forwarded, but not counted"});
}

std::string joined(const test::byte_vector& first, const test::byte_vector& second) {
  return test::string_of(first) + test::string_of(second);
}

}  // namespace

TEST_CASE("if a chunk cannot be counted, files and pipes still pass through to their end, to files and to pipes") {
  const test::byte_vector text = test::noise(60'500);
  const test::temporary_folder folder;
  const std::string path = folder.file("text", test::characters(text));
  for (const auto mode : {pass_through_options::content::input, pass_through_options::content::text}) {
    for (const output into : {output::file, output::pipe}) {
      for (const std::uint64_t failing : {0U, 1U, 17U, 60U}) {
        CAPTURE(failing);
        const test::piped_archive pipe(text);
        for (const std::string& name : {path, pipe.name()}) {
          CAPTURE(name);
          plan planned = stage({name}, mode);
          planned.forced_format = io::format_named("raw");
          const passed all = run_stage(planned, test::shuffled(1, failing), into);
          CHECK(all.forwarded == test::characters(text));
          REQUIRE(all.finished.result.inputs.size() == 1);
          check_prefix(all.finished.result.inputs[0], text);
          check_loss(all);
        }
      }
    }
  }
}

TEST_CASE("archives pass through unchanged, or as text, whichever of their chunks cannot be counted") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 8 / test::fewer; ++seed) {
    test::dice random(seed);
    const test::temporary_folder folder;
    const test::decoder_sample first = test::random_archive(random, 1000, 8);
    const test::decoder_sample second = test::random_archive(random, 1000, 8);
    const std::string path = folder.file("first", test::characters(first.packed));
    for (const auto mode : {pass_through_options::content::input, pass_through_options::content::text}) {
      const bool as_text = mode == pass_through_options::content::text;
      for (std::uint64_t failing = 0;; failing += 1 + random(0, 2)) {
        watchdog.moved(seed);
        CAPTURE(seed);
        CAPTURE(failing);
        const test::piped_archive pipe(second.packed);
        plan planned = stage({path, pipe.name()}, mode);
        planned.forced_format = io::format_named("zstd");
        const passed all = run_stage(planned, test::shuffled(seed, failing), output::pipe);
        CHECK(all.forwarded == (as_text ? joined(first.plain, second.plain) : joined(first.packed, second.packed)));
        REQUIRE(all.finished.result.inputs.size() == 2);
        check_prefix(all.finished.result.inputs[0], first.plain);
        check_prefix(all.finished.result.inputs[1], second.plain);
        if (all.finished.engine_failure.empty()) {  // there are fewer chunks
          CHECK(all.finished.result.complete);
          break;
        }
        check_loss(all);
      }
    }
  }
}

TEST_CASE("inputs after the loss pass through, and each is reported as not counted") {
  const test::temporary_folder folder;
  std::vector<std::string> names;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string content(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
    names.push_back(folder.file(std::to_string(i), content));
    expected += content;
  }
  const passed all = run_stage(stage(names, pass_through_options::content::input), test::shuffled(1, 0), output::file);
  CHECK(all.forwarded == expected);
  check_loss(all);
  REQUIRE(all.finished.result.inputs.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const input_report& input = all.finished.result.inputs[i];
    CHECK(input.complete == (i % 7 == 0));  // an empty input lacks nothing
    CHECK(input.error == (i % 7 == 0 ? "" : "not counted from offset 0 on: " + std::string(bus)));
  }
}

TEST_CASE("windows after the loss are reported as incomplete while the bytes pass through") {
  const test::byte_vector text = test::noise(50'000);
  const test::temporary_folder folder;
  plan planned = stage({folder.file("text", test::characters(text))}, pass_through_options::content::input, 500);
  planned.forced_format = io::format_named("raw");
  std::vector<closed_window> windows;
  run_hooks hooks = test::shuffled(1, 20);
  hooks.window = [&](const closed_window& window) {
    windows.push_back(window);
    return false;
  };
  const passed all = run_stage(planned, hooks, output::pipe);
  CHECK(all.forwarded == test::characters(text));
  check_loss(all);
  REQUIRE(windows.size() == 100);
  const std::uint64_t counted = all.finished.result.inputs[0].verified.bytes();
  for (const closed_window& each : windows) {
    const bool is_whole = each.head.end_offset <= counted;
    CHECK((each.head.end_reason == window_end::error) == !is_whole);
    const std::uint64_t end = std::min(each.head.end_offset, std::max(counted, each.head.first_offset));
    CHECK(each.counts.bytes() == end - each.head.first_offset);
    if (!is_whole) CHECK(each.head.error == "not all of its text was counted: " + std::string(bus));
  }
}

TEST_CASE("an exception of the hook for remarks ends the run and is rethrown") {
  const test::byte_vector text = test::noise(50'000);
  const test::temporary_folder folder;
  plan planned = stage({folder.file("text", test::characters(text))}, pass_through_options::content::input);
  planned.forced_format = io::format_named("raw");
  run_hooks hooks = test::shuffled(1, 20);
  hooks.notice = [](const std::string&) { throw std::runtime_error("nothing more is said"); };
  CHECK_THROWS_WITH(run_stage(planned, hooks, output::file), "nothing more is said");
}

TEST_CASE("if the only device fails for good, whichever of its calls it is, the bytes pass through") {
  constexpr gpu::cuda::result launch_failure = 719;
  constexpr unsigned max_calls = 400;
  const test::byte_vector text = test::noise(30'000);
  const test::temporary_folder folder;
  const std::string path = folder.file("text", test::characters(text));
  plan planned = stage({path}, pass_through_options::content::input);
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
      const auto ledger = std::make_shared<gpu::cuda::ledger>();
      ledger->may_be_lost = true;
      auto fake = gpu::cuda::make_fake_runtime(ledger);
      return gpu::engine_choice{.taken = std::make_unique<gpu::cuda::cuda_engine>(
                                    gpu::cuda::make_failing_runtime(std::move(fake), failure), request),
                                .reason = {}};
    };
    passed all;
    try {
      all = run_stage(planned, hooks, output::pipe);
    } catch (const gpu::engine_error&) {
      continue;                         // it failed before there was an engine: the run had not begun
    } catch (const unclean_end& end) {  // the same, and the device must not be called any more
      CHECK_THROWS_AS(std::rethrow_exception(end.cause()), gpu::engine_error);
      continue;
    }
    CHECK(all.forwarded == test::characters(text));
    const input_report& input = all.finished.result.inputs[0];
    CHECK(input.verified.counts == test::counts_of(std::span(text).first(input.verified.bytes())));
    CHECK(all.finished.result.complete == all.finished.engine_failure.empty());
    CHECK(input.complete == (input.verified.bytes() == text.size()));
    if (!all.finished.engine_failure.empty()) ++in_the_middle;
  }
  CHECK(in_the_middle > 0);  // the number of calls depends on how chunks happen to be cut
}
