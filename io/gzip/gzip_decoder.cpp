// Decodes gzip members with ISA-L's inflate. The header and trailer are read here: at the end of a member ISA-L holds
// up to seven bytes of the following data, always fewer than the trailer has.
//
// ISA-L's fast loop does not report where it was when it finds an error: up to the last 258 bytes of its reported
// output may never have been written. Its careful loop, which runs if fewer than eight bytes of input remain, is exact.
// So the state is saved before each call, and after an error the same input is decoded again with the careful loop.
#include "io/gzip/gzip_decoder.hpp"

#include "io/gzip/gzip_header.hpp"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr unsigned trailer_bytes = 8;  // CRC-32 and length of the text, 32 bits each

/// ISA-L counts in 32 bits.
constexpr std::size_t max_at_once = std::size_t{1} << 30U;

constexpr std::size_t careful_bytes = 7;

/// More bytes than ISA-L may have read beyond an error when it reports it.
constexpr std::size_t error_distance = 64;

/// The bytes of a state that must be copied: the buffer at its end is seldom full.
std::size_t size_of(const inflate_state& state) {
  return offsetof(inflate_state, tmp_out_buffer) + static_cast<std::size_t>(state.tmp_out_valid);
}

std::string_view cause_of(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
      return "an invalid block";
    case ISAL_INVALID_SYMBOL:
      return "an invalid code";
    case ISAL_INVALID_LOOKBACK:
      return "a back-reference to before its start";
    default:
      return "not deflate data";
  }
}

class gzip_decoder final : public decoder {
 public:
  gzip_decoder();

  fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) override;
  void restart(const decode_start& start) override;
  [[nodiscard]] std::string fault(std::uint64_t text_before) const override;
  [[nodiscard]] std::string fault_cause() const override;
  [[nodiscard]] std::string missing_at_end(std::uint64_t text_before) const override;
  [[nodiscard]] std::string missing_at_frame_end(std::uint64_t text_before) const override;
  [[nodiscard]] std::string missing_cause_at_end() const override;
  [[nodiscard]] std::string missing_cause_at_frame_end() const override;
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || header_.size() != 0; }
  [[nodiscard]] std::uint64_t consumed_total() const override { return consumed_; }
  [[nodiscard]] std::uint64_t produced_total() const override { return produced_; }

 private:
  /// `text_before_error`: the text that ISA-L still holds is written before the error is reported.
  enum class phase { header, text, text_before_error, trailer, failed };

  /// The two spans of one fill() and the progress in them.
  struct cursor {
    std::span<const std::byte> in;
    std::span<std::byte> out;
    std::size_t consumed = 0;
    std::size_t produced = 0;
  };

  /// The progress of a call of ISA-L in its two spans, and its return code.
  struct position {
    int code = 0;
    std::size_t in = 0;
    std::size_t out = 0;
  };

  using step_result = std::optional<fill_status>;  // nothing: continue

  step_result step(cursor& at);
  step_result read_header(cursor& at);
  step_result inflate(cursor& at);
  position inflate(std::span<const std::byte> in, const position& begin, std::size_t bytes, std::span<std::byte> out);
  position find_error(std::span<const std::byte> in, std::size_t read, std::span<std::byte> out);
  step_result flush(cursor& at);
  step_result read_trailer(cursor& at);
  step_result end_member();
  void skip_padding(cursor& at);
  void begin_trailer();
  fill_status fail(std::string clause);
  fill_status refuse_header();

  void take(cursor& at, std::size_t bytes);
  void write(cursor& at, std::size_t bytes);
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::string member_name() const { return "member " + std::to_string(members_ended_ + 1); }
  [[nodiscard]] std::string offsets(std::uint64_t compressed, std::uint64_t text_before) const;

  inflate_state inflate_{};
  inflate_state before_{};
  phase phase_ = phase::header;
  gzip_header header_;
  std::uint64_t trailer_ = 0;
  unsigned trailer_size_ = 0;        // bytes of the trailer so far
  std::uint64_t members_ended_ = 0;  // in the input
  std::uint64_t consumed_ = 0;       // from the start of the input
  std::uint64_t produced_ = 0;       // from the start of the decoder
  std::uint64_t text_begin_ = 0;     // begin of the text of the member, in `produced_`
  std::string error_;                // with phase::failed: the clause without its offsets
  std::uint64_t error_at_ = 0;       // compressed offset
};

gzip_decoder::gzip_decoder() {
  isal_inflate_init(&inflate_);
  inflate_.crc_flag = ISAL_GZIP_NO_HDR;  // ISA-L computes the checksum and does not compare it
}

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
  members_ended_ = start.frames;
  consumed_ = start.compressed_bytes;
  produced_ = 0;
  error_.clear();
}

gzip_decoder::step_result gzip_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::text:
      return inflate(at);
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
  isal_inflate_reset(&inflate_);
  text_begin_ = produced_;
  phase_ = phase::text;
  return std::nullopt;
}

void gzip_decoder::skip_padding(cursor& at) {
  const auto rest = at.in.subspan(at.consumed);
  const auto end = std::ranges::find_if(rest, [](std::byte byte) { return byte != std::byte{0}; });
  take(at, static_cast<std::size_t>(end - rest.begin()));
}

/// Bytes of text that are in ISA-L's own buffer and not yet written to the output.
std::size_t gzip_decoder::held() const {
  return static_cast<std::size_t>(inflate_.tmp_out_valid - inflate_.tmp_out_processed);
}

gzip_decoder::step_result gzip_decoder::inflate(cursor& at) {
  const auto in = at.in.subspan(at.consumed).first(std::min(at.in.size() - at.consumed, max_at_once));
  const auto out = at.out.subspan(at.produced).first(std::min(at.out.size() - at.produced, max_at_once));
  if (in.empty() && held() == 0) return fill_status::needs_input;
  if (in.empty() && out.empty()) return fill_status::output_full;

  std::memcpy(&before_, &inflate_, size_of(inflate_));
  position here = inflate(in, {.in = 0, .out = 0}, in.size(), out);
  const int code = here.code;
  if (code < 0) here = find_error(in, here.in, out);
  take(at, here.in);
  write(at, here.out);

  if (code < 0) {
    error_ = member_name() + " is damaged (" + std::string(cause_of(code)) + ")";
    error_at_ = consumed_ - static_cast<std::uint64_t>(std::max(inflate_.read_in_length, 0)) / 8;
    phase_ = phase::text_before_error;
  } else if (inflate_.block_state == ISAL_BLOCK_FINISH) {
    begin_trailer();
  } else if (held() != 0 && at.produced == at.out.size()) {
    return fill_status::output_full;
  }
  return std::nullopt;
}

/// Decodes at most `bytes` bytes of input, starting at `begin`. After an error ISA-L's counts of remaining bytes are
/// wrong, its pointers are correct.
gzip_decoder::position gzip_decoder::inflate(std::span<const std::byte> in, const position& begin, std::size_t bytes,
                                             std::span<std::byte> out) {
  // ISA-L takes a pointer to non-const input, but does not write to it
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto* const in_begin = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data()));
  auto* const out_begin = reinterpret_cast<std::uint8_t*>(out.data());
  inflate_.next_in = in_begin + begin.in;
  inflate_.avail_in = static_cast<std::uint32_t>(bytes);
  inflate_.next_out = out_begin + begin.out;
  inflate_.avail_out = static_cast<std::uint32_t>(out.size() - begin.out);
  const int code = isal_inflate(&inflate_);
  return {.code = code,
          .in = static_cast<std::size_t>(inflate_.next_in - in_begin),
          .out = static_cast<std::size_t>(inflate_.next_out - out_begin)};
}

/// Decodes again from the state `before_`, after a call that ended in an error with `read` bytes of `in` read.
gzip_decoder::position gzip_decoder::find_error(std::span<const std::byte> in, std::size_t read,
                                                std::span<std::byte> out) {
  std::memcpy(&inflate_, &before_, size_of(before_));
  position here;
  std::size_t bytes = read > error_distance ? read - error_distance : std::min(careful_bytes, in.size());
  for (bool continues = true; continues;) {
    const position begin = here;
    here = inflate(in, begin, bytes, out);
    bytes = std::min(careful_bytes, in.size() - here.in);
    continues = here.code >= 0 && (here.in != begin.in || here.out != begin.out);
  }
  return here;
}

gzip_decoder::step_result gzip_decoder::flush(cursor& at) {
  const std::size_t bytes = std::min(held(), at.out.size() - at.produced);
  if (bytes != 0) std::memcpy(at.out.data() + at.produced, inflate_.tmp_out_buffer + inflate_.tmp_out_processed, bytes);
  inflate_.tmp_out_processed += static_cast<std::int32_t>(bytes);
  write(at, bytes);
  if (held() != 0) return fill_status::output_full;
  phase_ = phase::failed;
  return fill_status::failed;
}

/// The first bytes of the trailer may be in ISA-L's bit buffer, after the remaining bits of the last byte of the text.
void gzip_decoder::begin_trailer() {
  const auto bits = static_cast<unsigned>(inflate_.read_in_length);
  trailer_size_ = bits / 8;
  const std::uint64_t above = ~std::uint64_t{0} << (8 * trailer_size_);
  trailer_ = (inflate_.read_in >> (bits % 8)) & ~above;
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
  if (static_cast<std::uint32_t>(trailer_) != inflate_.crc) {
    return fail(member_name() + " is damaged (its text does not match its checksum)");
  }
  if (trailer_ >> 32U != static_cast<std::uint32_t>(produced_ - text_begin_)) {
    return fail(member_name() + " is damaged (its text does not have the length that its trailer states)");
  }
  ++members_ended_;
  header_ = {};
  phase_ = phase::header;
  return fill_status::frame_verified;
}

fill_status gzip_decoder::fail(std::string clause) {
  phase_ = phase::failed;
  error_ = std::move(clause);
  error_at_ = consumed_;
  return fill_status::failed;
}

fill_status gzip_decoder::refuse_header() {
  switch (header_.status()) {
    case gzip_header_status::unknown_method:
      return fail(member_name() + " is compressed by method " + std::to_string(header_.method()) +
                  ", not by deflate (8),");
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

// Some clauses end in a comma, because the offsets follow.
std::string gzip_decoder::fault_cause() const { return error_.substr(0, error_.find_last_not_of(',') + 1); }

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
