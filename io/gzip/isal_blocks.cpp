// ISA-L's fast loop does not report where it was when it finds an error: up to the last 258 bytes of its reported
// output may never have been written. Its careful loop, which runs if fewer than eight bytes of input remain, is exact.
// So the state is saved before each call, and after an error the same input is decoded again with the careful loop.
#include "io/gzip/isal_blocks.hpp"

#include <algorithm>
#include <cstring>

namespace gpuhist::io {
namespace {

constexpr std::size_t careful_bytes = 7;

/// More bytes than ISA-L may have read beyond an error when it reports it.
constexpr std::size_t error_distance = 64;

/// Copies what a state needs: the tables only within a block, the buffer at the end as far as it is filled. Members of
/// a few bytes would take twice the time if everything was copied.
void copy_state(inflate_state& to, const inflate_state& from) {
  constexpr std::size_t tables_begin = offsetof(inflate_state, lit_huff_code);
  constexpr std::size_t tables_end = offsetof(inflate_state, block_state);
  const bool has_tables = from.block_state != ISAL_BLOCK_NEW_HDR;
  const std::size_t rest = has_tables ? tables_begin : tables_end;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&from);
  auto* const copied = reinterpret_cast<std::byte*>(&to);
  std::memcpy(copied, bytes, tables_begin);
  const std::size_t end = offsetof(inflate_state, tmp_out_buffer) + static_cast<std::size_t>(from.tmp_out_valid);
  std::memcpy(copied + rest, bytes + rest, end - rest);
}

}  // namespace

isal_blocks::isal_blocks() {
  isal_inflate_init(&state_);
  state_.crc_flag = ISAL_GZIP_NO_HDR;  // ISA-L computes the checksum and does not compare it
}

void isal_blocks::begin(const inflate_start& start) {
  isal_inflate_reset(&state_);
  state_.crc = start.crc;
  if (!start.window.empty()) {
    // ISA-L takes a pointer to non-const memory, but does not write to it
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* const window = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(start.window.data()));
    isal_inflate_set_dict(&state_, window, static_cast<std::uint32_t>(start.window.size()));
  }
  if (start.bits_before != 0) {
    state_.read_in = std::to_integer<std::uint64_t>(start.first) >> start.bits_before;
    state_.read_in_length = static_cast<std::int32_t>(8 - start.bits_before);
  }
}

isal_blocks::position isal_blocks::decode(std::span<const std::byte> in, std::span<std::byte> out) {
  copy_state(before_, state_);
  const position here = run(in, {.in = 0, .out = 0}, in.size(), out);
  return here.code < 0 ? find_error(in, here.in, out) : here;
}

/// Decodes at most `bytes` bytes of input, starting at `begin`. After an error ISA-L's counts of remaining bytes are
/// wrong, its pointers are correct.
isal_blocks::position isal_blocks::run(std::span<const std::byte> in, const position& begin, std::size_t bytes,
                                       std::span<std::byte> out) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): see begin()
  auto* const in_begin = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(in.data()));
  auto* const out_begin = reinterpret_cast<std::uint8_t*>(out.data());
  state_.next_in = in_begin + begin.in;
  state_.avail_in = static_cast<std::uint32_t>(bytes);
  state_.next_out = out_begin + begin.out;
  state_.avail_out = static_cast<std::uint32_t>(out.size() - begin.out);
  const int code = ::isal_inflate(&state_);
  return {.code = code,
          .in = static_cast<std::size_t>(state_.next_in - in_begin),
          .out = static_cast<std::size_t>(state_.next_out - out_begin)};
}

/// Decodes again from the state `before_`, after a call that ended in an error with `read` bytes of `in` read.
isal_blocks::position isal_blocks::find_error(std::span<const std::byte> in, std::size_t read,
                                              std::span<std::byte> out) {
  copy_state(state_, before_);
  position here;
  std::size_t bytes = read > error_distance ? read - error_distance : std::min(careful_bytes, in.size());
  for (bool continues = true; continues;) {
    const position begin = here;
    here = run(in, begin, bytes, out);
    bytes = std::min(careful_bytes, in.size() - here.in);
    continues = here.code >= 0 && (here.in != begin.in || here.out != begin.out);
  }
  return here;
}

std::size_t isal_blocks::held() const {
  return static_cast<std::size_t>(state_.tmp_out_valid - state_.tmp_out_processed);
}

std::size_t isal_blocks::flush(std::span<std::byte> out) {
  const std::size_t bytes = std::min(held(), out.size());
  if (bytes != 0) std::memcpy(out.data(), state_.tmp_out_buffer + state_.tmp_out_processed, bytes);
  state_.tmp_out_processed += static_cast<std::int32_t>(bytes);
  return bytes;
}

// An incomplete header of a block is kept in a buffer of its own.
std::optional<unsigned> isal_blocks::bits_before_block() const {
  if (state_.block_state != ISAL_BLOCK_NEW_HDR && state_.block_state != ISAL_BLOCK_HDR) return std::nullopt;
  return unread_bits() + 8 * static_cast<unsigned>(state_.tmp_in_size);
}

std::span<const std::byte> isal_blocks::last_text(std::size_t bytes) const {
  const auto text =
      std::as_bytes(std::span(state_.tmp_out_buffer)).first(static_cast<std::size_t>(state_.tmp_out_valid));
  return text.last(std::min(bytes, text.size()));
}

unsigned isal_blocks::unread_bits() const { return static_cast<unsigned>(std::max(state_.read_in_length, 0)); }

std::string_view isal_blocks::cause_of(int code) {
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

}  // namespace gpuhist::io
