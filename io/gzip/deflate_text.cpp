#include "io/gzip/deflate_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::size_t symbol_bytes(bool marked) { return marked ? sizeof(std::uint16_t) : 1; }

/// The memory around the room of a chunk.
constexpr std::size_t frame_bytes(bool marked) { return (deflate_window + deflate_text::slack) * symbol_bytes(marked); }

constexpr std::size_t least_room = std::size_t{1} << 12U;

bool holds_marks(const std::uint16_t* symbols, std::size_t size) {
  return std::any_of(symbols, symbols + size, [](std::uint16_t symbol) { return symbol >= first_mark; });
}

}  // namespace

/// Uses less memory if there is not enough.
bool deflate_text::add(bool marked) {
  const std::size_t bytes = std::min(chunk_bytes, memory_left_);
  if (bytes < frame_bytes(marked) + least_room * symbol_bytes(marked) || !charge(bytes)) return false;
  chunks_.push_back({.memory = pool_->get(bytes),
                     .memory_bytes = bytes,
                     .room = (bytes - frame_bytes(marked)) / symbol_bytes(marked),
                     .is_marked = marked});
  return true;
}

bool deflate_text::charge(std::size_t bytes) {
  if (bytes > memory_left_) return false;
  memory_left_ -= bytes;
  return true;
}

bool deflate_text::begin_marked() {
  if (!add(true)) return false;
  std::uint16_t* const end = last().symbols();
  for (std::size_t i = 0; i < deflate_window; ++i) {
    end[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(deflate_window)] =
        static_cast<std::uint16_t>(first_mark + i);
  }
  low_ = -static_cast<std::ptrdiff_t>(deflate_window);
  return true;
}

bool deflate_text::begin_bytes(std::span<const std::byte> window) {
  if (!add(false)) return false;
  if (!window.empty()) std::memcpy(last().bytes() - window.size(), window.data(), window.size());
  low_ = -static_cast<std::ptrdiff_t>(window.size());
  return true;
}

bool deflate_text::grow() {
  const bool marked = last().is_marked;
  const auto size = static_cast<std::ptrdiff_t>(last().size);
  const std::size_t known = std::min(deflate_window, static_cast<std::size_t>(size - low_));
  const std::size_t symbol = symbol_bytes(marked);
  if (!add(marked)) return false;
  const std::byte* const old_memory = std::prev(chunks_.end(), 2)->memory.get();
  std::memcpy(last().memory.get() + (deflate_window - known) * symbol,
              old_memory + (deflate_window + static_cast<std::size_t>(size) - known) * symbol, known * symbol);
  low_ = -static_cast<std::ptrdiff_t>(known);
  return true;
}

bool deflate_text::leave_marks() {
  const chunk& marked = last();
  const std::uint16_t* const window = marked.symbols() + marked.size - deflate_window;
  if (!marked.is_marked || holds_marks(window, deflate_window)) return true;
  if (!add(false)) return false;
  std::transform(window, window + deflate_window, last().memory.get(),
                 [](std::uint16_t symbol) { return static_cast<std::byte>(symbol); });
  return true;
}

bool deflate_text::forget_window() {
  if (chunks_.empty() || last().is_marked) return begin_bytes({});
  low_ = static_cast<std::ptrdiff_t>(last().size);
  return true;
}

deflate_text::position deflate_text::end() const {
  return {.chunks = chunks_.size(), .size = chunks_.empty() ? 0 : chunks_.back().size, .low = low_};
}

void deflate_text::truncate(const position& at) {
  while (chunks_.size() > at.chunks) {
    memory_left_ += last().memory_bytes;
    chunks_.pop_back();
  }
  if (!chunks_.empty()) last().size = at.size;
  low_ = at.low;
}

void deflate_text::prepend(deflate_text& head) {
  chunks_.insert(chunks_.begin(), std::make_move_iterator(head.chunks_.begin()),
                 std::make_move_iterator(head.chunks_.end()));
  head.chunks_.clear();
}

std::vector<std::byte> deflate_text::last_window(std::span<const std::byte> window) const {
  const chunk& end = chunks_.back();
  if (!end.is_marked) {
    const auto known = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(end.size) - low_);
    const std::byte* const last_byte = end.bytes() + end.size;
    return {last_byte - std::min(known, deflate_window), last_byte};
  }
  std::vector<std::byte> bytes(deflate_window);
  mark_table(window).resolve(end.symbols() + end.size - deflate_window, deflate_window, bytes.data());
  std::size_t known = window.size();
  for (const chunk& part : chunks_) known += part.size;
  bytes.erase(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(std::min(known, deflate_window)));
  return bytes;
}

bool deflate_text::reaches_before(std::size_t known) const {
  const std::size_t first_known = first_mark + deflate_window - known;
  return std::ranges::any_of(chunks_, [&](const chunk& part) {
    return part.is_marked && std::any_of(part.symbols(), part.symbols() + part.size, [&](std::uint16_t symbol) {
             return symbol >= first_mark && symbol < first_known;
           });
  });
}

mark_table::mark_table(std::span<const std::byte> window) : bytes_(first_mark + deflate_window) {
  for (unsigned byte = 0; byte < 256; ++byte) bytes_[byte] = static_cast<std::byte>(byte);
  std::ranges::copy(window, bytes_.end() - static_cast<std::ptrdiff_t>(window.size()));
}

// Eight symbols at once: they are read before the eight bytes are written, which end at or before them.
void mark_table::resolve(const std::uint16_t* symbols, std::size_t size, std::byte* out) const {
  const std::byte* const table = bytes_.data();
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::array<std::uint64_t, 2> words{};  // four symbols each
    std::memcpy(words.data(), symbols + at, sizeof words);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) out[at + i] = table[(words[i / 4] >> (16 * (i % 4))) & 0xFFFFU];
  }
  for (std::size_t rest = size % 8; rest > 0; --rest, ++at) {
    std::uint16_t symbol = 0;
    std::memcpy(&symbol, symbols + at, sizeof symbol);
    out[at] = table[symbol];
  }
}

}  // namespace gpuhist::io
