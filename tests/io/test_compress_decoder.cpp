// The contract of decoders for compress, as far as a format without an end mark can fulfil it, and the peculiarities of
// its codes. The oracle is an encoder written for clarity; tests/cli compares the decoder with ncompress.
#include "io/compress/compress_decoder.hpp"

#include "tests/contract/decoder_contract.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>

using namespace gpuhist::test;
using gpuhist::io::fill_status;
using gpuhist::io::make_compress_decoder;

namespace {

const decoder_maker make = [] { return make_compress_decoder({}); };

/// Writes codes as compress does: in groups of eight, padded when the width changes.
class code_writer {
 public:
  code_writer(unsigned widest, bool may_clear) : widest_(widest), next_(may_clear ? 257 : 256) {
    put(0x1F, 8);
    put(0x9D, 8);
    put(widest | (may_clear ? 0x80U : 0U), 8);
    group_begin_ = bits_.size();
  }

  void code(unsigned value) { put(value, width_); }
  void defined() {  // to be called when the decoder defines a string
    if (next_ < 1U << widest_) ++next_;
  }
  void widen_if_outgrown() {
    if (next_ <= (1U << width_) - 1 || width_ >= widest_) return;
    pad();
    ++width_;
  }
  void clear() {
    put(256, width_);
    pad();
    width_ = 9;
    next_ = 256;
  }

  [[nodiscard]] byte_vector bytes() const {
    byte_vector packed((bits_.size() + 7) / 8);
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i]) packed[i / 8] |= static_cast<std::byte>(1U << (i % 8));
    }
    return packed;
  }

 private:
  void put(unsigned value, unsigned bits) {
    for (unsigned bit = 0; bit < bits; ++bit) bits_.push_back(((value >> bit) & 1U) != 0);
  }
  void pad() {
    while ((bits_.size() - group_begin_) % (8UL * width_) != 0) bits_.push_back(false);
    group_begin_ = bits_.size();
  }

  unsigned widest_;
  unsigned next_;
  unsigned width_ = 9;
  std::size_t group_begin_ = 0;
  std::vector<bool> bits_;
};

struct packing {
  unsigned widest = 16;
  bool may_clear = true;
  std::size_t clear_every = 0;  // number of codes; 0: never
};

std::map<std::string, unsigned> single_bytes() {
  std::map<std::string, unsigned> codes;
  for (unsigned byte = 0; byte < 256; ++byte) codes[std::string(1, static_cast<char>(byte))] = byte;
  return codes;
}

byte_vector compressed(const byte_vector& plain, const packing& settings = {}) {
  const unsigned first_free = settings.may_clear ? 257 : 256;
  code_writer out(settings.widest, settings.may_clear);
  std::map<std::string, unsigned> codes = single_bytes();
  unsigned next = first_free;
  std::string string;
  bool is_first = true;  // the first code since the start: the decoder defines no string with it
  std::size_t written = 0;
  const auto write = [&] {
    out.widen_if_outgrown();
    out.code(codes.at(string));
    if (!is_first) out.defined();
    is_first = false;
    ++written;
  };
  for (const std::byte byte : plain) {
    const std::string longer = string + static_cast<char>(byte);
    if (codes.contains(longer)) {
      string = longer;
      continue;
    }
    write();
    if (next < 1U << settings.widest) codes[longer] = next++;
    string = std::string(1, static_cast<char>(byte));
    if (settings.clear_every != 0 && written % settings.clear_every == 0) {
      out.widen_if_outgrown();
      out.clear();
      codes = single_bytes();
      next = first_free;
    }
  }
  if (!string.empty()) write();
  return out.bytes();
}

byte_vector mixed_text() {
  return joined(joined(sample_text(30'000), noise(20'000)), byte_vector(5000, std::byte{'a'}));
}

std::vector<decoder_sample> samples() {
  std::vector<decoder_sample> made;
  const auto add = [&made](std::string name, const byte_vector& plain, const packing& settings = {}) {
    made.push_back({.name = std::move(name),
                    .plain = plain,
                    .packed = compressed(plain, settings),
                    .ends = {},
                    .clean_stops = {}});
  };
  add("nothing", {});
  add("one byte", sample_text(1));
  add("a run, whose codes refer to the string being defined", byte_vector(700, std::byte{'r'}));
  add("text", sample_text(3000));
  add("noise that outgrows 9 bits", noise(900));
  add("no clearing", noise(900), {.may_clear = false});
  add("clearing", sample_text(3000), {.clear_every = 100});
  add("clearing at a group's end", sample_text(3000), {.clear_every = 7});
  return made;
}

std::string error_of(const byte_vector& packed) { return decode_at_once(make, packed).error; }

}  // namespace

TEST_CASE("compress: cuts of input and output change no byte, and the input may end after the last code") {
  for (const decoder_sample& sample : samples()) check_cuts(make, sample);
  for (unsigned widest = 10; widest <= 16; ++widest) {
    CAPTURE(widest);
    const byte_vector plain = mixed_text();
    check_cuts(make, {.name = "all widths",
                      .plain = plain,
                      .packed = compressed(plain, {.widest = widest, .clear_every = widest % 2 == 0 ? 9000U : 0U}),
                      .ends = {},
                      .clean_stops = {}});
  }
}

TEST_CASE("compress: calls with empty spans have no effect, and a restarted decoder behaves like a new one") {
  for (const decoder_sample& sample : samples()) {
    check_empty_calls(make, sample);
    check_restart(make, sample);
  }
}

TEST_CASE("compress: truncated input gives a prefix of the text, and an error if a partial code is not zero") {
  for (const decoder_sample& sample : samples()) {
    CAPTURE(sample.name);
    std::size_t reported = 0;
    const std::size_t step = sample.packed.size() > 100 ? unless_sampled(1U, 7U) : 1;
    for (std::size_t length = 0; length < sample.packed.size(); length += step) {
      const decoding got = decode(make, std::span(sample.packed).first(length), always(1), always(everything), 4096);
      CHECK(begin_alike(got.plain, sample.plain));
      CHECK(got.plain.size() <= sample.plain.size());
      CHECK_FALSE(got.failed);
      if (!got.missing.empty()) ++reported;
      if (length < 3) CHECK_FALSE(got.missing.empty());
    }
    if (sample.packed.size() > 100) CHECK(reported * 2 * step > sample.packed.size());
  }
}

TEST_CASE("compress: the verdict and the text of damaged input do not depend on the cuts") {
  std::mt19937 random(1);
  const byte_vector packed = compressed(joined(sample_text(800), noise(600)), {.clear_every = 300});
  for (int i = 0; i < 2000; ++i) {
    byte_vector damaged = packed;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    const std::size_t bound = std::size_t{1} << 17U;
    const decoding at_once = decode(make, damaged, always(everything), always(everything), bound);
    const decoding by_hand = decode(make, damaged, sometimes(40, 1), sometimes(900, 2), bound);
    REQUIRE(by_hand.plain == at_once.plain);
    REQUIRE(by_hand.error == at_once.error);
    REQUIRE(by_hand.missing == at_once.missing);
  }
}

TEST_CASE("compress: invalid headers and codes are refused with their offset") {
  CHECK(error_of(byte_vector{std::byte{0x1F}, std::byte{0x8B}, std::byte{0}}).starts_with("is not compress data"));
  CHECK(error_of(byte_vector{std::byte{0x1F}, std::byte{0x9D}, std::byte{0x91}}) ==
        "stream 1 is damaged (its header has invalid flags or an invalid code width) at compressed offset 3, "
        "decompressed offset 0");
  CHECK(error_of(code_writer(9, true).bytes()) ==
        "stream 1 has only codes of 9 bits, which compressors write wrongly, at compressed offset 3, decompressed "
        "offset 0");
  code_writer unknown(16, true);
  unknown.code('a');
  unknown.code(258);
  CHECK(error_of(unknown.bytes()) ==
        "stream 1 is damaged (a code refers to a string that is not defined yet) at compressed offset 6, "
        "decompressed offset 1");
}

TEST_CASE("compress: memory for the table of strings is requested before it is allocated") {
  const auto decoder = make_compress_decoder({.window_bytes = 1U << 10U});
  const decoding got = decode(*decoder, compressed(sample_text(100)), always(everything), always(everything), 200);
  CHECK(got.failed);
  CHECK(got.error.find("--memory-limit") != std::string::npos);
}
