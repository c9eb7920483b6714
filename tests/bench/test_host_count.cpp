// The expected counts of kernels are compared with counts by hand.
#include "bench/data.hpp"
#include "bench/host_count.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string_view>

using namespace gpuhist::bench;

namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<std::uint8_t> repeated(const std::vector<std::uint8_t>& pattern, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern[i % pattern.size()];
  return bytes;
}

}  // namespace

TEST_CASE("letters are a-d e-h i-l m-p q-t u-x y-z in lower case, and the rest") {
  const auto text = bytes_of("abcd eh il mp qt ux yz ABC `{\xff");
  const bin_counts by_hand{4, 2, 2, 2, 2, 2, 2, 14};
  CHECK(expected_counts(text, text.size(), bins::letters) == by_hand);
  CHECK(sequential_count(text, bins::letters) == by_hand);
}

TEST_CASE("bytes are counted by their value") {
  const auto text = bytes_of(std::string_view("\0\0\xff", 3));
  const bin_counts counts = expected_counts(text, text.size(), bins::bytes);
  CHECK(counts.size() == 256);
  CHECK(counts[0] == 2);
  CHECK(counts[255] == 1);
  CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 3);
}

TEST_CASE("the expected counts of a repeated pattern are those of its bytes, for every size") {
  const auto pattern = make_data(data_set::zipf, 1009);
  for (const std::size_t size : {1U, 1008U, 1009U, 1010U, 2018U, 12'345U}) {
    CAPTURE(size);
    for (const bins counted : every_bins) {
      CHECK(expected_counts(pattern, size, counted) == sequential_count(repeated(pattern, size), counted));
    }
  }
}

TEST_CASE("counts of many bytes are not truncated to 32 bits") {
  const auto pattern = make_data(data_set::one_letter, 1024);
  CHECK(expected_counts(pattern, std::uint64_t{5} << 32U, bins::bytes)['e'] == std::uint64_t{5} << 32U);
}

TEST_CASE("the sequential loop has a rate") {
  for (const bins counted : every_bins) CHECK(sequential_rate(make_data(data_set::text, 100'000), counted) > 0);
}
