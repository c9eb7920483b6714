// An engine that miscounts without reporting an error: no wrong count is accepted.
#include "command/plan.hpp"
#include "gpu/engines.hpp"
#include "gpu/job_check.hpp"
#include "pipeline/flow/driver.hpp"
#include "tests/support/shuffling_engine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

// Counts with a plain loop, at once, then lets `lie` change the rows of its n-th job.
class lying_engine : public test::shuffling_engine {
 public:
  lying_engine(const gpu::partition& rows, unsigned job, std::function<void(std::span<std::uint32_t>)> lie)
      : shuffling_engine(rows), lie_at_(job), lie_(std::move(lie)) {}

  std::string_view name() const override { return "liar"; }

  void submit(gpu::counting_job& job) override {
    const gpu::partition& columns = layout().counted;
    std::fill(job.rows.begin(), job.rows.end(), 0U);
    for (std::size_t i = 0; i < job.extents.size(); ++i) {
      for (std::size_t at = job.extents[i].begin; at < job.extents[i].end; ++at) {
        ++job.rows[i * columns.classes + columns.class_of[std::to_integer<std::size_t>(job.bytes[at])]];
      }
    }
    if (jobs_++ == lie_at_) lie_(job.rows);
    job.on_complete(job, nullptr);
  }

 private:
  unsigned lie_at_;
  std::function<void(std::span<std::uint32_t>)> lie_;
  std::atomic<unsigned> jobs_{0};
};

outcome run_with_lie(const std::string& path, const std::function<void(std::span<std::uint32_t>)>& lie) {
  config::options typed;
  typed.inputs = {path};
  typed.run.counting.schemes = {"bytes"};
  typed.run.counting.counting_engine = gpuhist::engine::host;
  typed.run.counting.threads = 1;  // so that chunks are counted in order
  typed.run.chunk_size = 1000;
  typed.run.slots = 2;
  return run(make_plan(typed), {.make_engine = [&](std::string_view, const gpu::engine_request& request) {
               return gpu::engine_choice{.taken = std::make_unique<lying_engine>(request.counted, 7, lie),
                                         .reason = {}};
             }});
}

}  // namespace

TEST_CASE("a row whose sum is not the size of its extent ends the counts there, and the engine is named") {
  const test::temporary_folder folder;
  const std::string path = folder.file("text", std::string(20000, 'a'));
  const std::vector<std::pair<std::function<void(std::span<std::uint32_t>)>, std::string>> lies{
      {[](auto rows) { ++rows['a']; }, "1001"},
      {[](auto rows) { --rows['a']; }, "999"},
      {[](auto rows) { rows['z'] = 0xffffffff; }, "4294968295"},
      {[](auto rows) { std::ranges::fill(rows, 0U); }, "0"}};
  for (const auto& [lie, counted] : lies) {
    CAPTURE(counted);
    const outcome finished = run_with_lie(path, lie);
    CHECK_FALSE(finished.result.complete);
    CHECK(finished.result.verified.counts['a'] == 7000);
    CHECK(finished.engine_failure == path + ": not counted from offset 7000 on: the engine 'liar' miscounted: " +
                                         counted + " bytes where there are 1000, at offset 0 of a chunk of 1000");
  }
}

TEST_CASE("the rows of a chunk are checked one by one: a right sum over all of them does not hide a wrong row") {
  const std::vector<std::byte> bytes(10);
  const std::vector<gpu::extent> extents{{0, 4}, {5, 10}};
  std::vector<std::uint32_t> rows{2, 2, 1, 4};
  const gpu::counting_job job{.bytes = bytes, .extents = extents, .rows = rows, .on_complete = {}};
  const gpu::partition two_classes{.class_of = {}, .classes = 2};
  CHECK_NOTHROW(gpu::check_rows(job, two_classes, "liar"));
  rows = {2, 3, 1, 3};
  CHECK_THROWS_AS(gpu::check_rows(job, two_classes, "liar"), gpu::engine_error);
  rows = {2, 2, 1, 3};
  CHECK_THROWS_WITH_AS(gpu::check_rows(job, two_classes, "liar"),
                       "the engine 'liar' miscounted: 4 bytes where there are 5, at offset 5 of a chunk of 10",
                       gpu::engine_error);
}

TEST_CASE("the pairs of an extent are checked: there is one fewer than bytes, and none without bytes") {
  const std::vector<std::byte> bytes(10);
  const std::vector<gpu::extent> extents{{0, 4}, {5, 5}, {5, 10}};
  const gpu::partition one_class;
  const gpu::row_layout layout(one_class, one_class);
  std::vector<std::uint32_t> rows{4, 3, 0, 0, 0, 0, 5, 4, 0};
  const gpu::counting_job job{.bytes = bytes, .extents = extents, .rows = rows, .on_complete = {}};
  CHECK_NOTHROW(gpu::check_rows(job, layout, "liar"));
  rows = {4, 3, 0, 0, 1, 0, 5, 4, 0};
  CHECK_THROWS_AS(gpu::check_rows(job, layout, "liar"), gpu::engine_error);
  rows = {4, 3, 0, 0, 0, 0, 5, 5, 0};
  CHECK_THROWS_WITH_AS(gpu::check_rows(job, layout, "liar"),
                       "the engine 'liar' miscounted: 5 pairs where there are 4, at offset 5 of a chunk of 10",
                       gpu::engine_error);
}
