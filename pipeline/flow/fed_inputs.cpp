#include "pipeline/flow/fed_inputs.hpp"

#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/run_plan.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the thread
thread_local const callback_scope* innermost = nullptr;

input_failure out_of_memory() { return {.kind = failure_kind::out_of_memory, .text = "not enough memory to count it"}; }

input_failure dropped() { return {.kind = failure_kind::stopped, .text = "was destroyed before it was finished"}; }

// Of bytes that could not be counted.
input_failure failure_of_feeding(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const text_lost&) {
    return out_of_memory();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (...) {
    return failure_from(error);
  }
}

}  // namespace

callback_scope::callback_scope(const void* run) noexcept : run_(run), outer_(innermost) { innermost = this; }

callback_scope::~callback_scope() { innermost = outer_; }

bool callback_scope::is_within(const void* run) noexcept {
  for (const callback_scope* each = innermost; each != nullptr; each = each->outer_) {
    if (each->run_ == run) return true;
  }
  return false;
}

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

// A call that uses an input.
class fed_inputs::input_use {
 public:
  input_use(fed_inputs& inputs, input_id input, bool takes_lent = false)
      : inputs_(inputs), active_(inputs), input_(input) {
    const std::scoped_lock lock(inputs.mutex_);
    const auto found = inputs.open_.find(input);
    if (found == inputs.open_.end() || found->second.is_lost) throw feed_misuse("the input has ended");
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

  [[nodiscard]] open_input& state() { return *open_; }

  void set_lent(bool has_lent) {
    const std::scoped_lock lock(inputs_.mutex_);
    if (std::exchange(open_->has_lent, has_lent) == has_lent) return;
    has_lent ? ++inputs_.lent_ : --inputs_.lent_;
  }

  /// Even if the failure cannot be stored in the counts, the input will not be complete.
  void note_lost() noexcept { open_->is_lost = true; }

  /// No later call may use the input.
  void end(const std::optional<input_failure>& failure) {
    inputs_.end_input(input_, *open_, failure);
    const std::scoped_lock lock(inputs_.mutex_);
    if (open_->has_lent) --inputs_.lent_;
    inputs_.open_.erase(input_);
    open_ = nullptr;
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
  ~loan() { inputs_.call(std::move(release_)); }

  void set_release(std::function<void()> release) noexcept { release_ = std::move(release); }

 private:
  fed_inputs& inputs_;
  activity held_;
  std::function<void()> release_{};
};

fed_inputs::fed_inputs(const fed_run& run, std::function<void()> begun)
    : run_(run),
      begun_(std::move(begun)),
      taps_(make_taps()),
      text_(run),
      decoder_memory_(run.plan.buffers.window_limit, run.plan.buffers.besides_windows) {}

fed_inputs::~fed_inputs() = default;

void fed_inputs::enter() {
  if (callback_scope::is_within(this)) throw feed_misuse("a callback of the counter must not call the counter");
  std::unique_lock lock(mutex_);
  if (!is_closed_ && !run_.stop.stop_requested()) {
    ++active_;
    return;
  }
  const std::exception_ptr cause = stop_cause_;
  lock.unlock();
  throw feed_closed(cause);
}

// ended_ is set under the lock: the run, and this object with it, may end once it is set.
void fed_inputs::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  if (--active_ > 0 || !is_closed_) return;
  if (is_ending_) {
    idle_.notify_all();
  } else {
    ended_.set();
  }
}

void fed_inputs::close() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(is_closed_, true) && active_ == 0) ended_.set();
}

void fed_inputs::cancel() noexcept {
  run_.stop.request_stop();
  close();
}

void fed_inputs::end() {
  if (callback_scope::is_within(this)) throw feed_misuse("a callback of the counter must not finish it");
  {
    std::unique_lock lock(mutex_);
    if (lent_ > 0 && !is_stopped()) throw feed_misuse("finish: a buffer of an input was lent and not committed");
    if (std::exchange(is_closed_, true)) return;
    is_ending_ = true;
    idle_.wait(lock, [this] { return active_ == 0; });
  }
  finish_open_inputs();
  ended_.set();
}

async::task<> fed_inputs::feed_all() {
  {
    const std::stop_callback close_on_stop(run_.stop.get_token(), [this]() noexcept { close(); });
    begun_();
    co_await ended_.wait();
  }
  std::exception_ptr cause = run_.collected.loss_reason();
  {
    const std::scoped_lock lock(mutex_);
    stop_cause_ = std::move(cause);
  }
  co_await fail_open_inputs();
  text_.seal_all();
}

// On the thread of end(), because text may have to wait for a slot. Inputs whose end fails, or that are still open when
// the run is stopped, remain open.
void fed_inputs::finish_open_inputs() noexcept {
  for (auto next = open_.begin(); next != open_.end() && !is_stopped();) {
    open_input& ending = next->second;
    try {
      end_input(next->first, ending, failure_at_end(ending));
      next = open_.erase(next);
    } catch (...) {
      ending.is_lost = !is_stopped();
      if (taps_) taps_->discard(next->first);
      ++next;
    }
  }
}

// No other thread uses the inputs.
async::task<> fed_inputs::fail_open_inputs() {
  for (auto& [input, ending] : open_) {
    forget_callback(ending);
    std::optional<input_failure> failure = failure_at_end(ending);
    if (!failure) failure = left_at(ending.decoder ? ending.decoder->decoded_bytes() : ending.text.bytes());
    end_counts(ending, failure);
    if (!taps_) continue;
    try {
      co_await taps_->end(input, input_observer::ending::early);
    } catch (...) {
      run_.failures.note(std::current_exception());
    }
  }
  open_.clear();
}

std::optional<input_failure> fed_inputs::failure_at_end(const open_input& ending) {
  if (ending.is_lost) return out_of_memory();
  if (ending.is_dropped) return dropped();
  return std::nullopt;
}

// The end of an input without a decoder is noted last, so that it fails if its last units cannot be read.
void fed_inputs::end_input(input_id input, open_input& ending, const std::optional<input_failure>& failure) {
  if (ending.is_dropped) forget_callback(ending);
  if (ending.decoder) end_counts(ending, failure);
  end_text(input, ending, failure);
  if (!ending.decoder) end_counts(ending, failure);
}

void fed_inputs::end_counts(open_input& ending, const std::optional<input_failure>& failure) {
  if (ending.decoder) {
    failure ? ending.decoder->fail(*failure) : ending.decoder->finish();
  } else {
    ending.text.end(failure);
  }
}

// What needs memory comes first: an input that was opened in the counts can be fed and ended.
input_id fed_inputs::open(std::string name, const std::optional<fed_decoding>& decoding, kept_text on_kept) {
  const activity here(*this);
  const std::scoped_lock lock(mutex_);
  if (rolling_windows* const windows = run_.counts.windows();
      windows != nullptr && !windows->shape().per_input && !open_.empty()) {
    throw feed_misuse("windows continue from one input to the next: finish '" +
                      run_.counts.name_of(open_.begin()->first) +
                      "' before another input is opened, or give every input its own windows (--per-input)");
  }
  const auto next = static_cast<input_id>(run_.counts.inputs());
  std::map<input_id, open_input> made;
  const text_track text({.counts = run_.counts, .taps = taps_.get()}, {.input = next});
  open_input& opened = made.try_emplace(next, open_input{.text = text}).first->second;
  if (decoding) {
    opened.decoder = std::make_unique<fed_decoder>(
        opened.text, *decoding,
        fed_decoder::used_run{.text = text_, .counts = run_.counts, .notes = run_.notes, .memory = decoder_memory_});
  }
  opened.on_kept = std::move(on_kept);
  run_.counts.open_input(std::move(name));
  if (!decoding) run_.counts.set_format(next, "raw");
  open_.merge(made);
  return next;
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
    const std::exception_ptr cause = std::current_exception();
    use.note_lost();
    if (taps_) taps_->discard(input);
    use.end(failure_of_feeding(cause));  // if there is no memory for that either, it fails at the end of the run
    std::rethrow_exception(cause);
  }
}

void fed_inputs::feed(input_id input, std::span<const std::byte> bytes) {
  with_input(input, false, [&](input_use& use) {
    open_input& fed = use.state();
    if (fed.decoder) return fed.decoder->feed(bytes);
    text_.put(fed.text, bytes);
    run_.notes.read.bytes += bytes.size();
  });
}

std::vector<bool> fed_inputs::feed_values(input_id input, std::span<const text_value> values) {
  std::vector<bool> kept;
  kept.reserve(values.size());
  with_input(input, false, [&](input_use& use) {
    const std::uint64_t before = use.state().text.bytes();
    text_.put_values(use.state().text, values, kept);
    run_.notes.read.bytes += use.state().text.bytes() - before;
  });
  kept.resize(values.size());
  return kept;
}

void fed_inputs::feed_borrowed(input_id input, std::span<const std::byte> bytes, std::function<void()> release) {
  std::shared_ptr<loan> owner;
  try {
    owner = std::make_shared<loan>(*this);
  } catch (...) {
    call(std::move(release));
    throw;
  }
  owner->set_release(std::move(release));
  with_input(input, false, [&](input_use& use) {
    open_input& fed = use.state();
    if (fed.decoder) return fed.decoder->feed(bytes);
    text_.put_borrowed(fed.text, bytes, owner);
    run_.notes.read.bytes += bytes.size();
  });
}

fed_inputs::lent_room fed_inputs::lend(input_id input, std::size_t wanted) {
  input_use use(*this, input);
  use.set_lent(true);  // before the room is made: end() must not miss it
  try {
    return make_room(input, wanted, use.state().decoder == nullptr);
  } catch (...) {
    use.set_lent(false);
    throw;
  }
}

fed_inputs::lent_room fed_inputs::make_room(input_id input, std::size_t wanted, bool is_text) {
  const std::size_t size = std::min(wanted, text_.slot_bytes());
  if (slot* const taken = is_text ? text_.take_slot(input) : nullptr) {
    return {.bytes = taken->bytes.first(size), .chunk = taken, .memory = text_.memory_owner()};
  }
  const std::shared_ptr<std::byte[]> own = std::make_shared_for_overwrite<std::byte[]>(size);
  return {.bytes = {own.get(), size}, .chunk = nullptr, .memory = own};
}

// The slot returns to the ring in any case, unless the run has ended, and the ring with it.
void fed_inputs::commit(input_id input, const lent_room& room, std::size_t filled) {
  const activity here(*this);
  slot* chunk = room.chunk;
  try {
    with_input(input, true, [&](input_use& use) {
      use.set_lent(false);
      open_input& fed = use.state();
      run_.notes.read.bytes += filled;
      if (fed.decoder) return fed.decoder->feed(room.bytes.first(filled));
      if (chunk == nullptr) return text_.put(fed.text, room.bytes.first(filled));
      text_.observe(fed.text, room.bytes.first(filled));
      text_.put_slot(*std::exchange(chunk, nullptr), filled, fed.text);
    });
  } catch (...) {
    if (chunk != nullptr) text_.return_slot(*chunk);
    throw;
  }
  if (chunk != nullptr) text_.return_slot(*chunk);
}

void fed_inputs::give_back(input_id input, const lent_room& room) noexcept {
  try {
    commit(input, room, 0);
  } catch (...) {
    return;  // the run or the input has ended
  }
}

void fed_inputs::finish(input_id input) {
  with_input(input, false, [](input_use& use) { use.end(std::nullopt); });
}

void fed_inputs::fail(input_id input, const input_failure& failure) {
  with_input(input, false, [&](input_use& use) { use.end(failure); });
}

// If the call is refused, as within a callback, the input fails at the end of the run. Once the run accepts no more
// calls and none is active, the thread that ends the inputs uses them without the lock.
void fed_inputs::drop(input_id input) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_ && active_ == 0) return;
    const auto found = open_.find(input);
    if (found == open_.end()) return;
    found->second.is_dropped = true;
  }
  try {
    input_use(*this, input, true).end(dropped());
  } catch (...) {
    return;
  }
}

bool fed_inputs::has_failed(input_id input) {
  input_use use(*this, input, true);
  return use.state().decoder && use.state().decoder->has_ended();
}

run_counts fed_inputs::snapshot() {
  const activity here(*this);
  const std::vector<cut_mark> fed = flush();
  std::unique_lock lock(merged_mutex_);
  const bool is_merged = merged_.wait(lock, run_.stop.get_token(), [&] { return run_.collected.has_merged(fed); });
  if (!is_merged) throw feed_closed(run_.collected.loss_reason());
  return run_.snapshot();
}

void fed_inputs::note_merged() {
  const std::scoped_lock lock(merged_mutex_);
  merged_.notify_all();
}

// The function is also destroyed here: what it holds may call the counter, too.
void fed_inputs::call(std::function<void()> release) noexcept {
  const callback_scope within(this);
  try {
    if (release) release();
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!callback_failure_) callback_failure_ = std::current_exception();
  }
  release = nullptr;
}

std::exception_ptr fed_inputs::callback_failure() const {
  const std::scoped_lock lock(mutex_);
  return callback_failure_;
}

}  // namespace gpuhist::pipeline
