#include "pipeline/flow/decoding/compressed_inputs.hpp"

#include "io/zstd/zstd_frame.hpp"
#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/decoding/compressed_group.hpp"
#include "pipeline/flow/decoding/device_decoding.hpp"
#include "pipeline/flow/decoding/host_decoding.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint64_t longest_guess = std::uint64_t{512} << 10U;  // of longer frames parts are decoded

// Devices decode without dictionaries, and a dictionary for all frames can only be in the first one.
bool may_need_dictionary(const io::decode_start& start, std::span<const std::byte> begin) {
  return start.context != nullptr || (start.compressed_bytes == 0 && io::may_begin_with_dictionary(begin));
}

}  // namespace

// How the input was decoded, for the statistics.
std::string compressed_inputs::manner_of(const compressed_input& input) const {
  if (!input.divider) return "not decoded";
  const io::splitter& splitter = input.divider->splitter();
  const std::string manner(splitter.manner());
  if (input.groups > 1 && !input.is_decoded_again && is_limited_in_order(input))
    return "one frame after the other, because of --max-output";
  if (input.groups > 1 && input.device_groups == 0 && !options_.in_order_for.empty()) {
    return "one frame after the other, because of " + std::string(options_.in_order_for);
  }
  if (input.device_groups > 0 && !input.is_decoded_again) return "on the device, in groups of frames";
  if (input.groups > 1 && (input.frames > 1 || splitter.is_lost())) return "split: " + manner;
  if (input.in_parts) return "in parts that several threads decode";
  if (splitter.is_lost()) return "in one piece: " + manner;
  return input.frames > 1 ? "in one piece: its frames are too short to split it" : "in one piece: a single frame";
}

compressed_inputs::compressed_inputs(const settings& options, const executors& executor_set, decode_contexts& contexts,
                                     collector& counted, rolling_counts& counts, feed_notes& notes,
                                     async::first_failure& failures, std::stop_token stop)
    : options_(options),
      executors_(executor_set),
      contexts_(contexts),
      counted_(counted),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      failures_(failures),
      blocks_(std::make_shared<block_pool>(options.block_bytes, options.extra_blocks)),
      open_permits_(options.open_inputs),
      staged_permits_(options.staged_inputs),
      feeding_(failures) {
  held_.reserve(contexts.size() / share_held);
}

async::task<> compressed_inputs::add(input_id input, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                                     const io::format& format, const input_prefix* counted,
                                     std::optional<std::uint64_t> end) {
  async::semaphore::permit permit = co_await open_permits_.acquire();
  const bool is_file = std::holds_alternative<io::file_source>(*source);
  if (is_file) head = {};
  auto added =
      std::make_shared<compressed_input>(input, std::move(source), format, executors_.streams, staged_permits_);
  added->open = std::move(permit);
  if (counted != nullptr) added->continue_after(*counted);
  added->end = end;
  feeding_.spawn(executors_.pool, feed(std::move(added), std::move(head)));
}

async::task<> compressed_inputs::feed(std::shared_ptr<compressed_input> input, std::vector<std::byte> head) {
  std::exception_ptr error;
  do {
    if (!input->open) input->open = co_await open_permits_.acquire();
    input->staged.release();
    try {
      co_await split(*input, std::exchange(head, {}));
    } catch (...) {
      error = std::current_exception();
    }
    input->end_reading();
    if (end_current(*input, error)) error = nullptr;
    if (!input->damaged) input->note_read();  // blocks may be left otherwise
    while (!input->running.empty()) {
      co_await input->running.front()->ended.wait();
      retire_oldest(*input);
    }
  } while (begin_again(*input, error));
  if (options_.text_to != nullptr) {
    using ending = input_observer::ending;
    co_await options_.text_to->end(input->id, error || input->damaged ? ending::early : ending::whole);
  }
  end_input_with(*input, error);
}

// True: there is a group that reports the error.
bool compressed_inputs::end_current(compressed_input& input, const std::exception_ptr& error) {
  const group_pointer last = std::exchange(input.current, nullptr);
  if (!last) return false;
  last->blocks.end({.end = true, .error = error});
  last->may_request_window.set();
  return true;
}

// False: no group must be decoded again.
bool compressed_inputs::begin_again(compressed_input& input, std::exception_ptr& error) {
  if (!input.decode_again) return false;
  if (const std::exception_ptr ended_by = std::exchange(error, nullptr); ended_by && !is_of_input(ended_by)) {
    failures_.note(ended_by);
  }
  counts_.discard_groups(input.id, input.begin_again());
  return true;
}

void compressed_inputs::end_input_with(compressed_input& input, const std::exception_ptr& error) {
  if (error && !input.damaged) {
    counts_.fail(input.id, input.text_bytes, note(error, input.compressed_bytes)(input.text_bytes));
  } else if (!input.damaged) {
    const bool is_read_to_end = !input.end;
    if (input.notice && is_read_to_end) counts_.note(input.id, *input.notice);
    counts_.finish(input.id, input.text_bytes);
  }
  notes_.add_decoding(manner_of(input));
  if (input.on_device || input.device_groups > 0) notes_.note_device(options_.device->note());
  if (auto* file = std::get_if<io::file_source>(input.source.get())) file->leave_offset_at(input.compressed_bytes);
}

// Whether what was decoded may turn out to be wrong: the host can decode a file again, and its text is only counted.
bool compressed_inputs::can_begin_again(const compressed_input& input) const {
  return std::holds_alternative<io::file_source>(*input.source) && options_.windows == nullptr &&
         options_.text_to == nullptr;
}

// After damage decoding continues within groups, whose frames must be known then.
bool compressed_inputs::may_guess(const compressed_input& input) const {
  return can_begin_again(input) && !input.is_decoded_again && !options_.skip_damage;
}

// A stream may stall, and its text is counted as it arrives unless all frames are to be decoded on the device.
bool compressed_inputs::may_use_device(const compressed_input& input) const {
  if (options_.device == nullptr || !input.format.on_device) return false;
  const auto* const file = std::get_if<io::file_source>(input.source.get());
  return file == nullptr ? options_.min_device_bytes == 0 : file->size_hint() >= options_.min_device_bytes;
}

async::task<> compressed_inputs::split(compressed_input& input, std::vector<std::byte> head) {
  const bool is_stream = std::holds_alternative<io::stream_source>(*input.source);
  if (input.start.compressed_bytes > 0 && !input.start.context && input.format.read_head != nullptr) {
    source_bytes file(std::get<io::file_source>(*input.source), notes_, stop_);
    input.start.context = input.format.read_head(file);
  }
  input.on_device = !input.is_decoded_again && may_use_device(input);
  std::unique_ptr<io::splitter> splitter = input.format.make_splitter();
  if (may_guess(input)) splitter->permit_guesses(longest_guess);
  // in groups of one frame, one of which begins at decode_from
  const std::size_t group_bytes = input.is_decoded_again ? 1 : options_.group_bytes;
  input.divider.emplace(std::move(splitter), group_bytes, input.start);
  input.blocks = std::make_shared<block_reader>(blocks_, options_.own_blocks, *input.source, notes_.read, stop_,
                                                io::file_range{input.start.compressed_bytes, input.end});
  if (input.on_device) input.blocks->read_concurrently();
  input.blocks->look_for(input.divider->splitter().sought());
  block_reader::start(is_stream ? executors_.streams : executors_.pool, input.blocks, input.source, std::move(head));
  for (;;) {
    const block next = co_await input.blocks->next();
    if (input.damaged) co_return;
    if (next.end || stop_.stop_requested()) co_return co_await end_input(input, next);
    while (const auto piece = input.divider->next(next)) {
      co_await push(input, *piece);
      if (input.damaged) co_return;
    }
    if (input.divider->splitter().sought().empty()) input.blocks->stop_looking();
    const bool has_groups = input.groups > 1 || input.device_groups > 0;
    if (has_groups || input.divider->splitter().knows_end()) input.blocks->read_farther_ahead();
  }
}

// If the input ends between two groups, a further group is needed only to report an empty input, an error or a stop, or
// that an input must not end there.
async::task<> compressed_inputs::end_input(compressed_input& input, block last) {
  const bool stopped = stop_.stop_requested();
  last.end = true;
  if (const auto held = input.divider->rest()) co_await push(input, *held);
  const io::decode_start& end = input.divider->start();
  if (!input.current && (input.groups == 0 || last.error || stopped || !end.is_complete()))
    co_await begin_group(input, end, {});
  if (input.current) {
    input.current->ends_input = true;
    input.current->blocks.end(std::move(last));
    input.current->may_request_window.set();
  }
  input.current.reset();
}

async::task<> compressed_inputs::push(compressed_input& input, const frame_divider::piece& next) {
  if (next.start.compressed_bytes < input.decode_from) co_return;
  if (!next.bytes.bytes.empty()) {
    if (!input.current) co_await begin_group(input, next.start, next.bytes.bytes);
    if (!input.current) co_return;
    input.current->blocks.push(next.bytes);
  }
  if (next.ends_group && input.current) end_blocks(input, next.has_guesses);
}

// The text may have a maximum, and will not be decoded again: the bytes of a stream or observed text cannot be, and the
// second time groups are decoded in order.
bool compressed_inputs::is_limited_in_order(const compressed_input& input) const {
  if (options_.max_text == std::numeric_limits<std::uint64_t>::max()) return false;
  return input.is_decoded_again || options_.text_to != nullptr || !options_.in_order_for.empty() ||
         !std::holds_alternative<io::file_source>(*input.source);
}

// At the same time.
std::size_t compressed_inputs::max_groups(const compressed_input& input) const {
  constexpr std::size_t groups_per_context = 4;
  if (is_limited_in_order(input)) return 1;
  const text_taps* const taps = options_.text_to;
  const std::size_t groups =
      taps != nullptr ? taps->max_groups(contexts_.size()) : groups_per_context * contexts_.size();
  return input.on_device ? std::max<std::size_t>(groups, options_.device->max_slots()) : groups;
}

// A device decodes a frame in order, so it needs many inputs. Before it is ready, these would all wait for the host.
void compressed_inputs::open_more_if_device_is_ready() {
  if (options_.open_on_device <= options_.open_inputs || has_opened_more_) return;
  if (options_.device == nullptr || !options_.device->is_ready() || has_opened_more_.exchange(true)) return;
  open_permits_.add(options_.open_on_device - options_.open_inputs);
}

// Whether threads should decode what finds no free slot: not if a device decodes more than all of them could, because
// they read for it; otherwise half of them.
bool compressed_inputs::is_host_needed() const {
  if (!options_.device->host_shares() || contexts_.free() * 2 < contexts_.size()) return false;
  const double busy = notes_.decompress.busy_seconds();
  if (busy <= 0) return true;
  const double of_thread = static_cast<double>(notes_.decompress.bytes) / busy;
  return options_.device->text_per_second() < of_thread * static_cast<double>(contexts_.size());
}

// While a device is made ready, an eighth of the contexts is held. With all cores busy that takes up to a third longer
// (docs/tuning.md).
void compressed_inputs::leave_cores_to_device() {
  if (options_.device == nullptr) return;
  std::vector<decode_contexts::lease> released;  // without the lock
  const std::scoped_lock lock(held_mutex_);
  if (!options_.device->is_being_made()) return held_.swap(released);
  while (held_.size() < contexts_.size() / share_held) {
    decode_contexts::lease next = contexts_.try_acquire();
    if (!next) return;
    held_.push_back(std::move(next));
  }
}

// The bytes of streams may be late, so they do not wait for memory.
async::task<std::optional<staged_group>> compressed_inputs::begin_staging(const compressed_input& input,
                                                                          const io::decode_start& start,
                                                                          std::span<const std::byte> begin) {
  open_more_if_device_is_ready();
  const auto* const file = std::get_if<io::file_source>(input.source.get());
  const bool waits = file != nullptr && !is_host_needed();
  const std::uint64_t bytes = file == nullptr ? 0 : file->size_hint();
  const std::uint64_t left = bytes - std::min(bytes, start.compressed_bytes);
  auto begun = co_await options_.device->begin_group(begin, waits, can_begin_again(input), left);
  if (begun) options_.device->lock_pages_of(*blocks_);
  co_return begun;
}

// Limits how far groups run ahead of the oldest one, because their counts wait for its end. After damage no group is
// begun. If the text is passed through in order, the earlier groups have ended before there is a context, so no bytes
// after the damage are decoded. `begin`: the first bytes of the group.
async::task<> compressed_inputs::begin_group(compressed_input& input, const io::decode_start& start,
                                             std::span<const std::byte> begin) {
  const std::size_t max_running = max_groups(input);
  leave_cores_to_device();
  while (input.running.size() >= max_running || (has_copied_much() && !input.running.empty())) {
    co_await input.running.front()->ended.wait();
    retire_oldest(input);
  }
  const auto task =
      std::make_shared<group>(input, text_track::destination{.counts = counts_, .taps = options_.text_to});
  if (input.on_device && !begin.empty() && !may_need_dictionary(start, begin)) {
    auto staged = co_await begin_staging(input, start, begin);
    if (staged) {
      task->staged.emplace(std::move(*staged));
      ++input.device_groups;
    }
  }
  if (!task->staged) co_await acquire_first_context(*task);
  const bool is_staged = task->staged.has_value();
  input.divider->set_group(is_staged ? options_.device->group_bytes() : options_.group_bytes, !is_staged);
  while (!input.running.empty() && input.all_have_ended()) {
    co_await input.running.front()->ended.wait();
    retire_oldest(input);
  }
  if (input.damaged) co_return;
  task->start = start;
  if (input.running.empty()) task->text_before = input.text_bytes;
  input.running.push_back(task);
  std::exception_ptr error;
  try {
    spawn(task);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    if (task->previous) co_await task->previous->ended.wait();
    if (task->end.failure) end_group(*task, nullptr);  // it was opened in the counts
    input.running.pop_back();
    std::rethrow_exception(error);
  }
  input.current = task;
  ++input.groups;
}

// Of a group that has not been spawned.
async::task<> compressed_inputs::acquire_first_context(group& task) {
  task.input.begin_collecting(task);
  try {
    co_await acquire_context(task);
  } catch (...) {
    task.input.end_collecting(task);
    throw;
  }
}

// A group that was opened in the counts must be closed there: after an exception, by the caller, if it has a failure.
void compressed_inputs::spawn(const group_pointer& task) {
  compressed_input& input = task->input;
  async::task<> decoding = decode(task);
  task->text.open_group(1);
  {
    const std::scoped_lock lock(input.mutex);
    if (options_.windows != nullptr && input.running_groups > 0) task->previous = input.youngest;
    input.youngest = task;
    task->may_hold_blocks = true;
    ++input.running_groups;
    if (++input.holding_groups == 1) task->may_request_window.set();
  }
  try {
    if (task->staged) input.begin_collecting(*task);
    task->text.begin_group();
    async::spawn(executors_.pool, std::move(decoding),
                 [this, task](std::exception_ptr error) noexcept { end_group(*task, std::move(error)); });
  } catch (...) {
    task->end.failure = no_memory();
    task->text_before = 0;  // it has no text
    throw;
  }
}

// The divider knows where the next group begins.
void compressed_inputs::end_blocks(compressed_input& input, bool has_guesses) {
  const io::decode_start& next = input.divider->start();
  if (next.is_complete()) input.current->frames_at_end = next.frames;
  input.current->has_guesses = has_guesses;
  input.current->blocks.end({.end = true});
  input.current->may_request_window.set();
  input.current.reset();
}

// It has ended. Groups after the one that ends the input do not count.
void compressed_inputs::retire_oldest(compressed_input& input) {
  const group_pointer oldest = std::move(input.running.front());
  input.running.pop_front();
  if (input.has_ended) return;
  if (oldest->end.must_be_decoded_again(input.text_bytes)) {
    input.decode_again = {.start = oldest->start, .group = oldest->text.owner().group};
    input.has_ended = input.damaged = true;
    return;
  }
  input.text_bytes += oldest->text.bytes();
  input.frames += oldest->frames_ended - std::min(oldest->frames_ended, oldest->start.frames);
  input.notice = std::move(oldest->end.notice);
  input.compressed_bytes = oldest->end.compressed_bytes.value_or(input.compressed_bytes);
  input.has_ended = oldest->end.failure != nullptr;
}

async::task<> compressed_inputs::decode(group_pointer task) {
  std::exception_ptr error;
  try {
    co_await decode_text(*task);
  } catch (...) {
    error = std::current_exception();
  }
  if (task->previous) co_await task->previous->ended.wait();  // groups end in order if text is cut in order
  try {
    co_await task->text.end_group(!error && !task->end.failure);
  } catch (...) {
    add_failure(std::current_exception(), error);
  }
  if (error) task->end.failure = note(error, task->end.compressed_bytes.value_or(task->start.compressed_bytes));
}

// Groups whose text is cut in order are decoded in order.
async::task<> compressed_inputs::decode_text(group& task) {
  if (task.staged && co_await device_decoding(*this, task).try_decode()) co_return;
  if (task.previous) {
    co_await task.previous->ended.wait();
    if (task.input.damaged) co_return;
  }
  host_decoding host(*this, task);
  std::exception_ptr error;
  try {
    co_await host.run();
  } catch (...) {
    error = std::current_exception();
  }
  try {
    co_await host.wait_for_text();
  } catch (...) {
    add_failure(std::current_exception(), error);
  }
  if (error) std::rethrow_exception(error);
}

// The group ends even if something fails here or before: other coroutines wait for its end.
// Its slots are free from here on: the reader of the input may wait for one before it retires the group.
void compressed_inputs::end_group(group& task, std::exception_ptr error) noexcept {
  failures_.note(std::move(error));
  task.input.end_collecting(task);
  task.staged.reset();
  task.staged_blocks.clear();
  task.previous.reset();
  copied_bytes_ -= task.copied_bytes;
  if (task.end.failure) {
    task.input.damaged = true;
    task.input.end_reading();  // the reader may wait for a free block or for bytes, and neither is needed any more
  } else {
    task.end.frames = task.frames_at_end;
  }
  if (!task.text_before) task.end.max_text_before = options_.max_text - std::min(options_.max_text, task.text.bytes());
  task.input.end_holding(task);
  {
    const std::scoped_lock lock(task.input.mutex);
    --task.input.running_groups;
  }
  try {
    task.text.close_group(task.end);
  } catch (...) {
    failures_.note(std::current_exception());
  }
  task.context.release();
  if (!task.panes_known.is_set()) task.input.panes.reset();  // the host has cut the text
  task.panes_known.set();
  task.ended.set();
}

// Avoids a deadlock: a group that has a context waits for blocks, and the blocks are held by an earlier group, which
// waits for a context. So groups that hold blocks get their contexts in order.
async::task<> compressed_inputs::acquire_context(group& task) {
  co_await task.may_request_context.wait();
  task.context = co_await contexts_.acquire();
  task.input.end_collecting(task);
}

void compressed_inputs::note_reached(group& task, std::uint64_t compressed_bytes) {
  task.end.compressed_bytes = compressed_bytes;
  counts_.set_compressed_bytes(task.input.id, task.text.owner().group, compressed_bytes);
}

// The failure of an input. What the input did not cause ends the run.
failure_maker compressed_inputs::note(const std::exception_ptr& error, std::uint64_t reached) const {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (...) {
    return always(failure_of_input(error, reached, failures_));
  }
}

// The first failure is that of the group; of later ones, those that end the run are noted.
void compressed_inputs::add_failure(const std::exception_ptr& later, std::exception_ptr& first) const {
  if (!first) {
    first = later;
  } else if (!is_of_input(later)) {
    failures_.note(later);
  }
}

bool compressed_inputs::has_copied_much() const {
  constexpr std::uint64_t share_of_slots = 4;
  const device_frames* const device = options_.device;
  return device != nullptr &&
         copied_bytes_ >= std::uint64_t{device->max_slots()} * device->slot_bytes() / share_of_slots &&
         copied_bytes_ > 0;
}

}  // namespace gpuhist::pipeline
