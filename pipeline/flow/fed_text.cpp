#include "pipeline/flow/fed_text.hpp"

#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/text_divider.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// Below this size, copying costs less than a chunk of its own.
constexpr std::size_t min_lent_bytes = std::size_t{64} << 10U;

// Borrowed text is counted in chunks of this size, by several threads.
constexpr std::size_t borrowed_chunk_bytes = std::size_t{4} << 20U;

// Text that is observed is counted in pieces of this size, while they are in the cache.
constexpr std::size_t observed_bytes = std::size_t{256} << 10U;

std::string closed_text(const std::exception_ptr& cause) {
  const std::string text = "no more text is accepted: ";
  return cause ? text + "counting failed: " + failure_text(cause) : text + "the counter was finished or cancelled";
}

}  // namespace

feed_closed::feed_closed(const std::exception_ptr& cause) : std::runtime_error(closed_text(cause)) {}

// A chunk of borrowed text, which a thread of the pool counts. It deletes itself.
class fed_text::borrowed_chunk final : public text_lender, public async::work_item {
 public:
  borrowed_chunk(fed_text& owner, std::shared_ptr<const void> loan) : owner_(owner), loan_(std::move(loan)) {
    ++owner_.borrowed_chunks_;
  }
  borrowed_chunk(const borrowed_chunk&) = delete;
  borrowed_chunk& operator=(const borrowed_chunk&) = delete;
  virtual ~borrowed_chunk() { --owner_.borrowed_chunks_; }

  void set_chunk(slot& chunk) { chunk_ = &chunk; }

  void run() noexcept override {
    owner_.cutter_.submit(*chunk_);
    delete this;
  }

 private:
  void release(std::span<const std::byte> /*text*/) noexcept override {}  // by the destructor, after submit()

  fed_text& owner_;
  slot* chunk_ = nullptr;
  std::shared_ptr<const void> loan_;
};

fed_text::fed_text(const fed_run& run)
    : run_(run),
      stop_(run.stop.get_token()),
      divider_(run.counts.windows() != nullptr ? std::make_unique<window_divider>(run.counts) : nullptr),
      cutter_(run.slots, run.collected, divider_.get()) {}

void fed_text::throw_closed() const { throw feed_closed(run_.collected.loss_reason()); }

// With very short panes only a little text fits into a chunk, so that chunks are better shared.
bool fed_text::is_counted_in_place(std::size_t size) const {
  return size >= min_lent_bytes && cutter_.accepts_lent_text() && cutter_.max_lent_bytes() >= min_lent_bytes;
}

void fed_text::observe(const text_track& of, std::span<const std::byte> text) {
  if (!of.is_observed() || text.empty()) return;
  observe_by([&] { return of.observe(text); });
}

void fed_text::observe_by(const std::function<async::task<>()>& observing) {
  if (stop_.stop_requested()) throw_closed();
  try {
    async::run_here(observing());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    run_.failures.note(std::current_exception());
    throw_closed();
  }
}

void fed_text::put(text_track& to, std::span<const std::byte> text) {
  if (!to.is_observed()) return put_piece(to, text);
  while (!text.empty()) {
    const auto piece = text.first(std::min(text.size(), observed_bytes));
    observe(to, piece);
    put_piece(to, piece);
    text = text.subspan(piece.size());
  }
}

void fed_text::put_values(text_track& to, std::span<const text_value> values, std::vector<bool>& kept) {
  while (!values.empty()) {
    std::size_t number = 0;
    for (std::size_t bytes = 0; number < values.size() && bytes < observed_bytes; ++number) {
      bytes += bytes_of(values[number]).size();
    }
    std::span<const text_value> some = values.first(number);
    values = values.subspan(number);
    if (to.is_observed()) {
      observe_by([&] { return to.observe(some, kept); });
    } else {
      kept.insert(kept.end(), number, true);
    }
    while (!some.empty()) {
      const adjacent_values next = first_adjacent(some, some.size(), std::numeric_limits<std::size_t>::max());
      put_piece(to, next.text);
      some = some.subspan(next.number);
    }
  }
}

void fed_text::put_piece(text_track& to, std::span<const std::byte> text) {
  while (!text.empty()) {
    if (stop_.stop_requested()) throw_closed();
    const std::size_t taken =
        is_counted_in_place(text.size()) ? count_in_place(to.owner(), text) : copy_some(to.owner(), text);
    to.add(taken);
    text = text.subspan(taken);
  }
}

void fed_text::put_borrowed(text_track& to, std::span<const std::byte> text, const std::shared_ptr<const void>& loan) {
  if (!is_counted_in_place(text.size())) return put(to, text);
  const unsigned max_waiting = 2 * run_.plan.threads;
  while (!text.empty()) {
    if (stop_.stop_requested()) throw_closed();
    const auto piece =
        text.first(std::min<std::uint64_t>({text.size(), borrowed_chunk_bytes, cutter_.max_lent_bytes()}));
    observe(to, piece);
    auto job = std::make_unique<borrowed_chunk>(*this, loan);
    const auto [chunk, is_stored] = cut_lent(to.owner(), piece, *job);
    job->set_chunk(*chunk);
    if (borrowed_chunks_ > max_waiting) {
      job.release()->run();  // the pool is busy: this thread counts instead of waiting for it
    } else {
      run_.pool.post(*job.release());
    }
    if (!is_stored) throw text_lost();
    to.add(piece.size());
    text = text.subspan(piece.size());
  }
}

// With windows, text is divided in the order of the reservations, so it is copied while no other thread may reserve.
std::size_t fed_text::copy_some(const text_owner& owner, std::span<const std::byte> text) {
  std::unique_lock lock(reserving_);
  const std::optional<reservation> room = cutter_.reserve_blocking(text.size(), stop_);
  if (!room) throw_closed();
  held_reservation reserved(cutter_, *room);
  if (divider_ == nullptr) lock.unlock();
  const std::size_t size = reserved.bytes().size();
  std::copy_n(text.begin(), size, reserved.bytes().begin());
  reserved.commit(size, owner);
  return size;
}

std::size_t fed_text::count_in_place(const text_owner& owner, std::span<const std::byte> text) {
  const auto piece = text.first(std::min<std::uint64_t>(text.size(), cutter_.max_lent_bytes()));
  const auto [chunk, is_stored] = cut_lent(owner, piece, *this);
  cutter_.submit(*chunk);
  if (!is_stored) throw text_lost();
  return piece.size();
}

fed_text::lent_chunk fed_text::cut_lent(const text_owner& owner, std::span<const std::byte> text, text_lender& lender) {
  const std::scoped_lock lock(reserving_);
  slot* const fresh = run_.slots.acquire_blocking(stop_);
  if (fresh == nullptr) throw_closed();
  return {.chunk = fresh, .is_stored = cutter_.cut_whole(*fresh, text, owner, &lender)};
}

slot* fed_text::take_slot(input_id input) {
  if (divider_ != nullptr) return nullptr;
  const std::scoped_lock lock(lending_);
  if (2 * (lent_slots_ + 1) >= run_.slots.slots().size()) return nullptr;
  slot* const taken = run_.slots.try_acquire_for(std::uint64_t{input} + 1);
  if (taken != nullptr) ++lent_slots_;
  return taken;
}

void fed_text::return_slot(slot& taken) noexcept {
  const std::scoped_lock lock(lending_);
  --lent_slots_;
  run_.slots.release(taken);
}

void fed_text::put_slot(slot& taken, std::size_t filled, text_track& to) {
  if (filled == 0) return return_slot(taken);
  bool all_cores_fill = false;
  {
    const std::scoped_lock lock(lending_);
    all_cores_fill = lent_slots_ >= run_.plan.threads;
  }
  bool is_stored = false;
  {
    const std::scoped_lock lock(reserving_);
    is_stored = cutter_.cut_whole(taken, std::span<const std::byte>(taken.bytes).first(filled), to.owner());
  }
  taken.job.count_here = all_cores_fill;  // while the text is in the cache of this core
  cutter_.submit(taken);
  {
    // after the counting: a thread that counts its buffer keeps a core busy, as one that fills it
    const std::scoped_lock lock(lending_);
    --lent_slots_;
  }
  if (!is_stored) throw text_lost();
  to.add(filled);
}

}  // namespace gpuhist::pipeline
