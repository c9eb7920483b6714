#include "io/lz4/lz4_block.hpp"

#include "io/lz4/lz4_frame.hpp"

#include <lz4.h>

#include <algorithm>
#include <cstring>

namespace gpuhist::io {
namespace {

/// Grows `memory` to `bytes`; its content is lost.
void reserve(std::unique_ptr<std::byte[]>& memory, std::size_t& room, std::size_t bytes) {
  if (bytes <= room) return;
  room = 0;
  memory = nullptr;
  memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  room = bytes;
}

std::size_t room_for_text(std::size_t text_bytes, bool linked) {
  return text_bytes + (linked ? 2 * lz4_block::history_bytes : 0);
}

}  // namespace

std::uint32_t lz4_block::max_legacy_packed_bytes() { return LZ4_COMPRESSBOUND(lz4_legacy_block_bytes); }

std::uint64_t lz4_block::memory_for(std::uint64_t packed_bytes, std::uint64_t text_bytes, bool linked) {
  return packed_bytes + room_for_text(text_bytes, linked);
}

void lz4_block::begin_frame(std::size_t packed_bytes, std::size_t text_bytes, bool linked) {
  reserve(packed_, packed_room_, packed_bytes);
  reserve(text_, text_room_, room_for_text(text_bytes, linked));
  text_limit_ = room_for_text(text_bytes, linked);
  block_text_ = text_bytes;
  linked_ = linked;
  end_ = 0;
  delivered_ = 0;
  begin(0);
}

void lz4_block::begin(std::size_t bytes) {
  wanted_ = bytes;
  gathered_ = 0;
}

std::size_t lz4_block::gather(std::span<const std::byte> in) {
  const std::size_t bytes = std::min(in.size(), wanted_ - gathered_);
  if (bytes != 0) std::memcpy(packed_.get() + gathered_, in.data(), bytes);
  gathered_ += bytes;
  return bytes;
}

// Makes room for `bytes` at the end of the text, and keeps the history.
void lz4_block::make_room(std::size_t bytes) {
  const std::size_t kept = linked_ ? std::min(end_, history_bytes) : 0;
  if (linked_ && text_limit_ - end_ >= bytes) return;
  if (kept != 0) std::memmove(text_.get(), text_.get() + end_ - kept, kept);
  end_ = kept;
  delivered_ = kept;
}

bool lz4_block::decode(std::span<const std::byte> packed) {
  make_room(block_text_);
  const std::size_t history = std::min(end_, history_bytes);
  char* const to = reinterpret_cast<char*>(text_.get() + end_);
  const int bytes =
      LZ4_decompress_safe_usingDict(reinterpret_cast<const char*>(packed.data()), to, static_cast<int>(packed.size()),
                                    static_cast<int>(block_text_), to - history, static_cast<int>(history));
  if (bytes < 0) return false;
  delivered_ = end_;
  end_ += static_cast<std::size_t>(bytes);
  return true;
}

void lz4_block::remember(std::span<const std::byte> text) {
  if (!linked_ || text.empty()) return;
  text = text.last(std::min(text.size(), history_bytes));
  make_room(text.size());
  std::memcpy(text_.get() + end_, text.data(), text.size());
  end_ += text.size();
  delivered_ = end_;
}

void lz4_block::free_memory() noexcept { *this = {}; }

}  // namespace gpuhist::io
