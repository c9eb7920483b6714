// Texts in extents for the kernels that measure units, and the pieces that a simple loop finds in them.
#pragma once

#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/units/unit_tiles.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::test {

namespace units = gpu::cuda::units;

/// Extents that begin at multiples of 32. Bytes after them are random.
class unit_text {
 public:
  void add(std::span<const std::byte> extent);
  /// Bytes outside all extents; a multiple of 32.
  void add_gap(std::size_t bytes, std::byte value) { bytes_.resize(bytes_.size() + bytes, value); }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::span<const gpu::extent> extents() const { return extents_; }
  [[nodiscard]] std::uint32_t room() const { return static_cast<std::uint32_t>(bytes_.size()); }

 private:
  std::vector<std::byte> bytes_;
  std::vector<gpu::extent> extents_;
};

/// A delimiter about every `distance` bytes; 0: none.
std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size, std::size_t distance, std::byte delimiter);

struct text_shape {
  std::size_t extents = 0;
  std::size_t longest = 0;
};
unit_text random_text(std::mt19937& random, const text_shape& shape, std::byte delimiter);

/// Up to this number of classes, of which the delimiter is one.
units::piece_classes random_classes(std::mt19937& random, std::size_t classes, std::byte delimiter);

/// Any condition of some of these classes.
units::piece_condition random_condition(std::mt19937& random, const units::piece_classes& classes);

/// With a condition, those that are returned.
struct measured_pieces {
  std::vector<std::uint32_t> rows{};
  std::vector<std::uint32_t> extent_pieces{};
};

using measure_function = std::function<void(const units::unit_launch&)>;

/// In memory of exactly the size that is needed. `row_room`: at most.
measured_pieces measure_pieces(const unit_text& text, const units::piece_classes& classes, std::byte delimiter,
                               const measure_function& measure, std::uint32_t row_room = ~std::uint32_t{0});

/// What differs from the pieces of a simple loop, of which those that the condition omits are joined; empty: nothing.
std::string differences(const measured_pieces& found, const unit_text& text, const units::piece_classes& classes,
                        std::byte delimiter);

}  // namespace gpuhist::test
