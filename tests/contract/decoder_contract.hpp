// The contract of every decoder (io/decoder.hpp), instantiated with samples of a format: the same bytes and the same
// frame ends for all cuts of input and output; truncation and damage are always detected.
#pragma once

#include "io/decoder.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {

/// Where a frame ends, in compressed and in decompressed bytes from the start.
struct frame_end {
  std::size_t packed = 0;
  std::size_t plain = 0;
  bool input_may_stop = true;  ///< of samples
  bool operator==(const frame_end& other) const { return packed == other.packed && plain == other.plain; }
};

/// Compressed bytes from another implementation, and their expected content.
struct decoder_sample {
  std::string name;
  byte_vector plain;
  byte_vector packed;
  std::vector<frame_end> ends;           ///< one a frame
  std::vector<std::size_t> clean_stops;  ///< further offsets where the input may stop (after skippable frames)

  void add_frame(const byte_vector& text, const byte_vector& frame) {
    plain.insert(plain.end(), text.begin(), text.end());
    packed.insert(packed.end(), frame.begin(), frame.end());
    ends.push_back({.packed = packed.size(), .plain = plain.size()});
  }

  /// Adds bytes without content, after which the input may stop.
  void add_skippable(const byte_vector& bytes) {
    packed.insert(packed.end(), bytes.begin(), bytes.end());
    clean_stops.push_back(packed.size());
  }
};

using decoder_maker = std::function<std::unique_ptr<io::decoder>()>;
using size_chooser = std::function<std::size_t()>;

inline size_chooser always(std::size_t size) {
  return [size] { return size; };
}

inline constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

/// 0 to `limit`, small sizes as often as large ones.
inline size_chooser sometimes(std::size_t limit, std::uint32_t seed) {
  return [limit, random = std::mt19937(seed)]() mutable { return random() % (1 + random() % (limit + 1)); };
}

struct decoding {
  byte_vector plain;
  std::vector<frame_end> ends;
  bool failed = false;
  std::string error;           // with failed
  std::string missing;         // at the end
  bool took_no_parts = false;  // decoder::may_take_parts() was false after a call
  [[nodiscard]] bool accepted() const { return !failed && missing.empty(); }
};

/// The invariants of a single call of fill(). (There are millions of calls: doctest is called only on an error.)
inline void check_call(const io::fill_result& result, std::size_t in, std::size_t out) {
  using enum io::fill_status;
  const bool kept = result.consumed <= in && result.produced <= out &&
                    (result.status != needs_input || result.consumed == in) &&
                    (result.status != output_full || result.produced == out);
  if (!kept)
    FAIL("fill() broke its contract: ", static_cast<int>(result.status), ' ', result.consumed, '/', in, ' ',
         result.produced, '/', out);
}

/// Decodes `packed` in cuts of the chosen sizes up to the end or the error. Each call writes to a buffer of exactly the
/// chosen size, so that the address sanitizer detects an excess byte.
inline decoding decode(io::decoder& decoder, std::span<const std::byte> packed, const size_chooser& in_size,
                       const size_chooser& out_size, std::size_t plain_bound) {
  decoding result;
  byte_vector out;
  std::size_t consumed = 0;
  for (std::size_t calls = 0;; ++calls) {
    if (calls > 40 * (packed.size() + plain_bound) + 1000) FAIL("the decoder makes no progress");
    const std::span<const std::byte> in = packed.subspan(consumed, std::min(in_size(), packed.size() - consumed));
    const std::size_t room = std::min(out_size(), plain_bound + 64);
    if (out.size() != room) out = byte_vector(room);
    const bool was_finished = consumed == packed.size();
    const io::fill_result filled = decoder.fill(in, out);
    check_call(filled, in.size(), out.size());
    consumed += filled.consumed;
    result.plain.insert(result.plain.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(filled.produced));
    if (decoder.consumed_total() != consumed || decoder.produced_total() != result.plain.size()) FAIL("wrong totals");
    if (filled.status == io::fill_status::failed) {
      result.failed = true;
      result.error = decoder.fault(0);
      if (result.error.empty()) FAIL("an error without a message");
      return result;
    }
    if (filled.status == io::fill_status::frame_verified) {
      REQUIRE_FALSE(decoder.in_frame());
      REQUIRE(decoder.missing_at_frame_end(0).empty());
      result.ends.push_back({.packed = consumed, .plain = result.plain.size()});
    }
    if (was_finished && filled.status == io::fill_status::needs_input) {
      result.missing = decoder.missing_at_end(0);
      return result;
    }
  }
}

inline decoding decode(const decoder_maker& make, std::span<const std::byte> packed, const size_chooser& in_size,
                       const size_chooser& out_size, std::size_t plain_bound) {
  const std::unique_ptr<io::decoder> decoder = make();
  return decode(*decoder, packed, in_size, out_size, plain_bound);
}

/// Content of at most 1 MiB, in one call.
inline decoding decode_at_once(const decoder_maker& make, std::span<const std::byte> packed) {
  return decode(make, packed, always(everything), always(everything), 1U << 20U);
}

/// Checks an invariant with all kinds of cuts: single bytes, everything at once, and random sizes. In a sample, large
/// contents are not cut into single bytes.
inline void for_all_cuts(std::size_t largest,
                         const std::function<void(const size_chooser&, const size_chooser&)>& check) {
  check(always(everything), always(everything));
  constexpr std::size_t large = 10'000;
  if (campaign_size() == campaign::sample && largest > large) {
    check(sometimes(largest, 3), sometimes(largest, 103));
    return;
  }
  check(always(1), always(everything));
  check(always(everything), always(1));
  check(always(1), always(1));
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    check(sometimes(seed % 2 == 0 ? 7 : largest, seed), sometimes(seed % 4 < 2 ? 7 : largest, seed + 100));
  }
}

/// Invariant: bytes and frame ends do not depend on the cuts of input and output.
inline void check_cuts(const decoder_maker& make, const decoder_sample& sample) {
  CAPTURE(sample.name);
  for_all_cuts(sample.plain.size() / 2 + 300, [&](const size_chooser& in, const size_chooser& out) {
    const decoding got = decode(make, sample.packed, in, out, sample.plain.size());
    CHECK_MESSAGE(got.accepted(), got.error, got.missing);
    CHECK(got.plain == sample.plain);
    CHECK(got.ends == sample.ends);
  });
}

/// Invariant: an input that does not end at the end of a frame is not accepted, and its whole frames are verified.
inline void check_truncations(const decoder_maker& make, const decoder_sample& sample) {
  CAPTURE(sample.name);
  for (std::size_t length = 0; length < sample.packed.size(); ++length) {
    CAPTURE(length);
    const std::span<const std::byte> cut = std::span(sample.packed).first(length);
    std::vector<frame_end> whole;
    for (const frame_end& end : sample.ends) {
      if (end.packed <= length) whole.push_back(end);
    }
    const auto may_stop = [&](const frame_end& end) { return end.packed == length && end.input_may_stop; };
    const bool clean =
        std::ranges::any_of(sample.ends, may_stop) || std::ranges::count(sample.clean_stops, length) != 0;
    for (const std::size_t size : {std::size_t{1}, everything}) {
      const decoding got = decode(make, cut, always(size), always(everything), sample.plain.size());
      CHECK(got.accepted() == clean);
      CHECK(got.ends == whole);
      CHECK(std::ranges::equal(got.plain,
                               std::span(sample.plain).first(std::min(got.plain.size(), sample.plain.size()))));
    }
  }
}

inline bool begin_alike(const byte_vector& left, const byte_vector& right) {
  const std::size_t length = std::min(left.size(), right.size());
  return std::ranges::equal(std::span(left).first(length), std::span(right).first(length));
}

/// Invariant for samples with checksums: if a byte is changed, no other content is accepted, and neither the verdict
/// nor the verified frames depend on the cuts. (The amount of output of a damaged block before its error may depend on
/// them.)
inline void check_damage(const decoder_maker& make, const decoder_sample& sample) {
  CAPTURE(sample.name);
  for (std::size_t place = 0; place < sample.packed.size(); ++place) {
    for (const unsigned change : {1U << (place % 8), 0x80U >> (place % 8), 0xFFU}) {
      CAPTURE(place);
      CAPTURE(change);
      byte_vector damaged = sample.packed;
      damaged[place] ^= static_cast<std::byte>(change);
      // a damaged run may be long: 128 KiB per block
      const std::size_t bound = sample.plain.size() + (std::size_t{1} << 18U);
      const decoding at_once = decode(make, damaged, always(everything), always(everything), bound);
      if (at_once.accepted()) CHECK(at_once.plain == sample.plain);
      const decoding by_byte = decode(make, damaged, always(1), always(everything), bound);
      const decoding at_random = decode(make, damaged, sometimes(40, change), sometimes(90, change + 1), bound);
      for (const decoding* in_parts : {&by_byte, &at_random}) {
        CHECK(in_parts->accepted() == at_once.accepted());
        CHECK(begin_alike(in_parts->plain, at_once.plain));
        CHECK(in_parts->ends == at_once.ends);
        CHECK(in_parts->missing == at_once.missing);
      }
    }
  }
}

/// Invariant: a buffer of exactly the size of the content suffices to reach the verdict.
inline void check_exact_room(const decoder_maker& make, const decoder_sample& sample) {
  CAPTURE(sample.name);
  for (const std::size_t in_size : {std::size_t{1}, std::size_t{5}, everything}) {
    const std::unique_ptr<io::decoder> decoder = make();
    std::size_t consumed = 0;
    std::size_t produced = 0;
    for (const frame_end& end : sample.ends) {
      byte_vector out(end.plain - produced);
      std::size_t filled = 0;
      io::fill_result result;
      for (std::size_t calls = 0; result.status != io::fill_status::frame_verified; ++calls) {
        REQUIRE(calls < 4 * sample.packed.size() + 100);
        const auto in = std::span(sample.packed).subspan(consumed, std::min(in_size, sample.packed.size() - consumed));
        result = decoder->fill(in, std::span(out).subspan(filled));
        REQUIRE(result.status != io::fill_status::failed);
        consumed += result.consumed;
        filled += result.produced;
      }
      CHECK(filled == out.size());
      CHECK(consumed == end.packed);
      CHECK(std::ranges::equal(out, std::span(sample.plain).subspan(produced, filled)));
      produced = end.plain;
    }
  }
}

/// Invariant: calls without input and without room for output have no effect, however many.
inline void check_empty_calls(const decoder_maker& make, const decoder_sample& sample) {
  CAPTURE(sample.name);
  const std::unique_ptr<io::decoder> decoder = make();
  std::size_t turn = 0;
  const size_chooser in = [&turn] { return ++turn % 50 == 0 ? std::size_t{64} : std::size_t{0}; };
  const size_chooser out = [&turn] { return turn % 75 == 0 ? std::size_t{4096} : std::size_t{0}; };
  byte_vector plain;
  std::size_t consumed = 0;
  std::size_t frames = 0;
  for (std::size_t calls = 0; frames < sample.ends.size() || plain.size() < sample.plain.size(); ++calls) {
    if (calls > 200 * (sample.packed.size() + sample.plain.size()) + 1000) FAIL("no progress");
    byte_vector room;
    const auto some = std::span(sample.packed).subspan(consumed, std::min(in(), sample.packed.size() - consumed));
    room.resize(out());
    const io::fill_result result = decoder->fill(some, room);
    check_call(result, some.size(), room.size());
    REQUIRE(result.status != io::fill_status::failed);
    consumed += result.consumed;
    plain.insert(plain.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(result.produced));
    if (result.status == io::fill_status::frame_verified) ++frames;
  }
  CHECK(plain == sample.plain);
}

/// Makes the context of a decoder that begins after these bytes, which end at the end of a frame.
using context_maker = std::function<std::shared_ptr<const io::frame_context>(std::span<const std::byte>)>;

/// Invariant: a decoder that is restarted after any position, at the start or at a later frame, gives the results of a
/// new decoder. Without `context_after` it is restarted only where an input of its own may begin.
inline void check_restart(const decoder_maker& make, const decoder_sample& sample,
                          const context_maker& context_after = {}) {
  CAPTURE(sample.name);
  const std::unique_ptr<io::decoder> decoder = make();
  byte_vector out(sample.plain.size() + 64);
  for (std::size_t length = 0; length <= sample.packed.size(); length += 1 + sample.packed.size() / 50) {
    CAPTURE(length);
    decoder->restart({});
    while (true) {
      const std::uint64_t before = decoder->consumed_total();
      const auto got = decoder->fill(std::span(sample.packed).subspan(before, length - before), out);
      if (got.status != io::fill_status::frame_verified) break;
    }
    std::size_t frame = sample.ends.empty() ? 0 : length % sample.ends.size();
    if (!context_after && frame != 0 && !sample.ends[frame - 1].input_may_stop) frame = 0;
    const frame_end from = frame == 0 ? frame_end{} : sample.ends[frame - 1];
    const auto context =
        context_after && frame != 0 ? context_after(std::span(sample.packed).first(from.packed)) : nullptr;
    decoder->restart({.frames = frame, .compressed_bytes = from.packed, .context = context});
    CHECK(decoder->consumed_total() == from.packed);
    CHECK(decoder->produced_total() == 0);
    byte_vector text;
    std::size_t frames = 0;
    for (std::uint64_t at = from.packed;;) {
      const auto got = decoder->fill(std::span(sample.packed).subspan(at), out);
      REQUIRE_MESSAGE(got.status != io::fill_status::failed, decoder->fault(0));
      at += got.consumed;
      text.insert(text.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      if (got.status == io::fill_status::frame_verified) ++frames;
      if (got.status == io::fill_status::needs_input) break;
    }
    CHECK(frames == sample.ends.size() - frame);
    CHECK(std::ranges::equal(text, std::span(sample.plain).subspan(from.plain)));
    CHECK(decoder->missing_at_end(from.plain).empty());
  }
}

/// All invariants of intact and of truncated inputs.
inline void check_decoder(const decoder_maker& make, const std::vector<decoder_sample>& samples) {
  for (const decoder_sample& sample : samples) {
    check_cuts(make, sample);
    check_truncations(make, sample);
    check_exact_room(make, sample);
    check_empty_calls(make, sample);
    check_restart(make, sample);
  }
}

/// Those that do not need a run for each byte.
inline void check_decoder_of_large(const decoder_maker& make, const std::vector<decoder_sample>& samples) {
  for (const decoder_sample& sample : samples) {
    check_cuts(make, sample);
    check_exact_room(make, sample);
    check_restart(make, sample);
  }
}

/// What messages call a format and its frames.
struct format_words {
  std::string kind;
  std::string frame;
};

/// Invariant: input of another format, data after the last frame and an empty input have different errors, and after an
/// error every call reports the same one and takes no bytes. `frame`: one frame of 10 bytes. `pads`: zeros after it are
/// padding.
inline void check_foreign_data(const decoder_maker& make, const format_words& words, const byte_vector& frame,
                               std::initializer_list<std::string_view> junk, bool pads = false) {
  const byte_vector text = vector_of("plain text, and some more of it");
  const std::unique_ptr<io::decoder> decoder = make();
  CHECK(decoder->fill(text, {}).status == io::fill_status::failed);
  const std::string error = decoder->fault(0);
  CHECK(error == "is not " + words.kind + " data: there is no " + words.kind +
                     " magic number at its start, at compressed offset 0, decompressed offset 0");
  const io::fill_result again = decoder->fill(text, {});
  CHECK(again.status == io::fill_status::failed);
  CHECK(again.consumed == 0);
  CHECK(decoder->fault(0) == error);
  CHECK(decoder->missing_at_end(0) == error);
  for (const std::string_view each : junk) {
    const decoding got = decode_at_once(make, joined(frame, vector_of(each)));
    CHECK(got.ends.size() == 1);
    const std::size_t zeros = pads ? std::min(each.find_first_not_of('\0'), each.size()) : 0;
    CHECK(got.error == "trailing data that is not " + words.kind + " where " + words.frame +
                           " 2 would begin, at compressed offset " + std::to_string(frame.size() + zeros) +
                           ", decompressed offset 10");
  }
  CHECK_FALSE(make()->lacks_end());
  CHECK(make()->missing_at_end(0) ==
        "is empty: there is no " + words.kind + " " + words.frame + " at compressed offset 0, decompressed offset 0");
}

/// Invariant: a decoder that began after other frames reports the frame number and offsets of the whole input.
/// `damaged`: a frame of 200 bytes of text, whose error has this cause at `offset`.
inline void check_numbering(const decoder_maker& make, const format_words& words, const byte_vector& damaged,
                            const std::string& cause, std::size_t offset) {
  const std::unique_ptr<io::decoder> decoder = make();
  byte_vector out(200);
  decoder->restart({.frames = 41, .compressed_bytes = 5000});
  CHECK(decoder->fill(damaged, out).status == io::fill_status::failed);
  CHECK(decoder->fault_cause() == words.frame + " 42 is damaged (" + cause + ")");
  CHECK(decoder->fault(7000) == decoder->fault_cause() + " at compressed offset " + std::to_string(5000 + offset) +
                                    ", decompressed offset 7200");
  CHECK(decoder->fill(damaged, out).consumed == 0);
  decoder->restart({.frames = 2, .compressed_bytes = 100});
  CHECK(decoder->fill(std::span(damaged).first(11), out).status == io::fill_status::needs_input);
  CHECK(decoder->missing_at_end(30) ==
        words.frame + " 3 ends early: the input stops at compressed offset 111, decompressed offset 30");
  CHECK(decoder->lacks_end());
}

}  // namespace gpuhist::test
