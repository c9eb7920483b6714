// The laws of every splitter (io/splitter.hpp), to be instantiated with the samples that decoders are held to: frames
// end where the decoder says that they end, whatever the cuts, and damage hides at worst what comes behind it.
#pragma once

#include "io/splitter.hpp"
#include "tests/contract/decoder_contract.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace gpuhist::test {

using splitter_maker = std::function<std::unique_ptr<io::splitter>()>;

/// Offsets behind counted frames, walked in cuts of the chosen sizes.
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
    // what may come after an end that is not reported yet does not come before one that is
    if (splitter->held_back() > at - (ends.empty() ? 0 : ends.back())) FAIL("held back more than there is");
  }
  return ends;
}

/// Those behind which there are `confirmation` bytes or more, before `limit`.
inline std::vector<std::size_t> packed_ends(const decoder_sample& sample, std::size_t confirmation, std::size_t limit) {
  std::vector<std::size_t> ends;
  for (const frame_end& each : sample.ends) {
    if (each.packed + confirmation <= limit) ends.push_back(each.packed);
  }
  return ends;
}

/// Law: a splitter finds the frames that the decoder finds, whatever the cuts. `confirmation`: how many bytes after the
/// end of a frame it reads before it reports that end; at least, where that is what the next frame begins with.
inline void check_splits(const splitter_maker& make, const decoder_sample& sample, std::size_t confirmation = 0) {
  CAPTURE(sample.name);
  const std::vector<std::size_t> ends = packed_ends(sample, confirmation, sample.packed.size());
  CHECK(split(make, sample.packed, always(1)) == ends);
  CHECK(split(make, sample.packed, always(everything)) == ends);
  for (std::uint32_t seed = 0; seed < 8; ++seed) CHECK(split(make, sample.packed, sometimes(40, seed)) == ends);
}

/// Law: frames that end before a damaged byte are found all the same; whatever is found behind it, nothing breaks.
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
