#include "pipeline/flow/cutter.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint32_t parts_at_the_edges = 2;  // of a text: of panes that began before it, or end behind it

// Whether a segment is the rest of the one before it, which has it then.
bool joined(segment& before, const segment& more) {
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
      min_part_bytes_(divider != nullptr ? divider->min_part_bytes() : 0) {}

async::task<reservation> cutter::reserve(std::uint64_t wanted) {
  std::optional<reservation> room;
  while (!(room = try_reserve(wanted))) {
    slot* fresh = co_await ring_.acquire();
    const std::scoped_lock lock(mutex_);
    begin(*fresh);  // nobody else did: there is one caller at a time
  }
  co_return *room;
}

std::optional<reservation> cutter::try_reserve(std::uint64_t wanted) {
  const std::scoped_lock lock(mutex_);
  if (current_ != nullptr && is_full(*current_)) seal(*current_);
  if (current_ == nullptr) {
    slot* fresh = ring_.try_acquire();
    if (fresh == nullptr) return std::nullopt;
    begin(*fresh);
  }
  return hand_out(*current_, wanted);
}

void cutter::begin(slot& fresh) {
  current_ = &fresh;
  fresh.cut_by = id_;
  fresh.sequence = next_sequence_++;
  fresh.room = static_cast<std::uint32_t>(std::min<std::size_t>(fresh.bytes.size(), chunking_.max_bytes));
  fresh.job.count_here = chunking_.count_here;
}

// A text of n bytes has parts in n / least + 2 panes at the most.
bool cutter::is_full(const slot& it) const {
  const std::size_t left = it.extents.size() - it.segments.size() - it.promised;
  return it.used == it.room || left < (min_part_bytes_ > 0 ? parts_at_the_edges + 1 : 1);
}

reservation cutter::hand_out(slot& in, std::uint64_t wanted) const {
  std::uint64_t most = in.room - in.used;
  if (min_part_bytes_ > 0) {
    const std::uint64_t panes = in.extents.size() - in.segments.size() - in.promised - parts_at_the_edges;
    if (most / panes >= min_part_bytes_) most = panes * min_part_bytes_;
  }
  const auto length = static_cast<std::uint32_t>(std::min(wanted, most));
  reservation room{.in = &in, .begin = in.used, .bytes = in.bytes.subspan(in.used, length)};
  if (min_part_bytes_ > 0) room.segments = static_cast<std::uint32_t>(length / min_part_bytes_ + parts_at_the_edges);
  in.used += length;
  ++in.outstanding;
  in.promised += room.segments;
  return room;
}

void cutter::commit(const reservation& where, std::size_t filled, const text_owner& owner) {
  const std::scoped_lock lock(mutex_);
  slot& in = *where.in;
  const auto end = where.begin + static_cast<std::uint32_t>(filled);
  const bool was_last = where.begin + where.bytes.size() == in.used;
  if (was_last && !in.sealed) in.used = end;
  in.promised -= where.segments;
  bool is_lost = false;
  try {
    if (filled > 0) append_panes(in, {.owner = owner, .extent = {where.begin, end}});
  } catch (...) {
    is_lost = true;  // what was not kept of it is a gap
  }
  --in.outstanding;
  if (in.sealed) {
    if (in.outstanding == 0) collector_.submit(in);
  } else if (in.used == in.room) {
    seal(in);
  }
  if (is_lost) throw text_lost();
}

void cutter::give_back(const reservation& where) noexcept { commit(where, 0, {}); }

void cutter::append_panes(slot& to, const segment& more) {
  if (divider_ == nullptr) return append(to, more);
  parts_.clear();
  divider_->divide(to.bytes.subspan(more.extent.begin, more.extent.size()), more.owner, parts_);
  std::uint32_t begin = more.extent.begin;
  for (const pane_part& each : parts_) {
    const auto end = more.extent.begin + static_cast<std::uint32_t>(each.end);
    append(to, {.owner = more.owner, .extent = {begin, end}, .pane = each.pane});
    begin = end;
  }
}

// Segments are in the order of their bytes, whichever was committed first.
void cutter::append(slot& to, const segment& more) {
  const auto behind = std::find_if(to.segments.rbegin(), to.segments.rend(), [&](const segment& each) {
                        return each.extent.begin < more.extent.begin;
                      }).base();
  if (behind == to.segments.begin() || !joined(*std::prev(behind), more)) to.segments.insert(behind, more);
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
    if (kept == 0 || !joined(segments[kept - 1], each)) segments[kept++] = each;
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

// A slot that is still being filled is submitted by the commit of its last place.
void cutter::seal(slot& full) {
  full.sealed = true;
  current_ = nullptr;
  if (full.outstanding == 0) collector_.submit(full);
}

}  // namespace gpuhist::pipeline
