#include "pipeline/flow/decoding/fed_decoder.hpp"

#include "async/task_group.hpp"
#include "config/size.hpp"
#include "io/failure.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// A multiple of this text is counted where it lies while it is in the cache.
constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;

// For the buffer, the state of a decoder and a small window. A quarter of the memory is always left for larger windows.
std::uint64_t own_bytes(const decoder_memory& memory) {
  constexpr std::uint64_t usual_bytes = std::uint64_t{1} << 20U;
  return std::min(usual_bytes, memory.bytes / 4);
}

input_failure no_room(std::uint64_t wanted, const decoder_memory& memory) {
  return {.kind = failure_kind::out_of_memory,
          .text = "needs " + config::format_size(wanted) + " to be decoded, and other inputs use most of the " +
                  config::format_size(memory.bytes) +
                  " for decoders; finish them first, or give a higher --memory-limit"};
}

}  // namespace

fed_decoder::fed_decoder(text_track& text, const fed_decoding& settings, const used_run& used)
    : text_(text), settings_(settings), run_(used) {}

std::uint64_t fed_decoder::decoded_bytes() const { return decoder_ ? decoder_->consumed_total() : text_.bytes(); }

void fed_decoder::feed(std::span<const std::byte> stored) {
  if (has_ended_) return;
  run_.notes.read.bytes += stored.size();
  while (!is_settled_) {
    const std::size_t wanted = settings_.format == nullptr ? io::bytes_for_format(head_) : 0;
    if (wanted == 0) {
      settle();
    } else if (stored.empty()) {
      return;
    } else {
      const std::size_t taken = std::min(stored.size(), wanted - head_.size());
      head_.insert(head_.end(), stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(taken));
      stored = stored.subspan(taken);
    }
  }
  take(stored);
}

// Decides the format by the bytes so far.
void fed_decoder::settle() {
  is_settled_ = true;
  try {
    const io::identity as = io::identify({}, head_, settings_.format);
    run_.counts.set_format(input(), as.format.name);
    if (as.notice) run_.counts.note(input(), *as.notice);
    if (as.format.make_decoder != nullptr) begin(as.format);
  } catch (const io::input_error& refused) {
    return end(input_failure{.kind = refused.kind(), .text = refused.what()});
  }
  take(std::exchange(head_, {}));
}

void fed_decoder::take(std::span<const std::byte> stored) {
  if (has_ended_) return;
  if (!decoder_) return run_.text.put(text_, stored);
  decode(stored);
}

void fed_decoder::begin(const io::format& found) {
  const std::uint64_t own = own_bytes(run_.memory);
  own_memory_ = run_.memory.free.try_acquire(own);
  if (!own_memory_) return end(no_room(own, run_.memory));
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
  auto made = found.make_decoder(
      {.window_bytes = run_.memory.bytes - own, .granted_bytes = own, .besides = run_.memory.besides});
  made->restart({});
  text_.open_group(1);
  decoder_ = std::move(made);
}

void fed_decoder::decode(std::span<const std::byte> in) {
  while (!has_ended_) {
    if (buffered_ == buffer_bytes) flush();
    const io::fill_result result = [&] {
      const busy_time busy(run_.notes.decompress);
      return decoder_->fill(in, std::span(buffer_.get(), buffer_bytes).subspan(buffered_));
    }();
    in = in.subspan(result.consumed);
    note_produced(result.produced);
    if (has_ended_) return;
    if (result.status == io::fill_status::needs_input) break;
    if (result.status == io::fill_status::needs_window) grant_window();
    if (result.status == io::fill_status::frame_verified) conclude_verified();
    if (result.status == io::fill_status::failed) {
      return end(input_failure{.kind = decoder_->fault_kind(), .text = decoder_->fault(0)});
    }
  }
  if (has_ended_) return;
  flush();
  run_.counts.set_compressed_bytes(input(), text_.owner().group, decoder_->consumed_total());
}

void fed_decoder::note_produced(std::size_t bytes) {
  buffered_ += bytes;
  text_bytes_ += bytes;
  run_.notes.decompress.bytes += bytes;
  if (settings_.max_text == 0 || text_bytes_ <= settings_.max_text) return;
  end(input_failure{.kind = failure_kind::refused,
                    .text = "decompresses to more than the " + config::format_size(settings_.max_text) +
                            " of --max-output; given up at compressed offset " +
                            std::to_string(decoder_->consumed_total())});
}

// A frame that lies in the buffer as a whole needs no provisional counts: its text is put as verified text.
void fed_decoder::conclude_verified() {
  ++run_.notes.frames;
  if (text_.frame_bytes() == 0) {
    verified_ = buffered_;
    return;
  }
  flush();
  async::run_here(text_.end_frame(nullptr));
}

void fed_decoder::flush() {
  const std::span<const std::byte> text(buffer_.get(), std::exchange(buffered_, 0));
  const std::size_t verified = std::exchange(verified_, 0);
  const frame_id open = text_.owner().frame;
  text_.set_frame(0);
  run_.text.put(text_, text.first(verified));
  text_.set_frame(open);
  run_.text.put(text_, text.subspan(verified));
}

// It does not wait for memory, because the inputs that use it may be fed by the calling thread.
void fed_decoder::grant_window() {
  if (window_memory_) {
    decoder_->grant_window(0);
    window_memory_.release();
  }
  const std::uint64_t wanted = decoder_->window_wanted();
  window_memory_ = run_.memory.free.try_acquire(wanted);
  if (!window_memory_) return end(no_room(wanted, run_.memory));
  decoder_->grant_window(wanted);
}

void fed_decoder::finish() {
  if (!has_ended_ && !is_settled_) settle();
  if (has_ended_) return;
  if (decoder_ && decoder_->end_input()) decode({});
  if (has_ended_) return;
  if (decoder_) {
    std::string missing = decoder_->missing_at_end(0);
    if (!missing.empty()) return end(input_failure{.kind = decoder_->fault_kind(), .text = std::move(missing)});
    if (text_.frame_bytes() > 0) conclude_verified();  // of formats without an end mark
    if (const auto found = decoder_->notice_at_end()) run_.counts.note(input(), *found);
  }
  end(std::nullopt);
}

void fed_decoder::fail(const input_failure& failure) {
  if (!has_ended_) end(failure);
}

void fed_decoder::end(std::optional<input_failure> failure) {
  if (buffered_ > 0) flush();
  has_ended_ = true;
  has_failed_ = failure.has_value();
  if (decoder_) {
    group_end ending{.compressed_bytes = decoder_->consumed_total()};
    if (failure) ending.failure = [kept = *failure](std::uint64_t) { return kept; };
    text_.close_group(std::move(ending));
    if (!failure) text_.finish();
  } else {
    text_.end(failure);
  }
  decoder_.reset();
  buffer_.reset();
  window_memory_.release();
  own_memory_.release();
}

}  // namespace gpuhist::pipeline
