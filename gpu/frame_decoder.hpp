// The interface of what decodes compressed frames on devices and counts their text there: (compressed frames) -> one
// row of counters for a group of frames, and rows of the units of its text. The text never leaves the device.
#pragma once

#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/zstd/encoded.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::gpu {

/// Where the text of a job is divided.
struct text_cuts {
  cuda::zstd::cut_unit unit = cuda::zstd::cut_unit::bytes;
  /// Each is a number of bytes or lines of the text, 1 or more and ascending: a slice ends there. A cut that the text
  /// does not have is an error of the caller: the slices are then unspecified.
  std::vector<std::uint32_t> after{};
};

/// Some blocks of a long zstd frame, or a part of the stream of a gzip member, which follow each other. The submitter
/// owns all memory.
struct frame_step {
  /// In order, in memory that was passed to engine::register_memory. The first block or the part may begin, and the
  /// last one may end, anywhere in them.
  std::vector<std::span<const std::byte>> pieces{};
  std::vector<cuda::zstd::encoded_block> blocks{};  ///< one or more; their frame is 0. Of a member: one, its part
  std::uint32_t portions = 0;                       ///< of a member, see cuda::deflate::member_room; 0: a zstd frame
  std::uint32_t bytes_after = 0;  ///< of the stream of a member after the part; more than any of its blocks has
  bool is_last = false;
  std::uint32_t checksum = 0;        ///< of the frame, in the last step
  std::uint32_t stated_text = 0;     ///< of a member, in the last step: bytes, modulo 2^32
  std::vector<std::uint32_t> row{};  ///< result: as frame_job::rows, which has as many elements
  std::uint64_t text_bytes = 0;      ///< result

  [[nodiscard]] std::uint64_t compressed_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& each : pieces) sum += each.size();
    return sum;
  }
};

/// The steps of a frame, which a decoder takes as its bytes arrive. A decoder calls the members on one of its threads.
class frame_steps {
 public:
  frame_steps() = default;
  frame_steps(const frame_steps&) = delete;
  frame_steps& operator=(const frame_steps&) = delete;
  virtual ~frame_steps() = default;

  /// Waits for the next step. Null: no more will come, and the job ends without `decoded`. Two steps may be taken and
  /// not ended: a decoder may end a step only when it has the next one. Must not throw.
  virtual frame_step* next() = 0;

  /// The oldest step is decoded, its results are written, and its pieces are not read any more. Must not throw.
  virtual void end(frame_step& step) = 0;
};

/// A group of whole zstd frames or gzip members. The submitter owns all memory and keeps it valid and unchanged from
/// submit() until `on_complete` is called. The compressed bytes lie in memory that was passed to
/// engine::register_memory.
struct frame_job {
  /// The compressed bytes, in order. Offsets of blocks count from the begin of the first piece, offsets of text and
  /// indices of frames and blocks from zero.
  std::vector<std::span<const std::byte>> pieces{};
  std::span<const cuda::zstd::encoded_frame> frames{};
  std::span<const cuda::zstd::encoded_block> blocks{};
  std::uint64_t text_room = 0;      ///< of all frames
  std::uint64_t sequences = 0;      ///< of gzip members: entries for them; they are in no job with zstd frames
  const text_cuts* cuts = nullptr;  ///< null: the text is one slice
  std::span<std::uint32_t>
      rows{};  ///< for each slice row_layout::columns() counters without pairs; unspecified unless `decoded`
  std::span<std::uint8_t> last_bytes{};  ///< with cuts, for each slice: its last byte, or 0; only if `decoded`

  /// What is counted in the units of the text; null: units are not measured. The same for all jobs of a decoder.
  const cuda::units::piece_classes* units = nullptr;
  /// Receives the rows of the pieces, in the order of the text.
  std::vector<std::span<std::byte>> unit_rows{};
  /// With units: sets `unit_rows` to memory for so many bytes, which was passed to engine::register_memory, in parts
  /// whose sizes are multiples of a row. Called at most twice, on a thread of the decoder, when the text was decoded
  /// and verified and has pieces: without waiting for memory, and if that returns false, once more with `waits`, when
  /// all jobs of that thread that have memory are completed. If that returns false, too, the job ends without
  /// `decoded`. Must not throw, or make another device current, as engine::register_memory does.
  std::function<bool(frame_job&, std::uint64_t bytes, bool waits)> take_row_memory{};

  /// Null: the frames are whole. Otherwise there is one frame, whose blocks come in steps; pieces, blocks, cuts and
  /// units are not used. Steps that have not ended when the job is completed have no results.
  frame_steps* steps = nullptr;

  bool measures_only = false;  ///< the same frames will be submitted again: frame_decoder_stats counts them then

  bool decoded = false;  ///< result: all frames were decoded and verified, and the rows that are returned were written
  std::uint64_t text_bytes = 0;  ///< result, if all frames were decoded and verified
  /// Result, if all frames were decoded and verified: the rows that are returned, or, if the decoder has no memory for
  /// the rows of all pieces, the number of all pieces.
  std::uint64_t unit_pieces = 0;

  /// Called exactly once, on a thread of the decoder or within submit(). The exception is null unless a device failed;
  /// then there is no result. Must not throw.
  std::function<void(frame_job&, std::exception_ptr)> on_complete{};

  [[nodiscard]] std::size_t slices() const { return 1 + (cuts == nullptr ? 0 : cuts->after.size()); }
  [[nodiscard]] std::uint64_t compressed_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& each : pieces) sum += each.size();
    return sum;
  }
};

/// What was decoded so far.
struct frame_decoder_stats {
  std::uint64_t groups = 0;
  std::uint64_t frames = 0;
  std::uint64_t compressed_bytes = 0;  ///< that crossed the link
  std::uint64_t text_bytes = 0;        ///< decoded and counted
  std::uint64_t rejected_groups = 0;
  double busy_seconds = 0;  ///< copies and kernels, summed over lanes
  unsigned lanes = 0;
  std::string failure{};  ///< of the first device that failed; empty: none
};

class frame_decoder {
 public:
  /// The largest job.
  struct limits {
    std::uint64_t compressed_bytes = 0;
    std::uint64_t text_bytes = 0;
    std::uint32_t frames = 0;  ///< and cuts
    std::uint32_t blocks = 0;
    std::uint32_t slices = 0;
    std::uint64_t sequences = 0;
    /// Of a step: the most text of its blocks, with the window of the frame and carried_alignment; 0: there are no
    /// steps. It has fewer than half of the blocks.
    std::uint64_t text_of_step = 0;
  };

  /// Room for the sequences of zstd frames: frames with more sequences than one for 8 bytes of text are rejected. Each
  /// block has two more entries.
  static constexpr std::uint64_t sequences_for(std::uint64_t text_bytes, std::uint64_t blocks) {
    return text_bytes / 8 + 2 * blocks;
  }

  /// The most jobs with steps at the same time: each has a thread of the decoder while it waits for steps, and there is
  /// at least one more for other jobs.
  static constexpr unsigned max_jobs_in_steps = 4;

  frame_decoder() = default;
  frame_decoder(const frame_decoder&) = delete;
  frame_decoder& operator=(const frame_decoder&) = delete;

  /// Precondition: every submitted job is completed.
  virtual ~frame_decoder() = default;

  [[nodiscard]] virtual limits max_job() const = 0;

  /// Accepts a job that is within the limits. If it throws, for lack of memory, the job is not accepted. Does not wait.
  /// Thread-safe.
  virtual void submit(frame_job& job) = 0;

  /// Thread-safe.
  [[nodiscard]] virtual frame_decoder_stats stats() const = 0;
};

}  // namespace gpuhist::gpu
