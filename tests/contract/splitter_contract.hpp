// The contract of every splitter (io/splitter.hpp), instantiated with the samples of the decoders: it finds the frame
// ends that the decoder finds, for all cuts, and damage hides at most the frames after it.
#pragma once

#include "io/splitter.hpp"
#include "tests/contract/decoder_contract.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::test {

using splitter_maker = std::function<std::unique_ptr<io::splitter>()>;

/// The offsets of the ends of counted frames, with input in cuts of the chosen sizes.
inline std::vector<std::size_t> split(const splitter_maker& make, std::span<const std::byte> packed,
                                      const size_chooser& cut) {
  const std::unique_ptr<io::splitter> splitter = make();
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < packed.size();) {
    const auto bytes = packed.subspan(at, std::min(cut(), packed.size() - at));
    const io::split_step step = splitter->advance(bytes);
    if (step.taken > bytes.size() || (!step.frame_ends && step.taken != bytes.size())) FAIL("wrong count of bytes");
    at += step.taken;
    if (step.frame_ends && splitter->counts_frame()) ends.push_back(at - step.beyond);
    // bytes held back for an end that is not reported yet are after the last reported end
    if (splitter->held_back() > at - (ends.empty() ? 0 : ends.back())) FAIL("held back more than there is");
  }
  return ends;
}

/// The manner that a splitter reports after all bytes.
inline std::string manner_of(const splitter_maker& make, std::span<const std::byte> packed) {
  const std::unique_ptr<io::splitter> splitter = make();
  for (std::size_t at = 0; at < packed.size();) at += splitter->advance(packed.subspan(at)).taken;
  return std::string(splitter->manner());
}

/// The frame ends that are followed by at least `confirmation` bytes before `limit`.
inline std::vector<std::size_t> packed_ends(const decoder_sample& sample, std::size_t confirmation, std::size_t limit) {
  std::vector<std::size_t> ends;
  for (const frame_end& each : sample.ends) {
    if (each.packed + confirmation <= limit) ends.push_back(each.packed);
  }
  return ends;
}

/// Invariant: a splitter finds the frames that the decoder finds, for all cuts. `confirmation` is the number of bytes
/// after the end of a frame that it reads before it reports the end; a lower bound if these bytes are the start of the
/// next frame.
inline void check_splits(const splitter_maker& make, const decoder_sample& sample, std::size_t confirmation = 0) {
  CAPTURE(sample.name);
  const std::vector<std::size_t> ends = packed_ends(sample, confirmation, sample.packed.size());
  CHECK(split(make, sample.packed, always(1)) == ends);
  CHECK(split(make, sample.packed, always(everything)) == ends);
  for (std::uint32_t seed = 0; seed < 8; ++seed) CHECK(split(make, sample.packed, sometimes(40, seed)) == ends);
}

/// Invariant: frames that end before a damaged byte are found. Frames after it may differ, but not with the cuts.
inline void check_damaged_splits(const splitter_maker& make, const decoder_sample& sample,
                                 std::size_t confirmation = 0) {
  CAPTURE(sample.name);
  for (std::size_t place = 0; place < sample.packed.size(); ++place) {
    CAPTURE(place);
    byte_vector damaged = sample.packed;
    damaged[place] ^= static_cast<std::byte>(1U << (place % 8));
    const std::vector<std::size_t> found = split(make, damaged, always(everything));
    std::size_t whole = 0;
    for (const std::size_t end : packed_ends(sample, confirmation, place)) {
      REQUIRE(found.size() > whole);
      CHECK(found[whole++] == end);
    }
    CHECK(found == split(make, damaged, sometimes(9, static_cast<std::uint32_t>(place))));
  }
}

}  // namespace gpuhist::test
