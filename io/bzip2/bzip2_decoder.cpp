// Decodes bzip2 streams block by block. A stream ends at a whole byte, and no byte after it is needed.
#include "io/bzip2/bzip2_decoder.hpp"

#include "io/bzip2/bzip2_block.hpp"
#include "io/bzip2/bzip2_inverse.hpp"
#include "io/bzip2/bzip2_parts.hpp"
#include "io/bzip2/bzip2_text.hpp"
#include "io/frame_decoder.hpp"
#include "io/offered_parts.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::string_view bzip2_magic("BZh");
constexpr std::string_view damaged_block("a block does not decode, or does not match its checksum");

class bzip2_decoder final : public frame_decoder {
 public:
  explicit bzip2_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "bzip2", .frame = "stream"}) {}

  void offer(const std::shared_ptr<const decoded_part>& part) override { parts_.offer(part, position()); }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || !collected().empty(); }

 private:
  enum class phase { header, window, magic, block, text, ready_block, ready_text, checksum };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void free_memory() noexcept override;

  step_result read_header(cursor& at);
  step_result begin();
  step_result read_magic(cursor& at);
  step_result read_block(cursor& at);
  step_result write_text(cursor& at);
  bool take_over();
  step_result skip_ready_block(cursor& at);
  step_result write_ready_text(cursor& at);
  step_result read_checksum(cursor& at);
  void end_block(std::uint32_t crc);

  /// Takes the bytes that were read from the input. `is_complete`: no more bits are needed for what was read.
  void take_bits(cursor& at, bool is_complete);

  /// In bits, from the start of the input.
  [[nodiscard]] std::uint64_t position() const { return 8 * consumed_total() - bits_.count(); }

  phase phase_ = phase::header;
  bzip2_bits bits_;  // fed within a step only; between steps it holds the rest of a byte, or all bits of a field so far
  std::size_t block_bytes_ = 0;     // largest block of the stream
  std::uint32_t combined_crc_ = 0;  // of the blocks of the stream
  unsigned magic_bytes_ = 0;        // that were read
  std::uint64_t magic_ = 0;         // the expected one

  std::size_t room_ = 0;
  std::unique_ptr<std::uint8_t[]> column_;
  bzip2_block_reader reader_;
  bzip2_inverter inverter_;
  bzip2_run_expander runs_;
  std::uint32_t crc_ = 0;  // of the text of the block so far

  offered_parts<bzip2_part> parts_;
  const bzip2_ready_block* ready_ = nullptr;
  std::uint64_t bits_to_skip_ = 0;
  std::span<const std::byte> ready_text_;  // to be written
};

frame_decoder::step_result bzip2_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::window:
      return begin();
    case phase::magic:
      return read_magic(at);
    case phase::block:
      return read_block(at);
    case phase::text:
      return write_text(at);
    case phase::ready_block:
      return skip_ready_block(at);
    case phase::ready_text:
      return write_ready_text(at);
    case phase::checksum:
      return read_checksum(at);
  }
  return std::nullopt;
}

void bzip2_decoder::reset_frame() {
  phase_ = phase::header;
  bits_.clear();
  parts_.clear();
}

void bzip2_decoder::free_memory() noexcept {
  room_ = 0;
  column_ = nullptr;
  inverter_ = {};
}

frame_decoder::step_result bzip2_decoder::read_header(cursor& at) {
  constexpr std::size_t header_bytes = 4;
  skip_padding(at);
  if (const step_result ended = collect_header(at, bzip2_magic, header_bytes)) return ended;
  const auto level = std::to_integer<char>(collected()[3]);
  if (level < '1' || level > '9') return fail_damaged("its header has an invalid block size");
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result bzip2_decoder::begin() {
  block_bytes_ = bzip2_level_bytes * static_cast<std::size_t>(std::to_integer<char>(collected()[3]) - '0');
  const std::size_t memory = block_bytes_ + bzip2_inverter::memory_for(block_bytes_);
  if (const step_result asked = request_window(memory)) return asked;
  if (block_bytes_ > room_) {
    room_ = 0;
    column_ = nullptr;
    column_ = std::make_unique_for_overwrite<std::uint8_t[]>(bzip2_inverter::room_for(block_bytes_));
    inverter_.reserve(block_bytes_);
    room_ = block_bytes_;
  }
  drop_collected();
  bits_.clear();
  combined_crc_ = 0;
  magic_bytes_ = 0;
  phase_ = phase::magic;
  return std::nullopt;
}

void bzip2_decoder::take_bits(cursor& at, bool is_complete) {
  if (is_complete) bits_.return_bytes();
  take(at, bits_.used());
  bits_.feed({});
}

/// Reads the magic number of a block, or that of the end of the stream, byte by byte: at the first wrong one it fails.
frame_decoder::step_result bzip2_decoder::read_magic(cursor& at) {
  if (magic_bytes_ == 0 && take_over()) return std::nullopt;
  bits_.feed(at.in);
  bool is_right = true;
  for (; is_right && magic_bytes_ < bzip2_magic_bits / 8; ++magic_bytes_) {
    if (!bits_.need(8)) {
      take_bits(at, false);
      return fill_status::needs_input;
    }
    const std::uint32_t byte = bits_.take(8);
    if (magic_bytes_ == 0) magic_ = byte == bzip2_end_magic >> 40U ? bzip2_end_magic : bzip2_block_magic;
    is_right = byte == (magic_ >> (40U - 8 * magic_bytes_) & 0xFFU);
  }
  take_bits(at, true);
  if (!is_right) return fail_damaged(damaged_block);
  magic_bytes_ = 0;
  phase_ = magic_ == bzip2_block_magic ? phase::block : phase::checksum;
  if (phase_ == phase::block) reader_.start(column_.get(), block_bytes_);
  return std::nullopt;
}

frame_decoder::step_result bzip2_decoder::read_block(cursor& at) {
  bits_.feed(at.in);
  const auto state = reader_.read(bits_);
  take_bits(at, state != bzip2_block_reader::state::needs_input);
  if (state == bzip2_block_reader::state::needs_input) return fill_status::needs_input;
  if (state == bzip2_block_reader::state::damaged) return fail_damaged(damaged_block);
  const bzip2_transformed block{.column = column_.get(),
                                .size = reader_.size(),
                                .origin = reader_.header().origin,
                                .randomised = reader_.header().randomised};
  runs_.start(inverter_.invert(block));
  crc_ = 0;
  phase_ = phase::text;
  return std::nullopt;
}

frame_decoder::step_result bzip2_decoder::write_text(cursor& at) {
  constexpr std::size_t at_once = 32 << 10U;  // the checksum finds it in the cache
  while (!runs_.ended()) {
    if (at.out.empty()) return fill_status::output_full;
    const std::span<std::byte> out = at.out.first(std::min(at_once, at.out.size()));
    const std::size_t written = runs_.expand(out);
    crc_ = bzip2_crc(crc_, out.first(written));
    write(at, written);
  }
  if (runs_.is_cut() || crc_ != reader_.header().crc) return fail_damaged(damaged_block);
  end_block(crc_);
  return std::nullopt;
}

void bzip2_decoder::end_block(std::uint32_t crc) {
  combined_crc_ = bzip2_combined_crc(combined_crc_, crc);
  phase_ = phase::magic;
}

/// Begins to take over a block that was decoded ahead, if one begins here. The level of the stream must allow its size.
bool bzip2_decoder::take_over() {
  const auto fits = [&](const bzip2_part& part) {
    ready_ = part.find(position());
    return ready_ != nullptr && ready_->size <= block_bytes_;
  };
  if (!parts_.take(position(), fits)) return false;
  bits_to_skip_ = ready_->end - ready_->begin;
  phase_ = phase::ready_block;
  return true;
}

/// As without the part, text comes only after all compressed bytes of its block.
frame_decoder::step_result bzip2_decoder::skip_ready_block(cursor& at) {
  const auto held = static_cast<unsigned>(std::min<std::uint64_t>(bits_.count(), bits_to_skip_));
  bits_.drop(held);
  bits_to_skip_ -= held;
  const std::size_t whole = std::min<std::uint64_t>(bits_to_skip_ / 8, at.in.size());
  take(at, whole);
  bits_to_skip_ -= 8 * whole;
  if (bits_to_skip_ >= 8) return fill_status::needs_input;
  bits_.feed(at.in);
  const bool is_complete = bits_to_skip_ == 0 || bits_.need(static_cast<unsigned>(bits_to_skip_));
  if (is_complete) bits_.drop(static_cast<unsigned>(bits_to_skip_));
  take_bits(at, is_complete);
  if (!is_complete) return fill_status::needs_input;
  ready_text_ = ready_->content();
  if (!ready_->is_text) runs_.start({reinterpret_cast<const std::uint8_t*>(ready_text_.data()), ready_text_.size()});
  phase_ = phase::ready_text;
  return std::nullopt;
}

frame_decoder::step_result bzip2_decoder::write_ready_text(cursor& at) {
  if (!ready_->is_text) write(at, runs_.expand(at.out));
  if (ready_->is_text ? !write_front(at, ready_text_) : !runs_.ended()) return fill_status::output_full;
  end_block(ready_->crc);
  parts_.leave();
  return std::nullopt;
}

frame_decoder::step_result bzip2_decoder::read_checksum(cursor& at) {
  constexpr unsigned checksum_bits = 32;
  bits_.feed(at.in);
  const bool is_complete = bits_.need(checksum_bits);
  const std::uint32_t expected = is_complete ? bits_.take(checksum_bits) : 0;
  take_bits(at, is_complete);
  if (!is_complete) return fill_status::needs_input;
  if (expected != combined_crc_) return fail_damaged(damaged_block);
  bits_.clear();  // the rest of the last byte
  phase_ = phase::header;
  return end_frame();
}

}  // namespace

std::unique_ptr<decoder> make_bzip2_decoder(const decoder_limits& limits) {
  return std::make_unique<bzip2_decoder>(limits);
}

}  // namespace gpuhist::io
