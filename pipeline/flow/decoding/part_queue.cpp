#include "pipeline/flow/decoding/part_queue.hpp"

#include "pipeline/flow/decoding/shared_work.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

// A part on its way through the queue.
struct part_entry {
  enum class phase {
    collecting,  // blocks are being added
    complete,    // waits for the bytes after it, or for memory
    queued,      // may be decoded
    decoding,
    decoded,  // may be linked, once all parts before it are
    linking,
    linked,  // may be finished
    finishing,
    finished,  // may be joined, once all parts before it are
    joining,
    ready,  // for the decoder
  };

  std::deque<block> blocks{};
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  phase now = phase::collecting;
  bool begins_frame = false;
  io::decode_start start{};  // with begins_frame
  async::semaphore::permit memory{};
  bool is_taken = false;       // its first block was taken
  std::vector<block> after{};  // look-ahead; released after decoding
  bool ends_input = false;     // `after` goes to the end of the input
  std::shared_ptr<io::decoded_part> part{};

  [[nodiscard]] bool is_linked() const { return now > phase::linking && (!part || part->is_linked()); }
};

using part_phase = part_entry::phase;

part_phase after(part_phase of) { return static_cast<part_phase>(static_cast<int>(of) + 1); }

using entry_pointer = std::shared_ptr<part_entry>;

}  // namespace

part_shares shares_of(const io::part_format& format, unsigned threads, std::uint64_t memory_bytes) {
  constexpr std::uint64_t most_part_bytes = std::uint64_t{64} << 20U;
  if (!format.make || threads < 2) return {};
  const std::uint64_t wanted = pieces_ahead(threads);
  // up to half as many inputs as threads are decoded in parts at the same time
  const std::uint64_t shared = std::uint64_t{format.shared_bytes} * std::max(threads / 2, 1U);
  memory_bytes -=
      std::min(memory_bytes, std::max<std::uint64_t>(format.shared_bytes, std::min(shared, memory_bytes / 4)));
  // a part that is complete waits with its look-ahead, and one is being collected
  const std::uint64_t waiting =
      format.part_bytes == part_queue::any_size ? 0 : 2 * (std::uint64_t{format.part_bytes} + format.look_ahead_bytes);
  memory_bytes -= std::min(memory_bytes, waiting);
  const std::uint64_t of_part = std::clamp<std::uint64_t>(
      memory_bytes / wanted, format.memory_bytes, std::max<std::uint64_t>(most_part_bytes, format.memory_bytes));
  const std::uint64_t parts = std::min(wanted, memory_bytes / of_part);
  if (parts < 2) return {};
  return {.parts = parts, .bytes = of_part};
}

class part_queue::state final : public shared_work {
 public:
  state(const settings& options, async::executor& pool, async::semaphore& memory, stage_clock& clock)
      : shared_work(pool, jobs_of(options)),
        options_(options),
        memory_(memory),
        clock_(clock),
        next_offset_(options.offset),
        next_begins_frame_(options.begins_frame) {}

  void push(block next);
  void end_part(const io::decode_start& next);
  [[nodiscard]] bool wants_more();
  std::optional<piece> take(bool may_wait);
  void pause(bool is_paused);
  void discard_parts();
  void end() noexcept;

 private:
  // One thread of the pool is left to those who read and who take parts.
  static unsigned jobs_of(const settings& options) {
    return options.is_in_pool ? std::max(options.threads, 2U) - 1 : options.threads;
  }

  // Under the lock:
  [[nodiscard]] std::size_t ready_pieces() const noexcept override;
  void do_oldest_piece(locked& lock) noexcept override;
  void complete_part();
  [[nodiscard]] bool has_look_ahead(const part_entry& of) const;
  void start_parts();
  [[nodiscard]] std::size_t most_parts(std::uint64_t inputs) const;
  [[nodiscard]] bool may_start(std::size_t at) const;
  bool start(part_entry& next);
  [[nodiscard]] bool is_ready_piece(std::size_t at) const noexcept;
  [[nodiscard]] std::size_t find_ready_piece(std::size_t from) const noexcept;
  void decode(const entry_pointer& of, locked& lock);
  void join(entry_pointer next, std::shared_ptr<io::decoded_part> before, locked& lock);
  void go_on(const entry_pointer& of, std::shared_ptr<io::decoded_part> before, locked& lock);
  [[nodiscard]] bool is_far_ahead(std::size_t at) const noexcept;
  void return_memory(part_entry& of);
  void withdraw(part_entry& queued);
  void leave_served_part();
  piece serve(part_entry& front);
  [[nodiscard]] bool may_starve(bool may_wait) const;

  const settings options_;
  async::semaphore& memory_;
  stage_clock& clock_;
  std::deque<entry_pointer> entries_{};  // the oldest first
  idle_objects<io::part_decoder> decoders_{};
  entry_pointer served_{};                      // all of its blocks were taken, and its text is being read
  std::shared_ptr<io::decoded_part> before_{};  // the part before the oldest entry; null: none
  std::optional<block> last_{};                 // the block with `end`
  std::uint64_t next_offset_;                   // of the next block
  bool next_begins_frame_;
  io::decode_start next_start_{};      // with next_begins_frame_
  std::size_t blocks_ = 0;             // in the entries
  std::size_t begun_ = 0;              // parts that have memory
  async::semaphore::permit shared_{};  // for all parts
  bool is_paused_ = false;
  bool is_needed_ = false;    // the oldest part, by take()
  std::thread::id reader_{};  // that called take() last
};

void part_queue::state::end() noexcept {
  close();
  const std::scoped_lock lock(mutex_);
  entries_.clear();
  leave_served_part();
  shared_.release();
}

void part_queue::state::push(block next) {
  const std::scoped_lock lock(mutex_);
  if (next.end) {
    last_ = std::move(next);
    return complete_part();
  }
  if (entries_.empty() || entries_.back()->now != part_phase::collecting) {
    auto added = std::make_shared<part_entry>();
    added->offset = next_offset_;
    added->begins_frame = std::exchange(next_begins_frame_, false);
    added->start = next_start_;
    entries_.push_back(std::move(added));
  }
  part_entry& to = *entries_.back();
  const std::size_t size = next.bytes.size();
  to.blocks.push_back(std::move(next));
  to.size += size;
  next_offset_ += size;
  ++blocks_;
  if (to.size >= options_.format.part_bytes) complete_part();
}

void part_queue::state::end_part(const io::decode_start& next) {
  const std::scoped_lock lock(mutex_);
  complete_part();
  next_begins_frame_ = true;
  next_start_ = next;
}

void part_queue::state::complete_part() {
  if (!entries_.empty() && entries_.back()->now == part_phase::collecting) entries_.back()->now = part_phase::complete;
}

// One part that cannot begin yet is enough.
bool part_queue::state::wants_more() {
  const std::scoped_lock lock(mutex_);
  leave_served_part();
  if (last_) return false;
  const bool is_too_large = !entries_.empty() && entries_.back()->now == part_phase::collecting &&
                            entries_.back()->blocks.size() >= options_.max_blocks;
  if (is_too_large) return false;
  start_parts();
  for (std::size_t at = 0; at < entries_.size(); ++at) {
    if (may_start(at) && has_look_ahead(*entries_[at])) return false;
  }
  return true;
}

bool part_queue::state::has_look_ahead(const part_entry& of) const {
  return last_ || next_offset_ - (of.offset + of.size) >= options_.format.look_ahead_bytes;
}

// Of formats whose inputs take parts at any time, or that are the only one, all; otherwise the share of one input: a
// frame whose first parts find no memory is decoded by one thread up to its end.
std::size_t part_queue::state::most_parts(std::uint64_t inputs) const {
  if (!options_.format.needs_idle_threads || inputs < 2) return options_.max_parts;
  const std::uint64_t share = options_.memory_bytes / inputs;
  const std::uint64_t for_parts = share - std::min<std::uint64_t>(share, options_.format.shared_bytes);
  return std::min<std::uint64_t>(options_.max_parts, std::max<std::uint64_t>(for_parts / options_.max_part_bytes, 2));
}

void part_queue::state::start_parts() {
  const std::uint64_t inputs = clock_.now_in_flight;
  if (is_paused_ || inputs >= options_.threads) return;  // or the threads decode other inputs
  const std::size_t most = most_parts(inputs);
  for (std::size_t at = 0; at < entries_.size(); ++at) {
    if (!may_start(at)) continue;
    if (!has_look_ahead(*entries_[at]) || begun_ >= most) return;
    if (!start(*entries_[at])) return;
  }
}

bool part_queue::state::may_start(std::size_t at) const {
  const part_entry& part = *entries_[at];
  return part.now == part_phase::complete && !part.is_taken && is_far_ahead(at);
}

// Begins to decode a part with the bytes after it that are there. Returns false if there is no memory for it.
bool part_queue::state::start(part_entry& next) {
  const std::uint64_t end = next.offset + next.size;
  std::uint64_t seen = 0;
  next.after.clear();
  for (const entry_pointer& each : entries_) {
    if (each->offset < end) continue;
    for (const block& later : each->blocks) {
      if (seen >= options_.format.look_ahead_bytes) break;
      next.after.push_back(later);
      seen += later.bytes.size();
    }
  }
  if (!shared_ && options_.format.shared_bytes != 0) {
    shared_ = memory_.try_acquire(options_.format.shared_bytes);
    if (!shared_) return false;
  }
  next.memory = memory_.try_acquire(options_.max_part_bytes);
  if (!next.memory) return false;
  ++begun_;
  next.ends_input = last_ && end + seen == next_offset_;
  next.now = part_phase::queued;
  post_jobs();
  return true;
}

// Whether the decoder, which is faster, has so much to do before it reaches this part that a thread decodes it in time:
// it takes over what was decoded ahead in a quarter of the time of a thread, and decodes the rest in half.
bool part_queue::state::is_far_ahead(std::size_t at) const noexcept {
  if (!options_.format.decoder_is_faster) return true;
  std::size_t quarters = 0;
  for (std::size_t i = 0; i < at && quarters < 4; ++i) quarters += entries_[i]->now > part_phase::queued ? 1 : 2;
  return quarters >= 4;
}

// Whether a thread can go on with this part. The oldest one is linked to one that is not linked only when the decoder
// has passed by that one.
bool part_queue::state::is_ready_piece(std::size_t at) const noexcept {
  const part_phase now = entries_[at]->now;
  const part_entry* const before = at == 0 ? nullptr : entries_[at - 1].get();
  if (now == part_phase::decoded) {
    return before != nullptr ? before->is_linked() : is_needed_ || !before_ || before_->is_linked();
  }
  if (now == part_phase::finished) return before == nullptr || before->now == part_phase::ready;
  if (now == part_phase::queued) return is_far_ahead(at);
  return now == part_phase::linked;
}

/// The next one from this entry on, or the number of entries.
std::size_t part_queue::state::find_ready_piece(std::size_t from) const noexcept {
  for (; from < entries_.size(); ++from) {
    if (is_ready_piece(from)) break;
  }
  return from;
}

std::size_t part_queue::state::ready_pieces() const noexcept {
  std::size_t ready = 0;
  for (std::size_t at = find_ready_piece(0); at < entries_.size(); at = find_ready_piece(at + 1)) ++ready;
  return ready;
}

void part_queue::state::do_oldest_piece(locked& lock) noexcept {
  const std::size_t oldest = find_ready_piece(0);
  const auto kept = entry_pointer(entries_[oldest]);  // the lock is released meanwhile
  // the reader of the text decodes, too
  clock_.note_in_flight(std::min<std::uint64_t>(running() + 1, options_.threads));
  if (kept->now == part_phase::queued) return decode(kept, lock);
  auto before = oldest == 0 ? before_ : entries_[oldest - 1]->part;
  kept->now == part_phase::finished ? join(kept, std::move(before), lock) : go_on(kept, std::move(before), lock);
}

void part_queue::state::decode(const entry_pointer& of, locked& lock) {
  of->now = part_phase::decoding;
  std::unique_ptr<io::part_decoder> decoder = decoders_.take();
  std::shared_ptr<io::decoded_part> part;
  lock.unlock();
  try {
    const busy_time busy(clock_);
    if (!decoder) decoder = options_.format.make();
    std::vector<std::span<const std::byte>> pieces;
    for (const block& each : of->blocks) pieces.push_back(each.bytes);
    for (const block& each : of->after) pieces.push_back(each.bytes);
    part = decoder->decode({.offset = of->offset,
                            .size = of->size,
                            .pieces = pieces,
                            .ends_input = of->ends_input,
                            .begins_frame = of->begins_frame,
                            .start = of->start,
                            .max_bytes = options_.max_part_bytes});
  } catch (const std::bad_alloc&) {
    decoder.reset();  // frees its memory; the decoder of the input does without the part
  }
  of->after.clear();
  lock.lock();
  decoders_.keep(std::move(decoder));
  of->now = part ? part_phase::decoded : part_phase::ready;
  of->part = std::move(part);
  post_jobs();
}

// The next phase of a part that was decoded. Parts are linked one after the other, and joined, because the part after
// one in this phase waits.
void part_queue::state::go_on(const entry_pointer& of, std::shared_ptr<io::decoded_part> before, locked& lock) {
  const part_phase was = of->now;
  of->now = after(was);
  lock.unlock();
  {
    const busy_time busy(clock_);
    if (was == part_phase::decoded) of->part->link(before.get());
    if (was == part_phase::linked) of->part->finish();
    if (was == part_phase::finished) of->part->join(before.get());
  }
  before.reset();
  lock.lock();
  of->now = was == part_phase::linked && !options_.format.joins ? part_phase::ready : after(of->now);
  post_jobs();
}

// Also joins the parts after it that are finished, because the text before them is in the cache of this core. Other
// items of the pool take their turn after a while, and the reader goes on with its text.
void part_queue::state::join(entry_pointer next, std::shared_ptr<io::decoded_part> before, locked& lock) {
  const int most = std::this_thread::get_id() == reader_ ? 1 : 64;
  for (int joined = 1;; ++joined) {
    go_on(next, std::move(before), lock);
    const auto following = std::ranges::find(entries_, next) + 1;
    if (joined == most || is_closed() || following == entries_.end() || (*following)->now != part_phase::finished)
      return;
    wake_waiting();
    before = next->part;
    next = *following;
  }
}

void part_queue::state::return_memory(part_entry& of) {
  if (of.memory) --begun_;
  of.memory.release();
}

void part_queue::state::pause(bool is_paused) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(is_paused_, is_paused) || !is_paused) return;
  for (const entry_pointer& each : entries_) {
    if (each->now == part_phase::queued) withdraw(*each);
  }
}

// A part that waits for a thread becomes complete again.
void part_queue::state::withdraw(part_entry& queued) {
  return_memory(queued);
  queued.after.clear();
  queued.now = part_phase::complete;
}

// Parts that no thread works on become complete again, as if they had not begun.
void part_queue::state::discard_parts() {
  locked lock(mutex_);
  leave_served_part();
  for (;;) {
    for (const entry_pointer& each : entries_) {
      const bool is_idle = each->now == part_phase::queued || each->now == part_phase::decoded ||
                           each->now == part_phase::linked || each->now == part_phase::finished ||
                           each->now == part_phase::ready;
      if (each->is_taken || (is_idle && each->memory)) return_memory(*each);
      if (each->is_taken || !is_idle) continue;
      each->part.reset();
      each->after.clear();
      each->now = part_phase::complete;
    }
    if (running() == 0) return shared_.release();
    wait(lock);
  }
}

// Whether the oldest part, which is incomplete, does not wait for more blocks.
bool part_queue::state::may_starve(bool may_wait) const { return last_ || !may_wait || blocks_ >= options_.max_blocks; }

std::optional<part_queue::piece> part_queue::state::take(bool may_wait) {
  locked lock(mutex_);
  leave_served_part();
  post_jobs();  // the decoder may have begun to take over a part that others wait for
  for (;;) {
    start_parts();
    if (entries_.empty()) {
      if (!last_) return std::nullopt;
      return piece{.bytes = *last_};
    }
    part_entry& front = *entries_.front();
    if (front.now == part_phase::ready) return serve(front);
    if (front.now == part_phase::queued && options_.format.decoder_is_faster) withdraw(front);
    if (front.now == part_phase::collecting || front.now == part_phase::complete) {
      const bool waits = front.now == part_phase::collecting || !has_look_ahead(front);
      if (waits && !may_starve(may_wait)) return std::nullopt;
      return serve(front);
    }
    reader_ = std::this_thread::get_id();
    is_needed_ = true;
    const bool helps = options_.is_in_pool && !options_.format.decoder_is_faster;  // the decoder would be late
    if (helps || is_ready_piece(0)) {
      help_or_wait(lock);
    } else {
      wait(lock);
    }
    is_needed_ = false;
  }
}

// The reader has used up the text of the part that was served last.
void part_queue::state::leave_served_part() {
  if (served_) return_memory(*served_);
  served_.reset();
}

// Blocks of a part that is not decoded ahead are taken while others may still be added.
part_queue::piece part_queue::state::serve(part_entry& front) {
  piece next{.bytes = std::move(front.blocks.front())};
  if (!std::exchange(front.is_taken, true)) next.part = front.part;
  front.blocks.pop_front();
  --blocks_;
  front.offset += next.bytes.bytes.size();
  front.size -= next.bytes.bytes.size();
  front.begins_frame = false;
  if (front.blocks.empty()) {
    before_ = front.part;
    served_ = entries_.front();
    entries_.pop_front();
    post_jobs();
  }
  return next;
}

part_queue::part_queue(const settings& options, async::executor& pool, async::semaphore& memory, stage_clock& clock)
    : state_(std::make_shared<state>(options, pool, memory, clock)) {}

part_queue::~part_queue() { state_->end(); }

void part_queue::push(block next) { state_->push(std::move(next)); }

void part_queue::end_part(const io::decode_start& next) { state_->end_part(next); }

bool part_queue::wants_more() const { return state_->wants_more(); }

std::optional<part_queue::piece> part_queue::take(bool may_wait) { return state_->take(may_wait); }

void part_queue::pause(bool is_paused) { state_->pause(is_paused); }

void part_queue::discard_parts() { state_->discard_parts(); }

}  // namespace gpuhist::pipeline
