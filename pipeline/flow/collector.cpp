#include "pipeline/flow/collector.hpp"

#include "gpu/job_check.hpp"
#include "gpu/stage_range.hpp"
#include "pipeline/counts/input_report.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {

collector::collector(ring& slots, gpu::engine& engine, rolling_counts& counts, std::stop_source stop,
                     std::function<void()> merged)
    : ring_(slots), engine_(engine), counts_(counts), stop_(std::move(stop)), merged_(std::move(merged)) {
  for (slot& each : ring_.slots()) {
    each.job.on_complete = [this, &each](gpu::counting_job&, std::exception_ptr error) {
      answered(each, std::move(error));
    };
  }
  counts_.stop_on_failure(stop_);
}

cutter_id collector::add_cutter() {
  const std::scoped_lock lock(mutex_);
  orders_.push_back({.waiting = std::vector<answer>(ring_.slots().size())});
  return static_cast<cutter_id>(orders_.size() - 1);
}

void collector::submit(slot& sealed) noexcept {
  for (std::size_t i = 0; i < sealed.segments.size(); ++i) sealed.extents[i] = sealed.segments[i].extent;
  const std::size_t rows = sealed.segments.size() * engine_.layout().columns();
  sealed.job.bytes_are_lent = !sealed.lent.empty();
  sealed.job.bytes = sealed.job.bytes_are_lent ? sealed.lent : sealed.bytes.first(sealed.used);
  sealed.job.extents = sealed.extents.first(sealed.segments.size());
  sealed.job.rows = sealed.rows.first(rows);
  ring_.begin_counting(sealed);
  {
    const std::scoped_lock lock(mutex_);
    ++submitted_;
  }
  if (sealed.segments.empty()) return answered(sealed, nullptr);  // only gaps
  try {
    engine_.submit(sealed.job);
  } catch (...) {
    answered(sealed, std::current_exception());  // the engine has not taken it
  }
}

std::exception_ptr collector::miscount_of(const slot& chunk) const {
  try {
    gpu::check_rows(chunk.job, engine_.layout(), engine_.name());
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void collector::answered(slot& chunk, std::exception_ptr error) noexcept {
  if (!error) error = miscount_of(chunk);
  if (text_lender* const lender = std::exchange(chunk.lender, nullptr)) {
    lender->release(std::exchange(chunk.lent, {}));  // before the merge, which may wait for earlier chunks
  }
  {
    const std::scoped_lock lock(mutex_);
    ++answering_;
    cutter_order& order = orders_[chunk.cut_by];
    order.waiting[chunk.sequence % order.waiting.size()] = {&chunk, std::move(error)};
    merge_in_order(order);
  }
  notify_merged();
}

void collector::notify_merged() noexcept {
  std::exception_ptr failure;
  try {
    merged_();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) stop_.request_stop();
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  --answering_;
  if (last_was_submitted_ && is_settled()) settled_.set();
}

void collector::merge_decoded(const segment& text, std::span<const std::uint32_t> row) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    ++answering_;
  }
  const gpu::stage_range range("merge");
  if (merged_segments merged = counts_.merge({&text, 1}, row); merged.failure) {
    const std::scoped_lock lock(mutex_);
    note_first_loss({&text, 1}, std::move(merged.failure));
  }
  notify_merged();
}

async::task<> collector::merge_panes(std::span<const segment> text, std::span<const std::uint32_t> rows) {
  waiting_panes waiting{.text = text, .rows = rows};
  bool merged = false;
  {
    const std::scoped_lock lock(mutex_);
    panes_.push_back(&waiting);
    merged = merge_waiting_panes();
    if (merged) ++answering_;
  }
  if (merged) notify_merged();
  co_await waiting.merged.wait();
}

// Under the lock.
bool collector::merge_waiting_panes() noexcept {
  bool any = false;
  for (; !panes_.empty() && !counts_.is_backed_up(); any = true) {
    waiting_panes& next = *panes_.front();
    panes_.pop_front();
    merge_now(next.text, next.rows);
    next.merged.set();
  }
  return any;
}

// Under the lock.
void collector::merge_now(std::span<const segment> text, std::span<const std::uint32_t> rows) noexcept {
  const gpu::stage_range range("merge");
  merged_segments merged = counts_.merge(text, rows);
  if (merged.failure) note_first_loss(text.subspan(merged.segments), std::move(merged.failure));
}

void collector::resume() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t before = merged_chunks_;
    for (cutter_order& each : orders_) merge_in_order(each);
    const bool any_panes = merge_waiting_panes();
    if (merged_chunks_ == before && !any_panes) return;
    ++answering_;
  }
  notify_merged();
}

bool collector::is_settled() const { return merged_chunks_ == submitted_ && answering_ == 0; }

// Under the lock, which keeps the order. A merge is short: one row per segment.
void collector::merge_in_order(cutter_order& order) noexcept {
  const gpu::stage_range range("merge");
  for (;;) {
    answer& head = order.waiting[order.next % order.waiting.size()];
    if (head.chunk == nullptr || head.chunk->sequence != order.next || counts_.is_backed_up()) return;
    slot& chunk = *std::exchange(head.chunk, nullptr);
    std::exception_ptr error = std::exchange(head.error, nullptr);
    if (error && !order.lost) note_loss(order, chunk.segments, std::move(error));
    merge_or_drop(order, chunk.segments, chunk.job.rows);
    ++order.next;
    ++merged_chunks_;
    ring_.release(chunk);
  }
}

// A chunk that cannot be merged is lost, as one that cannot be counted.
void collector::merge_or_drop(cutter_order& order, std::span<const segment> segments,
                              std::span<const std::uint32_t> rows) {
  if (!order.lost) {
    merged_segments merged = counts_.merge(segments, rows);
    if (!merged.failure) return;
    segments = segments.subspan(merged.segments);
    note_loss(order, segments, std::move(merged.failure));
  }
  if (!on_continued_loss_) return;
  try {
    counts_.drop(segments, failure_text(lost_->reason));
  } catch (...) {
    return;  // the loss is noted, and inputs whose text is neither merged nor dropped are incomplete
  }
}

// Precondition: the first of these segments is the first that was not merged.
void collector::note_loss(cutter_order& order, std::span<const segment> segments, std::exception_ptr reason) noexcept {
  order.lost = true;
  note_first_loss(segments, std::move(reason));
}

void collector::note_first_loss(std::span<const segment> segments, std::exception_ptr reason) noexcept {
  const bool is_first = !lost_;
  if (is_first) {
    lost_ = {.input = segments.empty() ? 0 : segments.front().owner.input, .reason = std::move(reason)};
  }
  if (!on_continued_loss_) {
    stop_.request_stop();
  } else if (is_first) {
    try {
      on_continued_loss_();
    } catch (...) {
      return;  // the result of the run reports the loss as well
    }
  }
}

void collector::note_last_submitted() noexcept {
  const std::scoped_lock lock(mutex_);
  last_was_submitted_ = true;
  if (is_settled()) settled_.set();
}

std::uint64_t collector::merged_chunks() const {
  const std::scoped_lock lock(mutex_);
  return merged_chunks_;
}

bool collector::has_merged(std::span<const cut_mark> marks) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::all_of(marks, [this](const cut_mark& each) { return orders_[each.cut_by].next >= each.chunks; });
}

std::exception_ptr collector::loss_reason() const {
  const std::scoped_lock lock(mutex_);
  return lost_ ? lost_->reason : nullptr;
}

std::exception_ptr collector::failure() const {
  if (std::exception_ptr of_counts = counts_.failure()) return of_counts;
  const std::scoped_lock lock(mutex_);
  return failure_;
}

std::optional<lost_chunk> collector::lost() const {
  const std::scoped_lock lock(mutex_);
  if (!lost_) return std::nullopt;
  return lost_chunk{.input = lost_->input, .offset = counts_.merged_bytes(lost_->input), .reason = lost_->reason};
}

}  // namespace gpuhist::pipeline
