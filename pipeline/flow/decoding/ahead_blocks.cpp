#include "pipeline/flow/decoding/ahead_blocks.hpp"

#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/decoding/frame_parts.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10U;
constexpr std::size_t group_bytes = std::size_t{512} << 10U;                // of frames that are decoded together
constexpr std::size_t most_blocks = (std::size_t{8} << 20U) / block_bytes;  // a larger frame is not decoded ahead

}  // namespace

io::part_format parts_of(const io::format& format, const io::file_source* file, feed_notes& notes,
                         const std::stop_token& stop) {
  if (file == nullptr || format.read_parts == nullptr) return format.parts;
  source_bytes bytes(*file, notes, stop);
  return format.read_parts(bytes);
}

ahead_blocks::ahead_blocks(io::byte_reader& source, const io::format& format, ahead_resources resources,
                           stage_clock& clock)
    : source_(source),
      format_(format),
      resources_(std::move(resources)),
      clock_(clock),
      blocks_(std::make_shared<block_pool>(block_bytes, 0)),
      divider_(format.make_splitter(), group_bytes) {}

part_queue::piece ahead_blocks::next() {
  for (;;) {
    if (queue_) {
      const bool is_lost = is_divided() && divider_.splitter().is_lost();
      const bool reads = !is_lost && queue_->wants_more();
      const bool has_paused = reads && pauses();
      if (!reads || has_paused) {
        if (auto next = queue_->take(!is_lost && !has_paused)) return std::move(*next);
      }
    }
    read_more();
  }
}

void ahead_blocks::pause(bool is_paused) {
  if (queue_) queue_->pause(is_paused);
}

void ahead_blocks::discard_parts() {
  if (queue_) queue_->discard_parts();
}

// Whether a stream has nothing more for the moment. What has arrived is then decoded without delay. A program that
// writes into a pipe as fast as it can also keeps its reader waiting, but not for so long.
bool ahead_blocks::pauses() {
  constexpr int longest_wait = 50;  // milliseconds
  for (int waited = 0; source_.may_wait(); ++waited) {
    if (waited == longest_wait) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void ahead_blocks::read_more() {
  block last{.end = true};
  block next;
  try {
    next = read_block();
  } catch (...) {
    last.error = std::current_exception();
  }
  if (!queue_) begin(next);
  if (!next.bytes.empty()) return push(next);
  if (const auto held = is_divided() ? divider_.rest() : std::nullopt) push_piece(*held);
  queue_->push(std::move(last));
}

// A full block, or what a stream has at the moment.
block ahead_blocks::read_block() {
  const block_memory taken = blocks_->take_memory();
  std::byte* const bytes = taken.bytes;
  const std::shared_ptr<const std::byte> memory(
      bytes, [pool = blocks_, taken](const std::byte*) { pool->release_memory(taken); });
  std::size_t size = 0;
  try {
    do {
      const std::size_t read = source_.read({bytes + size, block_bytes - size});
      size += read;
      if (read == 0) break;
    } while (size < block_bytes && !source_.may_wait());
  } catch (...) {
    if (size == 0) throw;  // otherwise the next read throws it again
  }
  return {.memory = memory, .bytes = std::span(bytes, size)};
}

// Frames of more than one block of compressed bytes are found from the first bytes on, or not at all. A frame that is
// longer than the first block is decoded in parts, if the splitter finds some.
void ahead_blocks::begin(const block& first) {
  auto probe = format_.make_splitter();
  bool ends_frame = false;
  for (std::span<const std::byte> rest = first.bytes; !rest.empty();) {
    const io::split_step step = probe->advance(rest);
    rest = rest.subspan(step.taken);
    has_parts_ |= step.part_ends;
    ends_frame |= step.frame_ends && probe->counts_frame();
  }
  has_parts_ &= !ends_frame && !probe->is_lost();
  has_frames_ = !has_parts_ && !probe->is_lost();
  io::part_format format = has_frames_ ? make_frame_parts(format_, resources_.limits) : resources_.parts();
  if (format.splitter_divides && !has_parts_) format = {};
  if (format.splitter_divides) format.part_bytes = part_queue::any_size;
  const part_shares shares = shares_of(format, resources_.threads, resources_.limits.window_bytes);
  queue_.emplace(part_queue::settings{.format = format,
                                      .threads = shares.parts == 0 ? 0 : resources_.threads,
                                      .is_in_pool = false,
                                      .max_parts = shares.parts,
                                      .max_part_bytes = shares.bytes,
                                      .memory_bytes = resources_.limits.window_bytes,
                                      .max_blocks = is_divided() ? most_blocks : part_queue::any_size,
                                      .offset = 0,
                                      .begins_frame = true},
                 resources_.pool, resources_.memory, clock_);
}

void ahead_blocks::push(const block& next) {
  if (!is_divided()) return queue_->push(next);
  while (const auto piece = divider_.next(next)) push_piece(*piece);
}

void ahead_blocks::push_piece(const frame_divider::piece& next) {
  if (has_parts_ && next.bytes.part) queue_->end_part({.context = next.bytes.part});
  if (!next.bytes.bytes.empty()) queue_->push(next.bytes);
  if (has_frames_ && next.ends_group) queue_->end_part(divider_.start());
}

}  // namespace gpuhist::pipeline
