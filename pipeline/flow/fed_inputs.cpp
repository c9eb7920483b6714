#include "pipeline/flow/fed_inputs.hpp"

#include "async/task_group.hpp"
#include "pipeline/flow/window_divider.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// Below this size, copying costs less than a chunk of its own.
constexpr std::size_t min_lent_bytes = std::size_t{64} << 10U;

// Borrowed text is counted in parts of this size, by several threads.
constexpr std::size_t borrowed_part_bytes = std::size_t{4} << 20U;

}  // namespace

// A call, or borrowed text, that uses the run: feed_all() waits for its end.
class fed_inputs::activity {
 public:
  explicit activity(fed_inputs& inputs) : inputs_(inputs) { inputs_.enter(); }
  activity(const activity&) = delete;
  activity& operator=(const activity&) = delete;
  ~activity() { inputs_.leave(); }

 private:
  fed_inputs& inputs_;
};

// A call that uses an input. If it ends by an exception, the input has failed.
class fed_inputs::input_use {
 public:
  input_use(fed_inputs& inputs, input_id input, bool takes_lent = false)
      : inputs_(inputs), active_(inputs), input_(input) {
    const std::scoped_lock lock(inputs.mutex_);
    const auto found = inputs.open_.find(input);
    if (found == inputs.open_.end()) throw feed_misuse("the input has ended");
    if (found->second.is_used) throw feed_misuse("another thread is feeding this input");
    if (found->second.has_lent && !takes_lent) throw feed_misuse("the buffer lent for this input is not committed");
    found->second.is_used = true;
    open_ = &found->second;
  }
  input_use(const input_use&) = delete;
  input_use& operator=(const input_use&) = delete;
  ~input_use() {
    const std::scoped_lock lock(inputs_.mutex_);
    if (open_ != nullptr) open_->is_used = false;
  }

  [[nodiscard]] text_owner owner() const { return {.input = input_}; }
  [[nodiscard]] std::uint64_t fed() const { return open_->fed; }

  void note_fed(std::size_t bytes) {
    open_->fed += bytes;
    inputs_.parts_.notes.read.bytes += bytes;
  }

  void set_lent(bool has_lent) {
    const std::scoped_lock lock(inputs_.mutex_);
    if (std::exchange(open_->has_lent, has_lent) != has_lent) inputs_.lent_ += has_lent ? 1 : -1;
  }

  /// No later call may use the input.
  void remove() {
    const std::scoped_lock lock(inputs_.mutex_);
    inputs_.open_.erase(input_);
    open_ = nullptr;
  }

  void finish() {
    inputs_.parts_.counts.finish(input_, fed());
    remove();
  }

  void fail(const input_failure& failure) {
    inputs_.parts_.counts.fail(input_, fed(), failure);
    remove();
  }

 private:
  fed_inputs& inputs_;
  activity active_;
  input_id input_;
  open_input* open_ = nullptr;
};

// Borrowed text. The destructor releases it, before the run may end.
class fed_inputs::loan {
 public:
  explicit loan(fed_inputs& inputs) : inputs_(inputs), held_(inputs) {}
  loan(const loan&) = delete;
  loan& operator=(const loan&) = delete;
  ~loan() { inputs_.call(release_); }

  void set_release(std::function<void()> release) noexcept { release_ = std::move(release); }

 private:
  fed_inputs& inputs_;
  activity held_;
  std::function<void()> release_{};
};

// A chunk of borrowed text, which a thread of the pool counts. It deletes itself.
class fed_inputs::borrowed_part final : public text_lender, public async::work_item {
 public:
  borrowed_part(cutter& cut, std::shared_ptr<loan> owner) : cut_(cut), owner_(std::move(owner)) {}

  void set_chunk(slot& chunk) { chunk_ = &chunk; }

 private:
  void run() noexcept override {
    cut_.submit(*chunk_);
    delete this;
  }
  void release(std::span<const std::byte> /*text*/) noexcept override {}  // by the destructor, after submit()

  cutter& cut_;
  slot* chunk_ = nullptr;
  std::shared_ptr<loan> owner_;
};

fed_inputs::fed_inputs(const feed_parts& parts, std::function<void()> begun)
    : parts_(parts),
      begun_(std::move(begun)),
      divider_(parts.counts.windows() != nullptr ? std::make_unique<window_divider>(parts.counts) : nullptr),
      cutter_(parts.slots, parts.collected, divider_.get()) {}

void fed_inputs::enter() {
  const std::scoped_lock lock(mutex_);
  if (is_closed_ || parts_.stop.stop_requested()) throw feed_closed();
  ++active_;
}

// ended_ is set under the lock: the run, and this object with it, may end once it is set.
void fed_inputs::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  if (--active_ == 0 && is_closed_) ended_.set();
}

void fed_inputs::close() noexcept {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(is_closed_, true)) return;
  if (active_ == 0) ended_.set();
}

void fed_inputs::cancel() noexcept {
  parts_.stop.request_stop();
  close();
}

async::task<> fed_inputs::feed_all() {
  {
    const std::stop_callback close_on_stop(parts_.stop.get_token(), [this]() noexcept { close(); });
    begun_();
    co_await ended_.wait();
  }
  end_open_inputs();
  cutter_.flush();
}

// No other thread uses the inputs.
void fed_inputs::end_open_inputs() {
  for (const auto& [input, state] : open_) {
    if (parts_.stop.stop_requested()) {
      parts_.counts.fail(input, state.fed, left_at(state.fed));
    } else {
      parts_.counts.finish(input, state.fed);
    }
  }
  open_.clear();
}

input_id fed_inputs::open(std::string name) {
  const activity here(*this);
  const std::scoped_lock lock(mutex_);
  const input_id input = parts_.counts.open_input(std::move(name));
  parts_.counts.set_format(input, "raw");
  open_.try_emplace(input);
  return input;
}

// A failure that is not the end of the run is the end of the input.
template <typename Function>
void fed_inputs::with_input(input_id input, bool takes_lent, const Function& function) {
  input_use use(*this, input, takes_lent);
  try {
    function(use);
  } catch (const feed_closed&) {
    throw;
  } catch (...) {
    use.fail(failure_from(std::current_exception()));
    throw;
  }
}

void fed_inputs::feed(input_id input, std::span<const std::byte> text) {
  with_input(input, false, [&](input_use& use) { feed_part_by_part(use, text); });
}

void fed_inputs::feed_part_by_part(input_use& use, std::span<const std::byte> text) {
  const bool is_lent = cutter_.accepts_lent_text();
  while (!text.empty()) {
    if (parts_.stop.stop_requested()) throw feed_closed();
    const std::size_t taken =
        is_lent && text.size() >= min_lent_bytes ? count_part(use.owner(), text) : copy_part(use.owner(), text);
    use.note_fed(taken);
    text = text.subspan(taken);
  }
}

void fed_inputs::feed_borrowed(input_id input, std::span<const std::byte> text, std::function<void()> release) {
  std::shared_ptr<loan> owner;
  try {
    owner = std::make_shared<loan>(*this);
  } catch (...) {
    call(release);
    throw;
  }
  owner->set_release(std::move(release));
  with_input(input, false, [&](input_use& use) {
    if (!cutter_.accepts_lent_text() || text.size() < min_lent_bytes) return feed_part_by_part(use, text);
    lend_part_by_part(use, text, owner);
  });
}

void fed_inputs::lend_part_by_part(input_use& use, std::span<const std::byte> text,
                                   const std::shared_ptr<loan>& owner) {
  while (!text.empty()) {
    if (parts_.stop.stop_requested()) throw feed_closed();
    const auto part = text.first(std::min<std::uint64_t>({text.size(), borrowed_part_bytes, cutter_.max_lent_bytes()}));
    auto job = std::make_unique<borrowed_part>(cutter_, owner);
    const auto [chunk, is_stored] = cut_lent(use.owner(), part, *job);
    job->set_chunk(*chunk);
    parts_.pool.post(*job.release());
    if (!is_stored) throw text_lost();
    use.note_fed(part.size());
    text = text.subspan(part.size());
  }
}

// With windows, text is divided in the order of the reservations, so it is copied while no other thread may reserve.
std::size_t fed_inputs::copy_part(const text_owner& owner, std::span<const std::byte> text) {
  std::unique_lock lock(reserving_);
  held_reservation reserved(cutter_, reserve(text.size()));
  if (divider_ == nullptr) lock.unlock();
  const std::size_t size = reserved.bytes().size();
  std::copy_n(text.begin(), size, reserved.bytes().begin());
  reserved.commit(size, owner);
  return size;
}

std::size_t fed_inputs::count_part(const text_owner& owner, std::span<const std::byte> text) {
  const auto part = text.first(std::min(text.size(), cutter_.max_lent_bytes()));
  const auto [chunk, is_stored] = cut_lent(owner, part, *this);
  cutter_.submit(*chunk);
  if (!is_stored) throw text_lost();
  return part.size();
}

// Waits on this thread for a free slot, which the pool and the loop do not need this thread for.
fed_inputs::lent_chunk fed_inputs::cut_lent(const text_owner& owner, std::span<const std::byte> text,
                                            text_lender& lender) {
  const std::scoped_lock lock(reserving_);
  slot* fresh = parts_.slots.try_acquire();
  if (fresh == nullptr) fresh = async::run_blocking(parts_.loop, parts_.slots.acquire());
  return {.chunk = fresh, .is_stored = cutter_.cut_whole(*fresh, text, owner, &lender)};
}

reservation fed_inputs::reserve(std::uint64_t wanted) {
  if (const auto room = cutter_.try_reserve(wanted)) return *room;
  return async::run_blocking(parts_.loop, cutter_.reserve(wanted));
}

// A slot that is lent is not in the cutter: it delays no other text, however long it is kept.
slot* fed_inputs::take_slot_to_lend() {
  if (divider_ != nullptr) return nullptr;
  const std::scoped_lock lock(mutex_);
  if (2 * (lent_slots_ + 1) > parts_.slots.slots().size()) return nullptr;
  slot* const taken = parts_.slots.try_acquire();
  if (taken != nullptr) ++lent_slots_;
  return taken;
}

fed_inputs::lent_room fed_inputs::lend(input_id input, std::size_t wanted) {
  input_use use(*this, input);
  const std::size_t size = std::min(wanted, parts_.slots.slots().front().bytes.size());
  lent_room room;
  room.chunk = take_slot_to_lend();
  if (room.chunk != nullptr) {
    room.bytes = room.chunk->bytes.first(size);
    room.memory = parts_.slots.memory_owner();
  } else {
    const std::shared_ptr<std::byte[]> own = std::make_shared_for_overwrite<std::byte[]>(size);
    room.bytes = {own.get(), size};
    room.memory = own;
  }
  use.set_lent(true);
  return room;
}

void fed_inputs::commit(input_id input, const lent_room& room, std::size_t filled) {
  with_input(input, true, [&](input_use& use) {
    use.set_lent(false);
    commit_room(use, room, filled);
  });
}

void fed_inputs::commit_room(input_use& use, const lent_room& room, std::size_t filled) {
  const auto text = std::span<const std::byte>(room.bytes).first(filled);
  if (room.chunk == nullptr) return feed_part_by_part(use, text);
  {
    const std::scoped_lock lock(mutex_);
    --lent_slots_;
  }
  if (filled == 0) return parts_.slots.release(*room.chunk);
  bool is_stored = false;
  {
    const std::scoped_lock lock(reserving_);
    is_stored = cutter_.cut_whole(*room.chunk, text, use.owner());
  }
  cutter_.submit(*room.chunk);
  if (!is_stored) throw text_lost();
  use.note_fed(filled);
}

void fed_inputs::give_back(input_id input, const lent_room& room) noexcept {
  try {
    commit(input, room, 0);
  } catch (...) {
    return;  // the run has ended
  }
}

bool fed_inputs::has_lent_room() const {
  const std::scoped_lock lock(mutex_);
  return lent_ > 0;
}

void fed_inputs::finish(input_id input) { input_use(*this, input).finish(); }

void fed_inputs::fail(input_id input, const input_failure& failure) { input_use(*this, input).fail(failure); }

run_counts fed_inputs::snapshot() {
  const activity here(*this);
  const std::vector<cut_mark> fed = flush();
  std::unique_lock lock(merged_mutex_);
  merged_.wait(lock, [&] { return parts_.collected.has_merged(fed); });
  return parts_.counts.counts();
}

void fed_inputs::note_merged() {
  const std::scoped_lock lock(merged_mutex_);
  merged_.notify_all();
}

void fed_inputs::call(const std::function<void()>& release) noexcept {
  try {
    if (release) release();
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!callback_failure_) callback_failure_ = std::current_exception();
  }
}

std::exception_ptr fed_inputs::callback_failure() const {
  const std::scoped_lock lock(mutex_);
  return callback_failure_;
}

}  // namespace gpuhist::pipeline
