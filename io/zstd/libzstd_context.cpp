#include "io/zstd/libzstd_context.hpp"

#include "io/zstd/zstd_blocks.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace gpuhist::io {
namespace {

/// ZSTD_d_stableOutBuffer, by the name that zstd.h always declares.
constexpr ZSTD_dParameter stable_output = ZSTD_d_experimentalParam2;

int largest_window_log() { return ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound; }

}  // namespace

std::uint64_t buffer_of_libzstd(std::uint64_t window_bytes) {
  constexpr std::uint64_t beyond = 64;
  return window_bytes + 2 * std::min<std::uint64_t>(window_bytes, zstd_block_header::max_size) + beyond;
}

std::uint64_t largest_window_of_libzstd() { return std::uint64_t{1} << static_cast<unsigned>(largest_window_log()); }

// libzstd keeps a larger buffer of an earlier frame, and would then decode more of a damaged block.
bool libzstd_context::prepare(std::uint64_t window_bytes, const zstd_dictionary* dictionary, bool in_place) {
  const std::uint64_t needed = buffer_of_libzstd(window_bytes);
  if (!in_place && needed < buffer_bytes_) release();
  if (!context_) {
    context_.reset(ZSTD_createDCtx());
    if (!context_) throw std::bad_alloc();
    // decoders enforce the limit: it may be any number of bytes, the limit of libzstd is a power of two
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, largest_window_log());
    output_is_stable_ = false;
    dictionary_ = nullptr;
    buffer_bytes_ = 0;
  }
  use_dictionary(dictionary);
  if (in_place != output_is_stable_) {
    const std::size_t code = ZSTD_DCtx_setParameter(context_.get(), stable_output, in_place ? 1 : 0);
    if (ZSTD_isError(code) == 0) output_is_stable_ = in_place;
  }
  if (!output_is_stable_) buffer_bytes_ = std::max(buffer_bytes_, needed);
  return output_is_stable_ == in_place;
}

bool libzstd_context::load(std::span<const std::byte> dictionary) {
  return ZSTD_isError(ZSTD_DCtx_loadDictionary(context_.get(), dictionary.data(), dictionary.size())) == 0;
}

bool libzstd_context::feed(std::span<const std::byte> bytes, std::uint64_t text_bytes) {
  std::array<std::byte, 4096> dropped{};
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  while (in.pos < in.size || text_bytes != 0) {
    const std::size_t before = in.pos;
    ZSTD_outBuffer out{.dst = dropped.data(),
                       .size = static_cast<std::size_t>(std::min<std::uint64_t>(text_bytes, dropped.size())),
                       .pos = 0};
    if (ZSTD_isError(decode(out, in)) != 0) return false;
    if (in.pos == before && out.pos == 0) return false;
    text_bytes -= out.pos;
  }
  return true;
}

void libzstd_context::forget() {
  if (!context_) return;
  ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  use_dictionary(nullptr);
}

void libzstd_context::use_dictionary(const zstd_dictionary* chosen) {
  if (chosen == dictionary_) return;
  ZSTD_DCtx_refDDict(context_.get(), chosen != nullptr ? chosen->get() : nullptr);
  dictionary_ = chosen;
}

}  // namespace gpuhist::io
