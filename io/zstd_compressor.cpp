#include "io/zstd_compressor.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <stdexcept>
#include <string>

namespace gpuhist::io {
namespace {

std::size_t checked(std::size_t code) {
  if (ZSTD_isError(code) == 0) return code;
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  throw std::runtime_error(std::string("compressing failed: ") + ZSTD_getErrorName(code));
}

}  // namespace

void zstd_compressor::deleter::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

zstd_compressor::zstd_compressor(int level) : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1));
}

std::size_t zstd_compressor::bound(std::size_t text_bytes) { return ZSTD_compressBound(text_bytes); }

// Nothing is compressed: a frame of that size is begun, which allocates. A streaming one has its window beside its
// tables, so that this is rather too much than too little.
std::size_t zstd_compressor::memory_for(int level, std::size_t text_bytes) {
  const zstd_compressor sample(level);
  checked(ZSTD_CCtx_setPledgedSrcSize(sample.context_.get(), text_bytes));
  std::byte room{};
  ZSTD_outBuffer out{.dst = &room, .size = sizeof room, .pos = 0};
  ZSTD_inBuffer nothing{.src = nullptr, .size = 0, .pos = 0};
  checked(ZSTD_compressStream2(sample.context_.get(), &out, &nothing, ZSTD_e_continue));
  return ZSTD_sizeof_CCtx(sample.context_.get());
}

std::size_t zstd_compressor::compress(std::span<const std::byte> text, std::span<std::byte> out) {
  return checked(ZSTD_compress2(context_.get(), out.data(), out.size(), text.data(), text.size()));
}

std::uint32_t zstd_checksum_of(std::span<const std::byte> frame) {
  std::uint32_t value = 0;
  for (const std::byte byte : frame.last<4>()) {
    value = value >> 8U | std::to_integer<std::uint32_t>(byte) << 24U;  // little endian
  }
  return value;
}

}  // namespace gpuhist::io
