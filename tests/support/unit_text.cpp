#include "tests/support/unit_text.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace gpuhist::test {
namespace {

struct aligned_deleter {
  void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{units::lane_bytes}); }
};

std::unique_ptr<std::byte, aligned_deleter> aligned_copy(std::span<const std::byte> bytes) {
  std::unique_ptr<std::byte, aligned_deleter> made(
      static_cast<std::byte*>(::operator new(bytes.size(), std::align_val_t{units::lane_bytes})));
  std::ranges::copy(bytes, made.get());
  return made;
}

struct expected_piece {
  std::uint32_t bytes = 0;
  bool ends_unit = false;
  std::vector<std::uint32_t> counts{};
};

std::vector<expected_piece> simple_pieces(std::span<const std::byte> text, const gpu::extent& extent,
                                          const units::piece_classes& classes, std::byte delimiter) {
  std::vector<expected_piece> found;
  bool is_open = false;
  for (std::uint32_t at = extent.begin; at < extent.end; ++at) {
    if (!is_open) found.push_back({.counts = std::vector<std::uint32_t>(classes.classes)});
    expected_piece& piece = found.back();
    ++piece.bytes;
    ++piece.counts[classes.class_of[std::to_integer<std::size_t>(text[at])]];
    piece.ends_unit = text[at] == delimiter;
    is_open = !piece.ends_unit && (at + 1) % units::tile_bytes != 0;
  }
  return found;
}

}  // namespace

void unit_text::add(std::span<const std::byte> extent) {
  const std::uint32_t begin = room();
  bytes_.insert(bytes_.end(), extent.begin(), extent.end());
  extents_.push_back({.begin = begin, .end = room()});
  while (bytes_.size() % units::lane_bytes != 0) bytes_.push_back(static_cast<std::byte>(bytes_.size() * 7));
}

std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size, std::size_t distance, std::byte delimiter) {
  std::vector<std::byte> text(size);
  for (std::byte& each : text) {
    each = static_cast<std::byte>(random());
    if (each == delimiter) each ^= std::byte{1};
    if (distance != 0 && random() % distance == 0) each = delimiter;
  }
  return text;
}

unit_text random_text(std::mt19937& random, const text_shape& shape, std::byte delimiter) {
  constexpr std::size_t distances[] = {0, 1, 3, 30, 200, 200, 3000};
  unit_text text;
  for (std::size_t i = 0; i < shape.extents; ++i) {
    const std::size_t distance = distances[random() % std::size(distances)];
    text.add(random_bytes(random, random() % (shape.longest + 1), distance, delimiter));
    if (random() % 3 == 0) text.add_gap(units::lane_bytes * (random() % 700), delimiter);
  }
  return text;
}

units::piece_classes random_classes(std::mt19937& random, std::size_t classes, std::byte delimiter) {
  gpu::partition made{.class_of = {}, .classes = static_cast<std::uint16_t>(std::max<std::size_t>(classes, 2) - 1)};
  for (std::uint8_t& each : made.class_of) each = static_cast<std::uint8_t>(random() % made.classes);
  return units::piece_classes::make(made, delimiter).value();
}

measured_pieces measure_pieces(const unit_text& text, const units::piece_classes& classes, std::byte delimiter,
                               const measure_function& measure, std::uint32_t row_room) {
  const auto bytes = aligned_copy(text.bytes());
  const units::class_table table = classes.table();
  std::vector<std::uint32_t> tile_pieces(units::tiles_in(text.room()) + 1);
  measured_pieces made{.extent_pieces = std::vector<std::uint32_t>(text.extents().size() + 1)};
  const std::uint32_t room = std::min(row_room, text.room());  // a piece has a byte at least
  made.rows.resize(room * classes.words_of_row());
  measure({.text = reinterpret_cast<const std::uint8_t*>(bytes.get()),
           .extents = text.extents().data(),
           .extent_count = static_cast<std::uint32_t>(text.extents().size()),
           .text_room = text.room(),
           .classes = table.data(),
           .counters = classes.counters,
           .delimiter = std::to_integer<std::uint8_t>(delimiter),
           .tile_pieces = tile_pieces.data(),
           .extent_pieces = made.extent_pieces.data(),
           .rows = made.rows.data(),
           .row_room = room});
  made.rows.resize(std::min(room, made.extent_pieces.back()) * classes.words_of_row());
  return made;
}

std::string differences(const measured_pieces& found, const unit_text& text, const units::piece_classes& classes,
                        std::byte delimiter) {
  const units::piece_rows pieces(found.rows, classes);
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.extents().size(); ++i) {
    const std::string where = "extent " + std::to_string(i) + ": ";
    if (found.extent_pieces[i] != next) return where + "its first piece is wrong";
    for (const expected_piece& each : simple_pieces(text.bytes(), text.extents()[i], classes, delimiter)) {
      const std::string piece = where + "piece " + std::to_string(next - found.extent_pieces[i]) + ": ";
      if (next == pieces.size()) return piece + "it is missing";
      if (pieces.bytes(next) != each.bytes) return piece + "its size is wrong";
      if (pieces.ends_unit(next) != each.ends_unit) return piece + "its end is wrong";
      std::vector<std::uint32_t> counts(classes.classes);
      pieces.add_counts(next, std::span(counts));
      if (counts != each.counts) return piece + "its counts are wrong";
      ++next;
    }
  }
  if (found.extent_pieces.back() != next) return "the number of all pieces is wrong";
  return next == pieces.size() ? "" : "there are more pieces";
}

}  // namespace gpuhist::test
