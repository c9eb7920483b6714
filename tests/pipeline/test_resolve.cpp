// How reports are written and which kernel counts: which options fit together, and the errors for those that do not.
#include "library/resolve.hpp"

#include "command/plan.hpp"
#include "command/typed_options.hpp"
#include "config/scheme.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/partitioning.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>

using namespace gpuhist::pipeline;
using gpuhist::counting_options;
using gpuhist::engine;
using gpuhist::config::options;
using gpuhist::config::usage_error;

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

TEST_CASE("nothing is appended to standard output, nor in a format with one report per file") {
  CHECK_THROWS_WITH_AS(resolved({.output = {}, .append = true}),
                       "--append: there is no file to append to; give --output FILE", usage_error);
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

TEST_CASE("errors in schemes name the option, the source of its value, or the field of the library") {
  const std::string cause =
      ": there is no scheme \"nope\"; known are letters, alphabet, bytes, classes, utf8; bucket=characters;... defines "
      "one";
  const counting_options requested{.schemes = {"nope"}};
  const auto error_with = [&](const option_names& names) {
    try {
      static_cast<void>(resolve_schemes(requested, names));
    } catch (const usage_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  options typed;
  CHECK(error_with(names_of(typed)) == "--buckets" + cause);
  typed.origins["--buckets"] = "job.toml:3: buckets";
  CHECK(error_with(names_of(typed)) == "job.toml:3: buckets" + cause);
  CHECK(error_with({}) == "counting_options::schemes" + cause);
}

TEST_CASE("a kernel is accepted for the engine that has it and for the classes that it can count") {
  const auto letters = coarsest_partition(std::array{gpuhist::config::find_scheme("letters")});
  const auto all = gpuhist::gpu::partition::identity();
  const option_names names = names_of({});
  const auto resolved_kernel = [&](const std::string& kernel, engine counting, const gpuhist::gpu::partition& counted) {
    return resolve_kernel({.counting_engine = counting, .kernel = kernel}, counted, names);
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
