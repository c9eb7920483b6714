#include "pipeline/flow/decoding/frame_search.hpp"

#include "io/magic_search.hpp"

#include <algorithm>

namespace gpuhist::pipeline {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

frame_search::frame_search(std::string_view magic, std::span<const std::byte> before) : magic_(magic) { pass(before); }

void frame_search::pass(std::span<const std::byte> piece) {
  if (magic_.empty()) return;
  before_ += text_of(piece.last(std::min(piece.size(), magic_.size() - 1)));
  before_.erase(0, before_.size() - std::min(before_.size(), magic_.size() - 1));
}

std::optional<frame_search::hit> frame_search::find(std::span<const std::byte> piece) {
  if (magic_.empty()) return std::nullopt;
  const std::string_view bytes = text_of(piece);
  const std::string seam = before_ + std::string(bytes.substr(0, magic_.size() - 1));
  if (const std::size_t at = seam.find(magic_); at != std::string::npos && at < before_.size()) {
    return hit{.before = before_.size() - at, .at = 0};
  }
  if (const std::size_t at = io::find_magic(piece, magic_); at < piece.size()) return hit{.before = 0, .at = at};
  pass(piece);
  return std::nullopt;
}

}  // namespace gpuhist::pipeline
