// The contract of every splitter (io/splitter.hpp), instantiated with the samples of the decoders: it finds the frame
// ends that the decoder finds, for all cuts, and damage hides at most the frames after it.
#pragma once

#include "io/splitter.hpp"
#include "tests/contract/part_contract.hpp"

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
    if (step.taken > bytes.size() || (!step.frame_ends && !step.part_ends && step.taken != bytes.size()))
      FAIL("wrong count of bytes");
    at += step.taken;
    if (step.frame_ends && splitter->counts_frame()) ends.push_back(at - step.beyond);
    // bytes held back for an end that is not reported yet are after the last reported end
    if (splitter->held_back() > at - (ends.empty() ? 0 : ends.back())) FAIL("held back more than there is");
  }
  return ends;
}

/// The same, of blocks in which the places that the splitter seeks are noted.
inline std::vector<std::size_t> split_noted(const splitter_maker& make, std::span<const std::byte> packed,
                                            const size_chooser& cut) {
  const std::unique_ptr<io::splitter> splitter = make();
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < packed.size();) {
    const std::string_view sought = splitter->sought();
    const auto block = packed.subspan(at, std::min(cut(), packed.size() - at));
    const std::string_view text(reinterpret_cast<const char*>(block.data()), block.size());
    std::vector<std::uint32_t> places;
    for (std::size_t place = sought.empty() ? text.size() : text.find(sought); place < text.size();
         place = text.find(sought, place + 1)) {
      places.push_back(static_cast<std::uint32_t>(place));
    }
    splitter->note_places(block, sought.empty() ? nullptr : &places);
    for (const std::size_t end = at + block.size(); at < end;) {
      const io::split_step step = splitter->advance(packed.subspan(at, end - at));
      at += step.taken;
      if (step.frame_ends && splitter->counts_frame()) ends.push_back(at - step.beyond);
    }
  }
  return ends;
}

/// The parts of frames that a splitter reports: each from the end of one part to the next end of a part or frame.
inline std::vector<part_place> reported_parts(const splitter_maker& make, std::span<const std::byte> packed,
                                              const size_chooser& cut) {
  const std::unique_ptr<io::splitter> splitter = make();
  std::vector<part_place> parts;
  part_place open;
  const auto close = [&](std::size_t end) {
    open.size = end - open.begin;
    if (open.size != 0) parts.push_back(open);
    open = {.begin = end};
  };
  for (std::size_t at = 0; at < packed.size();) {
    const io::split_step step = splitter->advance(packed.subspan(at, std::min(cut(), packed.size() - at)));
    at += step.taken;
    if (step.frame_ends) close(at - step.beyond);
    if (!step.part_ends) continue;
    close(at);
    open.begins_frame = true;
    open.start.context = splitter->context();
  }
  close(packed.size());
  return parts;
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
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    CHECK(split(make, sample.packed, sometimes(40, seed)) == ends);
    CHECK(split_noted(make, sample.packed, sometimes(40, seed)) == ends);
  }
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
    CHECK(found == split_noted(make, damaged, sometimes(9, static_cast<std::uint32_t>(place))));
  }
}

/// The result of one decoder for each frame that the splitter finds, in order up to the first error, as in the
/// pipeline.
inline decoding decode_frames(const splitter_maker& make, const decoder_maker& make_decoder,
                              std::span<const std::byte> packed, const size_chooser& cut, std::size_t plain_bound) {
  const std::unique_ptr<io::splitter> splitter = make();
  decoding all;
  byte_vector out(plain_bound + 64);
  io::decode_start start;
  const auto decode_to = [&](std::size_t end, bool ends_input) {
    const std::unique_ptr<io::decoder> decoder = make_decoder();
    decoder->restart(start);
    for (std::size_t at = start.compressed_bytes;;) {
      const auto got = decoder->fill(packed.subspan(at, end - at), out);
      at += got.consumed;
      all.plain.insert(all.plain.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      if (got.status == io::fill_status::frame_verified) all.ends.push_back({.packed = at, .plain = all.plain.size()});
      all.failed = got.status == io::fill_status::failed;
      if (all.failed || got.status == io::fill_status::needs_input) break;
    }
    const std::uint64_t text_before = all.plain.size() - decoder->produced_total();
    if (all.failed) {
      all.error = decoder->fault(text_before);
    } else {
      all.missing = ends_input ? decoder->missing_at_end(text_before) : decoder->missing_at_frame_end(text_before);
    }
  };
  std::uint64_t frames = 0;
  for (std::size_t at = 0; at < packed.size() && all.accepted();) {
    const auto step = splitter->advance(packed.subspan(at, std::min(cut(), packed.size() - at)));
    at += step.taken;
    if (!step.frame_ends) continue;
    if (splitter->counts_frame()) ++frames;
    decode_to(at - step.beyond, false);
    start = {.frames = frames, .compressed_bytes = at - step.beyond, .context = splitter->context()};
  }
  if (all.accepted()) decode_to(packed.size(), true);
  return all;
}

/// An error without its offsets, which may depend on how the input was cut.
inline std::string clause_of(const std::string& error) { return error.substr(0, error.find(" at compressed offset ")); }

/// Invariant: frames that are decoded by a decoder each give the text, the verified frames and the error that one
/// decoder gives for the whole input.
inline void check_frames_like_whole(const splitter_maker& make, const decoder_maker& make_decoder,
                                    std::span<const std::byte> packed, std::size_t plain_bound) {
  const decoding whole = decode(make_decoder, packed, always(everything), always(everything), plain_bound);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{29}, everything}) {
    CAPTURE(cut);
    const decoding frames = decode_frames(make, make_decoder, packed, always(cut), plain_bound);
    CHECK(frames.ends == whole.ends);
    CHECK(clause_of(frames.error) == clause_of(whole.error));
    CHECK(frames.missing == whole.missing);
    CHECK(begin_alike(frames.plain, whole.plain));
    if (whole.accepted()) CHECK(frames.plain == whole.plain);
  }
}

/// The same for the sample truncated at every byte, and with every byte damaged.
inline void check_frames_of_damaged(const splitter_maker& make, const decoder_maker& make_decoder,
                                    const decoder_sample& sample, std::size_t plain_bound) {
  CAPTURE(sample.name);
  for (std::size_t place = 0; place <= sample.packed.size(); ++place) {
    CAPTURE(place);
    check_frames_like_whole(make, make_decoder, std::span(sample.packed).first(place), plain_bound);
    if (place == sample.packed.size()) break;
    byte_vector damaged = sample.packed;
    damaged[place] ^= static_cast<std::byte>(1U << (place % 8));
    check_frames_like_whole(make, make_decoder, damaged, plain_bound);
  }
}

}  // namespace gpuhist::test
