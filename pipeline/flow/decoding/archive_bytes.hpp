// Bytes as an archive's thread pulls them, layer upon layer: of a file or a stream, through a decoder, of a member; and
// the guards that hold counts back until each layer has said that its bytes were good.
//
//     file ──► decoder ──► archive_reader ──► member ──► decoder ──► text
//              guard                          guard      guard       ──► a member's text is verified when all have said
//              so
#pragma once

#include "async/executor.hpp"
#include "io/archive/archive_reader.hpp"
#include "io/byte_reader.hpp"
#include "io/decoder.hpp"
#include "io/source.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

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

/// The text of one member, all of which was handed on for merging as frame 1 of its group 1.
struct member_text {
  input_id input = 0;
  std::uint64_t bytes = 0;
};

/// One layer's verdicts. What is handed down waits for the layer's next one, and then for those of the layers below;
/// what waits when the guard goes is unverified for good: because the run was interrupted, where that was noted, else
/// because of damage. Where memory lacks to say so, that is noted as a failure of the counts. Memory: 16 bytes a member
/// that waits.
class verdict_gate {
 public:
  /// `below`: the layer whose bytes this one is made of; null at the bottom, where all bytes are good as they are.
  verdict_gate(verdict_gate* below, rolling_counts& counts) : below_(below), counts_(counts) {}
  verdict_gate(const verdict_gate&) = delete;
  verdict_gate& operator=(const verdict_gate&) = delete;
  ~verdict_gate();

  /// Bytes were taken from the layer that it has given no verdict over yet.
  void note_bytes() { settled_ = false; }

  /// All bytes taken so far are good.
  void verified();

  /// The layer was left because the run ends: no verdict comes any more.
  void note_interruption() { interrupted_ = true; }

  /// A member's text that is good by all layers above.
  void hand_down(const member_text& what);

 private:
  verdict_gate* below_;
  rolling_counts& counts_;
  void give_up(const member_text& what);

  bool settled_ = true;
  bool interrupted_ = false;
  std::vector<member_text> waiting_;
};

/// A file, or a stream whose blocks somebody else reads (block_reader::fill).
class source_bytes final : public io::byte_reader {
 public:
  source_bytes(const io::file_source& file, feed_notes& notes, std::stop_token stop);
  source_bytes(block_reader& stream, async::executor& reads_on, std::stop_token stop);

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override;
  void seek(std::uint64_t offset) override { offset_ = offset; }
  [[nodiscard]] std::uint64_t position() const { return offset_; }

 private:
  std::size_t read_blocks(std::span<std::byte> out);

  const io::file_source* file_ = nullptr;
  feed_notes* notes_ = nullptr;
  block_reader* stream_ = nullptr;
  async::executor* reads_on_ = nullptr;
  std::stop_token stop_;
  std::uint64_t offset_ = 0;
  block current_{};
};

/// Looks ahead.
class peeking_bytes final : public io::byte_reader {
 public:
  explicit peeking_bytes(io::byte_reader& from) : from_(from) {}

  /// The next bytes, up to `wanted`; fewer only where there are no more, or where what follows fails.
  std::span<const std::byte> peek(std::size_t wanted);

  /// What ended the last peek() early, if it failed; else null.
  [[nodiscard]] std::exception_ptr failure() const { return failed_; }

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override { return from_.seekable_bytes(); }
  void seek(std::uint64_t offset) override;
  [[nodiscard]] std::string place_of(std::uint64_t offset) const override { return from_.place_of(offset); }

 private:
  io::byte_reader& from_;
  std::vector<std::byte> ahead_;
  std::size_t gone_ = 0;  // of those
  std::exception_ptr failed_;
};

/// What a decoder makes of bytes. Reads end where frames do, and tell the guard.
class decoded_bytes final : public io::byte_reader {
 public:
  struct settings {
    std::uint64_t most = ~std::uint64_t{0};  ///< bytes; a bomb is given up
    std::function<void()> grant_window{};    ///< waits for the window that the decoder wants; empty: it has none to get
  };

  decoded_bytes(io::byte_reader& from, io::decoder& decoder, verdict_gate& verdicts, feed_notes& notes, settings how);

  std::size_t read(std::span<std::byte> out) override;
  [[nodiscard]] std::string place_of(std::uint64_t offset) const override;

 private:
  void decode(std::span<std::byte> out, std::size_t& filled);
  bool refill();
  void grant_window();
  void fail(const std::string& message, failure_kind kind = failure_kind::damaged);

  io::byte_reader& from_;
  io::decoder& decoder_;
  verdict_gate& verdicts_;
  feed_notes& notes_;
  const settings how_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> in_{};
  bool ended_ = false;
  bool frame_ended_ = false;
  bool has_more_ = false;  // the decoder can continue without more input
  std::exception_ptr failed_;
};

/// The member that an archive_reader is at.
class member_bytes final : public io::byte_reader {
 public:
  member_bytes(io::archive_reader& from, verdict_gate& verdicts) : from_(from), verdicts_(verdicts) {}

  std::size_t read(std::span<std::byte> out) override;

 private:
  io::archive_reader& from_;
  verdict_gate& verdicts_;
  std::span<const std::byte> left_{};
  std::exception_ptr failed_;
};

}  // namespace gpuhist::pipeline
