// The contract of decoding ahead (io/part_decoder.hpp): a decoder to which parts are offered gives byte for byte what
// it gives without them: text, frame ends, errors and their offsets; for intact, cut and damaged inputs, parts of any
// size, any look-ahead and memory limit.
#pragma once

#include "io/part_decoder.hpp"
#include "tests/contract/decoder_contract.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::test {

using part_list = std::deque<std::shared_ptr<io::decoded_part>>;
using part_decoder_maker = std::function<std::unique_ptr<io::part_decoder>()>;

/// Where a part lies in its input.
struct part_place {
  std::size_t begin = 0;
  std::size_t size = 0;
  bool begins_frame = false;
  io::decode_start start{};  ///< with begins_frame
};

/// Divides an input as a splitter does that reports parts. Null: parts of equal sizes.
using part_divider = std::function<std::vector<part_place>(std::span<const std::byte>)>;

/// How an input is decoded in parts.
struct part_shape {
  std::size_t part_bytes = 1;
  std::size_t look_ahead = 0;
  std::size_t max_bytes = std::size_t{1} << 26U;
  unsigned threads = 1;
  bool joins = true;      ///< false: the decoder gets parts that are not joined
  part_divider divide{};  ///< instead of part_bytes
};

inline std::vector<part_place> part_places(std::span<const std::byte> packed, const part_shape& shape) {
  if (shape.divide) return shape.divide(packed);
  std::vector<part_place> places;
  for (std::size_t begin = 0; begin < packed.size(); begin += shape.part_bytes) {
    const std::size_t size = std::min(shape.part_bytes, packed.size() - begin);
    places.push_back({.begin = begin, .size = size, .begins_frame = begin == 0});
  }
  return places;
}

/// The parts of `packed` at `places`, decoded on `shape.threads` threads, linked in order, finished on the threads, and
/// joined in order.
inline part_list decode_parts(const part_decoder_maker& make, std::span<const std::byte> packed,
                              const std::vector<part_place>& places, const part_shape& shape) {
  const std::size_t number = places.size();
  part_list parts(number);
  std::vector<byte_vector> pieces_of(number);  // they are valid until join()
  const auto on_threads = [&](const std::function<void(io::part_decoder&, std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
      const auto decoder = make();
      for (std::size_t i = next++; i < number; i = next++) work(*decoder, i);
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < shape.threads; ++i) threads.emplace_back(run);
    run();
  };
  on_threads([&](io::part_decoder& decoder, std::size_t i) {
    const std::size_t begin = places[i].begin;
    const std::size_t size = places[i].size;
    const auto after = packed.subspan(begin + size, std::min(shape.look_ahead, packed.size() - begin - size));
    // copies of exactly these sizes, so that the address sanitizer detects a read beyond a piece
    const byte_vector& own = pieces_of[i] = byte_vector(packed.begin() + static_cast<std::ptrdiff_t>(begin),
                                                        packed.begin() + static_cast<std::ptrdiff_t>(begin + size));
    const byte_vector first(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(after.size() / 2));
    const byte_vector second(after.begin() + static_cast<std::ptrdiff_t>(after.size() / 2), after.end());
    const std::vector<std::span<const std::byte>> pieces{own, first, second};
    parts[i] = decoder.decode({.offset = begin,
                               .size = size,
                               .pieces = pieces,
                               .ends_input = begin + size + after.size() == packed.size(),
                               .begins_frame = places[i].begins_frame,
                               .start = places[i].start,
                               .max_bytes = shape.max_bytes});
  });
  for (std::size_t i = 0; i < number; ++i) {
    if (parts[i]) parts[i]->link(i == 0 ? nullptr : parts[i - 1].get());
  }
  on_threads([&](io::part_decoder&, std::size_t i) {
    if (parts[i]) parts[i]->finish();
  });
  for (std::size_t i = 0; i < number && shape.joins; ++i) {
    if (parts[i]) parts[i]->join(i == 0 ? nullptr : parts[i - 1].get());
  }
  return parts;
}

inline part_list decode_parts(const part_decoder_maker& make, std::span<const std::byte> packed,
                              const part_shape& shape) {
  return decode_parts(make, packed, part_places(packed, shape), shape);
}

/// Decodes `packed`, and offers `parts` at `places`. Only the decoder keeps a part that it was offered. `decoder`: new,
/// or used before.
inline decoding decode_with_parts(io::decoder& decoder, part_list parts, const std::vector<part_place>& places,
                                  std::span<const std::byte> packed, const size_chooser& out_size,
                                  std::size_t plain_bound) {
  decoder.restart({});
  decoding result;
  byte_vector out;
  std::size_t consumed = 0;
  std::size_t part = 0;
  for (std::size_t calls = 0;; ++calls) {
    if (calls > 40 * (packed.size() + plain_bound) + 1000) FAIL("the decoder makes no progress");
    while (part < places.size() && places[part].begin + places[part].size <= consumed) ++part;
    const bool is_last = part == places.size();
    if (!is_last && consumed == places[part].begin) decoder.offer(std::exchange(parts[part], nullptr));
    const std::size_t end = is_last ? packed.size() : places[part].begin + places[part].size;
    const std::span<const std::byte> in = packed.subspan(consumed, end - consumed);
    const std::size_t room = std::min(out_size(), plain_bound + 64);
    if (out.size() != room) out = byte_vector(room);
    const bool was_finished = consumed == packed.size();
    const io::fill_result filled = decoder.fill(in, out);
    check_call(filled, in.size(), out.size());
    consumed += filled.consumed;
    result.took_no_parts |= !decoder.may_take_parts();
    result.plain.insert(result.plain.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(filled.produced));
    if (decoder.consumed_total() != consumed || decoder.produced_total() != result.plain.size()) FAIL("wrong totals");
    if (filled.status == io::fill_status::failed) {
      result.failed = true;
      result.error = decoder.fault(0);
      return result;
    }
    if (filled.status == io::fill_status::frame_verified)
      result.ends.push_back({.packed = consumed, .plain = result.plain.size()});
    if (was_finished && filled.status == io::fill_status::needs_input) {
      result.missing = decoder.missing_at_end(0);
      return result;
    }
  }
}

inline decoding decode_with_parts(const decoder_maker& make, part_list parts, const std::vector<part_place>& places,
                                  std::span<const std::byte> packed, const size_chooser& out_size,
                                  std::size_t plain_bound) {
  return decode_with_parts(*make(), std::move(parts), places, packed, out_size, plain_bound);
}

/// Decodes `packed` with all its parts offered.
inline decoding decode_with_parts(const decoder_maker& make, const part_decoder_maker& make_parts,
                                  std::span<const std::byte> packed, const part_shape& shape,
                                  const size_chooser& out_size, std::size_t plain_bound) {
  const std::vector<part_place> places = part_places(packed, shape);
  return decode_with_parts(make, decode_parts(make_parts, packed, places, shape), places, packed, out_size,
                           plain_bound);
}

/// Decodes nothing ahead.
class idle_part_decoder final : public io::part_decoder {
 public:
  std::unique_ptr<io::decoded_part> decode(const io::part_input& /*input*/) override { return nullptr; }
};

/// Checks that `packed` has the same result with and without parts. The decoder gets the same pieces of the input in
/// both cases: how much text liblzma delivers before an error depends on them.
inline void check_same_with_parts(const decoder_maker& make, const part_decoder_maker& make_parts,
                                  std::span<const std::byte> packed, const part_shape& shape, std::size_t plain_bound) {
  CAPTURE(shape.part_bytes);
  CAPTURE(shape.look_ahead);
  CAPTURE(shape.threads);
  const part_decoder_maker make_idle = [] { return std::make_unique<idle_part_decoder>(); };
  const decoding alone = decode_with_parts(make, make_idle, packed, shape, always(everything), plain_bound);
  const decoding ahead = decode_with_parts(make, make_parts, packed, shape, always(everything), plain_bound);
  CHECK(ahead.failed == alone.failed);
  CHECK(ahead.error == alone.error);
  CHECK(ahead.missing == alone.missing);
  CHECK(ahead.ends == alone.ends);
  CHECK((ahead.plain == alone.plain));
}

/// Sizes of parts and of look-ahead, threads, and memory limits from none to plenty.
inline std::vector<part_shape> part_shapes(std::size_t packed_bytes) {
  std::vector<part_shape> shapes;
  for (const unsigned threads : {1U, 2U, 3U, 16U}) {
    if (campaign_size() == campaign::sample && threads != 3) continue;
    for (const std::size_t part : {packed_bytes / 7 + 1, packed_bytes / 2 + 1, packed_bytes + 1}) {
      shapes.push_back({.part_bytes = part, .look_ahead = packed_bytes, .threads = threads});
    }
  }
  shapes.push_back({.part_bytes = packed_bytes / 5 + 1, .look_ahead = 0});
  shapes.push_back({.part_bytes = packed_bytes / 5 + 1, .look_ahead = packed_bytes / 9});
  shapes.push_back({.part_bytes = packed_bytes / 5 + 1, .look_ahead = packed_bytes, .max_bytes = 1});
  return shapes;
}

/// Invariant: the same results for an intact input, for all shapes.
inline void check_parts(const decoder_maker& make, const part_decoder_maker& make_parts, const decoder_sample& sample,
                        const part_divider& divide = {}) {
  CAPTURE(sample.name);
  for (part_shape shape : part_shapes(sample.packed.size())) {
    shape.divide = divide;
    check_same_with_parts(make, make_parts, sample.packed, shape, sample.plain.size());
  }
}

/// Invariant: the same results for every cut and every flipped bit of a small input, and for `places` of each of a
/// larger one; in a sample, for a few of these.
inline void check_parts_of_damaged(const decoder_maker& make, const part_decoder_maker& make_parts,
                                   const decoder_sample& sample, std::size_t places = 2000,
                                   const part_divider& divide = {}) {
  CAPTURE(sample.name);
  constexpr std::size_t small = 4096;
  const std::size_t size = sample.packed.size();
  const std::size_t bound = sample.plain.size() + (std::size_t{1} << 16U);
  const auto stride = unless_sampled<std::size_t>(1, 31);
  const part_shape shape{.part_bytes = size / 4 + 1, .look_ahead = size, .threads = 1, .divide = divide};
  const std::size_t step = stride * (size <= small ? 1 : std::max<std::size_t>(1, size / places));
  for (std::size_t length = 0; length < size; length += step) {
    CAPTURE(length);
    check_same_with_parts(make, make_parts, std::span(sample.packed).first(length), shape, bound);
  }
  const std::size_t bits = 8 * size;
  const std::size_t bit_step = stride * (size <= small ? 1 : std::max<std::size_t>(1, bits / places) | 1U);
  for (std::size_t bit = 0; bit < bits; bit += bit_step) {
    CAPTURE(bit);
    byte_vector damaged = sample.packed;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    check_same_with_parts(make, make_parts, damaged, shape, bound);
  }
}

/// Invariant: a decoder takes the text of a block from its part. `erased`: `packed` with zeros instead of the blocks
/// that `parts` hold. It has the result of `packed` with the parts, and another one without.
inline void check_taken_over(const decoder_maker& make, part_list parts, const std::vector<part_place>& places,
                             std::span<const std::byte> packed, std::span<const std::byte> erased,
                             std::size_t plain_bound) {
  const part_list none(parts.size());
  const auto run = [&](part_list offered, std::span<const std::byte> input) {
    return decode_with_parts(make, std::move(offered), places, input, always(everything), plain_bound);
  };
  const decoding whole = run(none, packed);
  const decoding ahead = run(std::move(parts), erased);
  CHECK_FALSE(whole.failed);
  CHECK_FALSE(ahead.failed);
  CHECK(ahead.missing == whole.missing);
  CHECK(ahead.ends == whole.ends);
  CHECK((ahead.plain == whole.plain));
  CHECK(run(none, erased).failed);
}

/// Invariant: within a long block a decoder keeps no part whose blocks are all before its position. `stored`: an input
/// of one block, whose text is in it unchanged from `begin` on. `part_of`: a part that lies inside it, at an offset.
inline void check_parts_are_released(const decoder_maker& make, std::span<const std::byte> stored, std::size_t begin,
                                     const std::function<std::shared_ptr<io::decoded_part>(std::size_t)>& part_of) {
  constexpr std::size_t number = 20;
  const std::unique_ptr<io::decoder> decoder = make();
  std::vector<std::weak_ptr<io::decoded_part>> offered;
  byte_vector out(stored.size());
  std::size_t consumed = 0;
  const auto advance_to = [&](std::size_t offset) {
    const io::fill_result filled = decoder->fill(stored.subspan(consumed, offset - consumed), out);
    REQUIRE(filled.status == io::fill_status::needs_input);
    consumed += filled.consumed;
    REQUIRE(consumed == offset);
  };
  for (std::size_t i = 0; i < number; ++i) {
    const std::size_t offset = begin + i * (stored.size() - begin) / (number + 1);
    advance_to(offset);
    auto part = part_of(offset);
    REQUIRE(part != nullptr);
    offered.emplace_back(part);
    decoder->offer(part);
    part.reset();
    CHECK_FALSE(offered.back().expired());
    CHECK(std::ranges::count_if(offered, [](const auto& each) { return !each.expired(); }) == 1);
  }
}

}  // namespace gpuhist::test
