#include "pipeline/flow/decoding/host_decoding.hpp"

#include "config/size.hpp"
#include "pipeline/flow/decoding/ahead_blocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

// Text that is passed ahead has a chunk of its own. Less text is not worth waking a thread.
constexpr std::size_t min_bytes_ahead = std::size_t{64} << 10U;

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

async::task<> compressed_inputs::host_decoding::run() {
  const piece_in_flight counted(notes_.decompress);
  decoder_ = &task_.context->decoder_for(task_.input.format);
  decoder_->restart(task_.start);
  frame_begin_ = task_.start.compressed_bytes;
  task_.frames_ended = task_.start.frames;
  for (;;) {
    inputs_.open_more_if_device_is_ready();
    const block next = co_await next_block();
    if (!next.end && !stop_.stop_requested()) co_await take_block(next);
    const std::uint64_t reached = lost_ ? skipped_to_ : is_refused_ ? frame_begin_ : decoder_->consumed_total();
    inputs_.note_reached(task_, reached);
    if (task_.end.failure) co_return;
    if (stop_.stop_requested()) {
      task_.end.failure = always(left_at(reached));
      co_return;
    }
    if (next.end) {
      co_await wait_for_text();
      co_return co_await end_of_blocks(next);
    }
  }
}

// The next block of the group. If it begins a part that was decoded ahead, the part is offered to the decoder.
async::task<block> compressed_inputs::host_decoding::next_block() {
  for (;;) {
    if (parts_) {
      parts_->pause(!decoder_->may_take_parts());
      while (parts_->wants_more()) {
        std::optional<block> arrived = take_staged();
        if (!arrived) arrived = task_.blocks.try_take();
        if (!arrived) break;
        push_part(*parts_, std::move(*arrived));
      }
      if (auto next = parts_->take(std::holds_alternative<io::file_source>(*task_.input.source))) {
        if (next->part && !lost_) decoder_->offer(next->part);
        co_return std::move(next->bytes);
      }
    }
    std::optional<block> arrived = take_staged();
    if (!arrived) {
      const stopwatch waiting(notes_.decompress.waiting_nanoseconds);
      arrived = co_await task_.blocks.take();
    }
    if (!parts_) begin_parts(*arrived);
    if (!parts_) co_return *std::move(arrived);
    push_part(*parts_, *std::move(arrived));
  }
}

std::optional<block> compressed_inputs::host_decoding::take_staged() {
  if (task_.staged_blocks.empty()) return std::nullopt;
  block first = std::move(task_.staged_blocks.front());
  task_.staged_blocks.pop_front();
  return first;
}

// Threads without a group of their own help to decode this one, if its frame has parts: where the splitter has found
// one, or, for other formats, once the ends of frames are unknown, because all further bytes of the input are in this
// group.
void compressed_inputs::host_decoding::begin_parts(const block& first) {
  if (lost_ || options_.threads < 2) return;
  const bool has_parts = task_.input.format.parts.splitter_divides
                             ? first.part != nullptr && may_divide()
                             : first.lost && !std::exchange(has_asked_for_parts_, true);
  if (!has_parts) return;
  const auto* const file = std::get_if<io::file_source>(task_.input.source.get());
  io::part_format format = parts_of(task_.input.format, file, notes_, stop_);
  if (file != nullptr && file->size_hint() < decoder_->consumed_total() + format.least_bytes) return;
  const part_shares shares = shares_of(format, options_.threads, task_.context->limits().window_bytes);
  if (shares.parts == 0) return;
  const std::size_t blocks_of_part = 1 + (format.part_bytes + format.look_ahead_bytes) / options_.block_bytes;
  if (format.splitter_divides) format.part_bytes = part_queue::any_size;
  const std::size_t blocks = task_.input.own_blocks_of_parts(blocks_of_part);
  task_.input.in_parts = true;
  parts_.emplace(part_queue::settings{.format = format,
                                      .threads = options_.threads,
                                      .max_parts = shares.parts,
                                      .max_part_bytes = shares.bytes,
                                      .memory_bytes = task_.context->limits().window_bytes,
                                      .max_blocks = blocks - 1,  // the reader fills the last one
                                      .offset = decoder_->consumed_total(),
                                      .begins_frame = !decoder_->in_frame()},
                 inputs_.executors_.pool, task_.context->shared_memory(), notes_.decompress);
}

// A zstd frame is decoded in parts from its begin on, or by libzstd, which is faster than one thread with parts. So
// idle threads must be as many as decoders. lz4 takes over each block for itself: its parts wait until a thread is
// idle.
bool compressed_inputs::host_decoding::may_divide() const {
  if (!decoder_->may_take_parts()) return false;
  if (!task_.input.format.parts.needs_idle_threads) return true;
  return 2 * notes_.decompress.now_in_flight <= options_.threads && is_only_group();
}

async::task<> compressed_inputs::host_decoding::take_block(const block& next) {
  std::span<const std::byte> in = next.bytes;
  while (!in.empty() && !task_.end.failure && !stop_.stop_requested()) {
    if (lost_) {
      co_await skip(next, in);
    } else if (!co_await decode_some(in)) {
      if (options_.skip_damage) {
        input_failure found{.kind = decoder_->fault_kind(), .text = decoder_->fault_cause()};
        co_await begin_skipping(std::move(found));
        // leave out at least one byte of the frame, so that its own magic number is not found again
        const std::uint64_t of_frame = skipped_to_ - frame_begin_;
        const auto skipped_bytes = next.bytes.first(next.bytes.size() - in.size());
        search_.emplace(task_.input.format.frame_magic, skipped_bytes.last(std::min<std::uint64_t>(
                                                            skipped_bytes.size(), of_frame > 0 ? of_frame - 1 : 0)));
      } else {
        task_.end.failure = [kept = task_.context->keep_decoder()](std::uint64_t before) {
          return input_failure{.kind = kept->fault_kind(), .text = kept->fault(before)};
        };
      }
    }
  }
}

// Returns false if the frame is damaged. Removes the decoded bytes from the front of `in`.
async::task<bool> compressed_inputs::host_decoding::decode_some(std::span<const std::byte>& in) {
  cutter& cut = task_.context->cut;
  task_.context->choose_chunking();
  while (!stop_.stop_requested()) {
    const std::uint64_t room = room_for_text();
    std::optional<reservation> free = cut.try_reserve(std::max<std::uint64_t>(room, 1));
    if (!free) free = co_await cut.reserve(std::max<std::uint64_t>(room, 1));
    held_reservation target(cut, *free);
    const io::fill_result result = fill(in, target.bytes());
    if (result.produced > room) {
      refuse();
      break;
    }
    in = in.subspan(result.consumed);
    notes_.decompress.bytes += result.produced;
    decoded_ += result.produced;
    if (!task_.text.is_observed()) {
      task_.text.commit(target, result.produced);  // without a coroutine: frames may be short
    } else {
      co_await take_text(std::move(target), result);
    }
    const std::uint64_t text_of_all = task_.input.text_so_far += result.produced;
    if (!task_.text_before && text_of_all > options_.max_text) {
      task_.end.is_to_be_repeated = true;
      refuse();
      break;
    }
    if (result.status == io::fill_status::needs_input) break;
    if (result.status == io::fill_status::failed) co_return false;
    if (result.status == io::fill_status::needs_window) co_await grant_window();
    if (result.status == io::fill_status::frame_verified) co_await end_frame();
  }
  co_return true;
}

// Bytes of text that the group may still have. Not limited while those of the groups before it are not known.
std::uint64_t compressed_inputs::host_decoding::room_for_text() const {
  constexpr std::uint64_t any = std::numeric_limits<std::uint32_t>::max();
  if (!task_.text_before) return any;
  return std::min(any, options_.max_text - std::min(options_.max_text, *task_.text_before + decoded_));
}

// The offset is that of a frame, because where the decoder is depends on the blocks of compressed bytes.
void compressed_inputs::host_decoding::refuse() {
  task_.end.failure = always(too_much_text(options_.max_text, frame_begin_));
  is_refused_ = true;
}

async::task<> compressed_inputs::host_decoding::take_text(held_reservation target, const io::fill_result& result) {
  co_await wait_for_text();
  const bool ends_frame =
      result.status != io::fill_status::output_full && result.status != io::fill_status::needs_input;
  if (ends_frame || result.produced < min_bytes_ahead || !may_pass_ahead()) {
    co_return co_await task_.text.take(std::move(target), result.produced);
  }
  const auto pending = std::make_shared<pending_text>();
  async::spawn(inputs_.executors_.pool, task_.text.take(std::move(target), result.produced),
               [pending](std::exception_ptr error) noexcept {
                 pending->error = std::move(error);
                 pending->ended.set();
               });
  pending_ = pending;
}

// Only the text of an input whose groups before this one have ended: text that must wait for its turn would keep a
// slot, while the group needs another one.
bool compressed_inputs::host_decoding::may_pass_ahead() const {
  return notes_.decompress.now_in_flight < options_.threads && is_only_group();
}

bool compressed_inputs::host_decoding::is_only_group() const {
  const std::scoped_lock lock(task_.input.mutex);
  return task_.input.running_groups == 1;
}

async::task<> compressed_inputs::host_decoding::wait_for_text() {
  const auto pending = std::exchange(pending_, nullptr);
  if (!pending) co_return;
  co_await pending->ended.wait();
  if (pending->error) std::rethrow_exception(pending->error);
}

// Avoids a deadlock: a group that has a large window must not wait for blocks of a group that waits for such a window.
// So a group requests a window only when all of its bytes have arrived, or when no other group of the input holds
// blocks.
// For the same reason it waits for its turn first: a group that has a large window must not wait for groups before it.
async::task<> compressed_inputs::host_decoding::grant_window() {
  if (parts_) parts_->discard_parts();
  co_await task_.may_request_window.wait();
  co_await task_.text.wait_for_turn();
  co_await task_.context->grant_window();
}

io::fill_result compressed_inputs::host_decoding::fill(std::span<const std::byte> in, std::span<std::byte> out) {
  const busy_time busy(notes_.decompress);
  return decoder_->fill(in, out);
}

async::task<> compressed_inputs::host_decoding::end_frame() {
  ++notes_.frames;
  ++task_.frames_ended;
  frame_begin_ = decoder_->consumed_total();
  return task_.text.end_frame(&task_.context->cut);
}

async::task<> compressed_inputs::host_decoding::end_of_blocks(const block& last) {
  if (last.error) {
    task_.end.failure = inputs_.note(last.error, task_.end.compressed_bytes.value_or(0));
    co_return;
  }
  if (!lost_ && task_.ends_input && decoder_->end_input()) {
    std::span<const std::byte> nothing;
    co_await decode_some(nothing);
    co_await wait_for_text();
  }
  std::string cause = lost_ ? std::string() : missing_cause(*decoder_, task_.ends_input);
  while (options_.skip_damage && (lost_ || !cause.empty()) && !task_.end.failure) {
    if (!lost_) {
      input_failure found{.kind = decoder_->fault_kind(), .text = std::move(cause)};
      co_await begin_skipping(std::move(found));
    }
    if (task_.ends_input && !has_searched_again_) co_await search_again();
    if (lost_) co_return end_skipping(skipped_to_);
    co_await wait_for_text();
    cause = missing_cause(*decoder_, task_.ends_input);
  }
  if (task_.end.failure) co_return;
  if (task_.has_guesses && (!cause.empty() || task_.frames_ended != task_.frames_at_end)) {
    task_.end.failure = always(left_at(decoder_->consumed_total()));
    task_.end.is_to_be_repeated = true;
    co_return;
  }
  if (cause.empty()) {
    if (task_.text.frame_bytes() > 0) co_await end_frame();  // needed for formats without an end mark
    task_.end.notice = decoder_->notice_at_end();
  } else {
    task_.end.failure = [kept = task_.context->keep_decoder(), ends_input = task_.ends_input](std::uint64_t before) {
      return input_failure{.kind = kept->fault_kind(), .text = missing_at_end(*kept, ends_input, before)};
    };
  }
}

// The frame stays unverified. The bytes up to the start of the next frame are not decoded.
async::task<> compressed_inputs::host_decoding::begin_skipping(input_failure found) {
  skipped_to_ = decoder_->consumed_total();
  frame_begin_ = std::max(frame_begin_, decoder_->frameless_to());
  lost_ = {.compressed_begin = frame_begin_,
           .compressed_end = 0,
           .text_offset = task_.text.bytes() - task_.text.frame_bytes(),
           .unverified_bytes = task_.text.frame_bytes(),
           .cause = std::move(found.text),
           .kind = found.kind};
  has_searched_again_ = false;
  co_await task_.text.lose_frame(lost_->cause);
  ++task_.frames_ended;
}

void compressed_inputs::host_decoding::end_skipping(std::uint64_t at) {
  lost_->compressed_end = at;
  if (task_.end.lost_ranges.size() < max_lost_ranges) task_.end.lost_ranges.push_back(std::move(*lost_));
  ++task_.end.number_of_lost_ranges;
  lost_.reset();
  search_.reset();
  frame_begin_ = at;
  decoder_->restart({.frames = task_.frames_ended, .compressed_bytes = at, .context = decoder_->head()});
}

// While the splitter knows the ends of frames, the rest of the group is skipped. Otherwise decoding resumes at every
// magic number that is found.
async::task<> compressed_inputs::host_decoding::skip(const block& source, std::span<const std::byte>& in) {
  if (!source.lost) {
    search_->pass(in);
    skipped_to_ += in.size();
    in = {};
  } else if (!has_searched_again_) {
    co_await search_again();
  } else {
    co_await find_frame(in);
  }
}

// A frame may begin within the damaged one, if its writer was killed and another one appended: the decoder takes the
// first bytes of it as data of the damaged frame, and fails after them. The bytes of a file up to the error are read
// again, and decoding resumes at every magic number in them. A frame that is found there and is damaged, too, is
// searched in the same way, up to a limit for the sum of all such bytes: the time stays linear.
async::task<> compressed_inputs::host_decoding::search_again() {
  has_searched_again_ = true;
  const auto* const file = std::get_if<io::file_source>(task_.input.source.get());
  if (file == nullptr || task_.input.format.frame_magic.empty()) co_return;
  constexpr std::size_t piece_bytes = std::size_t{64} << 10U;
  const std::uint64_t end = skipped_to_;
  const std::uint64_t most = 4 * end + piece_bytes;
  std::vector<std::byte> piece(piece_bytes);
  std::uint64_t at = skipped_to_ = frame_begin_ + 1;
  search_.emplace(task_.input.format.frame_magic, std::span<const std::byte>());
  while (at < end && (!lost_ || bytes_read_again_ < most) && !task_.end.failure && !stop_.stop_requested()) {
    std::span<const std::byte> in = std::span(piece).first(
        file->read_at(std::span(piece).first(std::min<std::uint64_t>(piece_bytes, end - at)), at));
    if (in.empty()) {  // the file became shorter
      if (!lost_) {
        input_failure found{.kind = decoder_->fault_kind(), .text = decoder_->missing_cause_at_end()};
        co_await begin_skipping(std::move(found));
      }
      has_searched_again_ = true;
      break;
    }
    at += in.size();
    bytes_read_again_ += in.size();
    while (!in.empty() && !task_.end.failure && !stop_.stop_requested()) {
      if (lost_) {
        co_await find_frame(in);
      } else if (!co_await decode_some(in)) {
        input_failure found{.kind = decoder_->fault_kind(), .text = decoder_->fault_cause()};
        co_await begin_skipping(std::move(found));
        has_searched_again_ = true;
        at = skipped_to_ = frame_begin_ + 1;
        search_.emplace(task_.input.format.frame_magic, std::span<const std::byte>());
        break;
      }
    }
  }
  if (lost_) skipped_to_ = end;
}

// Skips `in`, or resumes decoding at the next magic number in it.
async::task<> compressed_inputs::host_decoding::find_frame(std::span<const std::byte>& in) {
  const auto found = search_->find(in);
  if (!found) {
    skipped_to_ += in.size();
    in = {};
    co_return;
  }
  std::span<const std::byte> skipped_bytes =
      std::as_bytes(std::span(task_.input.format.frame_magic)).first(found->before);
  end_skipping(skipped_to_ + found->at - found->before);
  in = in.subspan(found->at);
  co_await decode_some(skipped_bytes);
}

}  // namespace gpuhist::pipeline
