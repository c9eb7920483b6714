#include "pipeline/flow/decoding/compressed_group.hpp"

#include "config/size.hpp"
#include "pipeline/flow/decoding/ahead_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

input_failure damage(std::string text) { return {.kind = failure_kind::damaged, .text = std::move(text)}; }

std::string missing_at_end(const io::decoder& decoder, bool ends_input, std::uint64_t text_before) {
  return ends_input ? decoder.missing_at_end(text_before) : decoder.missing_at_frame_end(text_before);
}

std::string missing_cause(const io::decoder& decoder, bool ends_input) {
  return ends_input ? decoder.missing_cause_at_end() : decoder.missing_cause_at_frame_end();
}

input_failure too_much_text(std::uint64_t most, std::string_view option, std::uint64_t frame_begin) {
  return {.kind = failure_kind::refused,
          .text = "decompresses to more than the " + config::format_size(most) + " of " + std::string(option) +
                  "; given up in the frame at compressed offset " + std::to_string(frame_begin)};
}

void copy_memory_of(std::deque<block>& blocks) {
  for (block& each : blocks) {
    const std::shared_ptr<std::byte[]> copy(new std::byte[each.bytes.size()]);
    std::ranges::copy(each.bytes, copy.get());
    each.bytes = {copy.get(), each.bytes.size()};
    each.memory = {copy, copy.get()};
  }
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
  if (options_.text_to != nullptr) {
    try {
      co_await options_.text_to->end_group(task->owner, !error && !task->end.failure);
    } catch (...) {
      add_failure(std::current_exception(), error);
    }
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
  if (!task.text_before)
    task.end.max_text_before = options_.max_text - std::min(options_.max_text, task.end.text_bytes);
  task.input.end_holding(task);
  {
    const std::scoped_lock lock(task.input.mutex);
    --task.input.running_groups;
  }
  try {
    counts_.close_group(task.owner.input, task.owner.group, task.end);
  } catch (...) {
    failures_.note(std::current_exception());
  }
  task.context.release();
  if (!task.panes_known.is_set()) task.input.panes.reset();  // the host has cut the text
  task.panes_known.set();
  task.ended.set();
}

// Whether the text of groups is needed in order, although devices decode them at the same time.
bool compressed_inputs::keeps_order() const { return options_.windows != nullptr || options_.device->measures_units(); }

// False: the host must decode the group, for which it has a context then. Text that is needed in order may have to wait
// for the groups before it, and they may be waiting for a context: such a group waits for them first. A group that
// waits for earlier ones releases its slots, because they may be waiting for slots.
async::task<bool> compressed_inputs::decode_on_device(group& task) {
  const bool counted = options_.windows != nullptr ? co_await divide_on_device(task) : co_await count_on_device(task);
  if (counted) {
    task.staged.reset();
    co_return true;
  }
  std::deque<block> blocks = task.staged->take_blocks();
  if (keeps_order() || !task.may_request_context.is_set()) {
    for (const block& each : blocks) note_copied(task, each.bytes.size());
    copy_memory_of(blocks);
  }
  blocks.insert(blocks.end(), std::make_move_iterator(task.staged_blocks.begin()),
                std::make_move_iterator(task.staged_blocks.end()));
  task.staged_blocks = std::move(blocks);
  task.staged.reset();
  if (keeps_order()) {
    task.input.end_collecting(task);
    if (task.previous) co_await task.previous->ended.wait();
    if (options_.text_to != nullptr) co_await options_.text_to->wait_for_turn(task.owner);
    task.context = co_await contexts_.acquire_reserved();
  } else {
    co_await acquire_context(task);
  }
  co_return false;
}

async::task<bool> compressed_inputs::count_on_device(group& task) {
  if (!co_await stage(task)) co_return false;
  task.input.end_collecting(task);
  task.input.end_holding(task);
  const std::optional<decoded_group> text = co_await options_.device->decode(*task.staged);
  if (!text || !try_add(task, text->text_bytes)) co_return false;
  note_reached(task, task.start.compressed_bytes + task.staged->size());
  if (!text->unit_rows.empty()) co_await observe_units(task, *text);
  add_decoded(task, *text);
  co_return true;
}

// Where panes end depends on all text before, so the text is decoded twice: first only its size or its lines are
// measured; once those of all groups before it are known, the panes are planned and counted. Many groups do that at the
// same time; their panes are merged in order. docs/tuning.md has the alternatives.
async::task<bool> compressed_inputs::divide_on_device(group& task) {
  if (!co_await stage(task)) co_return false;
  task.input.end_collecting(task);
  task.input.end_holding(task);
  const std::optional<std::uint32_t> units = co_await measure_text(task);
  if (!units) co_return false;
  if (task.previous) co_await task.previous->panes_known.wait();
  const gpu::text_cuts cuts = plan_panes(task.input, *units);
  task.panes_known.set();
  device_frames::counting how;
  how.cuts = &cuts;
  const std::optional<decoded_group> text = co_await options_.device->decode(*task.staged, how);
  if (!text) co_return false;
  if (task.previous) co_await task.previous->ended.wait();
  if (task.input.damaged) co_return true;  // an earlier group ends the input
  task.input.text_so_far += text->text_bytes;
  note_reached(task, task.start.compressed_bytes + task.staged->size());
  task.staged.reset();
  co_await add_panes(task, *text, cuts);
  co_return true;
}

// Bytes or lines of the text, as windows are measured. Nothing: the device does not decode it. The sizes that frames
// state are not verified, so they are not used if the input continues after a damaged frame.
async::task<std::optional<std::uint32_t>> compressed_inputs::measure_text(group& task) const {
  const bool in_lines = options_.windows->shape().unit == pane_unit::lines;
  co_await options_.device->list(*task.staged);
  const encoded_frames* const frames = task.staged->frames();
  if (frames == nullptr) co_return std::nullopt;
  if (!in_lines && !options_.skip_damage && frames->stated_text) {
    if (*frames->stated_text > std::numeric_limits<std::uint32_t>::max()) co_return std::nullopt;
    co_return static_cast<std::uint32_t>(*frames->stated_text);
  }
  device_frames::counting how;
  how.measures_only = true;
  const std::optional<decoded_group> text = co_await options_.device->decode(*task.staged, how);
  if (!text) co_return std::nullopt;
  co_return static_cast<std::uint32_t>(in_lines ? counts_.lines_in(text->rows) : text->text_bytes);
}

// The next groups continue where the panes of this one end. After groups that the host has decoded, and has cut, the
// plan begins anew.
gpu::text_cuts compressed_inputs::plan_panes(compressed_input& input, std::uint32_t units) const {
  const window_shape& shape = options_.windows->shape();
  if (!input.panes) input.panes.emplace(shape.pane, options_.windows->missing_in_pane(input.id));
  gpu::text_cuts cuts;
  if (shape.unit == pane_unit::lines) cuts.unit = gpu::cuda::zstd::cut_unit::lines;
  cuts.after = input.panes->next(units);
  return cuts;
}

async::task<> compressed_inputs::add_panes(group& task, const decoded_group& text, const gpu::text_cuts& cuts) {
  const std::size_t columns = text.rows.size() / text.last_bytes.size();
  std::vector<planned_part> parts;
  for (std::size_t i = 0; i < text.last_bytes.size(); ++i) {
    const std::span row(text.rows.data() + i * columns, columns);
    const std::uint64_t bytes = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
    const std::uint64_t lines = counts_.lines_in(row);
    const std::uint64_t units = cuts.unit == gpu::cuda::zstd::cut_unit::lines ? lines : bytes;
    parts.push_back({.bytes = bytes, .units = units, .ends_line = text.last_bytes[i] == '\n'});
  }
  if (!parts.empty() && parts.back().bytes == 0) parts.pop_back();
  notes_.frames += text.frames;
  if (parts.empty()) co_return;
  std::vector<pane_part> panes;
  options_.windows->divide_parts(parts, {.input = task.owner.input, .group = task.owner.group}, panes);
  std::vector<segment> segments;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    segments.push_back({.owner = {.input = task.owner.input, .group = task.owner.group},
                        .extent = {0, static_cast<std::uint32_t>(parts[i].bytes)},
                        .pane = panes[i].pane});
  }
  task.end.text_bytes = text.text_bytes;
  co_await counted_.merge_panes(segments, std::span(text.rows).first(segments.size() * columns));
}

// Avoids a deadlock: a group that has a context waits for blocks, and the blocks are held by an earlier group, which
// waits for a context. So groups that hold blocks get their contexts in order.
async::task<> compressed_inputs::acquire_context(group& task) {
  co_await task.may_request_context.wait();
  task.context = co_await contexts_.acquire();
  task.input.end_collecting(task);
}

// Adds text to that of the input if the input may have so much. Several groups may add at the same time.
bool compressed_inputs::try_add(group& task, std::uint64_t bytes) const {
  const std::uint64_t of_all = task.input.text_so_far += bytes;
  if ((task.text_before ? *task.text_before + bytes : of_all) <= options_.max_text) return true;
  task.input.text_so_far -= bytes;
  return false;
}

// Collects the bytes of the group. False: the group is not whole, or there is no memory for all of it.
async::task<bool> compressed_inputs::stage(group& task) {
  for (;;) {
    block next = co_await task.blocks.take();
    if (next.end) co_return !next.error && !stop_.stop_requested() && task.staged->size() > 0;
    const std::size_t staged = next.lost ? 0 : co_await task.staged->append(next.bytes);
    if (staged == next.bytes.size()) continue;
    next.bytes = next.bytes.subspan(staged);
    task.staged_blocks.push_back(std::move(next));
    co_return false;
  }
}

void compressed_inputs::add_decoded(group& task, const decoded_group& text) {
  const auto bytes = static_cast<std::uint32_t>(text.text_bytes);  // a device decodes less than 4 GiB at once
  if (bytes > 0) {
    counted_.merge_decoded({.owner = {.input = task.owner.input, .group = task.owner.group}, .extent = {0, bytes}},
                           text.rows);
  }
  notes_.frames += text.frames;
  task.end.text_bytes = bytes;
}

// Until the group ends. No group begins if all groups have copied much.
void compressed_inputs::note_copied(group& task, std::uint64_t bytes) {
  task.copied_bytes += bytes;
  copied_bytes_ += bytes;
}

bool compressed_inputs::has_copied_much() const {
  constexpr std::uint64_t share_of_slots = 4;
  const device_frames* const device = options_.device;
  return device != nullptr &&
         copied_bytes_ >= std::uint64_t{device->max_slots()} * device->slot_bytes() / share_of_slots &&
         copied_bytes_ > 0;
}

// Releases the slots of the group. A group that must wait for those before it copies its rows first: they may need a
// slot.
async::task<> compressed_inputs::observe_units(group& task, const decoded_group& text) {
  std::vector<std::vector<std::uint32_t>> copied;
  for (const std::span<const std::uint32_t> rows : text.unit_rows) {
    using gpu::cuda::units::piece_rows;
    const gpu::cuda::units::piece_classes& classes = *options_.text_to->piece_classes();
    std::size_t taken = 0;
    if (copied.empty()) {
      const piece_rows pieces(rows, classes);
      taken = co_await options_.text_to->observe(task.owner, pieces, 0);
      if (taken == pieces.size()) continue;
    }
    note_copied(task, rows.size_bytes());
    copied.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(taken * classes.words_of_row()), rows.end());
  }
  task.staged.reset();
  if (copied.empty()) co_return;
  co_await options_.text_to->wait_for_turn(task.owner);
  for (const std::vector<std::uint32_t>& rows : copied) {
    co_await options_.text_to->observe(task.owner, {rows, *options_.text_to->piece_classes()}, 0);
  }
}

void compressed_inputs::note_reached(group& task, std::uint64_t compressed_bytes) {
  task.end.compressed_bytes = compressed_bytes;
  counts_.set_compressed_bytes(task.owner.input, task.owner.group, compressed_bytes);
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
        co_await begin_skipping(task, task.decoder->fault_cause());
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

async::task<> compressed_inputs::end_of_blocks(group& task, const block& last) {
  if (last.error) {
    task.end.failure = note(last.error, task.end.compressed_bytes.value_or(0));
  } else if (task.lost) {
    end_skipping(task, task.skipped_to);
  } else if (std::string cause = missing_cause(*task.decoder, task.ends_input); cause.empty()) {
    if (task.frame_bytes > 0) co_await conclude_verified(task);  // needed for formats without an end mark
  } else if (options_.skip_damage) {
    co_await begin_skipping(task, std::move(cause));
    end_skipping(task, task.skipped_to);
  } else {
    task.end.failure = [kept = task.context->keep_decoder(), ends_input = task.ends_input](std::uint64_t before) {
      return damage(missing_at_end(*kept, ends_input, before));
    };
  }
}

// The damaged frame stays unverified. The bytes up to the start of the next frame are not decoded.
async::task<> compressed_inputs::begin_skipping(group& task, std::string cause) {
  task.skipped_to = task.decoder->consumed_total();
  task.frame_begin = std::max(task.frame_begin, task.decoder->frameless_to());
  task.lost = {.compressed_begin = task.frame_begin,
               .compressed_end = 0,
               .text_offset = task.end.text_bytes - task.frame_bytes,
               .unverified_bytes = task.frame_bytes,
               .cause = std::move(cause)};
  counts_.note_gap(task.owner.input, task.lost->cause);
  if (options_.text_to != nullptr) co_await options_.text_to->note_gap(task.owner);
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
  task.context->choose_chunking();
  while (!stop_.stop_requested()) {
    const std::uint64_t room = room_for_text(task);
    held_reservation target(cut, co_await cut.reserve(std::max<std::uint64_t>(room, 1)));
    const io::fill_result result = fill(task, in, target.bytes());
    if (result.produced > room) {
      refuse(task);
      break;
    }
    in = in.subspan(result.consumed);
    notes_.decompress.bytes += result.produced;
    task.decoded += result.produced;
    co_await take_text(task, std::move(target), result);
    const std::uint64_t text_of_all = task.input.text_so_far += result.produced;
    if (!task.text_before && text_of_all > options_.max_text) {
      task.end.is_beyond_limit = true;
      refuse(task);
      break;
    }
    if (result.status == io::fill_status::needs_input) break;
    if (result.status == io::fill_status::failed) co_return false;
    if (result.status == io::fill_status::needs_window) co_await grant_window(task);
    if (result.status == io::fill_status::frame_verified) co_await conclude_verified(task);
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
  const std::string_view option = task.context->limits().option_name("--max-output");
  task.end.failure = always(too_much_text(options_.max_text, option, task.frame_begin));
  task.is_refused = true;
}

// Avoids a deadlock: a group that has a large window must not wait for blocks of a group that waits for such a window.
// So a group requests a window only when all of its bytes have arrived, or when no other group of the input holds
// blocks.
// For the same reason it waits for its turn first: a group that has a large window must not wait for groups before it.
async::task<> compressed_inputs::grant_window(group& task) const {
  if (task.parts) task.parts->discard_parts();
  co_await task.may_request_window.wait();
  if (options_.text_to != nullptr) co_await options_.text_to->wait_for_turn(task.owner);
  co_await task.context->grant_window();
}

io::fill_result compressed_inputs::fill(group& task, std::span<const std::byte> in, std::span<std::byte> out) {
  const busy_time busy(notes_.decompress);
  return task.decoder->fill(in, out);
}

async::task<> compressed_inputs::conclude_verified(group& task) {
  if (options_.text_to != nullptr && options_.text_to->awaits_verdicts()) {
    co_await options_.text_to->note_verified(task.owner);
  }
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
