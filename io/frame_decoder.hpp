// What the decoders of xz, lzip, lzma, bzip2 and lz4 have in common: where they are in input and text, how they ask for
// memory, and how they tell what is wrong. Each of them says what its frames are called and takes one step at a time.
#pragma once

#include "io/decoder.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist::io {

/// A decoder of which only the steps are missing. Threads as for every decoder.
class frame_decoder : public decoder {
 public:
  fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) final;
  void restart(const decode_start& where) final;
  [[nodiscard]] std::uint64_t window_wanted() const final { return wanted_; }
  void grant_window(std::uint64_t bytes) final;
  [[nodiscard]] std::string fault(std::uint64_t text_before) const final;
  [[nodiscard]] std::string fault_cause() const final;
  [[nodiscard]] std::string missing_at_end(std::uint64_t text_before) const final;
  [[nodiscard]] std::string missing_at_frame_end(std::uint64_t text_before) const final;
  [[nodiscard]] std::string missing_cause_at_end() const final;
  [[nodiscard]] std::string missing_cause_at_frame_end() const final;
  [[nodiscard]] std::uint64_t consumed_total() const final { return consumed_; }
  [[nodiscard]] std::uint64_t produced_total() const final { return produced_; }

 protected:
  /// How the format and one of its frames are called: "xz", "stream".
  struct words {
    std::string_view format;
    std::string_view frame;
  };

  /// What is left of the two spans of one fill().
  struct cursor {
    std::span<const std::byte> in;
    std::span<std::byte> out;
  };

  using step_result = std::optional<fill_status>;  // nothing: go on

  frame_decoder(const decoder_limits& limits, words names);

  /// Goes on by one step. Called neither after fail() nor while a byte of text waits for room.
  virtual step_result step(cursor& at) = 0;

  /// Stands before the header of a frame again, whatever was open.
  virtual void begin_anew() = 0;

  /// Frees what was allocated; called where no frame is open, or where none will be gone on with.
  virtual void free_memory() noexcept = 0;

  /// What is wrong where the input ends between two frames; empty where nothing is.
  [[nodiscard]] virtual std::string loose_end() const { return {}; }

  void take(cursor& at, std::size_t bytes);
  void write(cursor& at, std::size_t bytes);

  /// Collects a header, up to `bytes` of it; whether all of them are here. A header is at most 1024 bytes.
  bool collect(cursor& at, std::size_t bytes);
  [[nodiscard]] std::span<const std::byte> collected() const { return std::span(header_).first(header_size_); }
  [[nodiscard]] bool may_begin(std::string_view magic) const;
  void drop_collected() { header_size_ = 0; }

  /// Where a library is to write, at least one byte: without room, libraries do not look for the end of their text. A
  /// byte that came too early is kept for the next call of fill().
  [[nodiscard]] std::span<std::byte> room(const cursor& at);

  /// After a call of a library that was given all of `at.in` and room(at), and said neither end nor fault.
  step_result went_on(cursor& at, std::size_t took, std::size_t wrote);

  /// The same, without drawing a conclusion.
  void advance(cursor& at, std::size_t took, std::size_t wrote);

  /// Nothing where `bytes` of memory may be allocated for a frame.
  step_result ask_for_window(std::uint64_t bytes);

  /// The frame is damaged, or cannot be read. `what` is a clause that the offsets follow.
  step_result fail(std::string what);
  step_result fail_damaged(std::string_view cause);

  /// What was collected begins no frame.
  step_result refuse_magic();

  step_result end_frame();

  [[nodiscard]] std::uint64_t frames_ended() const { return frames_ended_; }
  [[nodiscard]] std::string frame_name() const;

 private:
  step_result go_on(cursor& at);
  [[nodiscard]] std::string offsets(std::uint64_t compressed, std::uint64_t text_before) const;

  static constexpr std::size_t largest_header = 1024;

  const decoder_limits limits_;
  const words names_;
  std::uint64_t granted_;
  std::uint64_t wanted_ = 0;
  std::array<std::byte, largest_header> header_{};
  std::size_t header_size_ = 0;
  std::byte ahead_{};  // a byte of text that came when there was no room
  bool holds_ahead_ = false;
  std::uint64_t frames_ended_ = 0;  // of the input
  std::uint64_t consumed_ = 0;      // from the start of the input
  std::uint64_t produced_ = 0;      // from the start of the decoder
  std::string wrong_;               // the clause without its offsets; empty: nothing is wrong
  std::uint64_t wrong_at_ = 0;      // compressed offset
};

}  // namespace gpuhist::io
