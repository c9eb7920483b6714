// ISA-L decodes faster than zlib, but accepts blocks with incomplete codes, which zlib refuses. So the header of each
// block is checked first. ISA-L reports no ends of blocks, except of the last one: each block is decoded with the bit
// set that marks it as the last one.
//
//     packed   ... xxxxxHHH HHHHHHHH ...        H: header of a block, which begins with that bit
//                  \_______/
//                   read_in: the bits of H in its first byte, with the bit set; ISA-L continues with the next byte
#include "io/archive/whole_inflater.hpp"

#include "io/gzip/deflate_bits.hpp"
#include "io/gzip/deflate_codes.hpp"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>

namespace gpuhist::io {
namespace {

static_assert(whole_inflater::padding >= deflate_bits::padding);

constexpr std::size_t history_bytes = std::size_t{32} << 10U;

// Whether the block that begins at this bit is the last one. Nothing if its header is damaged.
std::optional<bool> is_last_block(std::span<const std::byte> packed, std::uint64_t at_bit) {
  constexpr unsigned with_own_codes = 2;
  constexpr unsigned reserved = 3;
  deflate_bits bits(packed, at_bit);
  const bool is_last = bits.read(1) != 0;
  const unsigned kind = bits.read(2);
  deflate_lengths lengths;
  if (kind == reserved || (kind == with_own_codes && !read_lengths(bits, lengths))) return std::nullopt;
  return is_last;
}

struct progress {
  std::uint64_t packed_bits = 0;
  std::size_t text_bytes = 0;
};

// ISA-L takes pointers to non-const input, but does not write to it.
std::uint8_t* mutable_pointer(std::span<const std::byte> bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  return reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(bytes.data()));
}

// Decodes the block that begins at `at`, and advances `at` to its end. Returns false if that is not possible.
bool inflate_block(inflate_state& state, std::span<const std::byte> packed, std::span<std::byte> text, progress& at) {
  isal_inflate_reset(&state);
  const std::size_t history = std::min(at.text_bytes, history_bytes);
  const auto before = text.subspan(at.text_bytes - history, history);
  if (history > 0 && isal_inflate_set_dict(&state, mutable_pointer(before), static_cast<std::uint32_t>(history)) != 0) {
    return false;
  }
  const auto first = static_cast<std::size_t>(at.packed_bits / 8);
  const auto passed = static_cast<unsigned>(at.packed_bits % 8);
  const auto in = packed.subspan(first + 1);
  const auto out = text.subspan(at.text_bytes);
  state.read_in = std::to_integer<std::uint64_t>(packed[first]) >> passed | 1U;
  state.read_in_length = static_cast<std::int32_t>(8 - passed);
  state.next_in = mutable_pointer(in);
  state.avail_in = static_cast<std::uint32_t>(in.size());
  state.next_out = mutable_pointer(out);
  state.avail_out = static_cast<std::uint32_t>(out.size());
  const int code = isal_inflate(&state);
  if (code != ISAL_DECOMP_OK || state.block_state != ISAL_BLOCK_FINISH || state.read_in_length < 0) return false;
  const std::size_t read = packed.size() - state.avail_in;
  at.packed_bits = std::uint64_t{8} * read - static_cast<std::uint64_t>(state.read_in_length);
  at.text_bytes = text.size() - state.avail_out;
  return true;
}

}  // namespace

whole_inflater::whole_inflater() : state_(std::make_unique<inflate_state>()) {
  isal_inflate_init(state_.get());
  state_->crc_flag = ISAL_DEFLATE;
}

whole_inflater::~whole_inflater() = default;

std::optional<std::uint32_t> whole_inflater::inflate(std::span<const std::byte> packed, std::span<std::byte> text) {
  if (packed.size() > max_bytes || text.size() > max_bytes) return std::nullopt;
  progress at;
  std::uint32_t crc = 0;
  for (bool is_last = false; !is_last;) {
    if (at.packed_bits >= std::uint64_t{8} * packed.size()) return std::nullopt;
    const auto header = is_last_block(packed, at.packed_bits);
    const std::size_t begin = at.text_bytes;
    if (!header || !inflate_block(*state_, packed, text, at)) return std::nullopt;
    const auto written = text.subspan(begin, at.text_bytes - begin);
    crc = crc32_gzip_refl(crc, mutable_pointer(written), written.size());
    is_last = *header;
  }
  if (at.text_bytes != text.size() || (at.packed_bits + 7) / 8 != packed.size()) return std::nullopt;
  return crc;
}

}  // namespace gpuhist::io
