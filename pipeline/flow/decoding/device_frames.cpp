#include "pipeline/flow/decoding/device_frames.hpp"

#include "gpu/engines.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// Copies bytes that may lie in several slots.
void copy_from(const std::vector<std::span<const std::byte>>& pieces, std::size_t piece_bytes, std::uint64_t at,
               std::span<std::byte> to) {
  while (!to.empty()) {
    const std::span<const std::byte> piece =
        pieces[static_cast<std::size_t>(at / piece_bytes)].subspan(at % piece_bytes);
    const std::size_t bytes = std::min(piece.size(), to.size());
    std::copy_n(piece.begin(), bytes, to.begin());
    to = to.subspan(bytes);
    at += bytes;
  }
}

}  // namespace

staged_group::staged_group(device_frames& owner, std::shared_ptr<staging_slot> first,
                           async::semaphore::permit incomplete, bool waits)
    : owner_(owner), incomplete_(std::move(incomplete)), waits_(waits) {
  slots_.push_back(std::move(first));
}

async::task<std::size_t> staged_group::append(std::span<const std::byte> bytes) {
  std::size_t appended = 0;
  while (appended < bytes.size()) {
    const std::uint64_t used = size_ - (slots_.size() - 1) * std::uint64_t{owner_.slot_bytes()};
    if (used == owner_.slot_bytes()) {
      if (slots_.size() == owner_.max_slots_of_group()) break;
      std::shared_ptr<staging_slot> more;
      if (waits_) {
        more = co_await owner_.slots_.acquire();
      } else {
        more = owner_.slots_.try_acquire();
      }
      if (!more) break;
      slots_.push_back(std::move(more));
      continue;
    }
    const std::size_t fit = std::min<std::size_t>(owner_.slot_bytes() - used, bytes.size() - appended);
    std::memcpy(slots_.back()->memory() + used, bytes.data() + appended, fit);
    appended += fit;
    size_ += fit;
  }
  co_return appended;
}

std::vector<std::span<const std::byte>> staged_group::pieces() const {
  std::vector<std::span<const std::byte>> all;
  std::uint64_t left = size_;
  for (const auto& each : slots_) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, owner_.slot_bytes()));
    if (bytes > 0) all.emplace_back(each->memory(), bytes);
    left -= bytes;
  }
  return all;
}

std::deque<block> staged_group::take_blocks() {
  std::deque<block> blocks;
  const auto all = pieces();
  for (std::size_t i = 0; i < all.size(); ++i) {
    blocks.push_back({.memory = std::shared_ptr<const std::byte>(slots_[i], slots_[i]->memory()), .bytes = all[i]});
  }
  slots_.clear();
  size_ = 0;
  return blocks;
}

device_frames::device_frames(gpu::engine& engine, const settings& with)
    : engine_(engine), settings_(with), slots_(with.slots) {}

// The decoder of an engine that wakes devices may be there later.
bool device_frames::start() {
  const std::scoped_lock lock(mutex_);
  if (decoder_ != nullptr) return true;
  if (!note_.empty()) return false;
  try {
    if (max_slots() > 0) return try_start();
    note_ = "frames are decoded on the host: the memory limit leaves no memory for their compressed bytes";
  } catch (const gpu::engine_error& error) {
    note_ = "frames are decoded on the host: " + std::string(error.what());
  } catch (const std::bad_alloc&) {
    note_ = "frames are decoded on the host: not enough memory for compressed bytes";
  } catch (const std::system_error& error) {
    note_ = "frames are decoded on the host: no thread could be started: " + std::string(error.what());
  }
  return false;
}

bool device_frames::try_start() {
  gpu::frame_decoder* const made = engine_.decoder();
  if (made == nullptr) return false;
  slots_.start(engine_);
  decoder_ = made;
  return true;
}

// The first failure is the cause of later ones.
void device_frames::note_failure(const std::exception_ptr& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    const std::scoped_lock lock(mutex_);
    try {
      if (note_.empty()) note_ = "frames are decoded on the host: " + std::string(error.what());
    } catch (const std::bad_alloc&) {
      return;  // the note is only for statistics
    }
  } catch (...) {
    return;
  }
}

std::string device_frames::note() const {
  const std::scoped_lock lock(mutex_);
  return note_;
}

async::task<std::optional<staged_group>> device_frames::begin_group(std::span<const std::byte> begin, bool waits) {
  if (is_too_long(begin) || !start()) co_return std::nullopt;
  async::semaphore::permit incomplete;
  std::shared_ptr<staging_slot> slot;
  if (settings_.shares) {
    waits = false;
    slot = slots_.try_acquire();
  } else {
    incomplete = incomplete_.try_acquire();
    if (!incomplete && waits) incomplete = co_await incomplete_.acquire();
    if (incomplete) slot = co_await slots_.acquire();
  }
  if (!slot) co_return std::nullopt;
  co_return staged_group(*this, std::move(slot), std::move(incomplete), waits);
}

// Where the host shares the work, a device that is still busy with one frame at the end of a run delays it.
bool device_frames::is_too_long(std::span<const std::byte> begin) const {
  constexpr std::uint64_t max_shared_text = std::uint64_t{64} << 20U;
  if (!settings_.shares) return false;
  const io::zstd_header_result parsed = io::parse_zstd_header(begin);
  return parsed.status == io::header_status::complete && parsed.header.content_bytes.value_or(0) > max_shared_text;
}

bool device_frames::fits(const staged_group& group, const encoded_frames& frames) const {
  const gpu::frame_decoder::limits most = decoder_->max_job();
  return group.size() <= most.compressed_bytes && frames.text_room <= most.text_bytes &&
         frames.frames.size() <= most.frames && frames.blocks.size() <= most.blocks;
}

async::task<std::optional<decoded_group>> device_frames::decode(staged_group& group) {
  group.complete();
  const auto pieces = group.pieces();
  const std::optional<encoded_frames> frames =
      list_frames({.size = group.size(), .copy = [&](std::uint64_t at, std::span<std::byte> to) {
                     copy_from(pieces, slot_bytes(), at, to);
                   }});
  if (!frames || !fits(group, *frames)) co_return std::nullopt;
  decoded_group result{.text_bytes = 0, .frames = frames->frames.size()};
  result.row.resize(engine_.layout().columns());
  if (frames->frames.empty()) co_return result;
  async::event completed;
  std::exception_ptr failure;
  gpu::frame_job job{.pieces = pieces,
                     .frames = frames->frames,
                     .blocks = frames->blocks,
                     .text_room = frames->text_room,
                     .row = result.row,
                     .on_complete = [&](gpu::frame_job&, std::exception_ptr error) {
                       failure = std::move(error);
                       completed.set();
                     }};
  decoder_->submit(job);
  co_await completed.wait();
  if (failure) note_failure(failure);
  if (failure || !job.decoded) co_return std::nullopt;
  result.text_bytes = job.text_bytes;
  co_return result;
}

}  // namespace gpuhist::pipeline
