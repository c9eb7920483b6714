// Byte readers for archives, in layers: a file or stream, a decoder, a member of an archive. Each layer that verifies
// bytes has a gate, which holds counts back until that layer has verified the bytes.
//
//     file ──► decoder ──► archive_reader ──► member ──► decoder ──► text
//               gate                           gate       gate
//
// The text of a member is verified when all gates before it have a positive verdict.
#pragma once

#include "async/executor.hpp"
#include "io/archive/archive_reader.hpp"
#include "io/byte_reader.hpp"
#include "io/decoder.hpp"
#include "io/source.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "pipeline/flow/decoding/ahead_blocks.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/frame_parts.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/text_taps.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// The text of the members of an archive until their verdicts, for an observer that awaits verdicts. One thread, which
/// it blocks while text is observed. Memory: held_text_limits::in_memory for all members; more is spilled.
class held_members {
 public:
  /// A member in what is held.
  struct member {
    input_id input = 0;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };

  /// The verdict on a member.
  enum class verdict : std::uint8_t {
    verified,
    damaged,
    unread,  ///< reading it ended early
  };

  /// Borrows `taps`.
  explicit held_members(text_taps& taps)
      : taps_(taps), text_(taps.held_limits().in_memory, taps.held_limits().spilled_to) {}

  /// The text of a member begins. Each call is followed by one of conclude(). Returns `begin`.
  [[nodiscard]] std::uint64_t begin();

  /// The next text of the member that was begun last. Throws std::bad_alloc and spill_error.
  void add(std::span<const std::byte> text);

  /// Passes the text of the member to the observer, and ends it. Throws what text_taps::observe() throws.
  void conclude(const member& ended, verdict found);

 private:
  text_taps& taps_;
  spilled_bytes text_;
  std::size_t waiting_ = 0;  // members
};

/// The text of one member. All of it was submitted for merging, as frame 1 of group 1 of the input.
struct member_text {
  input_id input = 0;
  std::uint64_t bytes = 0;
  std::uint64_t held_at = 0;  ///< held_members::member::begin
};

/// Bytes of memory for a member that waits: in its gate and in archive_members. Its counts may be spilled.
inline constexpr std::size_t bytes_of_waiting_member = 96;

/// The verdicts of one layer. A submitted member waits for the next verdict of this layer, and then for those of the
/// layers below. Members that still wait when the gate is destroyed stay unverified: because the run was interrupted if
/// note_interruption() was called, else because of damage. If memory for that report cannot be allocated, the counts
/// note a failure.
class verdict_gate {
 public:
  /// The gate at the bottom, where bytes need no verification. `held`: gets the verdicts; null: text is not held.
  verdict_gate(rolling_counts& counts, held_members* held) : counts_(counts), held_(held) {}

  /// `below`: the gate of the layer that this layer reads from.
  explicit verdict_gate(verdict_gate& below) : below_(&below), counts_(below.counts_), held_(below.held_) {}
  verdict_gate(const verdict_gate&) = delete;
  verdict_gate& operator=(const verdict_gate&) = delete;
  ~verdict_gate();

  /// Bytes were read from the layer. They have no verdict yet.
  void note_bytes() { settled_ = false; }

  /// All bytes that were read so far are verified.
  void verified();

  /// Whether a member that is submitted now waits, for this layer or one below.
  [[nodiscard]] bool has_pending_verdict() const {
    return !settled_ || (below_ != nullptr && below_->has_pending_verdict());
  }

  /// The run ended early: there will be no further verdict.
  void note_interruption() { interrupted_ = true; }

  /// The text of a member that all gates above have passed.
  void submit(const member_text& member);

 private:
  verdict_gate* below_ = nullptr;
  rolling_counts& counts_;
  held_members* held_;
  void give_up(const member_text& member);
  void close(const member_text& member, input_failure cause);

  bool settled_ = true;
  bool interrupted_ = false;
  std::vector<member_text> waiting_;
};

/// A file, or a stream. The blocks of a stream are read by a coroutine (block_reader::fill).
class source_bytes final : public io::byte_reader {
 public:
  source_bytes(const io::file_source& file, feed_notes& notes, std::stop_token stop);
  source_bytes(block_reader& stream, async::executor& reading_loop, std::stop_token stop);

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] bool may_wait() override;
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override;
  void seek(std::uint64_t offset) override { offset_ = offset; }
  [[nodiscard]] std::uint64_t position() const { return offset_; }

 private:
  std::size_t read_blocks(std::span<std::byte> out);

  const io::file_source* file_ = nullptr;
  feed_notes* notes_ = nullptr;
  block_reader* stream_ = nullptr;
  async::executor* reading_loop_ = nullptr;
  std::stop_token stop_;
  std::uint64_t offset_ = 0;
  block current_{};
};

/// A reader with look-ahead.
class peeking_bytes final : public io::byte_reader {
 public:
  explicit peeking_bytes(io::byte_reader& source) : source_(source) {}

  /// The next `wanted` bytes, without consuming them. Fewer at the end, or if a read fails.
  std::span<const std::byte> peek(std::size_t wanted);

  /// As many of the next bytes as decide their format.
  std::span<const std::byte> peek_head();

  /// The exception that ended the last peek() early, or null.
  [[nodiscard]] std::exception_ptr failure() const { return error_; }

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] bool may_wait() override { return taken_ == ahead_.size() && !error_ && source_.may_wait(); }
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override { return source_.seekable_bytes(); }
  void seek(std::uint64_t offset) override;
  [[nodiscard]] bool end_is_verified() const override { return source_.end_is_verified(); }
  [[nodiscard]] std::string place_of(std::uint64_t offset) const override { return source_.place_of(offset); }

 private:
  io::byte_reader& source_;
  std::vector<std::byte> ahead_;
  std::size_t taken_ = 0;  // bytes at the front of ahead_ that were read
  std::exception_ptr error_;
};

/// The text that a decoder produces. A read ends at the end of a frame.
class decoded_bytes final : public io::byte_reader {
 public:
  struct settings {
    std::uint64_t begin = 0;                     ///< offset of the source, for messages
    std::uint64_t max_text = ~std::uint64_t{0};  ///< bytes; the input is refused if it holds more (a bomb)
    /// Waits for the large window that a decoder needs. Returns a clause if it is refused (archive_windows).
    std::function<std::string(io::decoder&)> grant_window{};
    std::function<void(const io::notice&)> note{};  ///< receives a notice at the end, before its verdict; may be empty
    std::unique_ptr<ahead_blocks> ahead{};          ///< reads the source, and decodes ahead; null: this object reads it
  };

  /// `verdicts`: is informed of bytes and verdicts; null: none. Borrows all but the settings.
  decoded_bytes(io::byte_reader& source, io::decoder& decoder, verdict_gate* verdicts, feed_notes& notes,
                settings options);

  /// Compressed bytes before the text that was read.
  [[nodiscard]] std::uint64_t consumed() const { return decoder_->consumed_total(); }

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] bool end_is_verified() const override {
    return ended_ && !error_ && !decoder_->notice_at_end() && decoder_->verifies_whole(frames_);
  }
  [[nodiscard]] std::string place_of(std::uint64_t offset) const override;

 private:
  void decode(std::span<std::byte> out, std::size_t& filled);
  void copy_part(std::span<std::byte> out, std::size_t& filled);
  void leave_part();
  void pass_used_bytes();
  void note_text(std::size_t bytes);
  void end_frame();
  bool refill();
  bool read_source();
  bool read_ahead();
  void grant_window();
  void fail(const std::string& message, failure_kind kind, lack missing = lack::nothing);

  io::byte_reader& source_;
  io::decoder* decoder_;
  verdict_gate* const verdicts_;
  feed_notes& notes_;
  const settings options_;
  std::vector<std::byte> buffer_;
  block block_{};                       // with `ahead`: holds in_
  std::shared_ptr<frame_part> part_{};  // the frames that are being copied
  std::shared_ptr<frame_part> left_{};  // owns decoder_, if it is that of frames that were copied
  std::span<const std::byte> in_{};
  std::size_t used_ = 0;  // bytes after in_ that were decoded as a part
  std::uint64_t frames_ = 0;
  std::uint64_t text_bytes_ = 0;
  std::uint64_t text_before_ = 0;  // the start of decoder_
  bool ended_ = false;
  bool frame_ended_ = false;
  bool has_more_ = false;  // the decoder can continue without more input
  std::exception_ptr error_;
};

/// The current member of an archive_reader.
class member_bytes final : public io::byte_reader {
 public:
  /// `fills`: a read() fills its span unless the member ends or fails, so the sizes of reads do not depend on how the
  /// member is decoded. For archives that never wait for their bytes.
  member_bytes(io::archive_reader& source, verdict_gate& verdicts, bool fills)
      : source_(source), verdicts_(verdicts), fills_(fills) {}

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] bool end_is_verified() const override { return source_.has_checksums(); }

 private:
  std::size_t read_some(std::span<std::byte> out);

  io::archive_reader& source_;
  verdict_gate& verdicts_;
  const bool fills_;
  std::span<const std::byte> rest_{};
  std::exception_ptr error_;
};

}  // namespace gpuhist::pipeline
