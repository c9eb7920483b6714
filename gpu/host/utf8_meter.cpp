#include "gpu/host/utf8_meter.hpp"

#include "gpu/host/utf8_automaton.hpp"
#include "gpu/host/utf8_blocks.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::gpu::host {
namespace {

// So many bytes are read twice, the second time for their newlines, from the first-level cache. The automaton's sums
// of 20 bits do not overflow in them.
constexpr std::size_t cached_bytes = std::size_t{16} << 10U;

constexpr std::size_t script_slots = 16;

constexpr auto names =
    std::to_array<std::string_view>({"common", "latin", "greek", "cyrillic", "hebrew", "arabic", "devanagari", "thai",
                                     "hangul", "kana", "han", "emoji", "other"});
static_assert(names.size() == script_count);

// Counts the scripts of the code points of an automaton.
class script_counter {
 public:
  explicit script_counter(std::uint32_t value) : value_(value) {}

  void add(std::uint8_t byte, std::uint8_t payload, const utf8::transition& taken) {
    value_ = ((value_ & taken.keep) << 6U) | (byte & payload);
    const std::size_t complete = taken.sums & utf8::one_code_point;
    ++slots_[complete * script_slots + static_cast<std::size_t>(script_of(value_))];
  }

  void add_to(utf8_counts& counts) const {
    for (std::size_t i = 0; i < script_count; ++i) counts.scripts[i] += slots_[script_slots + i];
  }

  [[nodiscard]] std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_;                                  // the bits of the sequence so far
  std::array<std::uint32_t, 2 * script_slots> slots_{};  // the first half: bytes that do not end a code point
};

// Counts no scripts.
struct no_script_counter {
  void add(std::uint8_t, std::uint8_t, const utf8::transition&) {}
  void add_to(utf8_counts&) const {}
  [[nodiscard]] static std::uint32_t value() { return 0; }
};

}  // namespace

std::span<const std::string_view, script_count> script_names() { return names; }

utf8_counts& utf8_counts::operator+=(const utf8_counts& more) {
  malformed += more.malformed;
  malformed_bytes += more.malformed_bytes;
  code_points += more.code_points;
  for (std::size_t i = 0; i < scripts.size(); ++i) scripts[i] += more.scripts[i];
  return *this;
}

// Continuation bytes at the beginning of later text. Another byte, or a fourth one, belongs to no sequence before it.
std::span<const std::byte> utf8_meter::set_lead_aside(std::span<const std::byte> text) {
  constexpr std::byte mask{0xc0};
  constexpr std::byte continuation{0x80};
  while (!text.empty() && lead_size_ < max_lead && (text.front() & mask) == continuation) {
    lead_[lead_size_++] = text.front();
    text = text.subspan(1);
  }
  sets_lead_aside_ = text.empty();
  return text;
}

void utf8_meter::follow(const utf8_meter& earlier) {
  utf8_meter joined = earlier;
  joined.feed(std::span(lead_).first(lead_size_));
  if (!sets_lead_aside_) {  // the text of this meter continues no sequence
    gap_after_lead_ ? joined.skip() : joined.end();
    joined.state_ = state_;
    joined.value_ = value_;
  }
  if (!joined.first_malformed_) {
    joined.lines_ += lines_;
    if (first_malformed_) joined.first_malformed_ = joined.offset_ + *first_malformed_;
  }
  joined.offset_ += offset_;
  joined.counts_ += counts_;
  *this = joined;
}

void utf8_meter::feed(std::span<const std::byte> text) {
  if (sets_lead_aside_) text = set_lead_aside(text);
  for (std::size_t from = 0; from < text.size(); from += cached_bytes) {
    const std::size_t size = std::min(cached_bytes, text.size() - from);
    const bool counts_lines = !first_malformed_;
    feed_cached(text.first(from + size), from);
    if (!counts_lines) continue;
    // a malformed sequence that began before has no '\n' from here on
    const std::uint64_t begin = offset_ + from;
    lines_ += count_newlines(text.subspan(from, first_malformed_ ? std::max(*first_malformed_, begin) - begin : size));
  }
  offset_ += text.size();
}

// Counts `text` after `from`. Blocks with a malformed sequence are left to the automaton, and so are bytes before the
// first sequence and after the last block.
void utf8_meter::feed_cached(std::span<const std::byte> text, std::size_t from) {
  std::size_t blocks_from = std::max(from, utf8_bytes_before);
  while (from < text.size()) {
    from = step(text, from, blocks_from);
    if (from == text.size()) break;
    from = count_utf8_blocks(text, from, detail_, counts_);
    blocks_from = from + utf8_block;
  }
}

void utf8_meter::skip() {
  if (std::exchange(sets_lead_aside_, false)) gap_after_lead_ = true;
  state_ = utf8::start;
}

void utf8_meter::end() {
  if (state_ == utf8::start) return;
  const std::uint64_t bytes = utf8::bytes_read(state_);
  found_malformed(offset_ - bytes);
  ++counts_.malformed;
  counts_.malformed_bytes += bytes;
  state_ = utf8::start;
}

std::optional<std::uint64_t> utf8_meter::first_malformed_line() const {
  if (!first_malformed_) return std::nullopt;
  return lines_ + 1;
}

std::size_t utf8_meter::step(std::span<const std::byte> text, std::size_t from, std::size_t to) {
  if (detail_ == utf8_detail::scripts) return step_through(text, from, to, script_counter(value_));
  return step_through(text, from, to, no_script_counter());
}

// Runs the automaton from `from` to `to` and on to the end of a sequence, or to the end of the text. Returns where it
// stopped. No branch depends on the text, except for the first malformed sequence and the last bytes.
template <class ScriptCounter>
std::size_t utf8_meter::step_through(std::span<const std::byte> text, std::size_t from, std::size_t to,
                                     ScriptCounter scripts) {
  std::uint64_t sums = 0;
  std::uint8_t state = state_;
  bool found = first_malformed_.has_value();
  std::size_t i = from;
  for (to = std::min(to, text.size()); i < to || (state != utf8::start && i < text.size()); ++i) {
    const auto byte = std::to_integer<std::uint8_t>(text[i]);
    const utf8::automaton::byte_entry entry = utf8::table.bytes[byte];
    const std::size_t edge = state + std::size_t{entry.of};
    const utf8::transition& taken = utf8::table.transitions[edge];
    if (!found && (taken.sums & ~utf8::sum_mask) != 0) {
      found = true;
      found_malformed(offset_ + i - utf8::bytes_read(state));
    }
    sums += taken.sums;
    state = utf8::table.next[edge];
    scripts.add(byte, entry.payload, taken);
  }
  state_ = state;
  value_ = scripts.value();
  scripts.add_to(counts_);
  counts_.code_points += sums & utf8::sum_mask;
  counts_.malformed += (sums >> utf8::malformed_shift) & utf8::sum_mask;
  counts_.malformed_bytes += sums >> utf8::malformed_bytes_shift;
  return i;
}

void utf8_meter::found_malformed(std::uint64_t offset) {
  if (!first_malformed_) first_malformed_ = offset;
}

}  // namespace gpuhist::gpu::host
