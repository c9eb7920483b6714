#include "pipeline/flow/decoding/row_memory.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace gpuhist::pipeline {

row_memory::lease::~lease() { owner_.give_back(slots_); }

std::vector<std::span<std::byte>> row_memory::lease::slots() const {
  std::vector<std::span<std::byte>> all;
  all.reserve(slots_.size());
  for (std::byte* const each : slots_) all.emplace_back(each, owner_.settings_.slot_bytes);
  return all;
}

// A device that has not failed may wait for more slots than there are now.
void row_memory::lease::lose() noexcept {
  {
    const std::scoped_lock lock(owner_.mutex_);
    owner_.lost_ += slots_.size();
  }
  slots_.clear();
  owner_.returned_.notify_all();
}

void row_memory::start(gpu::engine& engine) {
  engine_ = &engine;
  free_.reserve(settings_.max_slots);
  mappings_.reserve(settings_.max_slots);
  add(reserve_growth(1));
}

// The number of slots to allocate next; 0: none. Several threads may allocate at the same time.
std::uint32_t row_memory::reserve_growth(std::uint64_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  const std::uint32_t reserved = made_ + being_made_;
  if (is_refused_ || reserved * std::uint64_t{settings_.slot_bytes} >= bytes) return 0;
  const std::uint32_t more = std::min(settings_.more_slots, settings_.max_slots - reserved);
  being_made_ += more;
  return more;
}

// Slots that reserve_growth() has reserved.
void row_memory::add(std::uint32_t slots) {
  std::shared_ptr<mapped_memory> added;
  try {
    added = std::make_shared<mapped_memory>(settings_.slot_bytes * slots);
    if (added->memory().empty()) throw std::bad_alloc();
    added->make_resident();
    engine_->register_memory(added->memory(), added);
  } catch (...) {
    end_growth(slots, nullptr);
    throw;
  }
  end_growth(slots, std::move(added));
}

void row_memory::expect(std::uint64_t bytes) noexcept {
  const std::uint32_t more = reserve_growth(bytes);
  if (more == 0) return;
  try {
    add(more);
  } catch (...) {
    return;  // those that are there suffice
  }
}

void row_memory::end_growth(std::uint32_t slots, std::shared_ptr<mapped_memory> added) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    being_made_ -= slots;
    if (added) {
      made_ += slots;
      for (std::uint32_t i = 0; i < slots; ++i) free_.push_back(added->memory().data() + i * settings_.slot_bytes);
      mappings_.push_back(std::move(added));
    } else {
      is_refused_ = true;
    }
  }
  returned_.notify_all();
}

std::optional<row_memory::lease> row_memory::take(std::uint64_t bytes, bool waits) {
  const std::uint64_t wanted = std::max<std::uint64_t>(1, (bytes + settings_.slot_bytes - 1) / settings_.slot_bytes);
  lease taken(*this);
  std::unique_lock lock(mutex_);
  while (free_.size() < wanted) {
    if (!waits || made_ + being_made_ - lost_ < wanted) return std::nullopt;
    returned_.wait(lock);
  }
  taken.slots_.assign(free_.end() - static_cast<std::ptrdiff_t>(wanted), free_.end());
  free_.resize(free_.size() - taken.slots_.size());
  return taken;
}

// Several may wait, each for another number of slots.
void row_memory::give_back(const std::vector<std::byte*>& slots) noexcept {
  if (slots.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    free_.insert(free_.end(), slots.begin(), slots.end());
  }
  returned_.notify_all();
}

}  // namespace gpuhist::pipeline
