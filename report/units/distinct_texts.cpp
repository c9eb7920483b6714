#include "report/units/distinct_texts.hpp"

#include "report/units/sorted_runs.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t runs_of_tier = 8;
constexpr std::size_t texts_of_block = 512;
constexpr std::size_t texts_of_buffer = 8 * texts_of_block;
constexpr std::size_t fewest_text_slots = 1024;
constexpr std::uint64_t is_empty = ~std::uint64_t{0};  // text_hash::bytes of a slot: no text has so many

text_hash hash_from(const XXH128_hash_t& found, std::uint64_t bytes) {
  return {.high = found.high64, .low = found.low64, .bytes = bytes};
}

}  // namespace

text_hash text_hash::of(std::span<const std::byte> text) {
  return hash_from(XXH3_128bits(text.data(), text.size()), text.size());
}

struct text_hasher::state {
  XXH3_state_t of{};
};

text_hasher::text_hasher() : state_(std::make_unique<state>()) { XXH3_128bits_reset(&state_->of); }
text_hasher::text_hasher(text_hasher&&) noexcept = default;
text_hasher& text_hasher::operator=(text_hasher&&) noexcept = default;
text_hasher::~text_hasher() = default;

void text_hasher::add(std::span<const std::byte> piece) {
  XXH3_128bits_update(&state_->of, piece.data(), piece.size());
  bytes_ += piece.size();
}

text_hash text_hasher::take() {
  const text_hash made = hash_from(XXH3_128bits_digest(&state_->of), std::exchange(bytes_, 0));
  XXH3_128bits_reset(&state_->of);
  return made;
}

// Writes a run, whose texts come in ascending order.
class distinct_texts::run_writer {
 public:
  run_writer(const pipeline::spill_folder& folder, unsigned tier) {
    constexpr std::size_t in_memory = std::size_t{64} << 10U;
    made_.file = std::make_shared<pipeline::spilled_bytes>(in_memory, folder);
    made_.tier = tier;
  }

  void add(std::span<const text_hash> texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if ((made_.texts + i) % texts_of_block == 0) made_.first_of_block.push_back(texts[i].high);
    }
    made_.texts += texts.size();
    append_records(*made_.file, texts);
  }

  [[nodiscard]] run take() { return std::move(made_); }

 private:
  run made_;
};

bool distinct_texts::add_next(const text_hash& text) {
  all_ += {.texts = 1, .bytes = text.bytes};
  if (!runs_.empty() && is_spilled(text)) return true;
  return !insert(text);
}

void distinct_texts::add(std::span<const text_hash> texts) {
  for (const text_hash& each : texts) all_ += {.texts = 1, .bytes = each.bytes};
  add_counted({}, texts);
}

void distinct_texts::add(const distinct_texts& more) {
  all_ += more.all_;
  if (!more.runs_.empty()) return more.for_each([this](std::span<const text_hash> texts) { add_counted({}, texts); });
  // not in the order of the slots, which is that of this table, too: texts would crowd at one place of it
  constexpr std::size_t stride = 0x9e3779b1;  // odd, so that each slot is visited
  for (std::size_t i = 0; i < more.slots_.size(); ++i) {
    const text_hash& each = more.slots_[i * stride & (more.slots_.size() - 1)];
    if (each.bytes != is_empty) add_counted({}, {&each, 1});
  }
}

void distinct_texts::add_counted(const text_numbers& all, std::span<const text_hash> different) {
  are_looked_up_ = false;
  all_ += all;
  for (const text_hash& each : different) insert(each);
}

text_numbers distinct_texts::distinct() const {
  text_numbers made = in_table_;
  if (are_looked_up_ || runs_.empty()) return made += in_runs_;
  made = {};
  for_each([&](std::span<const text_hash> texts) {
    for (const text_hash& each : texts) made += {.texts = 1, .bytes = each.bytes};
  });
  return made;
}

void distinct_texts::for_each(const std::function<void(std::span<const text_hash>)>& use) const {
  merged_runs<text_hash> all;
  for (const run& each : runs_) all.add(*each.file, 0, each.texts);
  all.add(sorted_table());
  all.for_each_block(use);
}

// Returns whether it is new in the table.
bool distinct_texts::insert(const text_hash& text) {
  if (slots_.empty()) grow();
  text_hash* slot = &slot_of(text);
  if (*slot == text) return false;
  if ((in_table_.texts + 1) * 8 > slots_.size() * 7) {
    may_grow() ? grow() : spill();
    slot = &slot_of(text);
  }
  *slot = text;
  in_table_ += {.texts = 1, .bytes = text.bytes};
  return true;
}

// Of the text, or an empty one. Precondition: there is one.
text_hash& distinct_texts::slot_of(const text_hash& text) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = text.low & mask;
  while (slots_[at].bytes != is_empty && slots_[at] != text) at = (at + 1) & mask;
  return slots_[at];
}

bool distinct_texts::may_grow() const { return 2 * slots_.size() <= allowed_.in_memory / sizeof(text_hash); }

void distinct_texts::grow() {
  const std::size_t wanted = std::max(fewest_text_slots, 2 * slots_.size());
  const std::vector<text_hash> smaller = std::exchange(slots_, std::vector(wanted, text_hash{.bytes = is_empty}));
  for (const text_hash& each : smaller) {
    if (each.bytes != is_empty) slot_of(each) = each;
  }
}

std::vector<text_hash> distinct_texts::sorted_table() const {
  std::vector<text_hash> made;
  made.reserve(in_table_.texts);
  std::ranges::copy_if(slots_, std::back_inserter(made), [](const text_hash& each) { return each.bytes != is_empty; });
  std::ranges::sort(made);
  return made;
}

// The table is sorted in place.
void distinct_texts::spill() {
  const auto end =
      std::remove_if(slots_.begin(), slots_.end(), [](const auto& each) { return each.bytes == is_empty; });
  std::sort(slots_.begin(), end);
  const std::span<const text_hash> texts(slots_.begin(), end);
  run_writer out(allowed_.spilled_to, 0);
  for (std::size_t at = 0; at < texts.size(); at += texts_of_buffer) {
    out.add(texts.subspan(at, std::min(texts_of_buffer, texts.size() - at)));
  }
  if (are_looked_up_) {
    if (filter_.empty())
      filter_.resize(std::max<std::size_t>(1, std::bit_floor(allowed_.in_memory / sizeof(std::uint64_t))));
    for (const text_hash& each : texts) note_spilled(each);
  }
  runs_.push_back(out.take());
  in_runs_ += std::exchange(in_table_, {});
  std::ranges::fill(slots_, text_hash{.bytes = is_empty});
  join_runs();
}

// The last runs, if there are enough of one tier.
void distinct_texts::join_runs() {
  while (runs_.size() >= runs_of_tier && runs_[runs_.size() - runs_of_tier].tier == runs_.back().tier) {
    const std::span<const run> last = std::span(runs_).last(runs_of_tier);
    run_writer out(allowed_.spilled_to, last.back().tier + 1);
    merged_runs<text_hash> all;
    for (const run& each : last) all.add(*each.file, 0, each.texts);
    all.for_each_block([&](std::span<const text_hash> texts) { out.add(texts); });
    runs_.resize(runs_.size() - runs_of_tier);
    runs_.push_back(out.take());
  }
}

bool distinct_texts::is_spilled(const text_hash& text) const {
  if (!filter_.empty()) {
    const auto [word, bits] = filter_bits(text);
    if ((filter_[word] & bits) != bits) return false;
  }
  return std::ranges::any_of(runs_, [&](const run& each) {
    const auto& blocks = each.first_of_block;
    auto block = static_cast<std::size_t>(std::ranges::lower_bound(blocks, text.high) - blocks.begin());
    if (block > 0) --block;
    for (; block < blocks.size() && blocks[block] <= text.high; ++block) {
      const std::vector<text_hash> texts =
          read_records<text_hash>(*each.file, block * texts_of_block * sizeof(text_hash), texts_of_block);
      if (std::ranges::any_of(texts, [&](const text_hash& found) { return found == text; })) return true;
    }
    return false;
  });
}

void distinct_texts::note_spilled(const text_hash& text) {
  const auto [word, bits] = filter_bits(text);
  filter_[word] |= bits;
}

// A word, and four of its bits.
std::pair<std::size_t, std::uint64_t> distinct_texts::filter_bits(const text_hash& text) const {
  constexpr unsigned bits_of_position = 6;
  constexpr unsigned positions = 4;
  constexpr std::uint64_t mask = (std::uint64_t{1} << bits_of_position) - 1;
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < positions; ++i) bits |= std::uint64_t{1} << (text.high >> i * bits_of_position & mask);
  return {text.low & (filter_.size() - 1), bits};
}

}  // namespace gpuhist::report::units
