// The common part of the decoders of all formats: positions in input and text, requests for memory, and error texts.
// Each decoder provides the names of its frames and decodes step by step.
#pragma once

#include "io/decoder.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::io {

/// A decoder whose steps a derived class implements. Threads as for every decoder.
class frame_decoder : public decoder {
 public:
  fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) final;
  void restart(const decode_start& start) final;
  [[nodiscard]] std::uint64_t window_wanted() const final { return wanted_; }
  void grant_window(std::uint64_t bytes) final;
  [[nodiscard]] std::string fault(std::uint64_t text_before) const final;
  [[nodiscard]] failure_kind fault_kind() const final;
  [[nodiscard]] std::string fault_cause() const final;
  [[nodiscard]] std::string missing_at_end(std::uint64_t text_before) const final;
  [[nodiscard]] std::string missing_at_frame_end(std::uint64_t text_before) const final;
  [[nodiscard]] std::string missing_cause_at_end() const final;
  [[nodiscard]] std::string missing_cause_at_frame_end() const override;
  [[nodiscard]] std::uint64_t consumed_total() const final { return consumed_; }
  [[nodiscard]] std::uint64_t produced_total() const final { return produced_; }

 protected:
  /// The names of the format and of one of its frames: "xz", "stream".
  struct words {
    std::string_view format;
    std::string_view frame;
  };

  /// The unused part of the two spans of one fill().
  struct cursor {
    std::span<const std::byte> in;
    std::span<std::byte> out;
  };

  using step_result = std::optional<fill_status>;  // nothing: continue

  frame_decoder(const decoder_limits& limits, words names);

  /// Performs one step. Called neither after fail() nor while a byte of text waits for room.
  virtual step_result step(cursor& at) = 0;

  /// Resets to the position before the header of a frame, even if a frame is open.
  virtual void reset_frame() = 0;

  /// After reset_frame(): continues at `start`.
  virtual void begin_at(const decode_start& /*start*/) {}

  /// Frees allocated memory. Called if no frame is open, or if the open frame will not be continued.
  virtual void free_memory() noexcept = 0;

  /// The error if the input ends between two frames; empty if there is none.
  [[nodiscard]] virtual std::string error_between_frames() const { return {}; }

  void take(cursor& at, std::size_t bytes) {
    at.in = at.in.subspan(bytes);
    consumed_ += bytes;
  }
  void write(cursor& at, std::size_t bytes) {
    at.out = at.out.subspan(bytes);
    produced_ += bytes;
  }

  /// Takes up to `remaining` bytes, and subtracts them. Returns whether none remain.
  bool take_remaining(cursor& at, std::uint64_t& remaining);

  /// Writes the front of `text`, and removes it. Returns whether all is written.
  bool write_front(cursor& at, std::span<const std::byte>& text);

  /// Collects a header of up to `bytes` bytes; returns whether it is complete. A header has at most 1024 bytes.
  bool collect(cursor& at, std::size_t bytes);
  [[nodiscard]] std::span<const std::byte> collected() const { return std::span(header_).first(header_size_); }

  /// Collects a header of `bytes` bytes that begins with `magic`. Returns nothing when it is complete.
  step_result collect_header(cursor& at, std::string_view magic, std::size_t bytes);

  /// Takes the zero bytes before a header, if a frame precedes them: tape blocks, `dd conv=sync` and bsdtar pad with
  /// them.
  void skip_padding(cursor& at);
  void drop_collected() { header_size_ = 0; }

  /// The room for the output of a library, at least one byte: without room, libraries do not check for the end of their
  /// text. A byte that is written too early is kept for the next call of fill().
  [[nodiscard]] std::span<std::byte> room(const cursor& at);

  /// To be called after a library call that got all of `at.in` and room(at) and reported neither the end nor an error.
  step_result continue_after(cursor& at, std::size_t consumed, std::size_t written);

  /// As continue_after(), but only advances the cursor.
  void advance(cursor& at, std::size_t consumed, std::size_t written);

  /// Returns nothing if `bytes` of memory may be allocated for a frame.
  step_result request_window(std::uint64_t bytes);

  /// Whether request_window() does not refuse `bytes`.
  [[nodiscard]] bool may_have_window(std::uint64_t bytes) const { return bytes <= limits_.window_bytes; }

  /// Fails the frame. `clause` is followed by the offsets in messages. `bytes_ago`: bytes taken since the error.
  step_result fail(std::string clause, failure_kind kind = failure_kind::damaged, std::uint64_t bytes_ago = 0);

  /// The frame is not decoded, though it may be intact.
  step_result refuse(std::string clause) { return fail(std::move(clause), failure_kind::refused); }
  step_result fail_damaged(std::string_view cause, std::uint64_t bytes_ago = 0);

  /// The collected bytes, or the last `header_bytes` bytes taken, do not begin a frame.
  step_result refuse_magic() { return refuse_magic(header_size_); }
  step_result refuse_magic(std::uint64_t header_bytes);

  step_result end_frame();

  [[nodiscard]] std::uint64_t frames_ended() const { return frames_ended_; }
  [[nodiscard]] virtual std::string frame_name() const;

 private:
  step_result run_step(cursor& at);
  [[nodiscard]] std::string offsets(std::uint64_t compressed, std::uint64_t text_before) const;

  static constexpr std::size_t largest_header = 1024;

  const decoder_limits limits_;
  const words names_;
  std::uint64_t granted_;
  std::uint64_t wanted_ = 0;
  std::array<std::byte, largest_header> header_{};
  std::size_t header_size_ = 0;
  std::byte ahead_{};  // a byte of text that was written without room
  bool holds_ahead_ = false;
  std::uint64_t frames_ended_ = 0;  // of the input
  std::uint64_t consumed_ = 0;      // from the start of the input
  std::uint64_t produced_ = 0;      // from the start of the decoder
  std::string error_;               // the clause without its offsets; empty: no error
  failure_kind error_kind_ = failure_kind::damaged;
  std::uint64_t error_at_ = 0;  // compressed offset
};

}  // namespace gpuhist::io
