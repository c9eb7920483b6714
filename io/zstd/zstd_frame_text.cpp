#include "io/zstd/zstd_frame_text.hpp"

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

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
  constexpr std::size_t beyond = 64;
  constexpr std::size_t two_blocks = 2 * std::size_t{zstd_block_header::max_size};
  ring_bytes_ = static_cast<std::size_t>(frame.window_bytes) + two_blocks + beyond;
  ring_at_ = turn_ = 0;
  text_ = {};
  if (decoder_) decoder_->forget_all();
  XXH64_reset(&checksum_->of_text, 0);
}

void zstd_frame_text::free_memory() noexcept {
  window_.free_memory();
  decoder_ = nullptr;
  plan_ = nullptr;
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
      plan_ = std::make_unique_for_overwrite<std::byte[]>(zstd_block_decoder::room_bytes);
      decoder_ = std::make_unique<zstd_block_decoder>();
    }
    const verdict is = decoder_->decode(content, known_, plan_.get(), plan);
    if (is != verdict::decoded) return is;
  }
  if (!fits(plan.text_bytes, is_last)) return verdict::damaged;
  const auto text = window_.execute(plan, offsets_);
  if (!text) return verdict::damaged;
  if (ready != nullptr && decoder_) decoder_->forget(plan.tables);
  known_.add(plan.tables);
  add(*text);
  return verdict::decoded;
}

void zstd_frame_text::repeat(std::byte byte, std::uint32_t count) {
  const auto room = window_.room().first(count);
  std::ranges::fill(room, byte);
  window_.add(count);
  add(room);
}

void zstd_frame_text::copy(std::span<const std::byte> stored) {
  const auto room = window_.room().first(stored.size());
  std::ranges::copy(stored, room.begin());
  window_.add(stored.size());
  add(room);
}

void zstd_frame_text::add(std::span<const std::byte> text) {
  text_ = text;
  text_bytes_ += text.size();
  add_checksum(text);
  ring_at_ += text.size();
  const bool holds_all = frame_.content_bytes && ring_bytes_ >= *frame_.content_bytes;
  if (holds_all || text.empty() || ring_at_ + zstd_block_header::max_size <= ring_bytes_) return;
  turn_ = std::exchange(ring_at_, 0);
}

void zstd_frame_text::add_foreign(std::span<const std::byte> text) {
  text_bytes_ += text.size();
  add_checksum(text);
}

void zstd_frame_text::add_checksum(std::span<const std::byte> text) {
  if (frame_.has_checksum) XXH64_update(&checksum_->of_text, text.data(), text.size());
}

std::uint32_t zstd_frame_text::checksum() const {
  return static_cast<std::uint32_t>(XXH64_digest(&checksum_->of_text));
}

// Magic number, ID, Huffman tree, distributions of offsets, match lengths and literal lengths, offsets (RFC 8878, 5).
std::vector<std::byte> zstd_frame_text::tables() const {
  using kind = zstd_description::kind;
  const zstd_descriptions known = known_.get();
  std::vector<std::byte> made;
  put(made, ZSTD_MAGIC_DICTIONARY, 4);
  put(made, 1, 4);
  const auto tree = known[0].is == kind::listed ? known[0].bytes : std::span<const std::byte>(any_tree);
  made.insert(made.end(), tree.begin(), tree.end());
  for (const zstd_code code : {zstd_code::offset, zstd_code::match_length, zstd_code::literal_length}) {
    const auto listed = listed_distribution(code, known[1 + static_cast<std::size_t>(code)]);
    made.insert(made.end(), listed.begin(), listed.end());
  }
  for (const std::uint32_t each : offsets_) put(made, each, 4);
  return made;
}

/// `count` bytes of text, from `from` bytes ago on; zeros for text that is not kept.
void zstd_frame_text::put_text(std::vector<std::byte>& to, std::size_t from, std::size_t count) const {
  const auto text = window_.text();
  const std::size_t kept = text[0].size() + text[1].size();
  for (; count != 0 && from > kept; --from, --count) to.push_back(std::byte{0});
  std::size_t skipped = kept - from;
  for (const auto& each : text) {
    const std::size_t here = std::min(skipped, each.size());
    const auto taken = each.subspan(here, std::min(count, each.size() - here));
    to.insert(to.end(), taken.begin(), taken.end());
    skipped -= here;
    count -= taken.size();
  }
}

bool zstd_frame_text::may_resume(std::span<const std::byte> content) const {
  using kind = zstd_description::kind;
  const auto is_exact = [](const zstd_description& each) {
    return each.is == kind::listed || each.is == kind::predefined;
  };
  constexpr std::byte type{3};
  constexpr std::byte with_tree{2};
  const zstd_descriptions known = known_.get();
  return has_turned() && (content.front() & type) == with_tree &&
         std::ranges::all_of(std::span(known).subspan(1), is_exact) &&
         std::ranges::all_of(offsets_, [this](std::uint32_t each) { return each != 0 && each <= frame_.window_bytes; });
}

// The dictionary is the text before the turn, with the tables in the place of the first bytes: so the text that libzstd
// takes for reachable, and the room in its buffer, are the same as without. After a compressed block, here an empty
// one, libzstd decodes the next ones as without a dictionary.
//
// Known differences, of which may_resume() excludes the first four:
//  - Without a turn, damaged matches may refer to the tables, up to some 100 bytes before the text that is reachable.
//  - Without a tree, damaged blocks may repeat any_tree. With one, libzstd decodes literals of blocks that repeat it by
//    two symbols at once, and finds some damage in their last bits not, which it would find by single symbols.
//  - Without sequences so far, damaged blocks may repeat the predefined tables.
//  - If a block repeats the table of one symbol, its states have 5 bits, and the block is damaged. libzstd writes none.
//  - Damaged matches may refer to text that is longer ago than the window, while it is in the buffer of libzstd. Here,
//    they get zeros, or a piece of the tables.
std::optional<zstd_frame_text::resumption> zstd_frame_text::resume() const {
  constexpr std::uint64_t size_in_8_bytes = 3U << 6U;
  constexpr std::array<std::byte, 6> empty_block{
      std::byte{2U << 1U | 3U << 3U}, std::byte{0}, std::byte{0}, std::byte{4}, std::byte{0}, std::byte{0}};
  resumption made{.dictionary = tables(), .text_bytes = has_turned() ? ring_at_ : 0};
  const std::size_t tables_bytes = has_turned() ? std::min(turn_, made.dictionary.size()) : 0;
  const std::size_t text =
      (has_turned() ? turn_ : static_cast<std::size_t>(std::min(text_bytes_, frame_.window_bytes))) - tables_bytes;
  if (std::ranges::any_of(offsets_, [text](std::uint32_t each) { return each == 0 || each > text; }))
    return std::nullopt;
  put_text(made.dictionary, made.text_bytes + text, text);
  put(made.begin, ZSTD_MAGICNUMBER, 4);
  // with its size, as a frame that has not turned, libzstd would use a smaller buffer
  const bool has_size = frame_.content_bytes && !has_turned();
  put(made.begin, has_size ? size_in_8_bytes : 0, 1);
  made.begin.push_back(window_descriptor(frame_.window_bytes));
  if (has_size) put(made.begin, *frame_.content_bytes - text_bytes_, 8);
  made.begin.insert(made.begin.end(), empty_block.begin(), empty_block.end());
  for (std::size_t left = made.text_bytes; left != 0;) {
    const std::size_t size = std::min<std::size_t>(left, zstd_block_header::max_size);
    put(made.begin, size << 3U, zstd_block_header::bytes);
    put_text(made.begin, left, size);
    left -= size;
  }
  return made;
}

}  // namespace gpuhist::io
