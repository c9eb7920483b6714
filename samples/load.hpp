// Loads samples and weights of the caller, of any alignment and stride, into arrays of carriers.
#pragma once

#include "gpuhist/samples.hpp"
#include "samples/keys.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace gpuhist::gpu::samples {

/// Frames in memory: `channels` elements of `size` bytes each.
struct frame_layout {
  const std::byte* data;
  std::int64_t stride;
  unsigned channels;
  std::size_t size;

  [[nodiscard]] bool dense() const { return stride == static_cast<std::int64_t>(channels * size); }
  [[nodiscard]] const std::byte* frame(std::uint64_t index) const {
    return data + static_cast<std::int64_t>(index) * stride;
  }
};

inline frame_layout layout_of(const void* data, std::int64_t stride, unsigned channels, std::size_t size) {
  const auto packed = static_cast<std::int64_t>(channels * size);
  return {.data = static_cast<const std::byte*>(data),
          .stride = stride == 0 ? packed : stride,
          .channels = channels,
          .size = size};
}

/// Calls `use` with each element of type T of `frames` frames from `first`, in the order of memory of a dense array.
template <class T, class Use>
void for_elements(const frame_layout& in, std::uint64_t first, std::size_t frames, const Use& use) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const std::byte* const frame = in.frame(first + i);
    for (unsigned channel = 0; channel < in.channels; ++channel) {
      T element;
      std::memcpy(&element, frame + channel * sizeof(T), sizeof(T));
      use(index++, element);
    }
  }
}

template <class T, class Carrier, class Convert>
void load_converted(const frame_layout& in, std::uint64_t first, std::size_t frames, std::span<Carrier> out,
                    const Convert& convert) {
  for_elements<T>(in, first, frames, [&](std::size_t index, T element) { out[index] = convert(element); });
}

/// For carriers that have the representation of the sample.
template <class Carrier>
void load_same(const frame_layout& in, std::uint64_t first, std::size_t frames, std::span<Carrier> out) {
  if (in.dense()) {
    std::memcpy(out.data(), in.frame(first), frames * in.channels * sizeof(Carrier));
  } else {
    load_converted<Carrier>(in, first, frames, out, [](Carrier value) { return value; });
  }
}

inline void load_samples(sample_type type, const frame_layout& in, std::uint64_t first, std::size_t frames,
                         std::span<std::uint32_t> out) {
  const auto of_integer = [](auto value) { return static_cast<std::uint32_t>(std::int32_t{value}) ^ sign32; };
  switch (type) {
    case sample_type::uint8:
      return load_converted<std::uint8_t>(in, first, frames, out, of_integer);
    case sample_type::int8:
      return load_converted<std::int8_t>(in, first, frames, out, of_integer);
    case sample_type::uint16:
      return load_converted<std::uint16_t>(in, first, frames, out, of_integer);
    case sample_type::int32:
      load_same(in, first, frames, out);
      for (std::uint32_t& key : out.first(frames * in.channels)) key ^= sign32;
      return;
    default:
      return load_same(in, first, frames, out);
  }
}

inline void load_samples(sample_type type, const frame_layout& in, std::uint64_t first, std::size_t frames,
                         std::span<float> out) {
  if (type == sample_type::float16) return load_converted<std::uint16_t>(in, first, frames, out, from_float16);
  if (type == sample_type::bfloat16) return load_converted<std::uint16_t>(in, first, frames, out, from_bfloat16);
  load_same(in, first, frames, out);
}

inline void load_samples(sample_type, const frame_layout& in, std::uint64_t first, std::size_t frames,
                         std::span<std::uint64_t> out) {
  load_same(in, first, frames, out);
  for (std::uint64_t& key : out.first(frames * in.channels)) key ^= sign64;
}

inline void load_samples(sample_type, const frame_layout& in, std::uint64_t first, std::size_t frames,
                         std::span<double> out) {
  load_same(in, first, frames, out);
}

inline void load_weights(weight_type type, const frame_layout& in, std::uint64_t first, std::size_t frames,
                         std::span<double> out) {
  const auto as_double = [](auto value) { return static_cast<double>(value); };
  switch (type) {
    case weight_type::float32:
      return load_converted<float>(in, first, frames, out, as_double);
    case weight_type::float64:
      return load_same(in, first, frames, out);
    case weight_type::int32:
      return load_converted<std::int32_t>(in, first, frames, out, as_double);
  }
}

}  // namespace gpuhist::gpu::samples
