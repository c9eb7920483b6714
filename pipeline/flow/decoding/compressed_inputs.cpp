#include "pipeline/flow/decoding/compressed_inputs.hpp"

#include "config/size.hpp"
#include "pipeline/counts/input_failure.hpp"
#include "pipeline/flow/decoding/frame_search.hpp"
#include "pipeline/flow/decoding/stream_cancel.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

namespace {

// Makes the failure of an input, given the bytes of its text before the group.
using failure_maker = std::function<input_failure(std::uint64_t)>;

failure_maker always(input_failure failure) {
  return [failure = std::move(failure)](std::uint64_t) { return failure; };
}

// Allocates nothing.
failure_maker no_memory() {
  return [](std::uint64_t) {
    return input_failure{.kind = failure_kind::out_of_memory, .text = "not enough memory to decode it"};
  };
}

// The failure of an input. Rethrows exceptions that belong to no input.
failure_maker failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const text_lost&) {
    throw;
  } catch (...) {
    return always(failure_from(error));
  }
}

input_failure damage(std::string text) { return {.kind = failure_kind::damaged, .text = std::move(text)}; }

std::string missing_at_end(const io::decoder& decoder, bool ends_input, std::uint64_t text_before) {
  return ends_input ? decoder.missing_at_end(text_before) : decoder.missing_at_frame_end(text_before);
}

std::string missing_cause(const io::decoder& decoder, bool ends_input) {
  return ends_input ? decoder.missing_cause_at_end() : decoder.missing_cause_at_frame_end();
}

input_failure too_much_text(std::uint64_t most, std::uint64_t compressed) {
  return {.kind = failure_kind::refused,
          .text = "decompresses to more than the " + config::format_size(most) +
                  " of --max-output; given up at compressed offset " + std::to_string(compressed)};
}

}  // namespace

// An input that is being decoded. Used by the coroutine that splits it; the atomic members and those under the mutex
// are also used by its groups.
struct compressed_inputs::compressed_input {
  compressed_input(input_id number, std::shared_ptr<io::source> opened, const io::format& detected,
                   async::event_loop& streams)
      : id(number), source(std::move(opened)), format(detected), stream_cancel(make_stream_cancel(streams, source)) {}

  input_id id = 0;
  std::shared_ptr<io::source> source;
  const io::format& format;
  const std::shared_ptr<async::deferred_call> stream_cancel;
  std::unique_ptr<io::splitter> splitter{};
  std::shared_ptr<block_reader> blocks{};
  std::deque<group_pointer> running{};  // groups that are not retired, the oldest first
  group_pointer current{};              // the group that receives bytes
  std::size_t current_bytes = 0;        // compressed bytes that `current` has received
  std::vector<std::byte> held_back{};   // bytes that the splitter has taken and no group has received
  io::decode_start next{};              // start of the next group
  std::uint64_t frames_walked = 0;
  std::uint64_t text_bytes = 0;        // of retired groups
  std::uint64_t compressed_bytes = 0;  // up to the end of the retired groups
  std::uint64_t groups = 0;
  std::atomic<bool> in_parts{false};          // a frame is decoded by several threads
  std::atomic<bool> damaged{false};           // no more bytes are needed
  std::atomic<std::uint64_t> text_so_far{0};  // of all groups together

  std::mutex mutex{};
  group_pointer youngest{};        // under the mutex
  std::size_t running_groups = 0;  // under the mutex: groups that have not ended

  // Ends all waits for bytes of the source and for free blocks.
  void end_reading() const noexcept {
    if (blocks) blocks->give_up();
    stream_cancel->post();
  }
};

// Frames that one decoder decodes in order. The splitting coroutine fills the channel. The decoding coroutine uses all
// other members until `ended` is set.
struct compressed_inputs::group {
  explicit group(compressed_input& parent) : input(parent) {}

  compressed_input& input;
  text_owner owner{};
  io::decode_start start{};
  decode_contexts::lease context{};
  async::channel<block> blocks{};
  std::optional<part_queue> parts{};  // of the current frame, if threads decode it together
  async::event may_request_window{};  // a large one
  async::event ended{};

  io::decoder* decoder = nullptr;  // of `context`
  std::uint64_t frame_begin = 0;   // compressed offset
  std::uint64_t frame_bytes = 0;   // text of the current frame so far
  std::uint64_t frames_ended = 0;  // of the input, including damaged ones
  bool ends_input = false;         // false: the group ends at the start of the next group
  group_end end{};
  std::optional<lost_range> lost{};      // the damaged range that is being skipped
  std::uint64_t skipped_to = 0;          // compressed offset
  std::optional<frame_search> search{};  // for the next frame, if the splitter does not find it
};

// How the input was decoded, for the statistics.
std::string compressed_inputs::manner_of(const compressed_input& input) const {
  if (!input.splitter) return "not decoded";
  const std::string manner(input.splitter->manner());
  if (input.groups > 1 && !options_.in_order_for.empty()) {
    return "one frame after the other, because of " + std::string(options_.in_order_for);
  }
  if (input.in_parts) return "in parts that several threads decode";
  if (input.groups > 1 && (input.frames_walked > 1 || input.splitter->is_lost())) return "split: " + manner;
  return "in one piece: " + (input.splitter->is_lost() ? manner : "a single frame, or too short to split");
}

compressed_inputs::compressed_inputs(const settings& options, const executors& executor_set, decode_contexts& contexts,
                                     rolling_counts& counts, feed_notes& notes, async::first_failure& failures,
                                     std::stop_token stop)
    : options_(options),
      executors_(executor_set),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      failures_(failures),
      blocks_(std::make_shared<block_pool>(options.block_bytes, options.extra_blocks)),
      open_permits_(options.open_inputs),
      feeding_(failures) {}

async::task<> compressed_inputs::add(input_id input, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                                     const io::format& format) {
  async::semaphore::permit permit = co_await open_permits_.acquire();
  const bool is_file = std::holds_alternative<io::file_source>(*source);
  if (is_file) head.clear();
  auto added = std::make_shared<compressed_input>(input, std::move(source), format, executors_.streams);
  feeding_.spawn(executors_.pool, feed(std::move(added), std::move(head), std::move(permit)));
}

// Holds the permit until the end.
async::task<> compressed_inputs::feed(std::shared_ptr<compressed_input> input, std::vector<std::byte> head,
                                      async::semaphore::permit) {
  std::exception_ptr error;
  try {
    co_await split(*input, std::move(head));
  } catch (...) {
    error = std::current_exception();
  }
  input->end_reading();
  const bool is_noted = input->current != nullptr;  // the group reports the error
  if (is_noted) {
    input->current->blocks.end({.end = true, .error = error});
    input->current->may_request_window.set();
  }
  while (!input->running.empty()) {
    co_await input->running.front()->ended.wait();
    retire_oldest(*input);
  }
  end_input_with(*input, is_noted ? nullptr : error);
}

void compressed_inputs::end_input_with(compressed_input& input, const std::exception_ptr& error) {
  if (error && !input.damaged) {
    counts_.fail(input.id, input.text_bytes, failure_of(error)(input.text_bytes));
  } else if (!input.damaged) {
    counts_.finish(input.id, input.text_bytes);
  }
  notes_.add_decoding(manner_of(input));
  if (auto* file = std::get_if<io::file_source>(input.source.get())) file->leave_offset_at(input.compressed_bytes);
}

async::task<> compressed_inputs::split(compressed_input& input, std::vector<std::byte> head) {
  const bool is_stream = std::holds_alternative<io::stream_source>(*input.source);
  input.splitter = input.format.make_splitter();
  input.blocks = std::make_shared<block_reader>(blocks_, options_.own_blocks, *input.source, notes_.read, stop_);
  block_reader::start(is_stream ? executors_.streams : executors_.pool, input.blocks, input.source, std::move(head));
  for (;;) {
    const block next = co_await input.blocks->next();
    if (input.damaged) co_return;
    if (next.end || stop_.stop_requested()) co_return co_await end_input(input, next);
    co_await forward_block(input, next);
    if (input.groups > 1 || input.splitter->knows_end()) input.blocks->read_farther_ahead();
  }
}

// A group ends at the end of a frame. Bytes that may or may not belong to the frame that ended are held back until the
// splitter knows: the size in a header may be wrong, and a decoder that missed the rest of its frame could not
// continue.
async::task<> compressed_inputs::forward_block(compressed_input& input, const block& source) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < source.bytes.size();) {
    const io::split_step step = input.splitter->advance(source.bytes.subspan(at));
    at += step.taken;
    if (!step.frame_ends) break;
    if (input.splitter->counts_frame()) ++input.frames_walked;
    const std::size_t end = at - std::min(at, step.beyond);  // 0: the frame ends where the held-back bytes begin
    if (input.current_bytes + (end - begin) >= options_.group_bytes) {
      co_await push(input, source, source.bytes.subspan(begin, end - begin));
      if (!input.current) co_return;
      close_group(input);
      begin = end;
    }
    if (!input.held_back.empty()) co_await push_held_back(input);
  }
  co_await push_rest(input, source, source.bytes.subspan(begin));
}

// Pushes all bytes except those to be held back, some of which may already be held back. Held bytes are copied, because
// the number of blocks is small.
async::task<> compressed_inputs::push_rest(compressed_input& input, const block& source,
                                           std::span<const std::byte> rest) {
  const std::size_t wanted = input.splitter->held_back();
  const std::size_t ahead = rest.size() - std::min(rest.size(), wanted);
  if (wanted <= rest.size()) {
    co_await push_held_back(input);
    co_await push(input, source, rest.first(ahead));
  }
  const auto kept = rest.subspan(ahead);
  input.held_back.insert(input.held_back.end(), kept.begin(), kept.end());
}

async::task<> compressed_inputs::push_held_back(compressed_input& input) {
  if (input.held_back.empty()) co_return;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::exchange(input.held_back, {}));
  const block held{.memory = {bytes, bytes->data()}};  // not a temporary: GCC would destroy it twice in co_await
  co_await push(input, held, *bytes);
}

// If the input ends between two groups, a further group is needed only to report an empty input, an error or a stop, or
// that an input must not end there.
async::task<> compressed_inputs::end_input(compressed_input& input, block last) {
  const bool stopped = stop_.stop_requested();
  last.end = true;
  co_await push_held_back(input);
  if (!input.current && (input.groups == 0 || last.error || stopped || input.next.context)) {
    co_await begin_group(input);
  }
  if (input.current) {
    input.current->ends_input = true;
    input.current->blocks.end(std::move(last));
    input.current->may_request_window.set();
  }
  input.current.reset();
}

async::task<> compressed_inputs::push(compressed_input& input, const block& source, std::span<const std::byte> bytes) {
  if (bytes.empty()) co_return;
  if (!input.current) co_await begin_group(input);
  if (!input.current) co_return;
  input.current->blocks.push({.memory = source.memory, .bytes = bytes, .lost = input.splitter->is_lost()});
  input.current_bytes += bytes.size();
}

// Limits how far groups run ahead of the oldest one, because their counts wait for its end. After damage no group is
// begun. If the text is passed through in order, the earlier groups have ended before there is a context, so no bytes
// after the damage are decoded.
async::task<> compressed_inputs::begin_group(compressed_input& input) {
  constexpr std::size_t groups_per_context = 4;
  const bool is_in_order = options_.text_to != nullptr;
  const std::size_t max_running = is_in_order ? 1 : groups_per_context * contexts_.size();
  while (input.running.size() >= max_running) {
    co_await input.running.front()->ended.wait();
    retire_oldest(input);
  }
  const auto task = std::make_shared<group>(input);
  task->context = co_await contexts_.acquire();
  if (input.damaged) co_return;
  task->start = input.next;
  input.running.push_back(task);
  try {
    spawn(task);
  } catch (...) {
    input.running.pop_back();
    throw;
  }
  input.current = task;
  ++input.groups;
}

// A group that was opened in the counts is always closed there, also after an exception.
void compressed_inputs::spawn(const group_pointer& task) {
  compressed_input& input = task->input;
  async::task<> decoding = decode(task);
  task->owner = {.input = input.id, .group = counts_.open_group(input.id), .frame = 1};
  {
    const std::scoped_lock lock(input.mutex);
    input.youngest = task;
    if (++input.running_groups == 1) task->may_request_window.set();
  }
  try {
    async::spawn(executors_.pool, std::move(decoding),
                 [this, task](std::exception_ptr error) noexcept { end_group(*task, std::move(error)); });
  } catch (...) {
    task->end.failure = no_memory();
    end_group(*task, nullptr);
    throw;
  }
}

void compressed_inputs::close_group(compressed_input& input) {
  input.current->blocks.end({.end = true});
  input.current->may_request_window.set();
  input.current.reset();
  input.next.frames = input.frames_walked;
  input.next.compressed_bytes += std::exchange(input.current_bytes, 0);
  input.next.context = input.splitter->context();
}

// The oldest group has ended.
void compressed_inputs::retire_oldest(compressed_input& input) {
  const group_end& end = input.running.front()->end;
  input.text_bytes += end.text_bytes;
  input.compressed_bytes = end.compressed_bytes;
  input.running.pop_front();
}

async::task<> compressed_inputs::decode(group_pointer task) {
  const piece_in_flight counted(notes_.decompress);
  std::exception_ptr error;
  try {
    co_await decode_blocks(*task);
  } catch (...) {
    error = std::current_exception();
  }
  task->parts.reset();
  if (error) task->end.failure = failure_of(error);
}

// The group ends even if something fails here or before: other coroutines wait for its end.
void compressed_inputs::end_group(group& task, std::exception_ptr error) noexcept {
  failures_.note(std::move(error));
  if (task.end.failure) {
    task.input.damaged = true;
    task.input.end_reading();  // the reader may wait for a free block or for bytes, and neither is needed any more
  }
  {
    const std::scoped_lock lock(task.input.mutex);
    if (--task.input.running_groups == 1) task.input.youngest->may_request_window.set();
  }
  try {
    counts_.close_group(task.owner.input, task.owner.group, task.end);
  } catch (...) {
    failures_.note(std::current_exception());
  }
  task.context.release();
  task.ended.set();
}

async::task<> compressed_inputs::decode_blocks(group& task) {
  task.decoder = &task.context->decoder_for(task.input.format);
  task.decoder->restart(task.start);
  task.frame_begin = task.start.compressed_bytes;
  task.frames_ended = task.start.frames;
  for (;;) {
    const block next = co_await next_block(task);
    if (!next.end && !stop_.stop_requested()) co_await take_block(task, next);
    task.end.compressed_bytes = task.lost ? task.skipped_to : task.decoder->consumed_total();
    counts_.set_compressed_bytes(task.owner.input, task.owner.group, task.end.compressed_bytes);
    if (task.end.failure) co_return;
    if (stop_.stop_requested()) {
      task.end.failure = always(left_at(task.end.compressed_bytes));
      co_return;
    }
    if (next.end) co_return end_of_blocks(task, next);
  }
}

// The next block of the group. If it begins a part that was decoded ahead, the part is offered to the decoder.
async::task<block> compressed_inputs::next_block(group& task) {
  for (;;) {
    if (task.parts) {
      while (task.parts->wants_more()) {
        std::optional<block> arrived = task.blocks.try_take();
        if (!arrived) break;
        task.parts->push(std::move(*arrived));
      }
      if (auto next = task.parts->take(std::holds_alternative<io::file_source>(*task.input.source))) {
        if (next->part && !task.lost) task.decoder->offer(next->part);
        co_return std::move(next->bytes);
      }
    }
    block arrived;
    {
      const stopwatch waiting(notes_.decompress.waiting_nanoseconds);
      arrived = co_await task.blocks.take();
    }
    if (!task.parts) begin_parts(task, arrived);
    if (!task.parts) co_return arrived;
    task.parts->push(std::move(arrived));
  }
}

// All further bytes of the input are in this group once the ends of frames are unknown: threads without a group of
// their own help to decode it.
void compressed_inputs::begin_parts(group& task, const block& first) {
  const io::part_format& format = task.input.format.parts;
  if (!first.lost) return;
  const part_shares shares = shares_of(format, options_.threads, task.context->limits().window_bytes);
  if (shares.parts == 0) return;
  const std::size_t blocks_of_part = 1 + (format.part_bytes + format.look_ahead_bytes) / options_.block_bytes;
  block_reader& reader = *task.input.blocks;
  const std::size_t blocks = reader.own_more(blocks_of_part);
  reader.read_farther_ahead();
  task.input.in_parts = true;
  task.parts.emplace(part_queue::settings{.format = format,
                                          .threads = options_.threads,
                                          .max_parts = shares.parts,
                                          .max_part_bytes = shares.bytes,
                                          .max_blocks = blocks - 1,  // the reader fills the last one
                                          .offset = task.decoder->consumed_total(),
                                          .begins_frame = !task.decoder->in_frame()},
                     executors_.pool, task.context->shared_memory(), notes_.decompress);
}

async::task<> compressed_inputs::take_block(group& task, const block& next) {
  std::span<const std::byte> in = next.bytes;
  while (!in.empty() && !task.end.failure && !stop_.stop_requested()) {
    if (task.lost) {
      co_await skip(task, next, in);
    } else if (!co_await decode_some(task, in)) {
      if (options_.skip_damage) {
        begin_skipping(task, task.decoder->fault_cause());
        // leave out at least one byte of the frame, so that its own magic number is not found again
        const std::uint64_t of_frame = task.skipped_to - task.frame_begin;
        const auto skipped_bytes = next.bytes.first(next.bytes.size() - in.size());
        task.search.emplace(task.input.format.frame_magic, skipped_bytes.last(std::min<std::uint64_t>(
                                                               skipped_bytes.size(), of_frame > 0 ? of_frame - 1 : 0)));
      } else {
        task.end.failure = [kept = task.context->keep_decoder()](std::uint64_t before) {
          return damage(kept->fault(before));
        };
      }
    }
  }
}

void compressed_inputs::end_of_blocks(group& task, const block& last) {
  if (last.error) {
    task.end.failure = failure_of(last.error);
  } else if (task.lost) {
    end_skipping(task, task.skipped_to);
  } else if (std::string cause = missing_cause(*task.decoder, task.ends_input); cause.empty()) {
    if (task.frame_bytes > 0) conclude_verified(task);  // needed for formats without an end mark
  } else if (options_.skip_damage) {
    begin_skipping(task, std::move(cause));
    end_skipping(task, task.skipped_to);
  } else {
    task.end.failure = [kept = task.context->keep_decoder(), ends_input = task.ends_input](std::uint64_t before) {
      return damage(missing_at_end(*kept, ends_input, before));
    };
  }
}

// The damaged frame stays unverified. The bytes up to the start of the next frame are not decoded.
void compressed_inputs::begin_skipping(group& task, std::string cause) {
  task.skipped_to = task.decoder->consumed_total();
  task.frame_begin = std::max(task.frame_begin, task.decoder->frameless_to());
  task.lost = {.compressed_begin = task.frame_begin,
               .compressed_end = 0,
               .text_offset = task.end.text_bytes - task.frame_bytes,
               .unverified_bytes = task.frame_bytes,
               .cause = std::move(cause)};
  counts_.note_gap(task.owner.input, task.lost->cause);
  if (task.frame_bytes > 0) counts_.conclude(task.owner, task.frame_bytes, false);
  ++task.owner.frame;
  ++task.owner.lost_before;
  ++task.frames_ended;
  task.frame_bytes = 0;
}

void compressed_inputs::end_skipping(group& task, std::uint64_t at) {
  task.lost->compressed_end = at;
  if (task.end.lost_ranges.size() < max_lost_ranges) task.end.lost_ranges.push_back(std::move(*task.lost));
  ++task.end.number_of_lost_ranges;
  task.lost.reset();
  task.search.reset();
  task.frame_begin = at;
  task.decoder->restart({.frames = task.frames_ended, .compressed_bytes = at});
}

// While the splitter knows the ends of frames, the rest of the group is skipped. Otherwise decoding resumes at every
// magic number that is found.
async::task<> compressed_inputs::skip(group& task, const block& source, std::span<const std::byte>& in) {
  const auto found = source.lost ? task.search->find(in) : std::nullopt;
  if (!source.lost) task.search->pass(in);
  if (!found) {
    task.skipped_to += in.size();
    in = {};
    co_return;
  }
  std::span<const std::byte> skipped_bytes =
      std::as_bytes(std::span(task.input.format.frame_magic)).first(found->before);
  end_skipping(task, task.skipped_to + found->at - found->before);
  in = in.subspan(found->at);
  co_await decode_some(task, skipped_bytes);
}

// Returns false if the frame is damaged. Removes the decoded bytes from the front of `in`.
async::task<bool> compressed_inputs::decode_some(group& task, std::span<const std::byte>& in) {
  cutter& cut = task.context->cut;
  // text is counted by the thread that decoded it, in chunks that fit into its caches: to wake another thread, which
  // has to load the text into its own, takes longer. Counting that takes as long as decoding is left to idle threads
  const bool are_idle = notes_.decompress.now_in_flight < options_.threads;
  cut.set_chunking(cut.counts_here() && !(are_idle && options_.counting_is_slow)
                       ? cutter::chunking{.max_bytes = options_.busy_chunk_bytes, .count_here = true}
                       : cutter::chunking{});
  while (!stop_.stop_requested()) {
    held_reservation target(cut, co_await cut.reserve(std::numeric_limits<std::uint32_t>::max()));
    const io::fill_result result = fill(task, in, target.bytes());
    in = in.subspan(result.consumed);
    if (options_.text_to != nullptr && result.produced > 0)
      co_await options_.text_to->write(target.bytes().first(result.produced));
    target.commit(result.produced, task.owner);
    task.frame_bytes += result.produced;  // after the commit: bytes that were not committed are not expected
    task.end.text_bytes += result.produced;
    notes_.decompress.bytes += result.produced;
    const std::uint64_t text_so_far = task.input.text_so_far += result.produced;
    if (text_so_far > options_.max_text) {
      task.end.failure = always(too_much_text(options_.max_text, task.decoder->consumed_total()));
      break;
    }
    if (result.status == io::fill_status::needs_input) break;
    if (result.status == io::fill_status::failed) co_return false;
    if (result.status == io::fill_status::needs_window) co_await grant_window(task);
    if (result.status == io::fill_status::frame_verified) conclude_verified(task);
  }
  co_return true;
}

// Avoids a deadlock: a group that has a large window must not wait for blocks of a group that waits for such a window.
// So a group requests a window only when all of its bytes have arrived, or when no other group of the input holds
// blocks.
async::task<> compressed_inputs::grant_window(group& task) {
  if (task.parts) task.parts->discard_parts();
  co_await task.may_request_window.wait();
  co_await task.context->grant_window();
}

io::fill_result compressed_inputs::fill(group& task, std::span<const std::byte> in, std::span<std::byte> out) {
  const stopwatch busy(notes_.decompress.busy_nanoseconds);
  return task.decoder->fill(in, out);
}

void compressed_inputs::conclude_verified(group& task) {
  ++notes_.frames;
  if (!task.context->cut.verified_in_place(task.owner, task.frame_bytes) && task.frame_bytes > 0) {
    counts_.conclude(task.owner, task.frame_bytes, true);
  }
  ++task.owner.frame;
  ++task.frames_ended;
  task.frame_bytes = 0;
  task.frame_begin = task.decoder->consumed_total();
}

}  // namespace gpuhist::pipeline
