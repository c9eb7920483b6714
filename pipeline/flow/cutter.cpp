#include "pipeline/flow/cutter.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint32_t slices_at_the_edges = 2;  // the panes that begin before a text or end after it

// Extends the previous segment by the next one if both have one owner and pane and no gap between them.
bool try_join(segment& before, const segment& more) {
  if (before.owner != more.owner || before.pane != more.pane || before.extent.end != more.extent.begin) return false;
  before.extent.end = more.extent.end;
  return true;
}

}  // namespace

cutter::cutter(ring& slots, collector& counted, text_divider* divider)
    : ring_(slots),
      collector_(counted),
      id_(counted.add_cutter()),
      divider_(divider),
      min_slice_bytes_(divider != nullptr ? divider->min_slice_bytes() : 0) {}

async::task<reservation> cutter::reserve(std::uint64_t wanted) {
  std::optional<reservation> room;
  while (!(room = try_reserve(wanted))) {
    slot* fresh = co_await ring_.acquire();
    const std::scoped_lock lock(mutex_);
    begin(*fresh);  // no other slot was begun meanwhile: there is one caller at a time
  }
  co_return *room;
}

std::optional<reservation> cutter::reserve_blocking(std::uint64_t wanted, const std::stop_token& stop) {
  std::optional<reservation> room;
  while (!(room = try_reserve(wanted))) {
    slot* const fresh = ring_.acquire_blocking(stop);
    if (fresh == nullptr) break;
    const std::scoped_lock lock(mutex_);
    begin(*fresh);
  }
  return room;
}

std::optional<reservation> cutter::try_reserve(std::uint64_t wanted, std::uint64_t user) {
  const std::scoped_lock lock(mutex_);
  if (current_ != nullptr && is_full(*current_)) seal(*current_);
  if (current_ == nullptr) {
    slot* fresh = ring_.try_acquire_for(user);
    if (fresh == nullptr) return std::nullopt;
    begin(*fresh);
  }
  return reserve_in(*current_, wanted);
}

void cutter::begin(slot& fresh) {
  current_ = &fresh;
  fresh.cut_by = id_;
  fresh.sequence = next_sequence_++;
  fresh.room = static_cast<std::uint32_t>(std::min<std::size_t>(fresh.bytes.size(), chunking_.max_bytes));
  fresh.job.count_here = chunking_.count_here;
}

// A text of n bytes has at most n / min_slice_bytes_ + 2 slices.
bool cutter::is_full(const slot& filling) const {
  const std::size_t free_segments = filling.extents.size() - filling.segments.size() - filling.reserved_segments;
  return filling.used == filling.room || free_segments < (min_slice_bytes_ > 0 ? slices_at_the_edges + 1 : 1);
}

reservation cutter::reserve_in(slot& filling, std::uint64_t wanted) const {
  std::uint64_t max_bytes = filling.room - filling.used;
  if (min_slice_bytes_ > 0) {
    const std::uint64_t panes =
        filling.extents.size() - filling.segments.size() - filling.reserved_segments - slices_at_the_edges;
    if (max_bytes / panes >= min_slice_bytes_) max_bytes = panes * min_slice_bytes_;
  }
  const auto length = static_cast<std::uint32_t>(std::min(wanted, max_bytes));
  reservation room{.chunk = &filling, .begin = filling.used, .bytes = filling.bytes.subspan(filling.used, length)};
  if (min_slice_bytes_ > 0) room.segments = static_cast<std::uint32_t>(length / min_slice_bytes_ + slices_at_the_edges);
  filling.used += length;
  ++filling.outstanding;
  filling.reserved_segments += room.segments;
  return room;
}

void cutter::commit(const reservation& reserved, std::size_t filled, const text_owner& owner) {
  const std::scoped_lock lock(mutex_);
  slot& chunk = *reserved.chunk;
  const auto end = reserved.begin + static_cast<std::uint32_t>(filled);
  const bool was_last = reserved.begin + reserved.bytes.size() == chunk.used;
  if (was_last && !chunk.sealed) chunk.used = end;
  chunk.reserved_segments -= reserved.segments;
  const bool is_stored = filled == 0 || try_append(chunk, chunk.bytes.subspan(reserved.begin, filled),
                                                   {.owner = owner, .extent = {reserved.begin, end}});
  --chunk.outstanding;
  if (chunk.sealed) {
    if (chunk.outstanding == 0) collector_.submit(chunk);
  } else if (chunk.used == chunk.room) {
    seal(chunk);
  }
  if (!is_stored) throw text_lost();
}

std::uint64_t cutter::max_lent_bytes() const {
  constexpr std::uint64_t max_chunk_bytes = std::uint64_t{1} << 30U;  // rows have 32 bits
  if (min_slice_bytes_ == 0) return max_chunk_bytes;
  const std::uint64_t segments = ring_.slots().front().extents.size();
  return std::min(max_chunk_bytes, (segments - slices_at_the_edges) * min_slice_bytes_);
}

bool cutter::cut_whole(slot& fresh, std::span<const std::byte> text, const text_owner& owner, text_lender* lender) {
  const std::scoped_lock lock(mutex_);
  if (current_ != nullptr) seal(*current_);
  begin(fresh);
  current_ = nullptr;
  if (lender != nullptr) fresh.lent = text;
  fresh.lender = lender;
  fresh.used = static_cast<std::uint32_t>(text.size());
  fresh.sealed = true;
  return try_append(fresh, text, {.owner = owner, .extent = {0, fresh.used}});
}

void cutter::give_back(const reservation& reserved) noexcept { commit(reserved, 0, {}); }

// False: there is no memory for a segment. Text without one is a gap.
bool cutter::try_append(slot& to, std::span<const std::byte> text, const segment& more) {
  try {
    append_panes(to, text, more);
    return true;
  } catch (...) {
    return false;
  }
}

void cutter::append_panes(slot& to, std::span<const std::byte> text, const segment& more) {
  if (divider_ == nullptr) return append(to, more);
  slices_.clear();
  divider_->divide(text, more.owner, slices_);
  std::uint32_t begin = more.extent.begin;
  for (const pane_slice& each : slices_) {
    const auto end = more.extent.begin + static_cast<std::uint32_t>(each.end);
    append(to, {.owner = more.owner, .extent = {begin, end}, .pane = each.pane});
    begin = end;
  }
}

// Segments are in the order of their bytes, in whatever order they are committed.
void cutter::append(slot& to, const segment& more) {
  const auto position = std::find_if(to.segments.rbegin(), to.segments.rend(), [&](const segment& each) {
                          return each.extent.begin < more.extent.begin;
                        }).base();
  if (position == to.segments.begin() || !try_join(*std::prev(position), more)) to.segments.insert(position, more);
}

bool cutter::verified_in_place(const text_owner& frame, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (current_ == nullptr) return false;
  std::vector<segment>& segments = current_->segments;
  std::size_t first = segments.size();
  std::uint64_t here = 0;
  while (first > 0 && segments[first - 1].owner == frame) here += segments[--first].extent.size();
  if (here != bytes || here == 0) return false;
  std::size_t kept = first;
  for (std::size_t i = first; i < segments.size(); ++i) {
    segment each = segments[i];
    each.owner.frame = 0;
    if (kept == 0 || !try_join(segments[kept - 1], each)) segments[kept++] = each;
  }
  segments.resize(kept);
  if (divider_ != nullptr) divider_->note_verified(frame);
  return true;
}

cut_mark cutter::flush() {
  const std::scoped_lock lock(mutex_);
  if (current_ != nullptr && current_->used > 0 && current_->outstanding == 0) seal(*current_);
  return {.cut_by = id_, .chunks = current_ != nullptr ? current_->sequence : next_sequence_};
}

cut_mark cutter::seal_all() {
  const std::scoped_lock lock(mutex_);
  if (current_ != nullptr) seal(*current_);
  return {.cut_by = id_, .chunks = next_sequence_};
}

// A slot with outstanding reservations is submitted when the last of them is committed.
void cutter::seal(slot& full) {
  full.sealed = true;
  current_ = nullptr;
  if (full.outstanding == 0) collector_.submit(full);
}

}  // namespace gpuhist::pipeline
