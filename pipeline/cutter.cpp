#include "pipeline/cutter.hpp"

#include <algorithm>
#include <iterator>

namespace gpuhist::pipeline {

cutter::cutter(ring& slots, collector& counted) : ring_(slots), collector_(counted), id_(counted.add_cutter()) {}

boost::asio::awaitable<place> cutter::reserve(std::uint64_t wanted) {
  std::optional<place> room;
  while (!(room = try_reserve(wanted))) {
    slot* fresh = co_await ring_.acquire();
    const std::scoped_lock lock(mutex_);
    begin(*fresh);  // nobody else did: there is one caller at a time
  }
  co_return *room;
}

std::optional<place> cutter::try_reserve(std::uint64_t wanted) {
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
  fresh.room = static_cast<std::uint32_t>(std::min<std::size_t>(fresh.bytes.size(), how_.most));
  fresh.job.count_here = how_.count_here;
}

bool cutter::is_full(const slot& it) {
  return it.used == it.room || it.segments.size() + it.outstanding == it.extents.size();
}

place cutter::hand_out(slot& in, std::uint64_t wanted) {
  const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, in.room - in.used));
  const place room{.in = &in, .begin = in.used, .bytes = in.bytes.subspan(in.used, length)};
  in.used += length;
  ++in.outstanding;
  return room;
}

void cutter::commit(const place& where, std::size_t filled, const text_owner& owner) {
  const std::scoped_lock lock(mutex_);
  slot& in = *where.in;
  const auto end = where.begin + static_cast<std::uint32_t>(filled);
  const bool was_last = where.begin + where.bytes.size() == in.used;
  if (was_last && !in.sealed) in.used = end;
  if (filled > 0) append(in, {.owner = owner, .where = {where.begin, end}});
  --in.outstanding;
  if (in.sealed) {
    if (in.outstanding == 0) collector_.submit(in);
  } else if (in.used == in.room) {
    seal(in);
  }
}

// Segments are in the order of their bytes, whichever was committed first.
void cutter::append(slot& to, const segment& more) {
  const auto behind = std::find_if(to.segments.rbegin(), to.segments.rend(), [&](const segment& each) {
                        return each.where.begin < more.where.begin;
                      }).base();
  if (behind != to.segments.begin()) {
    segment& before = *std::prev(behind);
    if (before.owner == more.owner && before.where.end == more.where.begin) {
      before.where.end = more.where.end;
      return;
    }
  }
  to.segments.insert(behind, more);
}

bool cutter::verified_in_place(const text_owner& frame, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (current_ == nullptr || current_->segments.empty()) return false;
  segment last = current_->segments.back();
  if (last.owner != frame || last.where.size() != bytes) return false;
  current_->segments.pop_back();
  last.owner.frame = 0;
  append(*current_, last);
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
