#include "pipeline/flow/decoding/compressed_group.hpp"

#include "config/size.hpp"
#include "pipeline/flow/decoding/ahead_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

std::string missing_at_end(const io::decoder& decoder, bool ends_input, std::uint64_t text_before) {
  return ends_input ? decoder.missing_at_end(text_before) : decoder.missing_at_frame_end(text_before);
}

std::string missing_cause(const io::decoder& decoder, bool ends_input) {
  return ends_input ? decoder.missing_cause_at_end() : decoder.missing_cause_at_frame_end();
}

input_failure too_much_text(std::uint64_t most, std::uint64_t frame_begin) {
  return {.kind = failure_kind::refused,
          .text = "decompresses to more than the " + config::format_size(most) +
                  " of --max-output; given up in the frame at compressed offset " + std::to_string(frame_begin)};
}

// A block may begin a part that the splitter has found.
void push_part(part_queue& to, block next) {
  if (next.part) to.end_part({.context = next.part});
  to.push(std::move(next));
}

}  // namespace

// The failure of an input. What the input did not cause ends the run.
failure_maker compressed_inputs::note(const std::exception_ptr& error, std::uint64_t reached) const {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const io::input_error&) {
    return always(failure_from(error));
  } catch (...) {
    failures_.note(error);
    return always(left_at(reached));
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

async::task<> compressed_inputs::decode(group_pointer task) {
  std::exception_ptr error;
  try {
    if (!task->staged || !co_await decode_on_device(*task)) {
      const bool follows = task->previous != nullptr;
      if (follows) co_await task->previous->ended.wait();
      if (!follows || !task->input.damaged) co_await decode_blocks(*task);
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (task->previous) co_await task->previous->ended.wait();  // groups end in order if text is cut in order
  try {
    co_await wait_for_text(*task);
  } catch (...) {
    add_failure(std::current_exception(), error);
  }
  task->parts.reset();
  try {
    co_await task->text.end_group(!error && !task->end.failure);
  } catch (...) {
    add_failure(std::current_exception(), error);
  }
  if (error) task->end.failure = note(error, task->end.compressed_bytes.value_or(task->start.compressed_bytes));
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

async::task<> compressed_inputs::decode_blocks(group& task) {
  const piece_in_flight counted(notes_.decompress);
  task.decoder = &task.context->decoder_for(task.input.format);
  task.decoder->restart(task.start);
  task.frame_begin = task.start.compressed_bytes;
  task.frames_ended = task.start.frames;
  for (;;) {
    open_more_if_device_is_ready();
    const block next = co_await next_block(task);
    if (!next.end && !stop_.stop_requested()) co_await take_block(task, next);
    const std::uint64_t reached = task.lost         ? task.skipped_to
                                  : task.is_refused ? task.frame_begin
                                                    : task.decoder->consumed_total();
    note_reached(task, reached);
    if (task.end.failure) co_return;
    if (stop_.stop_requested()) {
      task.end.failure = always(left_at(reached));
      co_return;
    }
    if (next.end) {
      co_await wait_for_text(task);
      co_return co_await end_of_blocks(task, next);
    }
  }
}

// The next block of the group. If it begins a part that was decoded ahead, the part is offered to the decoder.
async::task<block> compressed_inputs::next_block(group& task) {
  for (;;) {
    if (task.parts) {
      while (task.parts->wants_more()) {
        std::optional<block> arrived = task.blocks.try_take();
        if (!arrived) break;
        push_part(*task.parts, std::move(*arrived));
      }
      if (auto next = task.parts->take(std::holds_alternative<io::file_source>(*task.input.source))) {
        if (next->part && !task.lost) task.decoder->offer(next->part);
        co_return std::move(next->bytes);
      }
    }
    block arrived;
    if (!task.staged_blocks.empty()) {
      arrived = std::move(task.staged_blocks.front());
      task.staged_blocks.pop_front();
    } else {
      const stopwatch waiting(notes_.decompress.waiting_nanoseconds);
      arrived = co_await task.blocks.take();
    }
    if (!task.parts) begin_parts(task, arrived);
    if (!task.parts) co_return arrived;
    push_part(*task.parts, std::move(arrived));
  }
}

// Threads without a group of their own help to decode this one, if its frame has parts: where the splitter has found
// one, or, for other formats, once the ends of frames are unknown, because all further bytes of the input are in this
// group.
void compressed_inputs::begin_parts(group& task, const block& first) {
  if (task.lost || options_.threads < 2) return;
  const bool has_parts = task.input.format.parts.splitter_divides
                             ? first.part != nullptr
                             : first.lost && !std::exchange(task.has_asked_for_parts, true);
  if (!has_parts) return;
  const auto* const file = std::get_if<io::file_source>(task.input.source.get());
  io::part_format format = parts_of(task.input.format, file, notes_, stop_);
  const part_shares shares = shares_of(format, options_.threads, task.context->limits().window_bytes);
  if (shares.parts == 0) return;
  const std::size_t blocks_of_part = 1 + (format.part_bytes + format.look_ahead_bytes) / options_.block_bytes;
  if (format.splitter_divides) format.part_bytes = part_queue::any_size;
  const std::size_t blocks = task.input.own_blocks_of_parts(blocks_of_part);
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
        input_failure found{.kind = task.decoder->fault_kind(), .text = task.decoder->fault_cause()};
        co_await begin_skipping(task, std::move(found));
        // leave out at least one byte of the frame, so that its own magic number is not found again
        const std::uint64_t of_frame = task.skipped_to - task.frame_begin;
        const auto skipped_bytes = next.bytes.first(next.bytes.size() - in.size());
        task.search.emplace(task.input.format.frame_magic, skipped_bytes.last(std::min<std::uint64_t>(
                                                               skipped_bytes.size(), of_frame > 0 ? of_frame - 1 : 0)));
      } else {
        task.end.failure = [kept = task.context->keep_decoder()](std::uint64_t before) {
          return input_failure{.kind = kept->fault_kind(), .text = kept->fault(before)};
        };
      }
    }
  }
}

async::task<> compressed_inputs::end_of_blocks(group& task, const block& last) {
  if (last.error) {
    task.end.failure = note(last.error, task.end.compressed_bytes.value_or(0));
    co_return;
  }
  std::string cause = task.lost ? std::string() : missing_cause(*task.decoder, task.ends_input);
  while (options_.skip_damage && (task.lost || !cause.empty()) && !task.end.failure) {
    if (!task.lost) {
      input_failure found{.kind = task.decoder->fault_kind(), .text = std::move(cause)};
      co_await begin_skipping(task, std::move(found));
    }
    if (task.ends_input && !task.has_searched_again) co_await search_again(task);
    if (task.lost) co_return end_skipping(task, task.skipped_to);
    co_await wait_for_text(task);
    cause = missing_cause(*task.decoder, task.ends_input);
  }
  if (task.end.failure) co_return;
  if (cause.empty()) {
    if (task.text.frame_bytes() > 0) co_await end_frame(task);  // needed for formats without an end mark
    task.end.notice = task.decoder->notice_at_end();
  } else {
    task.end.failure = [kept = task.context->keep_decoder(), ends_input = task.ends_input](std::uint64_t before) {
      return input_failure{.kind = kept->fault_kind(), .text = missing_at_end(*kept, ends_input, before)};
    };
  }
}

// The frame stays unverified. The bytes up to the start of the next frame are not decoded.
async::task<> compressed_inputs::begin_skipping(group& task, input_failure found) {
  task.skipped_to = task.decoder->consumed_total();
  task.frame_begin = std::max(task.frame_begin, task.decoder->frameless_to());
  task.lost = {.compressed_begin = task.frame_begin,
               .compressed_end = 0,
               .text_offset = task.text.bytes() - task.text.frame_bytes(),
               .unverified_bytes = task.text.frame_bytes(),
               .cause = std::move(found.text),
               .kind = found.kind};
  task.has_searched_again = false;
  co_await task.text.lose_frame(task.lost->cause);
  ++task.frames_ended;
}

void compressed_inputs::end_skipping(group& task, std::uint64_t at) {
  task.lost->compressed_end = at;
  if (task.end.lost_ranges.size() < max_lost_ranges) task.end.lost_ranges.push_back(std::move(*task.lost));
  ++task.end.number_of_lost_ranges;
  task.lost.reset();
  task.search.reset();
  task.frame_begin = at;
  task.decoder->restart({.frames = task.frames_ended, .compressed_bytes = at, .context = task.decoder->head()});
}

// While the splitter knows the ends of frames, the rest of the group is skipped. Otherwise decoding resumes at every
// magic number that is found.
async::task<> compressed_inputs::skip(group& task, const block& source, std::span<const std::byte>& in) {
  if (!source.lost) {
    task.search->pass(in);
    task.skipped_to += in.size();
    in = {};
  } else if (!task.has_searched_again) {
    co_await search_again(task);
  } else {
    co_await find_frame(task, in);
  }
}

// A frame may begin within the damaged one, if its writer was killed and another one appended: the decoder takes the
// first bytes of it as data of the damaged frame, and fails after them. The bytes of a file up to the error are read
// again, and decoding resumes at every magic number in them. A frame that is found there and is damaged, too, is
// searched in the same way, up to a limit for the sum of all such bytes: the time stays linear.
async::task<> compressed_inputs::search_again(group& task) {
  task.has_searched_again = true;
  const auto* const file = std::get_if<io::file_source>(task.input.source.get());
  if (file == nullptr || task.input.format.frame_magic.empty()) co_return;
  constexpr std::size_t piece_bytes = std::size_t{64} << 10U;
  const std::uint64_t end = task.skipped_to;
  const std::uint64_t most = 4 * end + piece_bytes;
  std::vector<std::byte> piece(piece_bytes);
  std::uint64_t at = task.skipped_to = task.frame_begin + 1;
  task.search.emplace(task.input.format.frame_magic, std::span<const std::byte>());
  while (at < end && (!task.lost || task.bytes_read_again < most) && !task.end.failure && !stop_.stop_requested()) {
    std::span<const std::byte> in = std::span(piece).first(
        file->read_at(std::span(piece).first(std::min<std::uint64_t>(piece_bytes, end - at)), at));
    if (in.empty()) {  // the file became shorter
      if (!task.lost) {
        input_failure found{.kind = task.decoder->fault_kind(), .text = task.decoder->missing_cause_at_end()};
        co_await begin_skipping(task, std::move(found));
      }
      task.has_searched_again = true;
      break;
    }
    at += in.size();
    task.bytes_read_again += in.size();
    while (!in.empty() && !task.end.failure && !stop_.stop_requested()) {
      if (task.lost) {
        co_await find_frame(task, in);
      } else if (!co_await decode_some(task, in)) {
        input_failure found{.kind = task.decoder->fault_kind(), .text = task.decoder->fault_cause()};
        co_await begin_skipping(task, std::move(found));
        task.has_searched_again = true;
        at = task.skipped_to = task.frame_begin + 1;
        task.search.emplace(task.input.format.frame_magic, std::span<const std::byte>());
        break;
      }
    }
  }
  if (task.lost) task.skipped_to = end;
}

// Skips `in`, or resumes decoding at the next magic number in it.
async::task<> compressed_inputs::find_frame(group& task, std::span<const std::byte>& in) {
  const auto found = task.search->find(in);
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
  task.context->choose_chunking();
  while (!stop_.stop_requested()) {
    const std::uint64_t room = room_for_text(task);
    std::optional<reservation> free = cut.try_reserve(std::max<std::uint64_t>(room, 1));
    if (!free) free = co_await cut.reserve(std::max<std::uint64_t>(room, 1));
    held_reservation target(cut, *free);
    const io::fill_result result = fill(task, in, target.bytes());
    if (result.produced > room) {
      refuse(task);
      break;
    }
    in = in.subspan(result.consumed);
    notes_.decompress.bytes += result.produced;
    task.decoded += result.produced;
    if (!task.text.is_observed()) {
      task.text.commit(target, result.produced);  // without a coroutine: frames may be short
    } else {
      co_await take_text(task, std::move(target), result);
    }
    const std::uint64_t text_of_all = task.input.text_so_far += result.produced;
    if (!task.text_before && text_of_all > options_.max_text) {
      task.end.is_beyond_limit = true;
      refuse(task);
      break;
    }
    if (result.status == io::fill_status::needs_input) break;
    if (result.status == io::fill_status::failed) co_return false;
    if (result.status == io::fill_status::needs_window) co_await grant_window(task);
    if (result.status == io::fill_status::frame_verified) co_await end_frame(task);
  }
  co_return true;
}

// Bytes of text that the group may still have. Not limited while those of the groups before it are not known.
std::uint64_t compressed_inputs::room_for_text(const group& task) const {
  constexpr std::uint64_t any = std::numeric_limits<std::uint32_t>::max();
  if (!task.text_before) return any;
  return std::min(any, options_.max_text - std::min(options_.max_text, *task.text_before + task.decoded));
}

// The offset is that of a frame, because where the decoder is depends on the blocks of compressed bytes.
void compressed_inputs::refuse(group& task) const {
  task.end.failure = always(too_much_text(options_.max_text, task.frame_begin));
  task.is_refused = true;
}

// Avoids a deadlock: a group that has a large window must not wait for blocks of a group that waits for such a window.
// So a group requests a window only when all of its bytes have arrived, or when no other group of the input holds
// blocks.
// For the same reason it waits for its turn first: a group that has a large window must not wait for groups before it.
async::task<> compressed_inputs::grant_window(group& task) const {
  if (task.parts) task.parts->discard_parts();
  co_await task.may_request_window.wait();
  if (options_.text_to != nullptr) co_await options_.text_to->wait_for_turn(task.text.owner());
  co_await task.context->grant_window();
}

io::fill_result compressed_inputs::fill(group& task, std::span<const std::byte> in, std::span<std::byte> out) {
  const busy_time busy(notes_.decompress);
  return task.decoder->fill(in, out);
}

async::task<> compressed_inputs::end_frame(group& task) {
  ++notes_.frames;
  ++task.frames_ended;
  task.frame_begin = task.decoder->consumed_total();
  return task.text.end_frame(&task.context->cut);
}

}  // namespace gpuhist::pipeline
