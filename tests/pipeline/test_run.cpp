// Whole runs in one process: files in, report out, with every kind of engine.

#include "command/plan.hpp"
#include "config/usage_error.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "pipeline/flow/driver.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/shuffling_engine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

using byte_counts = std::vector<std::uint64_t>;

byte_counts oracle(std::string_view text) {
  byte_counts counts(256);
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  return counts;
}

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random() % 256);
  return text;
}

config::options byte_options(std::vector<std::string> inputs) {
  config::options typed;
  typed.inputs = std::move(inputs);
  typed.run.counting.schemes = {"bytes"};
  typed.run.counting.counting_engine = gpuhist::engine::host;
  typed.run.format = "raw";
  return typed;
}

gpu::engine_choice over_fake_cuda(std::string_view, const gpu::engine_request& request) {
  return {.taken = std::make_unique<gpu::cuda::cuda_engine>(
              gpu::cuda::make_fake_runtime(std::make_shared<gpu::cuda::ledger>()), request),
          .reason = {}};
}

gpu::engine_choice shuffled(std::string_view, const gpu::engine_request& request) {
  return {.taken = std::make_unique<test::shuffling_engine>(request.counted), .reason = {}};
}

struct engine_case {
  const char* name;
  run_hooks hooks;
};

std::vector<engine_case> all_engines() {
  return {{"host", {}},
          {"cuda over host memory", {.make_engine = over_fake_cuda}},
          {"shuffling", {.make_engine = shuffled}}};
}

}  // namespace

TEST_CASE("every byte of every file is counted once, whatever the sizes, slots, threads, lanes and engine") {
  std::mt19937 random(3);
  for (const engine_case& engine : all_engines()) {
    for (int round = 0; round < 12; ++round) {
      const test::temporary_folder folder;
      config::options typed = byte_options({});
      std::vector<byte_counts> expected;
      for (int i = 0; i < 10; ++i) {
        const std::string text = random_text(random, random() % 3 == 0 ? 0 : random() % 20000);
        typed.inputs.push_back(folder.file(std::to_string(i), text));
        expected.push_back(oracle(text));
      }
      typed.run.chunk_size = static_cast<std::uint32_t>(1 + random() % 5000);
      typed.run.slots = static_cast<std::uint32_t>(2 + random() % 6);
      typed.run.counting.threads = static_cast<unsigned>(1 + random() % 4);
      typed.run.counting.streams = static_cast<unsigned>(1 + random() % 3);
      CAPTURE(engine.name);
      CAPTURE(typed.run.chunk_size);
      CAPTURE(typed.run.slots);
      const outcome finished = run(make_plan(typed), engine.hooks);
      CHECK(finished.result.complete);
      REQUIRE(finished.result.inputs.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(finished.result.inputs[i].verified.counts == expected[i]);
    }
  }
}

TEST_CASE("a file that grows while it is read is counted up to a size that it really had") {
  const test::temporary_folder folder;
  const std::string path = folder.file("growing", std::string(100000, 'x'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    std::ofstream out(path, std::ios::app | std::ios::binary);
    for (int i = 0; i < 20000 && !stop; ++i) out << "xxxxxxxxxxxxxxxx" << std::flush;
  });
  config::options typed = byte_options({path, path, path});
  typed.run.chunk_size = 1000;
  const outcome finished = run(make_plan(typed), {});
  stop = true;
  writer.join();
  const auto final_size = std::filesystem::file_size(path);
  CHECK(finished.result.complete);
  for (const input_report& each : finished.result.inputs) {
    CHECK(each.verified.counts['x'] >= 100000);
    CHECK(each.verified.counts['x'] <= final_size);
    CHECK(each.verified.counts['x'] == each.verified.bytes());
  }
}

TEST_CASE("a file that shrinks while it is read counts no byte that was not in it") {
  const test::temporary_folder folder;
  const std::string path = folder.file("shrinking", std::string(4000000, 'x'));
  std::thread writer([&] {
    for (std::uintmax_t size = 4000000; size > 0; size -= 40000) std::filesystem::resize_file(path, size);
  });
  config::options typed = byte_options({path});
  typed.run.chunk_size = 500;
  typed.run.counting.threads = 2;
  const outcome finished = run(make_plan(typed), {});
  writer.join();
  // it may have been read before, or after it was empty
  const std::string& error = finished.result.inputs[0].error;
  CHECK(finished.result.complete == error.empty());
  CHECK((error.empty() || error.starts_with("it was truncated while it was read")));
  CHECK(finished.result.verified.counts['x'] == finished.result.verified.bytes());
  CHECK(finished.result.verified.bytes() <= 4000000);
}

TEST_CASE("an engine that fails during a run leaves the counts of a prefix, and the report says where it ends") {
  const test::temporary_folder folder;
  const std::string path = folder.file("text", std::string(100000, 'a'));
  config::options typed = byte_options({path});
  typed.run.chunk_size = 1000;
  typed.run.slots = 4;
  const run_hooks failing{.make_engine = [](std::string_view, const gpu::engine_request& request) {
    return gpu::engine_choice{.taken = std::make_unique<test::shuffling_engine>(request.counted, 1, 42), .reason = {}};
  }};
  const outcome finished = run(make_plan(typed), failing);
  CHECK_FALSE(finished.result.complete);
  CHECK(finished.result.verified.counts['a'] == 42000);
  CHECK(finished.engine_failure.find(path + ": not counted from offset 42000 on: the device fell off the bus") == 0);
}

TEST_CASE("every snapshot is of a prefix, snapshots grow, and the result is at least the last one") {
  const test::temporary_folder folder;
  std::mt19937 random(5);
  const std::string text = random_text(random, 300000);
  config::options typed = byte_options({folder.file("text", text)});
  typed.run.chunk_size = 777;
  typed.run.snapshot_every = std::uint64_t{20000};
  std::uint64_t last = 0;
  int snapshots = 0;
  const run_hooks watching{.snapshot = [&](const run_counts& counts) {
    const std::uint64_t length = counts.inputs[0].verified.bytes();
    CHECK(counts.inputs[0].verified.counts == oracle(std::string_view(text).substr(0, length)));
    CHECK(length > last);
    last = length;
    ++snapshots;
  }};
  const outcome finished = run(make_plan(typed), watching);
  CHECK(snapshots > 0);
  CHECK(finished.result.verified.counts == oracle(text));
}

TEST_CASE("an exception of the hook for snapshots ends the run and is rethrown") {
  const test::temporary_folder folder;
  config::options typed = byte_options({folder.file("text", std::string(1000000, 'x'))});
  typed.run.chunk_size = 100;
  typed.run.snapshot_every = std::uint64_t{1000};
  const run_hooks throwing{.snapshot = [](const run_counts&) { throw std::runtime_error("the disk is full"); }};
  CHECK_THROWS_WITH(run(make_plan(typed), throwing), "the disk is full");
}

TEST_CASE("slots that do not fit the memory limit are a usage error that names the three options") {
  config::options typed = byte_options({"x"});
  typed.run.counting.memory_limit = std::uint64_t{64} << 20U;
  typed.run.slots = 100;
  typed.run.chunk_size = 1U << 20U;
  CHECK_THROWS_AS(make_plan(typed), config::usage_error);
  typed.run.slots = 0;
  CHECK(make_plan(typed).buffers.slots >= 2);
  CHECK(make_plan(typed).buffers.slots < 64);
}
