#include "io/zstd/zstd_frame_text.hpp"

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpuhist::io {
namespace {

void put(std::vector<std::byte>& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFFU));
}

/// The descriptor of the smallest window that is at least as large.
std::byte window_descriptor(std::uint64_t bytes) {
  constexpr unsigned least_log = 10;
  for (unsigned log = least_log; log < 31; ++log) {
    for (unsigned eighths = 0; eighths < 8; ++eighths) {
      const std::uint64_t base = std::uint64_t{1} << log;
      if (base + base / 8 * eighths >= bytes) return static_cast<std::byte>((log - least_log) << 3U | eighths);
    }
  }
  return std::byte{(31 - least_log) << 3U};
}

/// A Huffman tree of two symbols, for frames that have none: they do not use it.
constexpr std::array<std::byte, 2> any_tree{std::byte{128}, std::byte{0x10}};

}  // namespace

struct zstd_frame_text::checksum_state {
  XXH64_state_t of_text;
};

zstd_frame_text::zstd_frame_text() : checksum_(std::make_unique<checksum_state>()) {}
zstd_frame_text::~zstd_frame_text() = default;

void zstd_frame_text::begin(const zstd_frame_header& frame) {
  frame_ = frame;
  window_.begin(std::min(frame.window_bytes, frame.content_bytes.value_or(frame.window_bytes)));
  offsets_ = zstd_first_offsets;
  known_.clear();
  text_bytes_ = 0;
  text_ = {};
  if (decoder_) decoder_->forget_all();
  XXH64_reset(&checksum_->of_text, 0);
}

void zstd_frame_text::free_memory() noexcept {
  window_.free_memory();
  decoder_ = nullptr;
  literals_ = nullptr;
  sequences_ = nullptr;
}

bool zstd_frame_text::fits(std::uint64_t bytes, bool is_last) const {
  const std::uint64_t after = text_bytes_ + bytes;
  return !frame_.content_bytes || (is_last ? after == *frame_.content_bytes : after <= *frame_.content_bytes);
}

zstd_frame_text::verdict zstd_frame_text::decode(std::span<const std::byte> content, bool is_last,
                                                 const zstd_ready_block* ready) {
  zstd_block_plan plan;
  if (ready != nullptr) {
    plan = ready->plan;
  } else {
    if (!decoder_) {
      literals_ = std::make_unique_for_overwrite<std::byte[]>(zstd_block_decoder::literal_room);
      sequences_ = std::make_unique_for_overwrite<zstd_sequence[]>(zstd_block_decoder::sequence_room);
      decoder_ = std::make_unique<zstd_block_decoder>();
    }
    const verdict is = decoder_->decode(content, known_, literals_.get(), sequences_.get(), plan);
    if (is != verdict::decoded) return is;
  }
  if (!fits(plan.text_bytes, is_last)) return verdict::damaged;
  const auto text = window_.execute(plan, offsets_);
  if (!text) return verdict::damaged;
  if (ready != nullptr && decoder_) decoder_->forget(plan.tables);
  known_.add(plan.tables);
  text_ = *text;
  text_bytes_ += text_.size();
  add_checksum(text_);
  return verdict::decoded;
}

void zstd_frame_text::repeat(std::byte byte, std::uint32_t count) {
  const auto room = window_.room().first(count);
  std::ranges::fill(room, byte);
  window_.add(count);
  text_ = room;
  text_bytes_ += count;
  add_checksum(text_);
}

void zstd_frame_text::copy(std::span<const std::byte> stored) {
  const auto room = window_.room().first(stored.size());
  std::ranges::copy(stored, room.begin());
  window_.add(stored.size());
  text_ = room;
  text_bytes_ += stored.size();
  add_checksum(text_);
}

void zstd_frame_text::add_checksum(std::span<const std::byte> text) {
  if (frame_.has_checksum) XXH64_update(&checksum_->of_text, text.data(), text.size());
}

std::uint32_t zstd_frame_text::checksum() const {
  return static_cast<std::uint32_t>(XXH64_digest(&checksum_->of_text));
}

// Magic number, ID, Huffman tree, distributions of offsets, match lengths and literal lengths, offsets, text (RFC 8878,
// 5).
std::optional<std::vector<std::byte>> zstd_frame_text::dictionary() const {
  using kind = zstd_description::kind;
  const zstd_descriptions known = known_.get();
  std::vector<std::byte> made;
  put(made, ZSTD_MAGIC_DICTIONARY, 4);
  put(made, 1, 4);
  const auto tree = known[0].is == kind::listed ? known[0].bytes : std::span<const std::byte>(any_tree);
  made.insert(made.end(), tree.begin(), tree.end());
  for (const zstd_code code : {zstd_code::offset, zstd_code::match_length, zstd_code::literal_length}) {
    const zstd_description& of = known[1 + static_cast<std::size_t>(code)];
    if (of.is == kind::single) return std::nullopt;
    const auto predefined = predefined_distribution(code);
    const auto listed = of.is == kind::listed ? of.bytes : std::span<const std::byte>(predefined);
    made.insert(made.end(), listed.begin(), listed.end());
  }
  const auto text = window_.text();
  const std::size_t size = text[0].size() + text[1].size() - 1;  // without the last byte
  for (const std::uint32_t each : offsets_) {
    if (each == 0 || each > size) return std::nullopt;
    put(made, each, 4);
  }
  made.insert(made.end(), text[0].begin(), text[0].end());
  made.insert(made.end(), text[1].begin(), text[1].end());
  made.pop_back();
  return made;
}

// After a compressed block, here one of one literal, libzstd decodes the next ones as without a dictionary.
std::optional<zstd_frame_text::resumption> zstd_frame_text::resume() const {
  constexpr std::uint64_t size_in_8_bytes = 3U << 6U;
  constexpr std::uint32_t block_bytes = 3;
  constexpr std::uint64_t compressed = 2;
  if (text_bytes_ == 0) return std::nullopt;
  auto found = dictionary();
  if (!found) return std::nullopt;
  resumption made{.dictionary = std::move(*found), .begin = {}};
  put(made.begin, ZSTD_MAGICNUMBER, 4);
  put(made.begin, frame_.content_bytes ? size_in_8_bytes : 0, 1);
  made.begin.push_back(window_descriptor(frame_.window_bytes));
  if (frame_.content_bytes) put(made.begin, *frame_.content_bytes - text_bytes_ + 1, 8);
  put(made.begin, compressed << 1U | block_bytes << 3U, zstd_block_header::bytes);
  put(made.begin, 1U << 3U, 1);
  const auto text = window_.text();
  made.begin.push_back(text[1].empty() ? text[0].back() : text[1].back());
  put(made.begin, 0, 1);
  return made;
}

}  // namespace gpuhist::io
