// An engine with a decoder, which page-locks memory as often as it is allowed to.
#pragma once

#include "gpu/engines.hpp"
#include "tests/support/shuffling_decoder.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::test {

class staging_engine final : public shuffling_device {
 public:
  explicit staging_engine(const shuffling_decoder::settings& with = {},
                          unsigned registrations = std::numeric_limits<unsigned>::max())
      : shuffling_device(gpu::partition::identity(), with), registrations_(registrations) {}

  void register_memory(std::span<std::byte> memory, std::shared_ptr<const void> owner) override {
    const std::scoped_lock lock(mutex_);
    if (registered_.size() == registrations_) throw gpu::memory_shortage("no memory can be page-locked");
    registered_.push_back(memory);
    owners_.push_back(std::move(owner));
  }

  [[nodiscard]] bool is_registered(std::span<const std::byte> bytes) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(registered_, [&](const std::span<std::byte>& each) {
      return each.data() <= bytes.data() && bytes.data() + bytes.size() <= each.data() + each.size();
    });
  }
  [[nodiscard]] std::size_t registrations() const {
    const std::scoped_lock lock(mutex_);
    return registered_.size();
  }

 private:
  const unsigned registrations_;
  mutable std::mutex mutex_;
  std::vector<std::span<std::byte>> registered_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace gpuhist::test
