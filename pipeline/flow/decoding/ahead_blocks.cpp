#include "pipeline/flow/decoding/ahead_blocks.hpp"

#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/decoding/frame_parts.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t read_bytes = std::size_t{256} << 10U;
constexpr std::size_t group_bytes = std::size_t{512} << 10U;       // of frames that are decoded together
constexpr std::size_t most_pending_bytes = std::size_t{8} << 20U;  // a larger frame is not decoded ahead

block make_block(std::vector<std::byte> bytes) {
  if (bytes.size() < bytes.capacity() / 2) bytes.shrink_to_fit();
  const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {.memory = {kept, kept->data()}, .bytes = *kept};
}

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
      splitter_(format.make_splitter()) {}

part_queue::piece ahead_blocks::next() {
  for (;;) {
    const bool divides = !has_frames_ || !is_lost_;
    const bool has_paused = queue_ && divides && queue_->wants_more() && pauses();
    if (has_paused) push_pending(pending_.size());
    if (queue_ && (has_paused || !divides || !queue_->wants_more())) {
      if (auto next = queue_->take(divides && !has_paused)) return std::move(*next);
    }
    read_more();
  }
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

// Frames of more than one block of compressed bytes are found from the first bytes on, or not at all.
void ahead_blocks::begin(std::span<const std::byte> first) {
  std::span<const std::byte> rest = first;
  auto probe = format_.make_splitter();
  while (!rest.empty()) rest = rest.subspan(probe->advance(rest).taken);
  has_frames_ = !probe->is_lost();
  is_lost_ = !has_frames_;
  const io::part_format format = has_frames_ ? make_frame_parts(format_, resources_.limits) : resources_.parts();
  const part_shares shares = shares_of(format, resources_.threads, resources_.limits.window_bytes);
  queue_.emplace(part_queue::settings{.format = format,
                                      .threads = shares.parts == 0 ? 0 : resources_.threads,
                                      .max_parts = shares.parts,
                                      .max_part_bytes = shares.bytes,
                                      .max_blocks = part_queue::any_size,
                                      .offset = 0,
                                      .begins_frame = true},
                 resources_.pool, resources_.memory, clock_);
}

void ahead_blocks::read_more() {
  std::vector<std::byte> bytes(read_bytes);
  block last{.end = true};
  try {
    bytes.resize(source_.read(bytes));
  } catch (...) {
    last.error = std::current_exception();
    bytes.clear();
  }
  if (!queue_) begin(bytes);
  if (bytes.empty()) {
    push_pending(pending_.size());
    queue_->push(std::move(last));
  } else if (is_lost_) {
    queue_->push(make_block(std::move(bytes)));
  } else {
    divide(bytes);
  }
}

// Pushes the frames that end in or before these bytes, and all bytes once no more frames are found.
void ahead_blocks::divide(std::span<const std::byte> more) {
  pending_.insert(pending_.end(), more.begin(), more.end());
  std::uint64_t walked = walked_;
  walked_ += more.size();
  for (std::span<const std::byte> rest = more; !rest.empty();) {
    const io::split_step step = splitter_->advance(rest);
    rest = rest.subspan(step.taken);
    walked += step.taken;
    if (!step.frame_ends) continue;
    if (splitter_->counts_frame()) ++frame_start_.frames;
    frame_start_.compressed_bytes = walked - step.beyond;
    frame_start_.context = splitter_->context();
    const std::uint64_t before =
        pending_.size() - std::min<std::uint64_t>(pending_.size(), walked_ - frame_start_.compressed_bytes);
    if (in_frame_ || before >= group_bytes) push_pending(before);
  }
  is_lost_ = splitter_->is_lost() || pending_.size() > most_pending_bytes;
  if (is_lost_) push_pending(pending_.size());
}

// Pushes the front of the pending bytes. If they end inside a frame, the decoder decodes the rest of this frame alone.
void ahead_blocks::push_pending(std::size_t bytes) {
  if (bytes == 0) return;
  const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(bytes);
  std::vector<std::byte> rest(end, pending_.end());
  pending_.resize(bytes);
  block next = make_block(std::exchange(pending_, std::move(rest)));
  if (in_frame_) {
    queue_->push(std::move(next));
  } else {
    queue_->push_frames(std::move(next), start_);
  }
  in_frame_ = walked_ - pending_.size() != frame_start_.compressed_bytes;
  if (!in_frame_) start_ = frame_start_;
}

}  // namespace gpuhist::pipeline
