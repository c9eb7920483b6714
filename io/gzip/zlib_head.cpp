// Text may also begin with "x^", so the header alone proves nothing. But if text is read as compressed blocks, a block
// soon refers to bytes before its start, and a stored block states its length twice.
#include "io/gzip/zlib_head.hpp"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace gpuhist::io {
namespace {

// How the first bytes decode, after a valid header.
zlib_verdict decoded(std::span<const std::byte> head) {
  const auto state = std::make_unique<inflate_state>();
  ::isal_inflate_init(state.get());
  state->crc_flag = ISAL_ZLIB;
  std::array<std::uint8_t, std::size_t{16} << 10U> text{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): ISA-L does not write through it
  state->next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(head.data()));
  state->avail_in = static_cast<std::uint32_t>(head.size());
  do {
    state->next_out = text.data();
    state->avail_out = text.size();
    const int code = ::isal_inflate(state.get());
    if (code == ISAL_NEED_DICT) return zlib_verdict::yes;
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT) return zlib_verdict::no;
    if (state->block_state == ISAL_BLOCK_FINISH) return zlib_verdict::yes;
  } while (state->avail_out == 0);
  return head.size() >= zlib_head_bytes ? zlib_verdict::yes : zlib_verdict::perhaps;
}

// The header states: deflate, a window of 32 KiB, no dictionary; it is a multiple of 31.
bool could_begin(std::span<const std::byte> head) {
  constexpr std::byte method{0x78};
  if (head.empty() || head[0] != method) return false;
  if (head.size() == 1) return true;
  const auto flags = std::to_integer<unsigned>(head[1]);
  return flags == 0x01 || flags == 0x5E || flags == 0x9C || flags == 0xDA;
}

}  // namespace

zlib_verdict looks_like_zlib(std::span<const std::byte> head) {
  head = head.first(std::min(head.size(), zlib_head_bytes));
  return could_begin(head) ? decoded(head) : zlib_verdict::no;
}

bool has_zlib_begin(std::span<const std::byte> head) {
  constexpr unsigned method_mask = 0x0F;
  constexpr unsigned deflate = 8;
  if (head.size() < 2) return false;
  const auto method = std::to_integer<unsigned>(head[0]);
  const bool is_valid =
      (method & method_mask) == deflate && (method << 8U | std::to_integer<unsigned>(head[1])) % 31 == 0;
  return is_valid && decoded(head) != zlib_verdict::no;
}

}  // namespace gpuhist::io
