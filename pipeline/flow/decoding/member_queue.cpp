#include "pipeline/flow/decoding/member_queue.hpp"

#include "io/archive/member_list.hpp"
#include "io/failure.hpp"
#include "pipeline/flow/decoding/shared_work.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

// Memory for one member. Kept for further members: new pages cost a good part of the time of decoding.
struct member_room {
  std::unique_ptr<std::byte[]> bytes{};
  std::size_t size = 0;
  async::semaphore::permit memory{};
};

// A member on its way through the queue.
struct queued_member {
  enum class phase { queued, decoding, ready };

  io::listed_member listed{};
  member_room room{};
  phase now = phase::queued;
  std::optional<std::uint64_t> data_at{};  // once it is ready, if it was decoded

  [[nodiscard]] std::span<std::byte> bytes() const { return std::span(room.bytes.get(), listed.room()); }
};

using member_phase = queued_member::phase;
using member_pointer = std::shared_ptr<queued_member>;

}  // namespace

class member_queue::state final : public shared_work {
 public:
  state(const settings& options, const io::file_source& file, async::executor& pool, async::semaphore& memory,
        feed_notes& notes)
      : shared_work(pool, options.threads), options_(options), file_(file), memory_(memory), notes_(notes) {}

  void begin(io::byte_reader& directory) noexcept;
  void end() noexcept;
  std::optional<text> take(std::uint64_t data_at);

 private:
  // Under the lock:
  [[nodiscard]] std::size_t ready_pieces() const noexcept override;
  void do_oldest_piece(locked& lock) noexcept override;
  void start_members(bool needs_first) noexcept;
  void start(const io::listed_member& next, member_room room);
  [[nodiscard]] std::optional<member_room> room_for(const io::listed_member& next);
  void pass_members_before(std::uint64_t data_at);
  void drop_front();

  const settings options_;
  const io::file_source& file_;
  async::semaphore& memory_;
  feed_notes& notes_;
  std::vector<io::listed_member> listed_{};  // in the order of their positions
  std::function<std::unique_ptr<io::member_decoder>()> make_decoder_{};
  std::size_t work_bytes_ = 0;  // of a decoder
  async::semaphore::permit list_memory_{};
  std::size_t next_ = 0;                  // in listed_: the first member that was not started
  std::deque<member_pointer> started_{};  // the oldest first
  member_pointer taken_{};                // its text is being used
  std::vector<member_room> free_rooms_{};
  idle_objects<io::member_decoder> decoders_{};
};

void member_queue::state::begin(io::byte_reader& directory) noexcept {
  try {
    async::semaphore::permit reading = memory_.try_acquire(options_.max_bytes);
    if (!reading) return;
    io::member_list found = options_.list(directory, options_.max_bytes, options_.max_bytes / 2);
    reading.release();
    if (found.members.empty()) return;
    const std::scoped_lock lock(mutex_);
    free_rooms_.reserve(pieces_ahead(options_.threads));
    list_memory_ = memory_.try_acquire(found.list_bytes);
    if (!list_memory_) return;
    listed_ = std::move(found.members);
    make_decoder_ = std::move(found.make_decoder);
    work_bytes_ = found.work_bytes;
    start_members(false);
  } catch (const std::bad_alloc&) {
    return;  // the walk does without
  }
}

void member_queue::state::end() noexcept {
  close();
  const std::scoped_lock lock(mutex_);
  started_.clear();
  taken_.reset();
  free_rooms_.clear();
  list_memory_.release();
}

// `needs_first`: the walk needs the first member that is not started, however busy the threads are: it decodes it
// itself.
void member_queue::state::start_members(bool needs_first) noexcept {
  try {
    while (next_ < listed_.size() && started_.size() + (taken_ ? 1 : 0) < pieces_ahead(options_.threads)) {
      const bool are_busy = notes_.decompress.now_in_flight >= options_.threads;  // they decode other inputs
      if (are_busy && !(needs_first && started_.empty())) return;
      std::optional<member_room> room = room_for(listed_[next_]);
      if (!room) return;
      start(listed_[next_], std::move(*room));
      ++next_;
      post_jobs();
    }
  } catch (const std::bad_alloc&) {
    return;  // the walk decodes the member
  }
}

void member_queue::state::start(const io::listed_member& next, member_room room) {
  auto added = std::make_shared<queued_member>();
  added->listed = next;
  added->room = std::move(room);
  started_.push_back(std::move(added));
}

std::optional<member_room> member_queue::state::room_for(const io::listed_member& next) {
  const std::size_t size = next.room();
  const auto fits = std::ranges::find_if(free_rooms_, [size](const member_room& each) { return each.size >= size; });
  if (fits != free_rooms_.end()) {
    std::swap(*fits, free_rooms_.back());
    member_room found = std::move(free_rooms_.back());
    free_rooms_.pop_back();
    return found;
  }
  free_rooms_.clear();  // too small
  member_room made{.size = size, .memory = memory_.try_acquire(size + work_bytes_)};
  if (!made.memory) return std::nullopt;
  made.bytes = std::make_unique_for_overwrite<std::byte[]>(size);
  return made;
}

std::size_t member_queue::state::ready_pieces() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count(started_, member_phase::queued, [](const auto& each) { return each->now; }));
}

void member_queue::state::do_oldest_piece(locked& lock) noexcept {
  const auto of = member_pointer(  // the lock is released meanwhile
      *std::ranges::find(started_, member_phase::queued, [](const auto& each) { return each->now; }));
  of->now = member_phase::decoding;
  std::unique_ptr<io::member_decoder> decoder = decoders_.take();
  std::optional<std::uint64_t> data_at;
  notes_.decompress.note_in_flight(std::min(running(), options_.threads));
  lock.unlock();
  try {
    const busy_time busy(notes_.decompress);
    notes_.read.bytes += of->listed.packed;
    if (!decoder) decoder = make_decoder_();
    data_at = decoder->decode(file_, of->listed, of->bytes());
    if (data_at) notes_.decompress.bytes += of->listed.bytes;
  } catch (const std::bad_alloc&) {
    decoder.reset();  // frees its memory; the walk does without the text
  } catch (const io::input_error&) {
    data_at.reset();  // the walk meets the error, too
  }
  lock.lock();
  decoders_.keep(std::move(decoder));
  of->data_at = data_at;
  of->now = member_phase::ready;
}

void member_queue::state::drop_front() {
  const member_pointer front = std::move(started_.front());
  started_.pop_front();
  if (front->now != member_phase::decoding) free_rooms_.push_back(std::move(front->room));
}

// The member with this position of its text is the last one that is listed before it.
void member_queue::state::pass_members_before(std::uint64_t data_at) {
  const auto end = std::ranges::lower_bound(listed_, data_at, {}, &io::listed_member::position);
  const auto wanted = static_cast<std::size_t>(end - listed_.begin());
  if (wanted == 0) return;
  const std::uint64_t position = listed_[wanted - 1].position;
  while (!started_.empty() && started_.front()->listed.position < position) drop_front();
  next_ = std::max(next_, wanted - 1);
}

std::optional<member_queue::text> member_queue::state::take(std::uint64_t data_at) {
  locked lock(mutex_);
  if (taken_) free_rooms_.push_back(std::move(taken_->room));
  taken_.reset();
  pass_members_before(data_at);
  start_members(true);
  if (started_.empty() || started_.front()->listed.position >= data_at) return std::nullopt;
  const member_pointer front = started_.front();
  while (front->now != member_phase::ready) {
    if (front->now == member_phase::queued) {
      help_or_wait(lock);
    } else {
      wait(lock);
    }
  }
  if (front->data_at != data_at) {
    drop_front();
    return std::nullopt;
  }
  started_.pop_front();
  taken_ = front;
  return text{.bytes = taken_->bytes().last(static_cast<std::size_t>(front->listed.bytes)), .crc = front->listed.crc};
}

member_queue::member_queue(const settings& options, const io::file_source& file, io::byte_reader& directory,
                           async::executor& pool, async::semaphore& memory, feed_notes& notes)
    : state_(std::make_shared<state>(options, file, pool, memory, notes)) {
  state_->begin(directory);
}

member_queue::~member_queue() { state_->end(); }

std::optional<member_queue::text> member_queue::take(std::uint64_t data_at) { return state_->take(data_at); }

}  // namespace gpuhist::pipeline
