#include "pipeline/flow/decoding/archive_bytes.hpp"

#include "async/task_group.hpp"
#include "config/size.hpp"
#include "io/format.hpp"
#include "pipeline/counts/input_report.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace gpuhist::pipeline {

std::uint64_t held_members::begin() {
  if (waiting_ == 0) text_.cut_back(0);
  ++waiting_;
  return text_.size();
}

void held_members::add(std::span<const std::byte> text) {
  text_.append({reinterpret_cast<const char*>(text.data()), text.size()});
}

void held_members::conclude(const member& ended, verdict found) {
  --waiting_;
  const text_owner owner{.input = ended.input, .group = 1, .frame = 1};
  for (std::uint64_t done = 0; done < ended.bytes;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(ended.bytes - done, text_taps::piece_bytes));
    const std::string piece = text_.read(ended.begin + done, size);
    async::run_here(taps_.observe(owner, std::as_bytes(std::span(piece)), found == verdict::verified));
    done += piece.size();
  }
  using ending = input_observer::ending;
  if (found == verdict::damaged) async::run_here(taps_.note_gap(owner));
  async::run_here(taps_.end(ended.input, found == verdict::unread ? ending::early : ending::whole));
}

verdict_gate::~verdict_gate() {
  for (const member_text& each : waiting_) {
    try {
      give_up(each);
    } catch (...) {
      counts_.note_failure(std::current_exception());
    }
  }
}

void verdict_gate::give_up(const member_text& member) {
  std::exception_ptr error;
  try {
    if (held_ != nullptr) {
      held_->conclude({.input = member.input, .begin = member.held_at, .bytes = member.bytes},
                      interrupted_ ? held_members::verdict::unread : held_members::verdict::damaged);
    }
  } catch (...) {
    error = std::current_exception();
  }
  close(member, interrupted_ ? input_failure{.kind = failure_kind::stopped,
                                             .text = "not verified: the run ended before the end of the surrounding "
                                                     "archive or frame"}
                             : not_verified_in_archive());
  if (error) std::rethrow_exception(error);
}

// The member is not complete.
void verdict_gate::close(const member_text& member, input_failure cause) {
  counts_.close_group(
      member.input, 1,
      {.text_bytes = member.bytes, .failure = [cause = std::move(cause)](std::uint64_t) { return cause; }});
  counts_.finish(member.input, member.bytes);
}

// A failure of one member must not lose those after it.
void verdict_gate::verified() {
  settled_ = true;
  std::exception_ptr error;
  for (const member_text& each : std::exchange(waiting_, {})) {
    try {
      submit(each);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

void verdict_gate::submit(const member_text& member) {
  if (!settled_) {
    waiting_.push_back(member);
    counts_.await_verdict(member.input, member.bytes);
  } else if (below_ != nullptr) {
    below_->submit(member);
  } else {
    try {
      if (held_ != nullptr) {
        held_->conclude({.input = member.input, .begin = member.held_at, .bytes = member.bytes},
                        held_members::verdict::verified);
      }
    } catch (...) {
      close(member, failure_from(std::current_exception()));
      throw;
    }
    if (member.bytes > 0) counts_.conclude({.input = member.input, .group = 1, .frame = 1}, member.bytes, true);
    counts_.close_group(member.input, 1, {.text_bytes = member.bytes});
    counts_.finish(member.input, member.bytes);
  }
}

source_bytes::source_bytes(const io::file_source& file, feed_notes& notes, std::stop_token stop)
    : file_(&file), notes_(&notes), stop_(std::move(stop)) {}

source_bytes::source_bytes(block_reader& stream, async::executor& reading_loop, std::stop_token stop)
    : stream_(&stream), reading_loop_(&reading_loop), stop_(std::move(stop)) {}

std::size_t source_bytes::read(std::span<std::byte> out) {
  if (stop_.stop_requested()) throw as_error(left_at(offset_));
  std::size_t size = 0;
  if (file_ != nullptr) {
    const busy_time busy(notes_->read);
    size = file_->read_at(out, offset_);
    notes_->read.bytes += size;
  } else {
    size = read_blocks(out);
  }
  offset_ += size;
  return size;
}

// Blocks this thread until there is a block. The reading coroutine never waits for this thread.
std::size_t source_bytes::read_blocks(std::span<std::byte> out) {
  if (current_.bytes.empty() && !current_.end) {
    current_ = {};  // before the wait: the next block may need this memory
    current_ = async::run_blocking(*reading_loop_, stream_->next());
    if (stop_.stop_requested()) throw as_error(left_at(offset_));
  }
  if (current_.end) {
    if (current_.error) std::rethrow_exception(current_.error);
    return 0;
  }
  const std::size_t size = std::min(out.size(), current_.bytes.size());
  std::copy_n(current_.bytes.begin(), size, out.begin());
  current_.bytes = current_.bytes.subspan(size);
  return size;
}

bool source_bytes::may_wait() {
  if (stream_ == nullptr || !current_.bytes.empty() || current_.end) return false;
  std::optional<block> arrived = stream_->try_next();
  if (arrived) current_ = std::move(*arrived);
  return !arrived;
}

std::optional<std::uint64_t> source_bytes::seekable_bytes() const {
  if (file_ == nullptr) return std::nullopt;
  return file_->size_hint();
}

std::span<const std::byte> peeking_bytes::peek(std::size_t wanted) {
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, 0)));
  while (ahead_.size() < wanted && !error_) {
    const std::size_t have = ahead_.size();
    std::size_t size = 0;
    ahead_.resize(wanted);
    try {
      size = source_.read(std::span(ahead_).subspan(have));
    } catch (...) {
      error_ = std::current_exception();
    }
    ahead_.resize(have + size);
    if (size == 0) break;
  }
  return ahead_;
}

std::span<const std::byte> peeking_bytes::peek_head() {
  std::span<const std::byte> head;
  for (std::size_t wanted = io::archive_head_bytes; head.size() < wanted; wanted = io::bytes_for_format(head)) {
    head = peek(wanted);
    if (head.size() < wanted) break;
  }
  return head;
}

std::size_t peeking_bytes::read(std::span<std::byte> out) {
  if (taken_ == ahead_.size()) {
    if (error_) std::rethrow_exception(error_);
    return source_.read(out);
  }
  const std::size_t size = std::min(out.size(), ahead_.size() - taken_);
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(taken_), size, out.begin());
  taken_ += size;
  return size;
}

void peeking_bytes::seek(std::uint64_t offset) {
  ahead_.clear();
  taken_ = 0;
  error_ = nullptr;
  source_.seek(offset);
}

decoded_bytes::decoded_bytes(io::byte_reader& source, io::decoder& decoder, verdict_gate* verdicts, feed_notes& notes,
                             settings options)
    : source_(source), decoder_(&decoder), verdicts_(verdicts), notes_(notes), options_(std::move(options)) {
  constexpr std::size_t buffer_bytes = std::size_t{128} << 10U;
  if (!options_.ahead) buffer_.resize(buffer_bytes);
  decoder_->restart({.compressed_bytes = options_.begin});
}

// Fills `out` as far as possible, so that callers do not depend on the sizes of the reads below.
std::size_t decoded_bytes::read(std::span<std::byte> out) {
  std::size_t filled = 0;
  frame_ended_ = false;
  while (filled < out.size() && !error_ && !ended_) {
    if (frame_ended_ && filled > 0) break;
    if (part_) {
      copy_part(out, filled);
    } else if (!in_.empty() || has_more_ || refill()) {
      if (!part_) decode(out, filled);
    } else {
      break;
    }
  }
  if (filled == 0 && error_) std::rethrow_exception(error_);
  return filled;
}

// Returns false if there is no more input.
bool decoded_bytes::refill() {
  if (options_.ahead ? read_ahead() : read_source()) return true;
  if (error_) return false;
  if (decoder_->end_input()) return has_more_ = true;
  ended_ = true;
  if (const std::string missing = decoder_->missing_at_end(text_before_); !missing.empty()) {
    fail(missing, decoder_->fault_kind(), decoder_->lacks_end() ? lack::end : lack::nothing);
  } else {
    if (const std::optional<io::notice> found = decoder_->notice_at_end(); found && options_.note)
      options_.note(*found);
    if (verdicts_ != nullptr) verdicts_->verified();  // needed for formats without an end mark
  }
  return false;
}

bool decoded_bytes::read_source() {
  try {
    in_ = std::span(buffer_).first(source_.read(buffer_));
  } catch (...) {
    error_ = std::current_exception();
  }
  return !error_ && !in_.empty();
}

// Frames that were decoded ahead are used if this decoder stands exactly at their start, as it does unless damage hides
// the end of a frame from it or from the splitter.
bool decoded_bytes::read_ahead() {
  part_queue::piece next;
  do {
    try {
      if (!options_.ahead->has_frames()) options_.ahead->pause(!decoder_->may_take_parts());
      next = options_.ahead->next();
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
    if (next.bytes.end) {
      error_ = next.bytes.error;
      return false;
    }
    block_ = std::move(next.bytes);
    in_ = block_.bytes;
    pass_used_bytes();
  } while (in_.empty() && !next.part);
  if (!next.part) return true;
  if (!options_.ahead->has_frames()) {
    decoder_->offer(next.part);
  } else if (auto frames = std::dynamic_pointer_cast<frame_part>(next.part);
             !decoder_->in_frame() && frames->begin == decoder_->consumed_total()) {
    part_ = std::move(frames);
  }
  return true;
}

// Removes the bytes that threads of the pool have decoded, which may be in several blocks.
void decoded_bytes::pass_used_bytes() {
  const std::size_t here = std::min<std::size_t>(used_, in_.size());
  in_ = in_.subspan(here);
  used_ -= here;
}

void decoded_bytes::copy_part(std::span<std::byte> out, std::size_t& filled) {
  const std::size_t size = part_->copy(out.subspan(filled));
  filled += size;
  note_text(size);
  if (error_) return;
  if (part_->take_frame_end()) end_frame();
  if (part_->is_used_up()) leave_part();
}

// The decoder of the part continues where the part ends, or reports its fault.
void decoded_bytes::leave_part() {
  used_ = part_->consumed;
  text_before_ = text_bytes_ - part_->text_bytes();
  pass_used_bytes();
  decoder_ = part_->decoder.get();
  left_ = std::move(part_);
  left_->free_text();
  has_more_ = left_->ended_by == io::fill_status::output_full;
  if (left_->ended_by == io::fill_status::failed) fail(decoder_->fault(text_before_), decoder_->fault_kind());
  if (left_->ended_by == io::fill_status::needs_window) grant_window();
}

void decoded_bytes::note_text(std::size_t bytes) {
  notes_.decompress.bytes += bytes;
  text_bytes_ += bytes;
  if (bytes > 0 && verdicts_ != nullptr) verdicts_->note_bytes();
  if (text_bytes_ <= options_.max_text) return;
  fail("decompresses to far more than --max-output allows; given up at compressed offset " +
           std::to_string(decoder_->consumed_total()),
       failure_kind::refused);
}

void decoded_bytes::end_frame() {
  frame_ended_ = true;
  ++notes_.frames;
  ++frames_;
  if (verdicts_ != nullptr) verdicts_->verified();
}

void decoded_bytes::decode(std::span<std::byte> out, std::size_t& filled) {
  io::fill_result result;
  {
    const busy_time busy(notes_.decompress);
    result = decoder_->fill(in_, out.subspan(filled));
  }
  in_ = in_.subspan(result.consumed);
  filled += result.produced;
  note_text(result.produced);
  if (error_) return;
  has_more_ = result.status == io::fill_status::output_full || result.status == io::fill_status::needs_window;
  if (result.status == io::fill_status::failed) fail(decoder_->fault(text_before_), decoder_->fault_kind());
  if (result.status == io::fill_status::needs_window) grant_window();
  if (result.status == io::fill_status::frame_verified) end_frame();
}

void decoded_bytes::grant_window() {
  has_more_ = true;
  if (options_.ahead) options_.ahead->discard_parts();
  const std::string refusal = options_.grant_window(*decoder_);
  if (refusal.empty()) return;
  fail(refusal + " at compressed offset " + std::to_string(decoder_->consumed_total()), failure_kind::refused);
}

void decoded_bytes::fail(const std::string& message, failure_kind kind, lack missing) {
  error_ = std::make_exception_ptr(io::input_error(message, 0, kind, failure_origin::input, missing));
}

std::string decoded_bytes::place_of(std::uint64_t offset) const {
  return "decompressed offset " + std::to_string(offset) + ", read up to compressed offset " +
         std::to_string(decoder_->consumed_total());
}

std::size_t member_bytes::read(std::span<std::byte> out) {
  if (error_) std::rethrow_exception(error_);
  std::size_t filled = read_some(out);
  while (fills_ && filled > 0 && filled < out.size()) {
    std::size_t size = 0;
    try {
      size = read_some(out.subspan(filled));
    } catch (...) {
      break;  // the next read() throws it
    }
    if (size == 0) break;
    filled += size;
  }
  return filled;
}

std::size_t member_bytes::read_some(std::span<std::byte> out) {
  try {
    if (rest_.empty()) rest_ = source_.read();
  } catch (const io::input_error& e) {
    const bool is_of_archive = source_.is_broken() || source_.ends_early();
    error_ = is_of_archive
                 ? std::make_exception_ptr(io::input_error(e.what(), e.offset(), e.kind(), io::failure_origin::archive))
                 : std::current_exception();
    std::rethrow_exception(error_);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  if (rest_.empty()) {
    verdicts_.verified();  // the reader has checked all checksums of the member
    return 0;
  }
  verdicts_.note_bytes();
  const std::size_t size = std::min(out.size(), rest_.size());
  std::copy_n(rest_.begin(), size, out.begin());
  rest_ = rest_.subspan(size);
  return size;
}

}  // namespace gpuhist::pipeline
