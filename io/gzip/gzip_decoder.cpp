// Decodes gzip members with ISA-L's inflate. The header and trailer are read here: at the end of a member ISA-L holds
// up to seven bytes of the following data, always fewer than the trailer has.
//
// Blocks that were decoded ahead are taken over between two blocks. ISA-L stops there if it gets no input beyond: the
// bytes of the header of the next block are then in its buffers, and give the position of the block.
#include "io/gzip/gzip_decoder.hpp"

#include "io/checksum.hpp"
#include "io/frame_decoder.hpp"
#include "io/frame_magic.hpp"
#include "io/gzip/deflate_takeover.hpp"
#include "io/gzip/gzip_header.hpp"
#include "io/gzip/isal_blocks.hpp"
#include "io/gzip/short_member.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

constexpr unsigned trailer_bytes = 8;  // CRC-32 and length of the text, 32 bits each

/// ISA-L counts in 32 bits.
constexpr std::size_t max_at_once = std::size_t{1} << 30U;

class gzip_decoder final : public frame_decoder {
 public:
  explicit gzip_decoder(const decoder_limits& limits) : frame_decoder(limits, {.format = "gzip", .frame = "member"}) {}

  void offer(const std::shared_ptr<const decoded_part>& part) override { ahead_.offer(part); }
  [[nodiscard]] std::optional<notice> notice_at_end() const override;
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || header_.size() != 0; }

 private:
  /// `between_blocks`: at the bit `block_`, before a block. `ahead`: blocks are taken over.
  /// `text_before_error`: the text that ISA-L still holds is written before the error is reported.
  enum class phase { header, between_blocks, text, ahead, text_before_error, trailer };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void free_memory() noexcept override {}  // its memory does not depend on the input

  step_result read_header(cursor& at);
  step_result begin_blocks(cursor& at);
  step_result take_ahead(cursor& at);
  bool take_short(cursor& at);
  bool stop_between_blocks();
  step_result inflate(cursor& at);
  step_result flush(cursor& at);
  void expect_trailer(std::uint64_t begin = 0, unsigned begin_bytes = 0);
  step_result read_trailer(cursor& at);
  step_result refuse_header();

  void take_blocks(cursor& at, std::size_t bytes);

  isal_blocks inflate_;
  phase phase_ = phase::header;
  gzip_header header_;
  deflate_takeover ahead_;
  std::uint64_t block_ = 0;        // with phase::between_blocks: the position, in bits of the input
  std::vector<std::byte> window_;  // before it: text of the member, at most 32 KiB
  short_member short_;
  bool is_after_short_ = true;       // the member before had a short text, so this one may have
  std::byte last_byte_{};            // of the blocks that were consumed
  std::uint32_t crc_ = 0;            // of the text of the member, except what ISA-L decoded since its begin
  std::uint64_t trailer_begin_ = 0;  // the bytes of the trailer that ISA-L has taken
  unsigned trailer_begin_bytes_ = 0;
  std::uint64_t text_begin_ = 0;   // begin of the text of the member, in produced_total()
  bool lacks_end_marker_ = false;  // the last member is a block of BGZF with text
  std::string_view error_cause_;   // with phase::text_before_error
};

void gzip_decoder::reset_frame() {
  phase_ = phase::header;
  header_ = {};
  ahead_.clear();
  is_after_short_ = true;
  lacks_end_marker_ = false;
}

frame_decoder::step_result gzip_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::between_blocks:
      return begin_blocks(at);
    case phase::text:
      return inflate(at);
    case phase::ahead:
      return take_ahead(at);
    case phase::text_before_error:
      return flush(at);
    case phase::trailer:
      return read_trailer(at);
  }
  return std::nullopt;
}

void gzip_decoder::take_blocks(cursor& at, std::size_t bytes) {
  if (bytes != 0) last_byte_ = at.in[bytes - 1];
  take(at, bytes);
}

frame_decoder::step_result gzip_decoder::read_header(cursor& at) {
  if (header_.size() == 0) skip_padding(at);
  take(at, header_.advance(at.in));
  if (header_.status() == gzip_header_status::needs_more) return fill_status::needs_input;
  if (header_.status() != gzip_header_status::complete) return refuse_header();
  crc_ = 0;
  text_begin_ = produced_total();
  block_ = 8 * consumed_total();
  window_.clear();
  phase_ = phase::between_blocks;
  return begin_blocks(at);
}

frame_decoder::step_result gzip_decoder::begin_blocks(cursor& at) {
  if (ahead_.begin(block_, window_)) {
    phase_ = phase::ahead;
    return std::nullopt;
  }
  if (at.in.empty()) return fill_status::needs_input;  // with more input, blocks may be offered
  ahead_.pass((block_ + 7) / 8);
  if (is_after_short_ && take_short(at)) return read_trailer(at);
  inflate_.begin(
      {.bits_before = static_cast<unsigned>(block_ % 8), .first = last_byte_, .window = window_, .crc = crc_});
  phase_ = phase::text;
  return std::nullopt;
}

/// Whether the whole text of the member was decoded.
bool gzip_decoder::take_short(cursor& at) {
  if (block_ != 8 * consumed_total() || produced_total() != text_begin_) return false;  // a later block
  const auto found = short_.decode(at.in, at.out);
  if (!found) return false;
  crc_ = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(at.out.data()), found->out);
  take(at, found->in);
  write(at, found->out);
  expect_trailer();
  return true;
}

/// Whether ISA-L, which consumed all its input, is before a block that can be taken over.
bool gzip_decoder::stop_between_blocks() {
  const std::optional<unsigned> bits = inflate_.bits_before_block();
  const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(deflate_window, produced_total() - text_begin_));
  return bits && ahead_.begin(8 * consumed_total() - *bits, inflate_.last_text(known));
}

frame_decoder::step_result gzip_decoder::take_ahead(cursor& at) {
  write(at, ahead_.write(at.out));
  if (!ahead_.is_written()) return fill_status::output_full;
  const deflate_stretch& blocks = ahead_.stretch();
  const std::uint64_t end = std::max((blocks.end + 7) / 8, consumed_total());
  take_blocks(at, static_cast<std::size_t>(std::min<std::uint64_t>(end - consumed_total(), at.in.size())));
  if (8 * consumed_total() < blocks.end) return fill_status::needs_input;
  crc_ = combine_crc32(crc_, blocks.crc, blocks.text_bytes);
  if (blocks.ends_member) {
    expect_trailer();
  } else {
    block_ = blocks.end;
    window_ = ahead_.end();
    phase_ = phase::between_blocks;
  }
  return std::nullopt;
}

frame_decoder::step_result gzip_decoder::inflate(cursor& at) {
  const std::optional<std::uint64_t> stop = ahead_.next_begin(consumed_total());
  if (stop && *stop == consumed_total() && inflate_.held() == 0) {
    ahead_.pass(consumed_total());
    if (stop_between_blocks()) {
      crc_ = inflate_.crc();
      phase_ = phase::ahead;
    }
    return std::nullopt;
  }
  const std::uint64_t most = stop ? std::min<std::uint64_t>(max_at_once, *stop - consumed_total()) : max_at_once;
  const auto in = at.in.first(std::min<std::size_t>(at.in.size(), most));
  const auto out = at.out.first(std::min(at.out.size(), max_at_once));
  if (in.empty() && inflate_.held() == 0) return fill_status::needs_input;
  if (in.empty() && out.empty()) return fill_status::output_full;

  const isal_blocks::position here = inflate_.decode(in, out);
  take_blocks(at, here.in);
  write(at, here.out);

  if (here.code < 0) {
    error_cause_ = isal_blocks::cause_of(here.code);
    phase_ = phase::text_before_error;
  } else if (inflate_.is_finished()) {
    // the first bytes of the trailer may be in ISA-L's bit buffer, after the rest of the last byte of the text
    const unsigned bits = inflate_.unread_bits();
    const std::uint64_t above = ~std::uint64_t{0} << (bits / 8 * 8);
    crc_ = inflate_.crc();
    expect_trailer((inflate_.unread() >> (bits % 8)) & ~above, bits / 8);
  } else if (inflate_.held() != 0 && at.out.empty()) {
    return fill_status::output_full;
  }
  return std::nullopt;
}

frame_decoder::step_result gzip_decoder::flush(cursor& at) {
  write(at, inflate_.flush(at.out));
  if (inflate_.held() != 0) return fill_status::output_full;
  return fail_damaged(error_cause_, inflate_.unread_bits() / 8);
}

void gzip_decoder::expect_trailer(std::uint64_t begin, unsigned begin_bytes) {
  trailer_begin_ = begin;
  trailer_begin_bytes_ = begin_bytes;
  phase_ = phase::trailer;
}

frame_decoder::step_result gzip_decoder::read_trailer(cursor& at) {
  if (!collect(at, trailer_bytes - trailer_begin_bytes_)) return fill_status::needs_input;
  const std::uint64_t trailer = trailer_begin_ | little_endian(collected()) << (8 * trailer_begin_bytes_);
  const std::uint64_t text_bytes = produced_total() - text_begin_;
  if (static_cast<std::uint32_t>(trailer) != crc_) return fail_damaged("its text does not match its checksum");
  if (trailer >> 32U != static_cast<std::uint32_t>(text_bytes)) {
    return fail_damaged("its text does not have the length that its trailer states");
  }
  is_after_short_ = text_bytes <= short_member::most_text;
  lacks_end_marker_ = header_.bgzf_bytes() && text_bytes != 0;
  header_ = {};
  phase_ = phase::header;
  return end_frame();
}

frame_decoder::step_result gzip_decoder::refuse_header() {
  switch (header_.status()) {
    case gzip_header_status::unknown_method:
      return refuse(frame_name() + " is compressed by method " + std::to_string(header_.method()) +
                    ", not by deflate (8),");
    case gzip_header_status::reserved_flags:
      return fail_damaged("its header has reserved flags set");
    case gzip_header_status::wrong_checksum:
      return fail_damaged("its header does not match its checksum");
    default:
      return refuse_magic(header_.size());
  }
}

std::optional<notice> gzip_decoder::notice_at_end() const {
  if (!lacks_end_marker_) return std::nullopt;
  return notice{.kind = notice_kind::no_end_marker,
                .text =
                    "does not end with the empty block that ends BGZF files; it may have been cut between two "
                    "blocks: compare its size with that of the original"};
}

}  // namespace

std::unique_ptr<decoder> make_gzip_decoder(const decoder_limits& limits) {
  return std::make_unique<gzip_decoder>(limits);
}

}  // namespace gpuhist::io
