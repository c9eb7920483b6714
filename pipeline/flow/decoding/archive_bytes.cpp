#include "pipeline/flow/decoding/archive_bytes.hpp"

#include "async/task_group.hpp"
#include "config/size.hpp"
#include "pipeline/counts/input_failure.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {

verdict_gate::~verdict_gate() {
  try {
    for (const member_text& each : waiting_) give_up(each);
  } catch (...) {
    counts_.note_failure(std::current_exception());
  }
}

void verdict_gate::give_up(const member_text& what) {
  input_failure why =
      interrupted_ ? input_failure{.kind = failure_kind::stopped,
                                   .text = "not verified: the run ended before the end of what it is in"}
                   : input_failure{.kind = failure_kind::damaged, .text = "not verified: what it is in is damaged"};
  counts_.close_group(what.input, 1,
                      {.text_bytes = what.bytes, .failure = [why = std::move(why)](std::uint64_t) { return why; }});
  counts_.finish(what.input, what.bytes);
}

void verdict_gate::verified() {
  settled_ = true;
  for (const member_text& each : std::exchange(waiting_, {})) hand_down(each);
}

void verdict_gate::hand_down(const member_text& what) {
  if (!settled_) {
    waiting_.push_back(what);
  } else if (below_ != nullptr) {
    below_->hand_down(what);
  } else {
    if (what.bytes > 0) counts_.conclude({.input = what.input, .group = 1, .frame = 1}, what.bytes, true);
    counts_.close_group(what.input, 1, {.text_bytes = what.bytes});
    counts_.finish(what.input, what.bytes);
  }
}

source_bytes::source_bytes(const io::file_source& file, feed_notes& notes, std::stop_token stop)
    : file_(&file), notes_(&notes), stop_(std::move(stop)) {}

source_bytes::source_bytes(block_reader& stream, async::executor& reads_on, std::stop_token stop)
    : stream_(&stream), reads_on_(&reads_on), stop_(std::move(stop)) {}

std::size_t source_bytes::read(std::span<std::byte> out) {
  if (stop_.stop_requested()) throw as_error(left_at(offset_));
  std::size_t size = 0;
  if (file_ != nullptr) {
    const stopwatch busy(notes_->read.busy_nanoseconds);
    size = file_->read_at(out, offset_);
    notes_->read.bytes += size;
  } else {
    size = read_blocks(out);
  }
  offset_ += size;
  return size;
}

// The thread waits for a block; who reads it does not wait for the thread.
std::size_t source_bytes::read_blocks(std::span<std::byte> out) {
  if (current_.bytes.empty() && !current_.end) {
    current_ = {};  // first: its memory may be what the next one is read into
    current_ = async::run_blocking(*reads_on_, stream_->next());
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

std::optional<std::uint64_t> source_bytes::seekable_bytes() const {
  if (file_ == nullptr) return std::nullopt;
  return file_->size_hint();
}

std::span<const std::byte> peeking_bytes::peek(std::size_t wanted) {
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(std::exchange(gone_, 0)));
  while (ahead_.size() < wanted && !failed_) {
    const std::size_t have = ahead_.size();
    std::size_t size = 0;
    ahead_.resize(wanted);
    try {
      size = from_.read(std::span(ahead_).subspan(have));
    } catch (...) {
      failed_ = std::current_exception();
    }
    ahead_.resize(have + size);
    if (size == 0) break;
  }
  return ahead_;
}

std::size_t peeking_bytes::read(std::span<std::byte> out) {
  if (gone_ == ahead_.size()) {
    if (failed_) std::rethrow_exception(failed_);
    return from_.read(out);
  }
  const std::size_t size = std::min(out.size(), ahead_.size() - gone_);
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(gone_), size, out.begin());
  gone_ += size;
  return size;
}

void peeking_bytes::seek(std::uint64_t offset) {
  ahead_.clear();
  gone_ = 0;
  failed_ = nullptr;
  from_.seek(offset);
}

decoded_bytes::decoded_bytes(io::byte_reader& from, io::decoder& decoder, verdict_gate& verdicts, feed_notes& notes,
                             settings how)
    : from_(from), decoder_(decoder), verdicts_(verdicts), notes_(notes), how_(std::move(how)) {
  constexpr std::size_t buffer_bytes = std::size_t{128} << 10U;
  buffer_.resize(buffer_bytes);
  decoder_.restart({});
}

// As much as there is room for, so that how the bytes below happen to come is not seen above.
std::size_t decoded_bytes::read(std::span<std::byte> out) {
  std::size_t filled = 0;
  frame_ended_ = false;
  while (filled < out.size() && !failed_ && !ended_) {
    if (frame_ended_ && filled > 0) break;
    if (in_.empty() && !holds_text_ && !refill()) break;
    decode(out, filled);
  }
  if (filled == 0 && failed_) std::rethrow_exception(failed_);
  return filled;
}

// False where there is nothing more to decode.
bool decoded_bytes::refill() {
  try {
    in_ = std::span(buffer_).first(from_.read(buffer_));
  } catch (...) {
    failed_ = std::current_exception();
    return false;
  }
  if (!in_.empty()) return true;
  ended_ = true;
  if (const std::string missing = decoder_.missing_at_end(0); !missing.empty()) {
    fail(missing);
  } else {
    verdicts_.verified();  // also of a format without an end mark
  }
  return false;
}

void decoded_bytes::decode(std::span<std::byte> out, std::size_t& filled) {
  io::fill_result got;
  do {
    {
      const stopwatch busy(notes_.decompress.busy_nanoseconds);
      got = decoder_.fill(in_, out.subspan(filled));
    }
    in_ = in_.subspan(got.consumed);
    filled += got.produced;
    notes_.decompress.bytes += got.produced;
    if (got.produced > 0) verdicts_.note_bytes();
    if (decoder_.produced_total() > how_.most) {
      return fail("decompresses to far more than --max-output allows; given up at compressed offset " +
                      std::to_string(decoder_.consumed_total()),
                  failure_kind::refused);
    }
    if (got.status == io::fill_status::needs_window && !how_.grant_window) {
      return fail("needs a window of " + config::format_size(decoder_.window_wanted()) +
                      ", too large for what lies within an archive; extract it first",
                  failure_kind::refused);
    }
    if (got.status == io::fill_status::needs_window) how_.grant_window();
  } while (got.status == io::fill_status::needs_window);
  holds_text_ = got.status == io::fill_status::output_full;
  if (got.status == io::fill_status::failed) fail(decoder_.fault(0));
  if (got.status != io::fill_status::frame_verified) return;
  frame_ended_ = true;
  ++notes_.frames;
  verdicts_.verified();
}

void decoded_bytes::fail(const std::string& message, failure_kind kind) {
  failed_ = std::make_exception_ptr(io::input_error(message, 0, kind));
}

std::string decoded_bytes::place_of(std::uint64_t offset) const {
  return "decompressed offset " + std::to_string(offset) + ", read up to compressed offset " +
         std::to_string(decoder_.consumed_total());
}

std::size_t member_bytes::read(std::span<std::byte> out) {
  if (failed_) std::rethrow_exception(failed_);
  try {
    if (left_.empty()) left_ = from_.read();
  } catch (...) {
    failed_ = std::current_exception();
    throw;
  }
  if (left_.empty()) {
    verdicts_.verified();  // all of its checksums are in order
    return 0;
  }
  verdicts_.note_bytes();
  const std::size_t size = std::min(out.size(), left_.size());
  std::copy_n(left_.begin(), size, out.begin());
  left_ = left_.subspan(size);
  return size;
}

}  // namespace gpuhist::pipeline
