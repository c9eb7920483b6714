// The splitter of formats whose frames are a header and then blocks that state their own length, with skippable frames
// in between. It walks from size to size as the bytes pass.
#pragma once

#include "io/splitter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace gpuhist::io {

/// For formats whose first frame states nothing about the others. Otherwise as zstd_head_reader.
struct no_head {
  void begin(std::span<const std::byte> /*first_bytes*/) {}
  void add(std::span<const std::byte> /*bytes*/) {}
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): as zstd_head_reader
  [[nodiscard]] std::shared_ptr<const frame_context> end() { return nullptr; }
};

/// `Format` has: `blocks`, the type of what follows one frame after its header, as zstd_blocks does; `head`, the type
/// of what collects a skippable frame at the start; `max_header_bytes`; `parse`, as parse_zstd_header; `is_skippable`
/// and `begin`, which makes the blocks, of a header; and `nothing_after`, the clause for damage. With `hides_end`, a
/// clause for a frame whose end cannot be found, else empty, the splitter is lost there. With `part_context`, which
/// makes the context of the block that begins, or null if no part_decoder can begin with it, parts of frames are
/// reported; with `first_block_begins_part`, one begins with the first block of a frame, too, and with
/// `most_part_blocks`, one has at most so many blocks.
template <typename Format>
class block_splitter final : public splitter {
 public:
  block_splitter() = default;

  /// Parts have at least `part_bytes` bytes, except the last of a frame.
  explicit block_splitter(std::size_t part_bytes) : part_bytes_(part_bytes) {}

  void begin_at(const decode_start& start) override {
    context_ = head_ = start.context;
    is_first_ = start.compressed_bytes == 0;
  }

  split_step advance(std::span<const std::byte> bytes) override {
    std::size_t taken = 0;
    while (taken < bytes.size()) {
      const std::span<const std::byte> rest = bytes.subspan(taken);
      taken += phase_ == phase::header ? take_header(rest) : walk(rest);
      if (end_frame()) return {.taken = taken, .frame_ends = true};
      if (end_part()) return {.taken = taken, .part_ends = true};
    }
    return {.taken = taken};
  }

  [[nodiscard]] bool counts_frame() const override { return !skippable_; }
  [[nodiscard]] std::shared_ptr<const frame_context> context() const override { return context_; }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::string_view manner() const override {
    return is_lost() ? lost_reason_ : "frames found by the sizes of their blocks";
  }

 private:
  enum class phase { header, skipping, blocks, lost };

  std::size_t take_header(std::span<const std::byte> bytes) {
    std::size_t taken = 0;
    while (phase_ == phase::header && taken < bytes.size()) {
      header_[header_size_++] = bytes[taken++];
      leave_header(Format::parse(std::span(header_).first(header_size_)));
    }
    return taken;
  }

  void leave_header(const auto& parsed) {
    using status = decltype(parsed.status);
    if (parsed.status == status::needs_more) return;
    if (parsed.status != status::complete) return lose(Format::nothing_after);
    if constexpr (requires { Format::hides_end(parsed.header); }) {
      if (const std::string_view reason = Format::hides_end(parsed.header); !reason.empty()) return lose(reason);
    }
    skippable_ = Format::is_skippable(parsed.header);
    if (is_first_ && skippable_) head_reader_.begin(std::span(header_).first(header_size_));
    skip_remaining_ = parsed.header.skip_bytes;
    blocks_ = Format::begin(parsed.header);
    bytes_of_part_ = 0;
    if constexpr (requires { Format::first_block_begins_part; }) bytes_of_part_ = part_bytes_;
    phase_ = skippable_ ? phase::skipping : phase::blocks;
  }

  std::size_t walk(std::span<const std::byte> bytes) {
    std::size_t taken = bytes.size();
    if (phase_ == phase::skipping) {
      taken = static_cast<std::size_t>(std::min<std::uint64_t>(skip_remaining_, bytes.size()));
      skip_remaining_ -= taken;
      if (is_first_) head_reader_.add(bytes.first(taken));
    } else if (phase_ == phase::blocks) {
      taken = std::min(blocks_.remaining(), bytes.size());
      blocks_.advance(bytes.first(taken));
      bytes_of_part_ += taken;
      if (blocks_.is_damaged()) lose(Format::nothing_after);
    }
    return taken;
  }

  bool end_frame() {
    const bool ends =
        (phase_ == phase::skipping && skip_remaining_ == 0) || (phase_ == phase::blocks && blocks_.remaining() == 0);
    if (ends) {
      phase_ = phase::header;
      header_size_ = 0;
      if (std::exchange(is_first_, false)) head_ = head_reader_.end();
      context_ = head_;
    }
    return ends;
  }

  bool end_part() {
    if constexpr (requires { Format::part_context(blocks_); }) {
      if (phase_ != phase::blocks) return false;
      if constexpr (requires { Format::most_part_blocks; }) {
        if (blocks_.is_at_block() && ++blocks_of_part_ >= Format::most_part_blocks) bytes_of_part_ = part_bytes_;
      }
      if (bytes_of_part_ < part_bytes_) return false;
      auto found = Format::part_context(blocks_);
      if (!found) return false;
      context_ = std::move(found);
      bytes_of_part_ = 0;
      blocks_of_part_ = 0;
      return true;
    }
    return false;
  }

  void lose(std::string_view reason) {
    phase_ = phase::lost;
    lost_reason_ = reason;
  }

  phase phase_ = phase::header;
  std::array<std::byte, Format::max_header_bytes> header_{};
  std::size_t header_size_ = 0;
  std::uint64_t skip_remaining_ = 0;
  typename Format::blocks blocks_{};
  std::size_t part_bytes_ = 0;
  std::size_t bytes_of_part_ = 0;  // since the last end, in blocks
  std::size_t blocks_of_part_ = 0;
  std::shared_ptr<const frame_context> context_{};
  typename Format::head head_reader_{};
  std::shared_ptr<const frame_context> head_{};  // of all frames after the first one; null: nothing is stated
  bool is_first_ = true;                         // the first frame is open
  bool skippable_ = false;
  std::string_view lost_reason_{};
};

}  // namespace gpuhist::io
