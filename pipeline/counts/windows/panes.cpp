#include "pipeline/counts/windows/panes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuhist::pipeline {

namespace {

// A byte can count as many: compilers turn such a loop into one addition of bytes per vector.
constexpr std::size_t block_bytes = 240;

std::uint8_t in_block(const std::byte* begin, std::size_t size) {
  std::uint8_t found = 0;
  for (std::size_t i = 0; i < size; ++i)
    found = static_cast<std::uint8_t>(found + (begin[i] == std::byte{'\n'} ? 1 : 0));
  return found;
}

std::uint8_t in_whole_block(const std::byte* begin) { return in_block(begin, block_bytes); }

}  // namespace

std::uint64_t count_newlines(std::span<const std::byte> text) {
  std::uint64_t found = 0;
  for (; text.size() >= block_bytes; text = text.subspan(block_bytes)) found += in_whole_block(text.data());
  return found + in_block(text.data(), text.size());
}

std::size_t through_newline(std::span<const std::byte> text, std::uint64_t& wanted) {
  constexpr std::size_t stride = 16 * block_bytes;  // skipped if the wanted newline is not in it
  std::size_t at = 0;
  for (; at + stride <= text.size(); at += stride) {
    const std::uint64_t here = count_newlines(text.subspan(at, stride));
    if (here >= wanted) break;
    wanted -= here;
  }
  while (at < text.size()) {
    const void* const found = std::memchr(text.data() + at, '\n', text.size() - at);
    if (found == nullptr) return text.size();
    at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - text.data()) + 1;
    if (--wanted == 0) return at;
  }
  return text.size();
}

void pane_sum::add(gpu::tally pane) {
  if (!pane.counts.empty()) sum_ += pane;
  panes_.push_back(std::move(pane));
}

void pane_sum::drop(std::size_t panes) {
  for (; panes > 0; --panes, panes_.pop_front()) {
    if (!panes_.front().counts.empty()) sum_ -= panes_.front();
  }
}

}  // namespace gpuhist::pipeline
