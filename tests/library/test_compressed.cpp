// Compressed inputs: fed in random cuts, they give the results of a run that reads the same bytes from a file.
#include "fed_text.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/lz4_samples.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include "library/counting_plan.hpp"
#include "pipeline/flow/driver.hpp"

#include <gpuhist/counter.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using test::byte_vector;
using testing::byte_counts;
using testing::random_text;

counting_options host() { return {.schemes = {"bytes"}, .counting_engine = engine::host, .threads = 2}; }

struct packing {
  std::string format;
  std::function<byte_vector(std::span<const std::byte>)> pack;
};

std::vector<packing> packings() {
  return {
      {"zstd", [](auto plain) { return test::zstd_frame_of(plain); }},
      {"gzip", [](auto plain) { return test::gzip_member_of(plain); }},
      {"xz", [](auto plain) { return test::xz_stream_of(plain); }},
      {"lzip", [](auto plain) { return test::lzip_member_of(plain); }},
      {"bzip2", [](auto plain) { return test::bzip2_stream_of(plain); }},
      {"lz4", [](auto plain) { return test::lz4_frame_of(plain); }},
  };
}

std::string_view view(const byte_vector& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Frames of these sizes, one after the other.
struct sample {
  byte_vector plain;
  byte_vector packed;

  sample(const packing& how, std::initializer_list<std::size_t> sizes) {
    std::uint32_t seed = 1;
    for (const std::size_t size : sizes) {
      const byte_vector part = test::sample_text(size, seed++);
      const byte_vector frame = how.pack(part);
      plain.insert(plain.end(), part.begin(), part.end());
      packed.insert(packed.end(), frame.begin(), frame.end());
    }
  }
};

enum class manner { fed, borrowed, lent };

void feed_in_cuts(input& to, std::span<const std::byte> bytes, unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t largest = seed % 2 == 0 ? 20 : bytes.size() / 2 + 1;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), random() % largest + 1));
    std::size_t taken = part.size();
    switch (static_cast<manner>(random() % 3)) {
      case manner::fed:
        to.feed(part);
        break;
      case manner::borrowed:
        to.feed_borrowed(part, [] {});
        break;
      case manner::lent: {
        lent_buffer buffer = to.lend(part.size());
        taken = buffer.bytes().size();
        std::ranges::copy(part.first(taken), buffer.bytes().begin());
        buffer.commit(taken);
      }
    }
    bytes = bytes.subspan(taken);
  }
}

results fed(std::span<const std::byte> bytes, const input_options& how, unsigned seed) {
  counter counts(host());
  input packed = counts.open_input("packed", how);
  feed_in_cuts(packed, bytes, seed);
  packed.finish();
  return counts.finish();
}

pipeline::input_report read_from_file(std::span<const std::byte> bytes, const std::string& format) {
  const test::temporary_folder folder;
  const std::string path = folder.file("packed", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto planned = library::make_plan(file_options{.inputs = {path}, .counting = host(), .format = format});
  return pipeline::run(planned, {}).result.inputs[0];
}

std::string without_offset(const std::string& error) {
  return std::regex_replace(error, std::regex("compressed offset [0-9]+"), "compressed offset N");
}

// libzstd does not report where in its input damage was found, so that the offset depends on the cuts, also of files.
bool has_exact_offset(const pipeline::input_report& report) {
  return report.format != "zstd" || report.error.find("Data corruption") == std::string::npos;
}

void check_as_from_file(std::span<const std::byte> bytes, const std::string& format) {
  const pipeline::input_report expected = read_from_file(bytes, format);
  for (const unsigned seed : {1U, 2U}) {
    CAPTURE(seed);
    const results result = fed(bytes, {.format = format}, seed);
    const input_result found = result.input(0);
    CHECK(found.format == expected.format);
    if (has_exact_offset(expected)) {
      CHECK(found.compressed_bytes == expected.compressed_bytes);
      CHECK(found.error == expected.error);
    }
    CHECK(without_offset(found.error) == without_offset(expected.error));
    CHECK(found.bytes == expected.verified.bytes());
    CHECK(found.unverified_bytes == expected.unverified.bytes());
    CHECK(found.complete == expected.complete);
    CHECK(result.complete() == expected.complete);
    if (found.bytes > 0) CHECK(result.counts("bytes", 0) == expected.verified.counts);
  }
}

}  // namespace

TEST_CASE("compressed inputs are decoded and verified, in any cuts, named or recognized by content") {
  for (const packing& how : packings()) {
    CAPTURE(how.format);
    const sample text(how, {100, 0, 300'000, 1, 700'000});
    for (const std::string& format : {how.format, std::string()}) {
      for (const unsigned seed : {1U, 2U, 3U}) {
        const results result = fed(text.packed, {.format = format}, seed);
        CHECK(result.complete());
        const input_result found = result.input(0);
        CHECK(found.format == how.format);
        CHECK(found.compressed_bytes == text.packed.size());
        CHECK(found.unverified_bytes == 0);
        CHECK(result.counts("bytes") == byte_counts(view(text.plain)));
      }
    }
  }
}

TEST_CASE("skippable frames before an lz4 frame do not hide its format, in any cuts") {
  sample text(packings().back(), {5000});
  for (const std::size_t skipped : {100U, 2000U, 300'000U}) {
    const byte_vector frame = test::skippable_frame(skipped);
    text.packed.insert(text.packed.begin(), frame.begin(), frame.end());
    CHECK(read_from_file(text.packed, {}).format == "lz4");
    check_as_from_file(text.packed, {});
  }
}

TEST_CASE("damaged, truncated and extended inputs fail as a file with the same bytes does") {
  for (const packing& how : packings()) {
    CAPTURE(how.format);
    const sample text(how, {1000, 400'000, 2000});
    byte_vector damaged = text.packed;
    damaged[damaged.size() / 2] ^= std::byte{0x55};
    check_as_from_file(damaged, how.format);
    check_as_from_file(std::span(text.packed).first(text.packed.size() - 1), how.format);
    check_as_from_file(std::span(text.packed).first(text.packed.size() / 3), how.format);
    check_as_from_file(std::span(text.packed).first(3), how.format);
    check_as_from_file({}, how.format);
    byte_vector extended = text.packed;
    const byte_vector more = test::noise(100);
    extended.insert(extended.end(), more.begin(), more.end());
    check_as_from_file(extended, how.format);
    check_as_from_file(extended, {});
  }
}

TEST_CASE("input whose format is not known yet is text, and formats that cannot be read are refused") {
  check_as_from_file(test::sample_text(5000), {});
  check_as_from_file({}, {});
  for (const std::string_view text : {"\x1f", "BZ", "B", "\x28\xb5\x2f", "LZIP", "x\x9c text", "plain"}) {
    CAPTURE(text);
    check_as_from_file(std::as_bytes(std::span(text)), {});
  }
  const std::string lzop("\x89LZO\0\r\n\x1a\n and more", 18);
  check_as_from_file(std::as_bytes(std::span(lzop)), {});
}

TEST_CASE("after damage the input reports its failure and ignores further bytes") {
  const sample text(packings()[0], {1000});
  counter counts(host());
  input packed = counts.open_input("packed", {.format = "zstd"});
  CHECK_FALSE(packed.failed());
  packed.feed("this is not zstd");
  CHECK(packed.failed());
  packed.feed(text.packed);
  packed.finish();
  const results result = counts.finish();
  CHECK_FALSE(result.complete());
  CHECK(result.input(0).kind == failure::damaged);
  CHECK(result.bytes() == 0);
}

TEST_CASE("text above max_output fails the input, and only this input") {
  const sample text(packings()[1], {300'000});
  counter counts(host());
  input limited = counts.open_input("limited", {.format = "gzip", .max_output = 200'000});
  input enough = counts.open_input("enough", {.format = "gzip", .max_output = 300'000});
  limited.feed(text.packed);
  enough.feed(text.packed);
  limited.finish();
  enough.finish();
  const results result = counts.finish();
  CHECK(result.input(0).kind == failure::refused);
  CHECK(result.input(0).error.find("of --max-output") != std::string::npos);
  CHECK(result.input(1).complete);
  CHECK(result.bytes() == 300'000);
}

TEST_CASE("many compressed inputs are fed by one thread in turn: none waits for another one") {
  constexpr std::size_t inputs = 60;
  std::vector<sample> texts;
  for (std::size_t i = 0; i < inputs; ++i) texts.emplace_back(packings()[i % 6], std::initializer_list{50'000 + i});
  counter counts(host());
  std::vector<input> opened;
  for (std::size_t i = 0; i < inputs; ++i) opened.push_back(counts.open_input("packed", {.format = ""}));
  for (std::size_t at = 0; std::ranges::any_of(texts, [&](const sample& each) { return at < each.packed.size(); });
       at += 1000) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto rest = std::span(texts[i].packed).subspan(std::min(at, texts[i].packed.size()));
      opened[i].feed(rest.first(std::min<std::size_t>(rest.size(), 1000)));
    }
  }
  const results result = counts.finish();
  CHECK(result.complete());
  for (std::size_t i = 0; i < inputs; ++i) CHECK(result.counts("bytes", i) == byte_counts(view(texts[i].plain)));
}

TEST_CASE("several threads feed compressed inputs and text while snapshots are taken, and each snapshot is exact") {
  const sample text(packings()[0], {2'000'000, 1'000'000});
  counter counts(host());
  {
    std::vector<std::jthread> feeding;
    for (unsigned i = 0; i < 4; ++i) {
      feeding.emplace_back([&, i] {
        input fed = counts.open_input("packed", {.format = i == 0 ? "raw" : "zstd"});
        feed_in_cuts(fed, i == 0 ? text.plain : text.packed, i);
        fed.finish();
      });
    }
    std::uint64_t before = 0;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t now = counts.snapshot().bytes();
      CHECK(now >= before);
      before = now;
    }
  }
  const results result = counts.finish();
  CHECK(result.complete());
  std::vector<std::uint64_t> expected = byte_counts(view(text.plain));
  for (std::uint64_t& each : expected) each *= 4;
  CHECK(result.counts("bytes") == expected);
}

TEST_CASE("pairs continue from frame to frame, however the frames are cut") {
  const auto is_vowel = [](std::byte each) {
    return std::string_view("aeiou").find(static_cast<char>(each)) != std::string_view::npos;
  };
  for (const packing& how : packings()) {
    CAPTURE(how.format);
    const sample text(how, {10, 5000, 0, 300'000, 1, 1, 2000});
    std::vector<std::uint64_t> expected(4);
    for (std::size_t i = 1; i < text.plain.size(); ++i) {
      ++expected[(is_vowel(text.plain[i - 1]) ? 0U : 2U) + (is_vowel(text.plain[i]) ? 0U : 1U)];
    }
    for (const unsigned seed : {1U, 2U}) {
      counting_options options = host();
      options.schemes = {"vowels=aeiou"};
      options.pairs = true;
      counter counts(options);
      input packed = counts.open_input("packed", {.format = how.format});
      feed_in_cuts(packed, text.packed, seed);
      packed.finish();
      const results result = counts.finish();
      CHECK(result.complete());
      CHECK(result.pairs("custom") == expected);
    }
  }
}

TEST_CASE("a snapshot holds the text of verified frames; the text of an open frame is unverified") {
  const sample text(packings()[0], {400'000, 400'000});
  const std::size_t first = test::zstd_frame_of(test::sample_text(400'000, 1)).size();
  counter counts(host());
  input packed = counts.open_input("packed", {.format = "zstd"});
  packed.feed(std::span(text.packed).first(first));
  CHECK(counts.snapshot().bytes() == 400'000);
  packed.feed(std::span(text.packed).subspan(first).first((text.packed.size() - first) / 2));
  const results then = counts.snapshot();
  CHECK(then.bytes() == 400'000);
  CHECK(then.unverified_bytes() > 0);
  CHECK(then.input(0).compressed_bytes == first + (text.packed.size() - first) / 2);
}

TEST_CASE("an input that needs more memory than other inputs leave is refused, and does not wait for them") {
  counting_options options = host();
  options.memory_limit = std::uint64_t{64} << 20U;
  const packing large{"zstd",
                      [](auto plain) { return test::zstd_frame_of(plain, {.content_size = false, .window_log = 24}); }};
  const sample text(large, {100'000});
  counter counts(options);
  std::vector<input> opened;
  for (int i = 0; i < 4; ++i) opened.push_back(counts.open_input("packed", {.format = "zstd"}));
  for (input& each : opened) each.feed(std::span(text.packed).first(text.packed.size() - 1));
  CHECK_FALSE(opened[0].failed());
  CHECK(opened[3].failed());
  opened[0].feed(std::span(text.packed).last(1));
  opened[0].finish();
  input later = counts.open_input("later", {.format = "zstd"});
  later.feed(text.packed);
  later.finish();
  opened[3].finish();
  const results result = counts.finish();
  CHECK(result.input(0).complete);
  CHECK(result.input(3).kind == failure::out_of_memory);
  CHECK(result.input(3).error.find("a higher --memory-limit") != std::string::npos);
  CHECK(result.input(4).complete);
}

TEST_CASE("names that are not those of compressed formats are errors") {
  counter counts(host());
  for (const char* const name : {"zst", "tar", "zip", "auto"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(static_cast<void>(counts.open_input("x", {.format = name})),
                         doctest::Contains("input_options::format"), error);
  }
  CHECK(counts.finish().inputs() == 0);
}

}  // namespace gpuhist
