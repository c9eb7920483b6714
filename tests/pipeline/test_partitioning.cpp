// The coarsest partition: it loses nothing compared with the 256 byte values, and has no more classes than it needs.
#include "pipeline/counts/partitioning.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

using gpuhist::config::find_scheme;
using gpuhist::config::scheme;
using gpuhist::gpu::partition;
using gpuhist::gpu::tally;
using gpuhist::pipeline::coarsest_partition;
using gpuhist::pipeline::lines_in;
using gpuhist::pipeline::view_through;

namespace {

using generator = std::mt19937_64;

scheme random_scheme(generator& random) {
  const auto buckets = 1 + random() % (random() % 4 == 0 ? 256 : 9);
  scheme result{"random", {}, {}};
  for (std::size_t i = 0; i < buckets; ++i) result.buckets.push_back(std::to_string(i));
  for (auto& bucket : result.bucket_of) bucket = static_cast<std::uint16_t>(random() % buckets);
  return result;
}

std::vector<scheme> random_schemes(generator& random) {
  std::vector<scheme> result;
  for (auto remaining = random() % 4; remaining > 0; --remaining) result.push_back(random_scheme(random));
  return result;
}

tally random_counts(generator& random) {
  tally result(256);
  for (auto& count : result.counts) count = random() >> (random() % 48 + 8);
  return result;
}

/// The oracle: folds 256 counts to those of a partition.
tally folded_to(const tally& all, const partition& classes) {
  tally folded(classes.classes);
  for (std::size_t byte = 0; byte < 256; ++byte) folded.counts.at(classes.class_of[byte]) += all.counts[byte];
  return folded;
}

std::vector<std::uint64_t> fold_of_all(const tally& all, const scheme& folding) {
  std::vector<std::uint64_t> buckets(folding.buckets.size());
  for (std::size_t byte = 0; byte < 256; ++byte) buckets.at(folding.bucket_of[byte]) += all.counts[byte];
  return buckets;
}

}  // namespace

TEST_CASE("the fold of the coarsest partition equals the fold of the 256 counts, and so does the number of lines") {
  generator random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<scheme> schemes = random_schemes(random);
    const partition coarsest = coarsest_partition(schemes);
    const tally all = random_counts(random);
    const tally counted = folded_to(all, coarsest);
    CHECK(lines_in(counted, coarsest) == all.counts['\n']);
    for (const scheme& each : schemes) {
      const std::vector<std::uint64_t> folded = view_through(each, coarsest).fold(counted);
      CHECK(folded == fold_of_all(all, each));
      CHECK(std::accumulate(folded.begin(), folded.end(), std::uint64_t{0}) == all.bytes());
    }
  }
}

TEST_CASE("two byte values share a class exactly if they share a bucket in every scheme and neither ends a line") {
  generator random(2);
  for (int round = 0; round < 20; ++round) {
    const std::vector<scheme> schemes = random_schemes(random);
    const partition coarsest = coarsest_partition(schemes);
    std::size_t wrong = 0;
    for (std::size_t a = 0; a < 256; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        bool alike = a != '\n' && b != '\n';
        for (const scheme& each : schemes) alike = alike && each.bucket_of[a] == each.bucket_of[b];
        if (alike != (coarsest.class_of[a] == coarsest.class_of[b])) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("classes are numbered without gaps in the order of their smallest byte value") {
  generator random(3);
  for (int round = 0; round < 50; ++round) {
    const partition coarsest = coarsest_partition(random_schemes(random));
    int next = 0;
    for (const int byte_class : coarsest.class_of) {
      CHECK(byte_class <= next);
      if (byte_class == next) ++next;
    }
    CHECK(coarsest.classes == next);
  }
}

TEST_CASE("the partitions of the built-in schemes have the sizes that follow from their definitions") {
  const std::vector<scheme> none;
  CHECK(coarsest_partition(none).classes == 2);  // '\n' and the rest
  CHECK(coarsest_partition(std::vector{find_scheme("letters")}).classes == 9);
  CHECK(coarsest_partition(std::vector{find_scheme("classes")}).classes == 8);
  CHECK(coarsest_partition(std::vector{find_scheme("bytes")}) == partition::identity());
  CHECK(coarsest_partition(std::vector{find_scheme("letters"), find_scheme("bytes")}) == partition::identity());
  CHECK(coarsest_partition(std::vector{find_scheme("letters"), find_scheme("classes")}).classes == 14);
}

TEST_CASE("a scheme can be folded from any partition that is finer than it") {
  generator random(4);
  const tally all = random_counts(random);
  for (const std::string_view name : gpuhist::config::scheme_names()) {
    const scheme folding = find_scheme(name);
    CHECK(view_through(folding, partition::identity()).fold(all) == fold_of_all(all, folding));
  }
}

TEST_CASE("an empty tally folds to zeros") {
  const partition coarsest = coarsest_partition(std::vector{find_scheme("letters")});
  CHECK(view_through(find_scheme("letters"), coarsest).fold(tally{}) == std::vector<std::uint64_t>(8));
  CHECK(lines_in(tally{}, coarsest) == 0);
}

TEST_CASE("built-in, custom and folded schemes together fold from their partition as from the 256 counts") {
  generator random(8);
  const std::vector<std::string> all = {"letters", "alphabet",       "classes",       "utf8",
                                        "a=\\n",   "x=a-zA-M;y=0-5", "h=\\x80-\\xff", "bytes"};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> typed;
    for (const std::string& each : all) {
      if (random() % 3 == 0) typed.push_back(each);
    }
    const auto schemes = gpuhist::config::make_schemes(typed, random() % 2 == 0);
    const partition coarsest = coarsest_partition(schemes);
    const tally counts = random_counts(random);
    const tally folded = folded_to(counts, coarsest);
    for (const scheme& each : schemes) CHECK(view_through(each, coarsest).fold(folded) == fold_of_all(counts, each));
    CHECK(lines_in(folded, coarsest) == counts.counts['\n']);
  }
}
