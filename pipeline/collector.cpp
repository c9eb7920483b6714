#include "pipeline/collector.hpp"

#include "gpu/job_check.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace gpuhist::pipeline {

collector::collector(ring& slots, gpu::engine& engine, rolling_counts& counts, std::stop_source stop,
                     const boost::asio::any_io_executor& executor, std::function<void()> merged)
    : ring_(slots),
      engine_(engine),
      counts_(counts),
      stop_(std::move(stop)),
      merged_(std::move(merged)),
      waiting_(slots.slots().size()),
      settled_(executor, 1) {
  for (slot& each : ring_.slots()) {
    each.job.done = [this, &each](gpu::counting_job&, std::exception_ptr error) { answered(each, std::move(error)); };
  }
}

void collector::submit(slot& sealed) {
  for (std::size_t i = 0; i < sealed.segments.size(); ++i) sealed.extents[i] = sealed.segments[i].where;
  const std::size_t rows = sealed.segments.size() * engine_.row_partition().classes;
  sealed.job.bytes = sealed.bytes.first(sealed.used);
  sealed.job.extents = sealed.extents.first(sealed.segments.size());
  sealed.job.rows = sealed.rows.first(rows);
  ring_.begin_counting(sealed);
  {
    const std::scoped_lock lock(mutex_);
    ++submitted_;
  }
  if (sealed.segments.empty()) {
    answered(sealed, nullptr);  // nothing but gaps
  } else {
    engine_.submit(sealed.job);
  }
}

std::exception_ptr collector::fault_of(const slot& chunk) const {
  try {
    gpu::check_rows(chunk.job, engine_.row_partition().classes, engine_.name());
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void collector::answered(slot& chunk, std::exception_ptr error) {
  if (!error) error = fault_of(chunk);
  {
    const std::scoped_lock lock(mutex_);
    ++answering_;
    waiting_[chunk.sequence % waiting_.size()] = {&chunk, std::move(error)};
    merge_in_order();
  }
  merged_();
  const std::scoped_lock lock(mutex_);
  --answering_;
  if (last_was_submitted_ && is_settled()) settled_.try_send(boost::system::error_code{});
}

bool collector::is_settled() const { return next_ == submitted_ && answering_ == 0; }

// Under the lock: the merge itself is short (a row a segment), and order is what the lock is for.
void collector::merge_in_order() {
  for (;;) {
    answer& head = waiting_[next_ % waiting_.size()];
    if (head.chunk == nullptr || head.chunk->sequence != next_) return;
    slot& chunk = *std::exchange(head.chunk, nullptr);
    std::exception_ptr error = std::exchange(head.error, nullptr);
    if (error && !lost_) note_loss(chunk, std::move(error));
    if (!lost_) counts_.merge(chunk.segments, chunk.job.rows);
    ++next_;
    ring_.release(chunk);
  }
}

void collector::note_loss(const slot& chunk, std::exception_ptr reason) {
  const input_id input = chunk.segments.empty() ? 0 : chunk.segments.front().input;
  lost_ = {.input = input, .offset = counts_.merged_bytes(input), .reason = std::move(reason)};
  stop_.request_stop();
}

boost::asio::awaitable<void> collector::settled() {
  {
    const std::scoped_lock lock(mutex_);
    last_was_submitted_ = true;
    if (is_settled()) co_return;
  }
  co_await settled_.async_receive(boost::asio::use_awaitable);
}

std::uint64_t collector::merged_chunks() const {
  const std::scoped_lock lock(mutex_);
  return next_;
}

std::optional<lost_chunk> collector::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

}  // namespace gpuhist::pipeline
