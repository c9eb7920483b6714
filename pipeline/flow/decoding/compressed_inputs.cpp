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

using fault_text = std::function<input_failure(std::uint64_t)>;

fault_text always(input_failure failure) {
  return [failure = std::move(failure)](std::uint64_t) { return failure; };
}

// Needs none.
fault_text no_memory() {
  return [](std::uint64_t) {
    return input_failure{.kind = failure_kind::out_of_memory, .text = "not enough memory to decode it"};
  };
}

// What went wrong with an input; rethrows what no input is to blame for.
fault_text fault_of(const std::exception_ptr& error) {
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

// One input on its way; of the coroutine that splits it, but for `damaged`.
struct compressed_inputs::compressed_input {
  compressed_input(input_id id, std::shared_ptr<io::source> from, const io::format& in, async::event_loop& streams)
      : input(id), source(std::move(from)), format(in), stream_end(make_stream_cancel(streams, source)) {}

  input_id input = 0;
  std::shared_ptr<io::source> source;
  const io::format& format;
  const std::shared_ptr<async::deferred_call> stream_end;
  std::unique_ptr<io::splitter> splitter{};
  std::shared_ptr<block_reader> blocks{};
  std::deque<group_pointer> running{};  // groups whose end has not been seen, the oldest first
  group_pointer current{};              // the one that still gets bytes
  std::size_t current_bytes = 0;        // compressed, that it got
  std::vector<std::byte> held_back{};   // taken by the splitter, and given to no group yet
  io::decode_start next{};              // where the next group begins
  std::uint64_t frames_walked = 0;
  std::uint64_t text_bytes = 0;        // of groups whose end was seen
  std::uint64_t compressed_bytes = 0;  // up to the end of those
  std::uint64_t groups = 0;
  std::atomic<bool> damaged{false};           // nothing more is wanted
  std::atomic<std::uint64_t> text_so_far{0};  // of all groups

  std::mutex mutex{};
  group_pointer youngest{};     // under the mutex, as is
  std::size_t groups_left = 0;  // how many have not ended

  // Whoever waits for bytes, or for a block to have them in, waits no longer.
  void end_reading() const noexcept {
    if (blocks) blocks->give_up();
    stream_end->post();
  }
};

// What one decoder does. The channel is filled by the splitting coroutine, the rest is of the decoding one until
// `ended`.
struct compressed_inputs::group {
  explicit group(compressed_input& from) : of(from) {}

  compressed_input& of;
  text_owner owner{};
  io::decode_start start{};
  decode_contexts::lease context{};
  async::channel<block> blocks{};
  async::event may_ask{};  // for a large window
  async::event ended{};

  io::decoder* decoder = nullptr;  // of the context
  std::uint64_t frame_begin = 0;   // compressed offset
  std::uint64_t frame_bytes = 0;   // of text, so far
  std::uint64_t frames_ended = 0;  // of the input, damaged ones among them
  bool ends_input = false;         // not just where the next group begins
  group_end end{};
  std::optional<lost_range> lost{};      // being skipped
  std::uint64_t skipped_to = 0;          // compressed offset
  std::optional<frame_search> search{};  // for the next frame, where no group begins with it
};

// For the statistics.
std::string compressed_inputs::manner_of(const compressed_input& what) const {
  if (!what.splitter) return "not decoded";
  const std::string manner(what.splitter->manner());
  if (what.groups > 1 && !how_.in_order_for.empty()) {
    return "one frame after the other, because of " + std::string(how_.in_order_for);
  }
  if (what.groups > 1) return "split: " + manner;
  return "in one piece: " + (what.splitter->is_lost() ? manner : "a single frame, or too short to split");
}

compressed_inputs::compressed_inputs(const settings& how, const executors& where, decode_contexts& contexts,
                                     rolling_counts& counts, feed_notes& notes, async::first_failure& failures,
                                     std::stop_token stop)
    : how_(how),
      where_(where),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      failures_(failures),
      blocks_(std::make_shared<block_pool>(how.block_bytes, how.extra_blocks)),
      open_(how.open_inputs),
      feeding_(failures) {}

async::task<> compressed_inputs::add(input_id input, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                                     const io::format& format) {
  async::semaphore::permit right = co_await open_.acquire();
  const bool is_file = std::holds_alternative<io::file_source>(*source);
  if (is_file) head.clear();
  auto what = std::make_shared<compressed_input>(input, std::move(source), format, where_.streams);
  feeding_.spawn(where_.pool, feed(std::move(what), std::move(head), std::move(right)));
}

// The permit lasts as long as this does.
async::task<> compressed_inputs::feed(std::shared_ptr<compressed_input> what, std::vector<std::byte> head,
                                      async::semaphore::permit) {
  std::exception_ptr error;
  try {
    co_await split(*what, std::move(head));
  } catch (...) {
    error = std::current_exception();
  }
  what->end_reading();
  const bool is_noted = what->current != nullptr;  // as the group's
  if (is_noted) {
    what->current->blocks.end({.end = true, .error = error});
    what->current->may_ask.set();
  }
  while (!what->running.empty()) {
    co_await what->running.front()->ended.wait();
    retire_oldest(*what);
  }
  end_input_with(*what, is_noted ? nullptr : error);
}

void compressed_inputs::end_input_with(compressed_input& what, const std::exception_ptr& error) {
  if (error && !what.damaged) {
    counts_.fail(what.input, what.text_bytes, fault_of(error)(what.text_bytes));
  } else if (!what.damaged) {
    counts_.finish(what.input, what.text_bytes);
  }
  notes_.add_decoding(manner_of(what));
  if (auto* file = std::get_if<io::file_source>(what.source.get())) file->leave_offset_at(what.compressed_bytes);
}

async::task<> compressed_inputs::split(compressed_input& what, std::vector<std::byte> head) {
  const bool is_stream = std::holds_alternative<io::stream_source>(*what.source);
  what.splitter = what.format.make_splitter();
  what.blocks = std::make_shared<block_reader>(blocks_, how_.own_blocks, *what.source, notes_.read, stop_);
  block_reader::start(is_stream ? where_.streams : where_.pool, what.blocks, what.source, std::move(head));
  for (;;) {
    const block next = co_await what.blocks->next();
    if (what.damaged) co_return;
    if (next.end || stop_.stop_requested()) co_return co_await end_input(what, next);
    co_await forward_block(what, next);
    if (what.groups > 1) what.blocks->read_farther_ahead();
  }
}

// A group ends where a frame does. What may come after the end of a frame, or may not, is held back until the splitter
// knows: a size in a header may be wrong, and a decoder that was cut off by it could not go on.
async::task<> compressed_inputs::forward_block(compressed_input& what, const block& from) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < from.bytes.size();) {
    const io::split_step step = what.splitter->advance(from.bytes.subspan(at));
    at += step.taken;
    if (!step.frame_ends) break;
    if (what.splitter->counts_frame()) ++what.frames_walked;
    const std::size_t end = at - std::min(at, step.beyond);  // 0: where the bytes that are held back begin
    if (what.current_bytes + (end - begin) >= how_.group_bytes) {
      co_await push(what, from, from.bytes.subspan(begin, end - begin));
      if (!what.current) co_return;
      close_group(what);
      begin = end;
    }
    if (!what.held_back.empty()) co_await push_held_back(what);
  }
  co_await push_rest(what, from, from.bytes.subspan(begin));
}

// All but what is to be held back, of which some may be held back already. That is copied: blocks are few.
async::task<> compressed_inputs::push_rest(compressed_input& what, const block& from, std::span<const std::byte> rest) {
  const std::size_t wanted = what.splitter->held_back();
  const std::size_t ahead = rest.size() - std::min(rest.size(), wanted);
  if (wanted <= rest.size()) {
    co_await push_held_back(what);
    co_await push(what, from, rest.first(ahead));
  }
  const auto kept = rest.subspan(ahead);
  what.held_back.insert(what.held_back.end(), kept.begin(), kept.end());
}

async::task<> compressed_inputs::push_held_back(compressed_input& what) {
  if (what.held_back.empty()) co_return;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::exchange(what.held_back, {}));
  const block held{.memory = {bytes, bytes->data()}};  // named: GCC destroys such a temporary of co_await twice
  co_await push(what, held, *bytes);
}

// Bytes that end between two groups need no further one, unless there is something to be said of the end.
async::task<> compressed_inputs::end_input(compressed_input& what, block last) {
  const bool stopped = stop_.stop_requested();
  last.end = true;
  co_await push_held_back(what);
  if (!what.current && (what.groups == 0 || last.error || stopped)) co_await begin_group(what);
  if (what.current) {
    what.current->ends_input = true;
    what.current->blocks.end(std::move(last));
    what.current->may_ask.set();
  }
  what.current.reset();
}

async::task<> compressed_inputs::push(compressed_input& what, const block& from, std::span<const std::byte> bytes) {
  if (bytes.empty()) co_return;
  if (!what.current) co_await begin_group(what);
  if (!what.current) co_return;
  what.current->blocks.push({.memory = from.memory, .bytes = bytes, .lost = what.splitter->is_lost()});
  what.current_bytes += bytes.size();
}

// How far groups may be ahead of the oldest one, whose counts hold those of the others back. After damage none is
// begun: where text is wanted in its order, the groups before have ended by the time there is a context, so that none
// of what follows the damage is decoded.
async::task<> compressed_inputs::begin_group(compressed_input& what) {
  constexpr std::size_t groups_a_context = 4;
  const std::size_t most = how_.text_to != nullptr ? 1 : groups_a_context * contexts_.size();  // text in its order
  while (what.running.size() >= most) {
    co_await what.running.front()->ended.wait();
    retire_oldest(what);
  }
  const auto task = std::make_shared<group>(what);
  task->context = co_await contexts_.acquire();
  if (what.damaged) co_return;
  task->start = what.next;
  what.running.push_back(task);
  try {
    spawn(task);
  } catch (...) {
    what.running.pop_back();
    throw;
  }
  what.current = task;
  ++what.groups;
}

// Once it is open in the counts it ends there, by whichever way.
void compressed_inputs::spawn(const group_pointer& task) {
  compressed_input& what = task->of;
  async::task<> decoding = decode(task);
  task->owner = {.input = what.input, .group = counts_.open_group(what.input), .frame = 1};
  {
    const std::scoped_lock lock(what.mutex);
    what.youngest = task;
    if (++what.groups_left == 1) task->may_ask.set();
  }
  try {
    async::spawn(where_.pool, std::move(decoding),
                 [this, task](std::exception_ptr error) noexcept { end_group(*task, std::move(error)); });
  } catch (...) {
    task->end.failure = no_memory();
    end_group(*task, nullptr);
    throw;
  }
}

void compressed_inputs::close_group(compressed_input& what) {
  what.current->blocks.end({.end = true});
  what.current->may_ask.set();
  what.current.reset();
  what.next.frames = what.frames_walked;
  what.next.compressed_bytes += std::exchange(what.current_bytes, 0);
}

// Its end was waited for.
void compressed_inputs::retire_oldest(compressed_input& what) {
  const group_end& end = what.running.front()->end;
  what.text_bytes += end.text_bytes;
  what.compressed_bytes = end.compressed_bytes;
  what.running.pop_front();
}

async::task<> compressed_inputs::decode(group_pointer task) {
  const piece_in_flight counted(notes_.decompress);
  std::exception_ptr error;
  try {
    co_await decode_blocks(*task);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) task->end.failure = fault_of(error);
}

// Whatever fails here or before, the group ends: others wait for it.
void compressed_inputs::end_group(group& task, std::exception_ptr error) noexcept {
  failures_.note(std::move(error));
  if (task.end.failure) {
    task.of.damaged = true;
    task.of.end_reading();  // it may be waiting for blocks that nobody will decode, or for bytes that nobody wants
  }
  {
    const std::scoped_lock lock(task.of.mutex);
    if (--task.of.groups_left == 1) task.of.youngest->may_ask.set();
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
  task.decoder = &task.context->decoder_for(task.of.format);
  task.decoder->restart(task.start);
  task.frame_begin = task.start.compressed_bytes;
  task.frames_ended = task.start.frames;
  for (;;) {
    block next;
    {
      const stopwatch waiting(notes_.decompress.waiting_nanoseconds);
      next = co_await task.blocks.take();
    }
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

async::task<> compressed_inputs::take_block(group& task, const block& next) {
  std::span<const std::byte> in = next.bytes;
  while (!in.empty() && !task.end.failure && !stop_.stop_requested()) {
    if (task.lost) {
      co_await skip(task, next, in);
    } else if (!co_await decode_some(task, in)) {
      if (how_.skip_damage) {
        begin_skipping(task, task.decoder->fault_cause());
        // one byte of the frame at the least is left behind: its own magic number is not to be found again
        const std::uint64_t of_frame = task.skipped_to - task.frame_begin;
        const auto skipped_bytes = next.bytes.first(next.bytes.size() - in.size());
        task.search.emplace(task.of.format.frame_magic, skipped_bytes.last(std::min<std::uint64_t>(
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
    task.end.failure = fault_of(last.error);
  } else if (task.lost) {
    end_skipping(task, task.skipped_to);
  } else if (std::string cause = missing_cause(*task.decoder, task.ends_input); cause.empty()) {
    if (task.frame_bytes > 0) conclude_verified(task);  // of a format without an end mark
  } else if (how_.skip_damage) {
    begin_skipping(task, std::move(cause));
    end_skipping(task, task.skipped_to);
  } else {
    task.end.failure = [kept = task.context->keep_decoder(), ends_input = task.ends_input](std::uint64_t before) {
      return damage(missing_at_end(*kept, ends_input, before));
    };
  }
}

// The frame stays unverified for good, and what follows is not decoded until the next one begins.
void compressed_inputs::begin_skipping(group& task, std::string cause) {
  task.skipped_to = task.decoder->consumed_total();
  task.lost = {.compressed_begin = task.frame_begin,
               .compressed_end = 0,
               .text_offset = task.end.text_bytes - task.frame_bytes,
               .unverified_bytes = task.frame_bytes,
               .cause = std::move(cause)};
  counts_.note_gap(task.owner.input, task.lost->cause);
  if (task.frame_bytes > 0) counts_.conclude(task.owner, task.frame_bytes, false);
  ++task.owner.frame;
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

// Where the splitter knows where frames end, the group ends where this one would have. Where it does not, whatever
// looks like the beginning of a frame is tried.
async::task<> compressed_inputs::skip(group& task, const block& from, std::span<const std::byte>& in) {
  const auto found = from.lost ? task.search->find(in) : std::nullopt;
  if (!found) {
    task.skipped_to += in.size();
    in = {};
    co_return;
  }
  std::span<const std::byte> skipped_bytes = std::as_bytes(std::span(task.of.format.frame_magic)).first(found->before);
  end_skipping(task, task.skipped_to + found->at - found->before);
  in = in.subspan(found->at);
  co_await decode_some(task, skipped_bytes);
}

// False where the frame is damaged. Takes what it decoded from the front of `in`.
async::task<bool> compressed_inputs::decode_some(group& task, std::span<const std::byte>& in) {
  cutter& cut = task.context->cut;
  // a core that decodes on and on counts what it decoded, too, and stays within its caches; fewer decoders leave
  // threads to count, which larger chunks wake less often
  const bool all_work = notes_.decompress.now_in_flight >= how_.threads;
  cut.set_chunking(all_work && cut.counts_here()
                       ? cutter::chunking{.max_bytes = how_.busy_chunk_bytes, .count_here = true}
                       : cutter::chunking{});
  while (!stop_.stop_requested()) {
    held_reservation where(cut, co_await cut.reserve(std::numeric_limits<std::uint32_t>::max()));
    const io::fill_result got = fill(task, in, where.bytes());
    in = in.subspan(got.consumed);
    if (how_.text_to != nullptr && got.produced > 0) co_await how_.text_to->write(where.bytes().first(got.produced));
    where.commit(got.produced, task.owner);
    task.frame_bytes += got.produced;  // not before: what was not committed is not waited for
    task.end.text_bytes += got.produced;
    notes_.decompress.bytes += got.produced;
    const std::uint64_t text_so_far = task.of.text_so_far += got.produced;
    if (text_so_far > how_.max_text) {
      task.end.failure = always(too_much_text(how_.max_text, task.decoder->consumed_total()));
      break;
    }
    if (got.status == io::fill_status::needs_input) break;
    if (got.status == io::fill_status::failed) co_return false;
    if (got.status == io::fill_status::needs_window) co_await grant_window(task);
    if (got.status == io::fill_status::frame_verified) conclude_verified(task);
  }
  co_return true;
}

// Who has such memory must not wait for blocks of who waits for it. So a group asks for it when all of its bytes are
// here, or when no other group of its input has blocks.
async::task<> compressed_inputs::grant_window(group& task) {
  co_await task.may_ask.wait();
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
