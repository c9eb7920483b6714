#include "io/gzip/deflate_takeover.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuhist::io {

void deflate_takeover::offer(const std::shared_ptr<const decoded_part>& part) {
  auto own = std::dynamic_pointer_cast<const deflate_part>(part);
  if (own) parts_.push_back(std::move(own));
}

void deflate_takeover::clear() {
  parts_.clear();
  part_.reset();
  passed_.reset();
}

void deflate_takeover::release(std::uint64_t consumed) {
  while (!parts_.empty() && parts_.front()->end() <= 8 * consumed) parts_.pop_front();
}

std::optional<std::uint64_t> deflate_takeover::next_begin(std::uint64_t consumed) {
  release(consumed);
  for (const auto& part : parts_) {
    const std::uint64_t byte = (part->stretches().front().begin + 7) / 8;
    if (part->is_guessed() && byte >= consumed && (!passed_ || byte > *passed_)) return byte;
  }
  return std::nullopt;
}

bool deflate_takeover::begin(std::uint64_t position, std::span<const std::byte> window) {
  release(position / 8);
  return std::ranges::any_of(parts_, [&](const auto& part) { return begin(part, position, window); });
}

bool deflate_takeover::begin(const std::shared_ptr<const deflate_part>& part, std::uint64_t position,
                             std::span<const std::byte> window) {
  const auto& stretches = part->stretches();
  const auto after = std::ranges::upper_bound(stretches, position, {}, &deflate_stretch::first_begin);
  if (after == stretches.begin()) return false;
  const deflate_stretch& found = *(after - 1);
  if (position > found.begin) return false;
  marks_.reset();
  const bool after_window = part->is_guessed() && after - 1 == stretches.begin();
  if (!after_window && !window.empty()) return false;
  if (after_window && part->window() && !std::ranges::equal(*part->window(), window)) return false;
  if (after_window && !part->window()) {
    if (window.size() < deflate_window && part->text().reaches_before(window.size())) return false;
    marks_.emplace(window);
    part->note_window(window);
  }
  part_ = part;
  stretch_ = found;
  written_ = 0;
  window_.assign(window.begin(), window.end());
  return true;
}

std::size_t deflate_takeover::write(std::span<std::byte> out) {
  const std::size_t size = std::min(out.size(), stretch_.text_bytes - written_);
  std::size_t done = 0;
  for_each_extent(part_->text(), stretch_.text_begin + written_, size,
                  [&](const deflate_text::chunk& chunk, std::size_t from, std::size_t bytes) {
                    std::byte* const to = out.data() + done;
                    if (chunk.is_marked && marks_) {
                      marks_->resolve(chunk.symbols() + from, bytes, to);
                    } else {
                      std::memcpy(to, (chunk.is_marked ? chunk.resolved() : chunk.bytes()) + from, bytes);
                    }
                    done += bytes;
                  });
  if (marks_) stretch_.crc = crc32_gzip_refl(stretch_.crc, reinterpret_cast<const unsigned char*>(out.data()), size);
  written_ += size;
  return size;
}

std::vector<std::byte> deflate_takeover::end() {
  std::vector<std::byte> window = part_->end_window(window_);
  part_.reset();
  return window;
}

}  // namespace gpuhist::io
