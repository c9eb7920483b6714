// How reports come to their destination and which kernel counts: which wishes fit together, and what is said of those
// that do not.
#include "pipeline/program/resolve.hpp"

#include "config/scheme.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/partitioning.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>

using namespace gpuhist::pipeline;
using gpuhist::config::options;
using gpuhist::config::usage_error;

namespace {

struct wish {
  std::string format = "json";
  std::optional<std::string> output = "file";
  bool append = false;
  bool snapshots = false;
};

options typed(const wish& of) {
  options made;
  made.format = of.format;
  made.output = of.output;
  made.append = of.append;
  if (of.snapshots) made.snapshot_every = std::chrono::milliseconds(1000);
  return made;
}

writing resolved(const wish& of) {
  const options made = typed(of);
  return resolve_writing(made, *resolve_report_format(made));
}

}  // namespace

TEST_CASE("reports appear whole, snapshots one after another, and where each stands alone each replaces the last") {
  CHECK(resolved({}) == writing::whole);
  CHECK(resolved({.output = {}}) == writing::whole);
  CHECK(resolved({.format = "prometheus"}) == writing::whole);
  CHECK(resolved({.snapshots = true}) == writing::live);
  CHECK(resolved({.output = {}, .snapshots = true}) == writing::live);
  CHECK(resolved({.append = true}) == writing::append);
  CHECK(resolved({.append = true, .snapshots = true}) == writing::append);
  CHECK(resolved({.format = "prometheus", .snapshots = true}) == writing::replacing);
}

TEST_CASE("nothing is appended to standard output, nor to what must stand alone") {
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

TEST_CASE("errors of schemes name the option, or where its value came from") {
  options made;
  made.buckets = {"nope"};
  made.origins["--buckets"] = "job.toml:3: buckets";
  CHECK_THROWS_WITH_AS(resolve_schemes(made),
                       "job.toml:3: buckets: there is no scheme \"nope\"; known are letters, alphabet, bytes, classes, "
                       "utf8; bucket=characters;... defines one",
                       usage_error);
}

TEST_CASE("a kernel goes with the engine that has it and with the classes that it can count") {
  const auto letters = coarsest_partition(std::array{gpuhist::config::find_scheme("letters")});
  const auto all = gpuhist::gpu::partition::identity();
  options made;
  CHECK(resolve_kernel(made, "host", all).empty());
  made.kernel = "ranges";
  CHECK(resolve_kernel(made, "host", letters) == "ranges");
  CHECK(resolve_kernel(made, "auto", letters) == "ranges");
  CHECK_THROWS_WITH_AS(resolve_kernel(made, "cuda", letters),
                       "--kernel: ranges counts on the host; give --engine host, or lane_private", usage_error);
  CHECK_THROWS_AS(resolve_kernel(made, "host", all), usage_error);
  made.kernel = "lane_private";
  CHECK(resolve_kernel(made, "cuda", all) == "lane_private");
  CHECK_THROWS_AS(resolve_kernel(made, "host", letters), usage_error);
  CHECK_THROWS_AS(resolve_kernel(made, "auto", letters), usage_error);
}
