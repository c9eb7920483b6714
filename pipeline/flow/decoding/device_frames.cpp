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

staging_slot::~staging_slot() { owner_.give_back(memory_); }

staged_group::staged_group(device_frames& owner, std::shared_ptr<staging_slot> first) : owner_(owner) {
  slots_.push_back(std::move(first));
}

std::size_t staged_group::append(std::span<const std::byte> bytes) {
  std::size_t appended = 0;
  while (appended < bytes.size()) {
    const std::uint64_t used = size_ - (slots_.size() - 1) * std::uint64_t{owner_.slot_bytes()};
    if (used == owner_.slot_bytes()) {
      if (slots_.size() == owner_.max_slots_of_group()) break;
      std::shared_ptr<staging_slot> more = owner_.try_acquire();
      if (!more) break;
      slots_.push_back(std::move(more));
      continue;
    }
    const std::size_t fit = std::min<std::size_t>(owner_.slot_bytes() - used, bytes.size() - appended);
    std::memcpy(slots_.back()->memory() + used, bytes.data() + appended, fit);
    appended += fit;
    size_ += fit;
  }
  return appended;
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

device_frames::device_frames(gpu::engine& engine, const settings& with) : engine_(engine), settings_(with) {}

// The decoder of an engine that wakes devices may be there later.
bool device_frames::start() {
  const std::scoped_lock lock(mutex_);
  if (decoder_ != nullptr) return true;
  if (!note_.empty()) return false;
  try {
    if (settings_.max_slots > 0) return try_start();
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
  free_.reserve(settings_.max_slots);
  mappings_.reserve(settings_.max_slots);
  add_slots();
  decoder_ = made;
  return true;
}

// With the lock.
void device_frames::add_slots() {
  const std::uint32_t more = std::min(settings_.more_slots, settings_.max_slots - slots_made_);
  if (more == 0) return;
  auto added = std::make_shared<mapped_memory>(settings_.slot_bytes * more);
  if (added->memory().empty()) throw std::bad_alloc();
  engine_.register_memory(added->memory(), added);
  for (std::uint32_t i = 0; i < more; ++i) free_.push_back(added->memory().data() + i * settings_.slot_bytes);
  mappings_.push_back(std::move(added));
  slots_made_ += more;
  permits_.add(more);
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

async::task<std::shared_ptr<staging_slot>> device_frames::acquire() {
  if (std::shared_ptr<staging_slot> free = try_acquire()) co_return free;
  co_return slot_with(co_await permits_.acquire());
}

async::task<std::shared_ptr<staging_slot>> device_frames::slot_for_group(std::span<const std::byte> begin) {
  if (is_too_long(begin) || !start()) co_return nullptr;
  if (settings_.shares) co_return try_acquire();
  co_return co_await acquire();
}

// Where the host shares the work, a device that is still busy with one frame at the end of a run delays it.
bool device_frames::is_too_long(std::span<const std::byte> begin) const {
  constexpr std::uint64_t max_shared_text = std::uint64_t{64} << 20U;
  if (!settings_.shares) return false;
  const io::zstd_header_result parsed = io::parse_zstd_header(begin);
  return parsed.status == io::header_status::complete && parsed.header.content_bytes.value_or(0) > max_shared_text;
}

// If no more memory can be page-locked, there are fewer slots.
std::shared_ptr<staging_slot> device_frames::try_acquire() {
  async::semaphore::permit permit = permits_.try_acquire();
  if (!permit) {
    const std::scoped_lock lock(mutex_);
    try {
      if (may_add_slots_) add_slots();
    } catch (const gpu::engine_error&) {
      may_add_slots_ = false;
    } catch (const std::bad_alloc&) {
      may_add_slots_ = false;
    }
  }
  if (!permit) permit = permits_.try_acquire();
  return permit ? slot_with(std::move(permit)) : nullptr;
}

std::shared_ptr<staging_slot> device_frames::slot_with(async::semaphore::permit permit) {
  std::byte* memory = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    memory = free_.back();
    free_.pop_back();
  }
  try {
    return std::make_shared<staging_slot>(*this, memory, std::move(permit));
  } catch (...) {
    give_back(memory);
    throw;
  }
}

// Before the permit is released.
void device_frames::give_back(std::byte* memory) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(memory);
}

bool device_frames::fits(const staged_group& group, const encoded_frames& frames) const {
  const gpu::frame_decoder::limits most = decoder_->max_job();
  return group.size() <= most.compressed_bytes && frames.text_room <= most.text_bytes &&
         frames.frames.size() <= most.frames && frames.blocks.size() <= most.blocks;
}

async::task<std::optional<decoded_group>> device_frames::decode(const staged_group& group) {
  const auto pieces = group.pieces();
  const std::optional<encoded_frames> frames =
      list_frames({.size = group.size(), .copy = [&](std::uint64_t at, std::span<std::byte> to) {
                     copy_from(pieces, settings_.slot_bytes, at, to);
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
