// Readers of a block of frames: the slots of its samples, and its weights. One reader for each thread.
#pragma once

#include "gpuhist/samples.hpp"
#include "samples/load.hpp"
#include "samples/slots.hpp"
#include "samples/tables.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace gpuhist::gpu::samples {

/// Frames of a block.
inline std::size_t block_frames(unsigned channels) { return block_samples / channels; }

class slot_reader {
 public:
  slot_reader(const sample_bins& bins, const sample_view& samples)
      : bins_(bins.internals()),
        layout_(layout_of(samples.data, samples.stride, samples.channels, size_of(bins.type()))) {}

  /// The slots of frames [first, first + frames), at most block_frames: a slot for each sample, in order. Valid until
  /// the next call.
  std::span<const std::uint32_t> read(std::uint64_t first, std::size_t frames) {
    std::visit([&](const auto& made) { assign(made, first, frames); }, bins_.tables);
    return std::span(slots_).first(frames * layout_.channels);
  }

 private:
  template <class Carrier>
  void assign(const tables<Carrier>& made, std::uint64_t first, std::size_t frames) {
    auto& values = values_of<Carrier>();
    load_samples(bins_.type, layout_, first, frames, std::span<Carrier>(values));
    assign_slots(made.view(), values.data(), frames * layout_.channels, slots_.data());
  }

  template <class Carrier>
  std::array<Carrier, block_samples>& values_of() {
    using values = std::array<Carrier, block_samples>;
    if (auto* const held = std::get_if<values>(&values_)) return *held;
    return values_.template emplace<values>();
  }

  const sample_bins::state& bins_;
  frame_layout layout_;
  std::variant<std::array<std::uint32_t, block_samples>, std::array<float, block_samples>,
               std::array<std::uint64_t, block_samples>, std::array<double, block_samples>>
      values_{};
  std::array<std::uint32_t, block_samples> slots_{};
};

class weight_reader {
 public:
  explicit weight_reader(const weight_view& weights)
      : type_(weights.type),
        layout_(layout_of(weights.data, weights.stride, weights.channels, size_of(weights.type))) {}

  /// The weights of frames [first, first + frames), channels for each frame. Valid until the next call.
  std::span<const double> read(std::uint64_t first, std::size_t frames) {
    load_weights(type_, layout_, first, frames, std::span<double>(values_));
    return std::span(values_).first(frames * layout_.channels);
  }

 private:
  weight_type type_;
  frame_layout layout_;
  std::array<double, block_samples> values_{};
};

/// The places of pairs of samples in the row of a joint histogram.
class joint_reader {
 public:
  explicit joint_reader(const joint_samples& samples)
      : x_bins_(samples.x_bins.bins()),
        y_bins_(samples.y_bins.bins()),
        x_(samples.x_bins, samples.x),
        y_(samples.y_bins, samples.y) {}

  std::span<const std::uint32_t> read(std::uint64_t first, std::size_t frames) {
    const auto x = x_.read(first, frames);
    const auto y = y_.read(first, frames);
    for (std::size_t i = 0; i < frames; ++i) places_[i] = joint_place(x_bins_, x[i], y_bins_, y[i]);
    return std::span(places_).first(frames);
  }

 private:
  std::uint32_t x_bins_;
  std::uint32_t y_bins_;
  slot_reader x_;
  slot_reader y_;
  std::array<std::uint32_t, block_samples> places_{};
};

}  // namespace gpuhist::gpu::samples
