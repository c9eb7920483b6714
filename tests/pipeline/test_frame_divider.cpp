// frame_divider: the pieces are the bytes of the input in order, and groups begin where frames begin.
#include "pipeline/flow/decoding/frame_divider.hpp"

#include "io/format.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/pipeline/parallel_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

struct division {
  test::byte_vector bytes;
  std::vector<io::decode_start> starts{{}};  // of the groups, in order; the last one may have no bytes
  bool lost = false;
};

// Divides `packed`, which arrives in blocks of the sizes that `size` gives.
division divide(std::string_view format, const test::byte_vector& packed, std::size_t group_bytes,
                const test::size_chooser& size) {
  frame_divider divider(io::format_named(format)->make_splitter(), group_bytes);
  division result;
  const auto take = [&](const frame_divider::piece& piece) {
    CHECK(piece.start.compressed_bytes == result.starts.back().compressed_bytes);
    result.bytes.insert(result.bytes.end(), piece.bytes.bytes.begin(), piece.bytes.bytes.end());
    result.lost |= piece.bytes.lost;
    if (!piece.ends_group) return;
    CHECK(result.bytes.size() - piece.start.compressed_bytes >= group_bytes);
    CHECK(divider.start().compressed_bytes == result.bytes.size());
    result.starts.push_back(divider.start());
  };
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t next = std::min(packed.size() - at, size());
    // a copy, so that the address sanitizer detects a use of bytes after their block was released
    const auto copy = std::make_shared<const test::byte_vector>(
        packed.begin() + static_cast<std::ptrdiff_t>(at), packed.begin() + static_cast<std::ptrdiff_t>(at + next));
    const block source{.memory = {copy, copy->data()}, .bytes = *copy};
    while (const auto piece = divider.next(source)) take(*piece);
    at += next;
  }
  while (const auto piece = divider.rest()) take(*piece);
  CHECK(divider.frames() >= result.starts.back().frames);
  return result;
}

void check(std::string_view format, const test::decoder_sample& sample, test::dice& random) {
  const std::size_t group_bytes = random.one_of({1U, 100U, 1000U, 100000U});
  const std::uint32_t most = random.one_of({1U, 7U, 300U, 100000U});
  CAPTURE(format);
  CAPTURE(group_bytes);
  CAPTURE(most);
  const division found = divide(format, sample.packed, group_bytes, [&] { return std::size_t{random(1, most)}; });
  CHECK(found.bytes == sample.packed);
  CHECK_FALSE(found.lost);
  for (const io::decode_start& each : found.starts) {
    // as many frames as have ended there
    const auto ended =
        std::ranges::count_if(sample.ends, [&](const auto& end) { return end.packed <= each.compressed_bytes; });
    CHECK(each.frames == static_cast<std::uint64_t>(ended));
  }
  const auto divided = divide(format, sample.packed, 1, test::always(test::everything));
  if (sample.ends.size() > 1) CHECK(divided.starts.size() >= sample.ends.size());
}

TEST_CASE("the pieces are all bytes in order, and groups begin at ends of frames, however the bytes arrive") {
  test::dice random(5);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    check("zstd", test::random_archive(random, 500, 20), random);
    test::gzip_sample_builder members("blocks");
    for (std::uint32_t left = random(1, 9); left > 0; --left)
      members.block(test::sample_text(random(1, 3000), random()));
    check("gzip", members.build(), random);
  }
}

// Reports the same ends as a splitter that needs one byte more to decide whether a frame ends before an 'L': only "LZ"
// begins a frame, and 'E' ends one.
class hesitant_splitter final : public io::splitter {
 public:
  io::split_step advance(std::span<const std::byte> bytes) override {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char each = static_cast<char>(bytes[i]);
      if (std::exchange(after_l_, each == 'L') && each == 'Z') return {.taken = i + 1, .frame_ends = true, .beyond = 2};
      if (each == 'E') return {.taken = i + 1, .frame_ends = true};
    }
    return {.taken = bytes.size()};
  }
  [[nodiscard]] std::size_t held_back() const override { return after_l_ ? 1 : 0; }
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] std::string_view manner() const override { return "by letters"; }

 private:
  bool after_l_ = false;
};

TEST_CASE("bytes that are held back come before the bytes after them, wherever the blocks end") {
  const std::string_view input = "LZaaaLbbbELZccLddLZeeELLLEf";
  const auto groups_of = [&](std::size_t group_bytes, unsigned cuts) {
    frame_divider divider(std::make_unique<hesitant_splitter>(), group_bytes);
    std::vector<std::string> groups{""};
    const auto take = [&](const frame_divider::piece& piece) {
      for (const std::byte each : piece.bytes.bytes) groups.back().push_back(static_cast<char>(each));
      if (piece.ends_group) groups.emplace_back();
    };
    std::string part;
    for (std::size_t i = 0; i < input.size(); ++i) {
      part.push_back(input[i]);
      if ((cuts >> i & 1U) == 0 && i + 1 < input.size()) continue;
      const block source{.bytes = std::as_bytes(std::span(part))};
      while (const auto piece = divider.next(source)) take(*piece);
      part.clear();
    }
    while (const auto piece = divider.rest()) take(*piece);
    return groups;
  };
  test::dice random(7);
  for (const std::size_t group_bytes : {1U, 4U, 9U}) {
    const auto expected = groups_of(group_bytes, 0);
    CAPTURE(group_bytes);
    for (int round = 0; round < 3000; ++round) {
      const unsigned cuts = random(0, (1U << 27U) - 1);
      CAPTURE(cuts);
      CHECK(groups_of(group_bytes, cuts) == expected);
    }
  }
}

TEST_CASE("bytes in which no frame is found are one group, and lost") {
  test::dice random(6);
  const test::byte_vector noise = test::noise(5000, 1);
  for (const std::uint32_t most : {1U, 50U, 5000U}) {
    const division found = divide("zstd", noise, 1, [&] { return std::size_t{random(1, most)}; });
    CHECK(found.bytes == noise);
    CHECK(found.lost);
    CHECK(found.starts.size() == 1);
  }
}

}  // namespace
