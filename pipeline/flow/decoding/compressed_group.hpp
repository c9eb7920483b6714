// The inputs of compressed_inputs and their groups of frames. compressed_inputs.cpp divides inputs into groups;
// host_decoding and device_decoding decode a group.
#pragma once

#include "async/channel.hpp"
#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/windows/panes.hpp"
#include "pipeline/flow/decoding/compressed_inputs.hpp"
#include "pipeline/flow/decoding/frame_divider.hpp"
#include "pipeline/flow/decoding/stream_cancel.hpp"
#include "pipeline/flow/text_track.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

inline failure_maker always(input_failure failure) {
  return [failure = std::move(failure)](std::uint64_t) { return failure; };
}

/// Allocates nothing.
inline failure_maker no_memory() {
  return [](std::uint64_t) {
    return input_failure{.kind = failure_kind::out_of_memory, .text = "not enough memory to decode it"};
  };
}

// An input that is being decoded. Used by the coroutine that splits it; the atomic members and those under the mutex
// are also used by its groups.
struct compressed_inputs::compressed_input {
  compressed_input(input_id number, std::shared_ptr<io::source> opened, const io::format& detected,
                   async::event_loop& streams, async::semaphore& permits_if_staged)
      : id(number),
        source(std::move(opened)),
        format(detected),
        stream_cancel(make_stream_cancel(streams, source)),
        staged_permits(permits_if_staged) {}

  // Only the rest of the input is decoded.
  void continue_after(const input_prefix& counted) {
    start = {.frames = counted.frames, .compressed_bytes = counted.stored_bytes()};
    compressed_bytes = start.compressed_bytes;
    text_so_far = text_bytes = counted.text_bytes();
  }

  // All groups have ended. The oldest that must be decoded again, and all after it, are decoded one after the other. If
  // no input of its own may begin there, the input is read from its begin on, because a splitter must be.
  group_id begin_again() {
    group_begin oldest = *std::exchange(decode_again, std::nullopt);
    decode_from = compressed_bytes = oldest.start.compressed_bytes;
    if (!oldest.start.context) start = std::move(oldest.start);
    text_so_far = text_bytes;
    blocks_with_parts = 0;
    on_device = has_ended = damaged = false;
    is_decoded_again = true;
    is_read = false;
    return oldest.group;
  }

  input_id id = 0;
  std::shared_ptr<io::source> source;
  const io::format& format;
  const std::shared_ptr<async::deferred_call> stream_cancel;
  async::semaphore& staged_permits;
  io::decode_start start{};            // of the first group
  std::optional<std::uint64_t> end{};  // where reading a file ends; nothing: at its end
  std::optional<frame_divider> divider{};
  std::shared_ptr<block_reader> blocks{};
  std::deque<group_pointer> running{};  // groups that are not retired, the oldest first
  group_pointer current{};              // the group that receives bytes
  std::optional<pane_planner> panes{};  // of text that devices decode; nothing: it continues where text was cut last
  std::uint64_t text_bytes = 0;         // of retired groups, up to the one that ends the input
  std::uint64_t compressed_bytes = 0;   // up to the end of these groups
  std::optional<io::notice> notice{};   // of the retired group that is last
  bool has_ended = false;               // a retired group ends the input, or must be decoded again
  std::uint64_t frames = 0;             // of these groups, if the host decoded them
  std::uint64_t groups = 0;
  bool on_device = false;           // a device may decode its groups
  std::uint64_t device_groups = 0;  // collected for a device
  struct group_begin {
    io::decode_start start{};
    group_id group = 0;
  };
  std::optional<group_begin> decode_again{};  // the oldest group that must be decoded again
  bool is_decoded_again = false;
  bool is_read = false;                       // under the mutex below: no group will hold further blocks
  std::uint64_t decode_from = 0;              // compressed offset; frames before it are not decoded again
  std::atomic<bool> in_parts{false};          // a frame is decoded by several threads
  std::atomic<bool> damaged{false};           // no more bytes are needed
  std::atomic<std::uint64_t> text_so_far{0};  // of all groups together

  std::mutex mutex{};
  group_pointer youngest{};           // under the mutex
  std::size_t running_groups = 0;     // under the mutex: groups that have not ended
  std::size_t holding_groups = 0;     // under the mutex: of them, those that may hold blocks of the reader
  std::deque<group*> collecting{};    // under the mutex: groups that may hold blocks and have no context, oldest first
  async::semaphore::permit open{};    // under the mutex while groups run; empty: the input is staged
  async::semaphore::permit staged{};  // the same
  std::size_t blocks_with_parts = 0;  // under the mutex: blocks that the reader owns; 0: no group has parts

  [[nodiscard]] bool all_have_ended() {
    const std::scoped_lock lock(mutex);
    return running_groups == 0;
  }

  // The group may hold blocks of the reader while it has no context. Called in the order of the groups.
  void begin_collecting(group& added);

  // It holds none any more, or has a context. Any thread; may be called again.
  void end_collecting(group& ended) noexcept;

  // It holds no blocks from here on. Any thread; may be called again.
  void end_holding(group& ended) noexcept;

  // All bytes were read.
  void note_read() noexcept {
    const std::scoped_lock lock(mutex);
    is_read = true;
    permit_another();
  }

  // Under the mutex. While the input only waits for the device, another one may be opened.
  void permit_another() noexcept {
    if (!is_read || holding_groups > 0) return;
    staged = staged_permits.try_acquire();
    if (staged) open.release();
  }

  // For the first group with parts, the reader takes `more` blocks of its own. Returns how many it has. Any thread.
  std::size_t own_blocks_of_parts(std::size_t more) {
    const std::scoped_lock lock(mutex);
    if (blocks_with_parts == 0) blocks_with_parts = blocks->own_more(more);
    blocks->read_farther_ahead();
    return blocks_with_parts;
  }

  // Ends all waits for bytes of the source and for free blocks.
  void end_reading() const noexcept {
    if (blocks) blocks->give_up();
    stream_cancel->post();
  }
};

// Frames that one decoder decodes in order. The splitting coroutine fills the channel. The decoding coroutine uses all
// other members until `ended` is set.
struct compressed_inputs::group {
  group(compressed_input& parent, const text_track::destination& to) : input(parent), text(to, {.input = parent.id}) {}

  compressed_input& input;
  text_track text;
  io::decode_start start{};
  std::optional<std::uint64_t> text_before{};  // of the input; nothing: groups before it are still being decoded
  decode_contexts::lease context{};
  std::optional<staged_group> staged{};  // for a device; a context is acquired only if the host must decode
  std::uint64_t copied_bytes = 0;        // of memory, because it waits for the groups before it
  std::deque<block> staged_blocks{};     // which the host must decode; they precede `blocks`
  async::channel<block> blocks{};
  std::optional<std::uint64_t> frames_at_end{};  // group_end::frames; set before the end of `blocks`
  bool has_guesses = false;                      // some ends of its frames are; set before the end of `blocks`
  async::event may_request_window{};             // a large one: it has all its bytes, or no other group holds blocks
  async::event may_request_context{};            // it holds no blocks, or no earlier group without a context does
  bool may_hold_blocks = false;                  // under the mutex of the input
  // With windows, whose text is cut in order:
  group_pointer previous{};    // group of the input; null: there is none, or it has ended
  async::event panes_known{};  // where the panes of its text end is planned, or it has ended
  async::event ended{};

  std::uint64_t frames_ended = 0;  // of the input, including damaged ones
  group_end end{};
  bool ends_input = false;  // false: the group ends at the start of the next group
};

inline void compressed_inputs::compressed_input::begin_collecting(group& added) {
  const std::scoped_lock lock(mutex);
  collecting.push_back(&added);
  if (collecting.size() == 1) added.may_request_context.set();
}

inline void compressed_inputs::compressed_input::end_collecting(group& ended) noexcept {
  const std::scoped_lock lock(mutex);
  std::erase(collecting, &ended);
  ended.may_request_context.set();
  if (!collecting.empty()) collecting.front()->may_request_context.set();
}

// The group that waits for more blocks is the youngest one.
inline void compressed_inputs::compressed_input::end_holding(group& ended) noexcept {
  const std::scoped_lock lock(mutex);
  if (!std::exchange(ended.may_hold_blocks, false)) return;
  if (--holding_groups == 1) youngest->may_request_window.set();
  permit_another();
}

}  // namespace gpuhist::pipeline
