#include "io/lz4/lz4_legacy_block.hpp"

#include "io/lz4/lz4_frame.hpp"

#include <lz4.h>

#include <algorithm>

namespace gpuhist::io {

std::uint32_t lz4_legacy_block::max_packed_bytes() { return LZ4_COMPRESSBOUND(lz4_legacy_block_bytes); }

std::uint64_t lz4_legacy_block::memory_for(std::uint32_t packed_bytes) {
  return std::uint64_t{lz4_legacy_block_bytes} + packed_bytes;
}

void lz4_legacy_block::begin(std::uint32_t packed_bytes) {
  packed_.resize(packed_bytes);
  packed_size_ = 0;
  text_.resize(lz4_legacy_block_bytes);
  text_size_ = 0;
  delivered_ = 0;
}

std::size_t lz4_legacy_block::gather(std::span<const std::byte> in) {
  const std::size_t bytes = std::min(in.size(), packed_.size() - packed_size_);
  std::ranges::copy(in.first(bytes), packed_.begin() + static_cast<std::ptrdiff_t>(packed_size_));
  packed_size_ += bytes;
  return bytes;
}

bool lz4_legacy_block::decode() {
  const int bytes =
      LZ4_decompress_safe(reinterpret_cast<const char*>(packed_.data()), reinterpret_cast<char*>(text_.data()),
                          static_cast<int>(packed_.size()), static_cast<int>(text_.size()));
  text_size_ = static_cast<std::size_t>(std::max(bytes, 0));
  return bytes >= 0;
}

std::size_t lz4_legacy_block::deliver(std::span<std::byte> out) {
  const std::size_t bytes = std::min(out.size(), text_size_ - delivered_);
  std::ranges::copy(std::span(text_).subspan(delivered_, bytes), out.begin());
  delivered_ += bytes;
  return bytes;
}

void lz4_legacy_block::free_memory() noexcept { *this = {}; }

}  // namespace gpuhist::io
