// The data sets have the properties that their names promise, and their expected counts are compared with counts by
// hand. The arithmetic of bit_sliced, run on the host: bit planes of 32 bytes, and the buckets of the letters.
#include "bench/data.hpp"
#include "bench/host_count.hpp"
#include "bench/kernels/letter_planes.hpp"

#include "tests/support/letter_buckets.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <string_view>

using namespace gpuhist::bench;

namespace {

constexpr std::size_t size = std::size_t{1} << 20U;

std::array<std::size_t, 256> counts_of(const std::vector<std::uint8_t>& bytes) {
  std::array<std::size_t, 256> counts{};
  for (const std::uint8_t each : bytes) ++counts[each];
  return counts;
}

}  // namespace

TEST_CASE("a data set has the requested size, is the same in every call, and has the same beginning for every size") {
  for (const data_set which : every_data_set) {
    CAPTURE(name_of(which));
    const auto bytes = make_data(which, 100'003);
    CHECK(bytes.size() == 100'003);
    CHECK(bytes == make_data(which, 100'003));
    const auto fewer = make_data(which, 1025);
    CHECK(std::equal(fewer.begin(), fewer.end(), bytes.begin()));
  }
}

TEST_CASE("a data set is found by its name") {
  for (const data_set which : every_data_set) CHECK(find_data_set(name_of(which)) == which);
  CHECK_FALSE(find_data_set("prose"));
}

TEST_CASE("text is lines of readable characters") {
  const auto text = make_data(data_set::text, size);
  const auto counts = counts_of(text);
  CHECK(counts['\n'] > size / 400);
  CHECK(counts['e'] > size / 100);
  CHECK(std::ranges::none_of(text, [](std::uint8_t each) { return each < ' ' && each != '\n'; }));
}

TEST_CASE("random bytes are uniform") {
  for (const std::size_t count : counts_of(make_data(data_set::random, size))) {
    CHECK(count > size / 256 * 9 / 10);
    CHECK(count < size / 256 * 11 / 10);
  }
}

TEST_CASE("the k-th most frequent byte value of Zipf's law is 1/k as frequent as the first, and all occur") {
  auto counts = counts_of(make_data(data_set::zipf, size));
  std::ranges::sort(counts, std::greater{});
  for (const std::size_t rank : {2U, 3U, 10U, 100U}) {
    CAPTURE(rank);
    const double expected = static_cast<double>(counts[0]) / static_cast<double>(rank);
    CHECK(static_cast<double>(counts[rank - 1]) == doctest::Approx(expected).epsilon(0.1));
  }
  CHECK(counts[255] > 0);
}

TEST_CASE("a sawtooth rises by one and wraps; one letter is one letter") {
  const auto sawtooth = make_data(data_set::sawtooth, 1000);
  for (std::size_t i = 1; i < sawtooth.size(); ++i) CHECK(sawtooth[i] == (sawtooth[i - 1] + 1) % 256);
  CHECK(counts_of(make_data(data_set::one_letter, 1000))['e'] == 1000);
}

TEST_CASE("a file is read from its beginning, up to a limit") {
  const gpuhist::test::temporary_folder folder;
  const std::string file = folder.file("input", std::string(3'000'000, 'a') + "tail");
  CHECK(read_data(file, 10) == std::vector<std::uint8_t>(10, 'a'));
  CHECK(read_data(file, 2'500'000).size() == 2'500'000);
  CHECK(read_data(file, std::size_t{1} << 40U).size() == 3'000'004);
}

TEST_CASE("a file that cannot be read or is empty is an error with its name") {
  const gpuhist::test::temporary_folder folder;
  for (const std::string& file : {folder.file("empty", ""), folder / "missing", folder / "."}) {
    CHECK_THROWS_WITH(read_data(file, 10), doctest::Contains(file.c_str()));
  }
}

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

namespace gpuhist::bench::kernels {
namespace {

using test::bucket_by_name;

std::array<unsigned, 7> counted_by_planes(const std::array<std::uint8_t, 32>& bytes) {
  std::uint32_t words[8];
  std::memcpy(words, bytes.data(), sizeof words);
  const letter_masks found = letters_of(transpose(words));
  std::array<unsigned, 7> counts{};
  for (unsigned k = 0; k < 7; ++k) counts[k] = static_cast<unsigned>(std::popcount(found.mask[k]));
  return counts;
}

TEST_CASE("bit planes count every byte value in every position, next to every other value") {
  for (unsigned position = 0; position < 32; ++position) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (const std::uint8_t others : {std::uint8_t{0}, std::uint8_t{255}, std::uint8_t{'z'}, std::uint8_t{'`'}}) {
        std::array<std::uint8_t, 32> bytes;
        bytes.fill(others);
        bytes[position] = static_cast<std::uint8_t>(byte);
        std::array<unsigned, 8> expected{};
        for (const std::uint8_t each : bytes) ++expected[bucket_by_name(each)];
        const auto counts = counted_by_planes(bytes);
        REQUIRE(std::equal(counts.begin(), counts.end(), expected.begin()));
      }
    }
  }
}

TEST_CASE("bit planes give the counts of the simple loop for random bytes") {
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    std::array<std::uint8_t, 32> bytes;
    for (auto& each : bytes) each = static_cast<std::uint8_t>(round % 2 == 0 ? random() : 0x60U + random() % 32U);
    std::array<unsigned, 8> expected{};
    for (const std::uint8_t each : bytes) ++expected[bucket_by_name(each)];
    const auto counts = counted_by_planes(bytes);
    REQUIRE(std::equal(counts.begin(), counts.end(), expected.begin()));
  }
}

TEST_CASE("a plane holds one bit of each of 32 bytes, in the same order in all planes") {
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned position = 0; position < 32; ++position) {
      std::array<std::uint8_t, 32> bytes{};
      bytes[position] = static_cast<std::uint8_t>(byte);
      std::uint32_t words[8];
      std::memcpy(words, bytes.data(), sizeof words);
      const bit_planes planes = transpose(words);
      std::uint32_t any = 0;
      for (const std::uint32_t plane : planes.plane) any |= plane;
      REQUIRE(std::popcount(any) == (byte == 0 ? 0 : 1));
      for (unsigned k = 0; k < 8; ++k) REQUIRE((planes.plane[k] != 0) == ((byte >> k & 1U) != 0));
    }
  }
}

}  // namespace
}  // namespace gpuhist::bench::kernels
