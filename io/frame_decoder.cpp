#include "io/frame_decoder.hpp"

#include "io/failure.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuhist::io {

frame_decoder::frame_decoder(const decoder_limits& limits, words names)
    : limits_(limits), names_(names), granted_(limits.granted_bytes) {}

fill_result frame_decoder::fill(std::span<const std::byte> in, std::span<std::byte> out) {
  cursor at{.in = in, .out = out};
  step_result ended;
  while (!ended) ended = run_step(at);
  return {.status = *ended, .consumed = in.size() - at.in.size(), .produced = out.size() - at.out.size()};
}

frame_decoder::step_result frame_decoder::run_step(cursor& at) {
  if (holds_ahead_) {
    if (at.out.empty()) return fill_status::output_full;
    at.out.front() = ahead_;
    holds_ahead_ = false;
    write(at, 1);
  }
  if (!error_.empty()) return fill_status::failed;
  return step(at);
}

void frame_decoder::restart(const decode_start& start) {
  reset_frame();
  header_size_ = 0;
  holds_ahead_ = false;
  frames_ended_ = start.frames;
  consumed_ = start.compressed_bytes;
  produced_ = 0;
  error_.clear();
  begin_at(start);
}

// A smaller window frees the memory of the larger one.
void frame_decoder::grant_window(std::uint64_t bytes) {
  if (bytes != granted_) free_memory();
  granted_ = bytes;
}

bool frame_decoder::take_remaining(cursor& at, std::uint64_t& remaining) {
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(remaining, at.in.size()));
  take(at, bytes);
  remaining -= bytes;
  return remaining == 0;
}

bool frame_decoder::write_front(cursor& at, std::span<const std::byte>& text) {
  const std::size_t bytes = std::min(text.size(), at.out.size());
  if (bytes != 0) std::memcpy(at.out.data(), text.data(), bytes);
  text = text.subspan(bytes);
  write(at, bytes);
  return text.empty();
}

bool frame_decoder::collect(cursor& at, std::size_t bytes) {
  const std::size_t here = std::min(bytes - header_size_, at.in.size());
  std::ranges::copy(at.in.first(here), header_.begin() + static_cast<std::ptrdiff_t>(header_size_));
  header_size_ += here;
  take(at, here);
  return header_size_ == bytes;
}

frame_decoder::step_result frame_decoder::collect_header(cursor& at, std::string_view magic, std::size_t bytes) {
  while (header_size_ < bytes) {
    if (!collect(at, header_size_ + 1)) return fill_status::needs_input;
    const std::size_t known = std::min(magic.size(), header_size_);
    if (!std::ranges::equal(collected().first(known), std::as_bytes(std::span(magic)).first(known))) {
      return refuse_magic();
    }
  }
  return std::nullopt;
}

void frame_decoder::skip_padding(cursor& at) {
  if (frames_ended_ == 0 || header_size_ != 0) return;
  const auto end = std::ranges::find_if(at.in, [](std::byte byte) { return byte != std::byte{0}; });
  take(at, static_cast<std::size_t>(end - at.in.begin()));
}

std::span<std::byte> frame_decoder::room(const cursor& at) {
  constexpr std::size_t max_at_once = std::size_t{1} << 30U;  // some libraries count in 32 bits
  if (at.out.empty()) return {&ahead_, 1};
  return at.out.first(std::min(at.out.size(), max_at_once));
}

void frame_decoder::advance(cursor& at, std::size_t consumed, std::size_t written) {
  take(at, consumed);
  if (at.out.empty()) {
    holds_ahead_ = written != 0;
  } else {
    write(at, written);
  }
}

frame_decoder::step_result frame_decoder::continue_after(cursor& at, std::size_t consumed, std::size_t written) {
  const bool all_written = written < room(at).size();
  advance(at, consumed, written);
  if (!all_written) return std::nullopt;
  if (at.in.empty()) return fill_status::needs_input;
  return consumed == 0 && written == 0 ? fail_damaged("the library makes no progress") : std::nullopt;
}

frame_decoder::step_result frame_decoder::request_window(std::uint64_t bytes) {
  wanted_ = bytes;
  if (bytes > limits_.window_bytes) {
    return refuse(frame_name() + " " + window_refusal(bytes, limits_));
  }
  return bytes > granted_ ? step_result(fill_status::needs_window) : std::nullopt;
}

// The error is reported after all text before it is delivered: see run_step().
frame_decoder::step_result frame_decoder::fail(std::string clause, failure_kind kind, std::uint64_t bytes_ago) {
  error_ = std::move(clause);
  error_kind_ = kind;
  error_at_ = consumed_ - bytes_ago;
  return holds_ahead_ ? std::nullopt : step_result(fill_status::failed);
}

frame_decoder::step_result frame_decoder::fail_damaged(std::string_view cause, std::uint64_t bytes_ago) {
  return fail(frame_name() + " is damaged (" + std::string(cause) + ")", failure_kind::damaged, bytes_ago);
}

frame_decoder::step_result frame_decoder::refuse_magic(std::uint64_t header_bytes) {
  const std::string format(names_.format);
  const bool at_the_start = consumed_ == header_bytes;
  return fail(at_the_start ? "is not " + format + " data: there is no " + format + " magic number at its start,"
                           : "trailing data that is not " + format + " where " + frame_name() + " would begin,",
              failure_kind::damaged, header_bytes);
}

frame_decoder::step_result frame_decoder::end_frame() {
  ++frames_ended_;
  header_size_ = 0;
  return fill_status::frame_verified;
}

std::string frame_decoder::frame_name() const {
  return std::string(names_.frame) + " " + std::to_string(frames_ended_ + 1);
}

std::string frame_decoder::offsets(std::uint64_t compressed, std::uint64_t text_before) const {
  return " at compressed offset " + std::to_string(compressed) + ", decompressed offset " +
         std::to_string(text_before + produced_);
}

std::string frame_decoder::fault(std::uint64_t text_before) const { return error_ + offsets(error_at_, text_before); }

failure_kind frame_decoder::fault_kind() const { return error_.empty() ? failure_kind::damaged : error_kind_; }

// Some clauses end in a comma, because the offsets follow.
std::string frame_decoder::fault_cause() const { return error_.substr(0, error_.find_last_not_of(',') + 1); }

std::string frame_decoder::missing_at_end(std::uint64_t text_before) const {
  if (!error_.empty()) return fault(text_before);
  const std::string cause = missing_cause_at_end();
  return cause.empty() ? cause : cause + offsets(consumed_, text_before);
}

std::string frame_decoder::missing_at_frame_end(std::uint64_t text_before) const {
  if (!error_.empty()) return fault(text_before);
  const std::string cause = missing_cause_at_frame_end();
  return cause.empty() ? cause : cause + offsets(consumed_, text_before);
}

std::string frame_decoder::missing_cause_at_end() const {
  if (!error_.empty()) return fault_cause();
  if (consumed_ == 0) {
    return "is empty: there is no " + std::string(names_.format) + " " + std::string(names_.frame);
  }
  return in_frame() ? frame_name() + " ends early: the input stops" : error_between_frames();
}

std::string frame_decoder::missing_cause_at_frame_end() const {
  if (!error_.empty() || !in_frame()) return missing_cause_at_end();
  return frame_name() + " is damaged (it does not end where the sizes in headers say)";
}

}  // namespace gpuhist::io
