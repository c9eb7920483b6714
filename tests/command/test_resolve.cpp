// The plan of a run: the options checked against the machine, how reports are written, which options fit together, and
// the errors for those that do not. The names in options, which are text, are compared with the tables that define
// them.
#include "command/plan.hpp"
#include "command/typed_options.hpp"
#include "config/option_table.hpp"
#include "config/scheme.hpp"
#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "io/format.hpp"
#include "library/default_memory_limit.hpp"
#include "library/resolve.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/report.hpp"
#include "report/measures/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::library;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;
using gpuhist::counting_options;
using gpuhist::engine;
using gpuhist::config::find_option;
using gpuhist::config::options;
using gpuhist::config::usage_error;

TEST_CASE("devices are refused for the host engine") {
  for (const bool all : {false, true}) {
    config::options typed;
    typed.run.counting.schemes = {"letters"};
    typed.run.counting.counting_engine = gpuhist::engine::host;
    typed.run.counting.all_devices = all;
    if (!all) typed.run.counting.devices = {0};
    CHECK_THROWS_WITH_AS(make_plan(typed),
                         "--devices: --engine host counts on no device; give --engine cuda (or auto), or no --devices",
                         config::option_error);
  }
}

TEST_CASE("the default memory has room for the windows of ordinary archives, however many threads there are") {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  for (const std::uint64_t limit : {64, 128, 256, 512, 1024}) {
    for (unsigned threads = 1; threads <= 512; threads += threads < 8 ? 1 : 23) {
      CAPTURE(limit);
      CAPTURE(threads);
      config::options typed;
      typed.run.counting.schemes = {"letters"};
      typed.run.counting.counting_engine = gpuhist::engine::host;
      typed.run.counting.threads = threads;
      typed.run.counting.memory_limit = limit * mib;
      const plan planned = make_plan(typed);
      const buffer_plan& sizes = planned.buffers;
      CHECK(sizes.decoders >= 1);
      CHECK(sizes.decoders < sizes.slots);
      CHECK(sizes.decoders <= threads);
      // three quarters can be lent to one decoder at a time: 8 MiB for zstd's level 19, 128 MiB for --long=27
      CHECK(sizes.window_limit / 4 * 3 >= (limit == 1024 ? 128 : 8) * mib);
      CHECK(sizes.window_limit / sizes.decoders >= 1 * mib);
      CHECK(sizes.window_limit + sizes.slots * std::uint64_t{sizes.chunk_bytes} < limit * mib);
    }
  }
}

TEST_CASE("a device that does not exist is an error of the plan, before anything is opened") {
  config::options typed;
  typed.run.counting.schemes = {"letters"};
  typed.run.counting.devices = {4000};
  for (const engine chosen : {engine::automatic, engine::cuda}) {
    typed.run.counting.counting_engine = chosen;
    CHECK_THROWS_AS(make_plan(typed), gpu::engine_error);
  }
}

TEST_CASE("the size of a chunk of few threads depends on the caches, the memory limit, and the number of slots") {
  constexpr std::uint64_t kib = 1024;
  const auto chunk_of = [](std::uint64_t limit, std::uint32_t slots) {
    config::options typed;
    typed.run.counting.schemes = {"letters"};
    typed.run.counting.counting_engine = gpuhist::engine::host;
    typed.run.counting.threads = 2;
    typed.run.counting.memory_limit = limit;
    typed.run.slots = slots;
    return make_plan(typed).buffers.chunk_bytes;
  };
  const std::uint64_t usual = chunk_of(1024 * kib * kib, 0);
  CHECK(usual >= 256 * kib);
  CHECK(usual <= 1024 * kib);
  CHECK(chunk_of(256 * kib * kib, 0) == 256 * kib);
  CHECK(chunk_of(1024 * kib * kib, 1000) == 256 * kib);  // which fit into the limit
}

TEST_CASE("the plan keeps the forecast of the engine") {
  config::options typed;
  typed.run.counting.schemes = {"letters"};
  typed.run.counting.counting_engine = gpuhist::engine::cuda;
  const plan planned = make_plan(typed);
  CHECK(!planned.forecast.why.empty());
  CHECK(planned.forecast.cuda == (planned.forecast.lanes > 0));
  if (planned.forecast.cuda) CHECK(planned.buffers.slots >= 2 * planned.forecast.lanes);
}

TEST_CASE("without a memory limit, compressed bytes on their way to a device have memory in addition to the default") {
  config::options typed;
  typed.run.counting.schemes = {"letters"};
  typed.run.counting.counting_engine = gpuhist::engine::cuda;
  const auto device_bytes = [](const buffer_plan& sizes) {
    return std::uint64_t{sizes.device_slots} * sizes.device_slot_bytes;
  };
  const plan usual = make_plan(typed);
  typed.run.counting.memory_limit = usual.buffers.memory_limit;
  const plan limited = make_plan(typed);
  CHECK(limited.buffers.beyond_limit == 0);
  if (!usual.decodes_on_device) return;  // no device
  CHECK(usual.buffers.beyond_limit > 0);
  CHECK(usual.buffers.beyond_limit <= library::default_device_memory());
  CHECK(device_bytes(usual.buffers) >= device_bytes(limited.buffers));
  CHECK(device_bytes(usual.buffers) <= usual.buffers.memory_limit / 2 + usual.buffers.beyond_limit);
}

namespace {

struct wish {
  std::string format = "json";
  std::optional<std::string> output = "file";
  bool append = false;
  bool snapshots = false;
};

options typed(const wish& wanted) {
  options requested;
  requested.format = wanted.format;
  requested.output = wanted.output;
  requested.append = wanted.append;
  if (wanted.snapshots) requested.run.snapshot_every = std::chrono::milliseconds(1000);
  return requested;
}

writing resolved(const wish& wanted) {
  const options requested = typed(wanted);
  return resolve_writing(requested, *resolve_report_format(requested));
}

}  // namespace

TEST_CASE(
    "reports appear as a whole, snapshots in sequence; where a file holds one report, each snapshot replaces it") {
  CHECK(resolved({}) == writing::whole);
  CHECK(resolved({.output = {}}) == writing::whole);
  CHECK(resolved({.format = "prometheus"}) == writing::whole);
  CHECK(resolved({.snapshots = true}) == writing::live);
  CHECK(resolved({.output = {}, .snapshots = true}) == writing::live);
  CHECK(resolved({.append = true}) == writing::append);
  CHECK(resolved({.append = true, .snapshots = true}) == writing::append);
  CHECK(resolved({.format = "prometheus", .snapshots = true}) == writing::replacing);
}

TEST_CASE("nothing is appended in a format with one report per file") {
  CHECK_THROWS_WITH_AS(resolved({.format = "prometheus", .append = true}),
                       "--append: a report of format prometheus must be alone in its file; leave --append out, or give "
                       "--format jsonl or csv",
                       usage_error);
}

TEST_CASE("a stream cannot be replaced at every snapshot") {
  CHECK_THROWS_WITH_AS(resolved({.format = "prometheus", .output = {}, .snapshots = true}),
                       "--snapshot-every: every snapshot of format prometheus replaces the previous one, which is "
                       "impossible in a stream; give --output FILE, or --format jsonl",
                       usage_error);
}

TEST_CASE("errors name the option, or the place of its value") {
  CHECK_THROWS_WITH_AS(static_cast<void>(resolve_schemes({.schemes = {"nope"}})),
                       "--buckets: there is no scheme \"nope\"; known are letters, alphabet, bytes, classes, utf8; "
                       "bucket=characters;... defines one",
                       gpuhist::config::option_error);
  const auto placed = [](std::string_view option, const options& typed) {
    return std::string(with_place({option, "the error"}, typed).what());
  };
  options typed;
  typed.origins["--buckets"] = "job.toml:3: buckets";
  CHECK(placed("buckets", typed) == "job.toml:3: buckets: the error");
  CHECK(placed("threads", typed) == "--threads: the error");
  CHECK(placed("where", typed) == "--where: the error");
  typed.given["drop-if"] = {"bytes > 1"};
  typed.origins["--drop-if"] = "GPUHIST_DROP_IF";
  CHECK(placed("where", typed) == "GPUHIST_DROP_IF: the error");
}

TEST_CASE("a kernel is accepted for the engine that has it and for the classes that it can count") {
  const auto letters = coarsest_partition(std::array{gpuhist::config::find_scheme("letters")});
  const auto all = gpuhist::gpu::partition::identity();
  const auto resolved_kernel = [&](const std::string& kernel, engine counting, const gpuhist::gpu::partition& counted) {
    return resolve_kernel({.counting_engine = counting, .kernel = kernel}, counted);
  };
  CHECK(resolved_kernel("", engine::host, all).empty());
  CHECK(resolved_kernel("ranges", engine::host, letters) == "ranges");
  CHECK(resolved_kernel("ranges", engine::automatic, letters) == "ranges");
  CHECK_THROWS_WITH_AS(resolved_kernel("ranges", engine::cuda, letters),
                       "--kernel: ranges counts on the host; give --engine host, or lane_private", usage_error);
  CHECK_THROWS_AS(resolved_kernel("ranges", engine::host, all), usage_error);
  CHECK(resolved_kernel("lane_private", engine::cuda, all) == "lane_private");
  CHECK_THROWS_AS(resolved_kernel("lane_private", engine::host, letters), usage_error);
  CHECK_THROWS_AS(resolved_kernel("lane_private", engine::automatic, letters), usage_error);
}

namespace {

using names = std::vector<std::string_view>;

/// Sorted, in one text, so that a difference is easy to read.
std::string sorted(names values) {
  std::sort(values.begin(), values.end());
  std::string text;
  for (const std::string_view each : values) text += std::string(each) + " ";
  return text;
}

/// The values that help, manual page and completions offer.
std::string offered(std::string_view option) { return sorted(find_option(option)->choice_names()); }

}  // namespace

TEST_CASE("--format offers the report formats that there are, and no other") {
  names known;
  for (const auto& each : gpuhist::report::report_formats()) known.push_back(each.name);
  CHECK(offered("--format") == sorted(known));
}

TEST_CASE("--input-format offers the readable formats that there are, and no other") {
  CHECK(offered("--input-format") == sorted(gpuhist::io::input_format_names()));
}

TEST_CASE("--engine offers the engines that there are, and no other") {
  CHECK(offered("--engine") == sorted(gpuhist::gpu::engine_names()));
}

TEST_CASE("--measures offers the measures that there are, `all`, and no other") {
  names known = {"all"};
  for (const auto& each : gpuhist::report::measures::all_measures()) known.push_back(each.name);
  CHECK(offered("--measures") == sorted(known));
}

TEST_CASE("--buckets offers the schemes that there are, and no other") {
  CHECK(offered("--buckets") == sorted(gpuhist::config::scheme_names()));
}
