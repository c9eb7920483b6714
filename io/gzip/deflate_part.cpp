#include "io/gzip/deflate_part.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace gpuhist::io {
namespace {

/// Most memory for the text before the first block that was found.
constexpr std::size_t gap_bytes = std::size_t{1} << 20U;

// `marks`: replaces marks first, while the text is in the cache of this core; null: the text has none.
std::uint32_t crc_of(const deflate_text& text, std::size_t begin, std::size_t size, const mark_table* marks) {
  std::uint32_t crc = 0;
  for_each_extent(text, begin, size, [&](const deflate_text::chunk& chunk, std::size_t from, std::size_t bytes) {
    std::byte* const memory = (chunk.is_marked ? chunk.resolved() : chunk.bytes()) + from;
    if (chunk.is_marked && marks != nullptr) marks->resolve(chunk.symbols() + from, bytes, memory);
    crc = crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(memory), bytes);
  });
  return crc;
}

}  // namespace

deflate_part::deflate_part(deflate_run&& run, bool is_guessed, std::vector<std::byte> ahead, std::uint64_t offset)
    : run_(std::move(run)), is_guessed_(is_guessed), ahead_(std::move(ahead)), offset_(offset) {
  if (run_.is_in_member() && !run_.text().chunks().empty() && !run_.text().last().is_marked) note_window({});
}

void deflate_part::link(const decoded_part* before) {
  const auto* const part = dynamic_cast<const deflate_part*>(before);
  if (!is_guessed_ || part == nullptr || !part->knows_end_) return;
  const deflate_stretch& first = run_.stretches().front();
  std::vector<std::byte> marked = part->end_window_;
  std::optional<deflate_run> gap;
  if (part->end() < first.first_begin || part->end() > first.begin) {
    gap = decode_gap(part->end(), marked);
    if (!gap) return;
    marked = gap->text().last_window({});
  }
  if (marked.size() < deflate_window && run_.text().reaches_before(marked.size())) return;
  if (gap) prepend(*gap);
  window_ = part->end_window_;
  mark_window_ = std::move(marked);
  note_window(mark_window_);
}

void deflate_part::note_window(std::span<const std::byte> window) const {
  if (!run_.is_in_member() || knows_end_) return;
  end_window_ = run_.text().last_window(window);
  knows_end_ = true;
}

/// Decodes the blocks from `from` up to the first one that was found: those which deflate_finder does not find.
std::optional<deflate_run> deflate_part::decode_gap(std::uint64_t from, std::span<const std::byte> window) const {
  const deflate_stretch& first = run_.stretches().front();
  if (ahead_.empty() || from < 8 * offset_ || from >= first.first_begin) return std::nullopt;
  deflate_run gap(std::min(gap_bytes, run_.text().memory_left()), run_.text().pool());
  const auto blocks = std::make_unique<deflate_blocks>();
  const deflate_data data{.bytes = std::span(ahead_).first(ahead_.size() - deflate_bits::padding), .offset = offset_};
  const bool reached = gap.begin_at_block(from, from, window) &&
                       gap.decode(*blocks, data, first.first_begin) == run_end::reached && gap.is_in_member() &&
                       gap.position() <= first.begin;
  // the last stretch continues with the first one of this part
  if (!reached || gap.stretches().empty() || gap.stretches().back().ends_member) return std::nullopt;
  return gap;
}

void deflate_part::prepend(deflate_run& gap) {
  deflate_stretch& first = run_.stretches().front();
  const deflate_stretch& joined = gap.stretches().back();
  first.first_begin = joined.first_begin;
  first.begin = joined.begin;
  first.text_bytes += joined.text_bytes;
  run_.stretches().insert(run_.stretches().begin(), gap.stretches().begin(), std::prev(gap.stretches().end()));
  run_.text().prepend(gap.text());
}

void deflate_part::finish() {
  ahead_ = {};
  std::optional<mark_table> marks;
  if (window_) marks.emplace(mark_window_);
  std::size_t begin = 0;
  for (deflate_stretch& stretch : run_.stretches()) {
    stretch.text_begin = begin;
    const bool has_marks = &stretch == &run_.stretches().front() && !is_resolved();
    if (!has_marks) stretch.crc = crc_of(run_.text(), begin, stretch.text_bytes, marks ? &*marks : nullptr);
    begin += stretch.text_bytes;
  }
}

std::vector<std::byte> deflate_part::end_window(std::span<const std::byte> window) const {
  return knows_end_ ? end_window_ : run_.text().last_window(window);
}

}  // namespace gpuhist::io
