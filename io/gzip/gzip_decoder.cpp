// Decodes gzip members with ISA-L's inflate. The header and trailer are read here: at the end of a member ISA-L holds
// up to seven bytes of the following data, always fewer than the trailer has.
//
// Blocks that were decoded ahead are taken over between two blocks. ISA-L stops there if it gets no input beyond: the
// bytes of the header of the next block are then in its buffers, and give the position of the block.
#include "io/gzip/gzip_decoder.hpp"

#include "io/gzip/crc32_combination.hpp"
#include "io/gzip/deflate_takeover.hpp"
#include "io/gzip/gzip_header.hpp"
#include "io/gzip/isal_blocks.hpp"
#include "io/gzip/short_member.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

constexpr unsigned trailer_bytes = 8;  // CRC-32 and length of the text, 32 bits each

/// ISA-L counts in 32 bits.
constexpr std::size_t max_at_once = std::size_t{1} << 30U;

class gzip_decoder final : public decoder {
 public:
  fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) override;
  void restart(const decode_start& start) override;
  void offer(const std::shared_ptr<const decoded_part>& part) override { ahead_.offer(part); }
  [[nodiscard]] std::string fault(std::uint64_t text_before) const override;
  [[nodiscard]] failure_kind fault_kind() const override;
  [[nodiscard]] std::string fault_cause() const override;
  [[nodiscard]] std::string missing_at_end(std::uint64_t text_before) const override;
  [[nodiscard]] std::string missing_at_frame_end(std::uint64_t text_before) const override;
  [[nodiscard]] std::string missing_cause_at_end() const override;
  [[nodiscard]] std::string missing_cause_at_frame_end() const override;
  [[nodiscard]] std::optional<notice> notice_at_end() const override;
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || header_.size() != 0; }
  [[nodiscard]] std::uint64_t consumed_total() const override { return consumed_; }
  [[nodiscard]] std::uint64_t produced_total() const override { return produced_; }

 private:
  /// `between_blocks`: at the bit `block_`, before a block. `ahead`: blocks are taken over.
  /// `text_before_error`: the text that ISA-L still holds is written before the error is reported.
  enum class phase { header, between_blocks, text, ahead, text_before_error, trailer, failed };

  /// The two spans of one fill() and the progress in them.
  struct cursor {
    std::span<const std::byte> in;
    std::span<std::byte> out;
    std::size_t consumed = 0;
    std::size_t produced = 0;
  };

  using step_result = std::optional<fill_status>;  // nothing: continue

  step_result step(cursor& at);
  step_result read_header(cursor& at);
  step_result begin_blocks(cursor& at);
  step_result take_ahead(cursor& at);
  bool take_short(cursor& at);
  bool stop_between_blocks();
  step_result inflate(cursor& at);
  step_result flush(cursor& at);
  step_result read_trailer(cursor& at);
  step_result end_member();
  void skip_padding(cursor& at);
  void begin_trailer();
  fill_status fail(std::string clause, failure_kind kind = failure_kind::damaged);
  fill_status refuse_header();

  void take(cursor& at, std::size_t bytes);
  void write(cursor& at, std::size_t bytes);
  [[nodiscard]] std::string member_name() const { return "member " + std::to_string(members_ended_ + 1); }
  [[nodiscard]] std::string offsets(std::uint64_t compressed, std::uint64_t text_before) const;

  isal_blocks inflate_;
  phase phase_ = phase::header;
  gzip_header header_;
  deflate_takeover ahead_;
  std::uint64_t block_ = 0;        // with phase::between_blocks: the position, in bits of the input
  std::vector<std::byte> window_;  // before it: text of the member, at most 32 KiB
  short_member short_;
  bool is_after_short_ = true;  // the member before had a short text, so this one may have
  std::byte last_byte_{};       // of the input that was consumed
  std::uint32_t crc_ = 0;       // of the text of the member, except what ISA-L decoded since its begin
  std::uint64_t trailer_ = 0;
  unsigned trailer_size_ = 0;        // bytes of the trailer so far
  std::uint64_t members_ended_ = 0;  // in the input
  std::uint64_t consumed_ = 0;       // from the start of the input
  std::uint64_t produced_ = 0;       // from the start of the decoder
  std::uint64_t text_begin_ = 0;     // begin of the text of the member, in `produced_`
  bool lacks_end_marker_ = false;    // the last member is a block of BGZF with text
  failure_kind error_kind_ = failure_kind::damaged;
  std::string error_;           // with phase::failed: the clause without its offsets
  std::uint64_t error_at_ = 0;  // compressed offset
};

fill_result gzip_decoder::fill(std::span<const std::byte> in, std::span<std::byte> out) {
  if (phase_ == phase::failed) return {.status = fill_status::failed};
  cursor at{.in = in, .out = out};
  step_result ended;
  while (!ended) ended = step(at);
  return {.status = *ended, .consumed = at.consumed, .produced = at.produced};
}

void gzip_decoder::restart(const decode_start& start) {
  phase_ = phase::header;
  header_ = {};
  ahead_.clear();
  members_ended_ = start.frames;
  consumed_ = start.compressed_bytes;
  produced_ = 0;
  is_after_short_ = true;
  error_.clear();
  lacks_end_marker_ = false;
}

gzip_decoder::step_result gzip_decoder::step(cursor& at) {
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
    case phase::failed:
      break;
  }
  return fill_status::failed;
}

void gzip_decoder::take(cursor& at, std::size_t bytes) {
  at.consumed += bytes;
  consumed_ += bytes;
  if (bytes != 0) last_byte_ = at.in[at.consumed - 1];
}

void gzip_decoder::write(cursor& at, std::size_t bytes) {
  at.produced += bytes;
  produced_ += bytes;
}

gzip_decoder::step_result gzip_decoder::read_header(cursor& at) {
  if (members_ended_ != 0 && header_.size() == 0) skip_padding(at);
  take(at, header_.advance(at.in.subspan(at.consumed)));
  if (header_.status() == gzip_header_status::needs_more) return fill_status::needs_input;
  if (header_.status() != gzip_header_status::complete) return refuse_header();
  crc_ = 0;
  text_begin_ = produced_;
  block_ = 8 * consumed_;
  window_.clear();
  phase_ = phase::between_blocks;
  return std::nullopt;
}

void gzip_decoder::skip_padding(cursor& at) {
  const auto rest = at.in.subspan(at.consumed);
  const auto end = std::ranges::find_if(rest, [](std::byte byte) { return byte != std::byte{0}; });
  take(at, static_cast<std::size_t>(end - rest.begin()));
}

gzip_decoder::step_result gzip_decoder::begin_blocks(cursor& at) {
  if (ahead_.begin(block_, window_)) {
    phase_ = phase::ahead;
    return std::nullopt;
  }
  if (at.consumed == at.in.size()) return fill_status::needs_input;  // with more input, blocks may be offered
  ahead_.pass((block_ + 7) / 8);
  if (is_after_short_ && take_short(at)) return std::nullopt;
  inflate_.begin(
      {.bits_before = static_cast<unsigned>(block_ % 8), .first = last_byte_, .window = window_, .crc = crc_});
  phase_ = phase::text;
  return std::nullopt;
}

/// Whether the whole text of the member was decoded.
bool gzip_decoder::take_short(cursor& at) {
  if (block_ != 8 * consumed_ || produced_ != text_begin_) return false;  // a later block
  const auto out = at.out.subspan(at.produced);
  const auto found = short_.decode(at.in.subspan(at.consumed), out);
  if (!found) return false;
  take(at, found->in);
  write(at, found->out);
  crc_ = crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(out.data()), found->out);
  trailer_ = 0;
  trailer_size_ = 0;
  phase_ = phase::trailer;
  return true;
}

/// Whether ISA-L, which consumed all its input, is before a block that can be taken over.
bool gzip_decoder::stop_between_blocks() {
  const std::optional<unsigned> bits = inflate_.bits_before_block();
  const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(deflate_window, produced_ - text_begin_));
  return bits && ahead_.begin(8 * consumed_ - *bits, inflate_.last_text(known));
}

gzip_decoder::step_result gzip_decoder::take_ahead(cursor& at) {
  write(at, ahead_.write(at.out.subspan(at.produced)));
  if (!ahead_.is_written()) return fill_status::output_full;
  const deflate_stretch& blocks = ahead_.stretch();
  const std::uint64_t end = std::max((blocks.end + 7) / 8, consumed_);
  take(at, static_cast<std::size_t>(std::min<std::uint64_t>(end - consumed_, at.in.size() - at.consumed)));
  if (8 * consumed_ < blocks.end) return fill_status::needs_input;
  crc_ = combine_crc32(crc_, blocks.crc, blocks.text_bytes);
  if (blocks.ends_member) {
    trailer_ = 0;
    trailer_size_ = 0;
    phase_ = phase::trailer;
  } else {
    block_ = blocks.end;
    window_ = ahead_.end();
    phase_ = phase::between_blocks;
  }
  return std::nullopt;
}

gzip_decoder::step_result gzip_decoder::inflate(cursor& at) {
  const std::optional<std::uint64_t> stop = ahead_.next_begin(consumed_);
  if (stop && *stop == consumed_ && inflate_.held() == 0) {
    ahead_.pass(consumed_);
    if (stop_between_blocks()) {
      crc_ = inflate_.crc();
      phase_ = phase::ahead;
    }
    return std::nullopt;
  }
  const std::uint64_t most = stop ? std::min<std::uint64_t>(max_at_once, *stop - consumed_) : max_at_once;
  const auto in = at.in.subspan(at.consumed).first(std::min<std::size_t>(at.in.size() - at.consumed, most));
  const auto out = at.out.subspan(at.produced).first(std::min(at.out.size() - at.produced, max_at_once));
  if (in.empty() && inflate_.held() == 0) return fill_status::needs_input;
  if (in.empty() && out.empty()) return fill_status::output_full;

  const isal_blocks::position here = inflate_.decode(in, out);
  take(at, here.in);
  write(at, here.out);

  if (here.code < 0) {
    error_ = member_name() + " is damaged (" + std::string(isal_blocks::cause_of(here.code)) + ")";
    error_at_ = consumed_ - inflate_.unread_bits() / 8;
    phase_ = phase::text_before_error;
  } else if (inflate_.is_finished()) {
    begin_trailer();
  } else if (inflate_.held() != 0 && at.produced == at.out.size()) {
    return fill_status::output_full;
  }
  return std::nullopt;
}

gzip_decoder::step_result gzip_decoder::flush(cursor& at) {
  write(at, inflate_.flush(at.out.subspan(at.produced)));
  if (inflate_.held() != 0) return fill_status::output_full;
  phase_ = phase::failed;
  return fill_status::failed;
}

/// The first bytes of the trailer may be in ISA-L's bit buffer, after the remaining bits of the last byte of the text.
void gzip_decoder::begin_trailer() {
  const unsigned bits = inflate_.unread_bits();
  trailer_size_ = bits / 8;
  const std::uint64_t above = ~std::uint64_t{0} << (8 * trailer_size_);
  trailer_ = (inflate_.unread() >> (bits % 8)) & ~above;
  crc_ = inflate_.crc();
  phase_ = phase::trailer;
}

gzip_decoder::step_result gzip_decoder::read_trailer(cursor& at) {
  while (trailer_size_ < trailer_bytes) {
    if (at.consumed == at.in.size()) return fill_status::needs_input;
    trailer_ |= std::to_integer<std::uint64_t>(at.in[at.consumed]) << (8 * trailer_size_++);
    take(at, 1);
  }
  return end_member();
}

gzip_decoder::step_result gzip_decoder::end_member() {
  if (static_cast<std::uint32_t>(trailer_) != crc_) {
    return fail(member_name() + " is damaged (its text does not match its checksum)");
  }
  if (trailer_ >> 32U != static_cast<std::uint32_t>(produced_ - text_begin_)) {
    return fail(member_name() + " is damaged (its text does not have the length that its trailer states)");
  }
  ++members_ended_;
  is_after_short_ = produced_ - text_begin_ <= short_member::most_text;
  lacks_end_marker_ = header_.bgzf_bytes() && produced_ != text_begin_;
  header_ = {};
  phase_ = phase::header;
  return fill_status::frame_verified;
}

fill_status gzip_decoder::fail(std::string clause, failure_kind kind) {
  phase_ = phase::failed;
  error_ = std::move(clause);
  error_kind_ = kind;
  error_at_ = consumed_;
  return fill_status::failed;
}

fill_status gzip_decoder::refuse_header() {
  switch (header_.status()) {
    case gzip_header_status::unknown_method:
      return fail(
          member_name() + " is compressed by method " + std::to_string(header_.method()) + ", not by deflate (8),",
          failure_kind::refused);
    case gzip_header_status::reserved_flags:
      return fail(member_name() + " is damaged (its header has reserved flags set)");
    case gzip_header_status::wrong_checksum:
      return fail(member_name() + " is damaged (its header does not match its checksum)");
    default:
      break;
  }
  const bool at_the_start = consumed_ == header_.size();
  fail(at_the_start ? "is not gzip data: there is no gzip magic number at its start,"
                    : "trailing data that is not gzip where " + member_name() + " would begin,");
  error_at_ -= header_.size();
  return fill_status::failed;
}

std::string gzip_decoder::offsets(std::uint64_t compressed, std::uint64_t text_before) const {
  return " at compressed offset " + std::to_string(compressed) + ", decompressed offset " +
         std::to_string(text_before + produced_);
}

std::string gzip_decoder::fault(std::uint64_t text_before) const { return error_ + offsets(error_at_, text_before); }

failure_kind gzip_decoder::fault_kind() const { return error_.empty() ? failure_kind::damaged : error_kind_; }

// Some clauses end in a comma, because the offsets follow.
std::string gzip_decoder::fault_cause() const { return error_.substr(0, error_.find_last_not_of(',') + 1); }

std::optional<notice> gzip_decoder::notice_at_end() const {
  if (!lacks_end_marker_) return std::nullopt;
  return notice{.kind = notice_kind::no_end_marker,
                .text =
                    "does not end with the empty block that ends BGZF files; it may have been cut between two "
                    "blocks: compare its size with that of the original"};
}

std::string gzip_decoder::missing_at_end(std::uint64_t text_before) const {
  if (!error_.empty()) return fault(text_before);
  const std::string cause = missing_cause_at_end();
  return cause.empty() ? cause : cause + offsets(consumed_, text_before);
}

std::string gzip_decoder::missing_at_frame_end(std::uint64_t text_before) const {
  if (!error_.empty() || !in_frame()) return missing_at_end(text_before);
  return missing_cause_at_frame_end() + offsets(consumed_, text_before);
}

std::string gzip_decoder::missing_cause_at_end() const {
  if (!error_.empty()) return fault_cause();
  if (consumed_ == 0) return "is empty: there is no gzip member";
  return in_frame() ? member_name() + " ends early: the input stops" : std::string();
}

std::string gzip_decoder::missing_cause_at_frame_end() const {
  if (!error_.empty() || !in_frame()) return missing_cause_at_end();
  return member_name() + " is damaged (it does not end where the sizes in headers say)";
}

}  // namespace

std::unique_ptr<decoder> make_gzip_decoder(const decoder_limits& /*limits*/) {
  return std::make_unique<gzip_decoder>();
}

}  // namespace gpuhist::io
