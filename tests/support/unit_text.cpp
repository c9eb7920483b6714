#include "tests/support/unit_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>

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
  bool begins_tile = false;
  std::uint32_t omitted_units = 0;  // not 0: these, instead of a piece
};

using operation = units::condition_step::operation;

// With a stack of values that may be unknown.
class simple_evaluation {
 public:
  simple_evaluation(const expected_piece& piece, const units::piece_condition& condition) : piece_(piece) {
    for (const units::condition_step& each : std::span(condition.steps).first(condition.size)) take(each);
  }

  [[nodiscard]] bool holds() const { return stack_.back() == 1.0; }

 private:
  using value = std::optional<double>;

  void push(double number) { stack_.emplace_back(number); }

  value pop() {
    const value last = stack_.back();
    stack_.pop_back();
    return last;
  }

  [[nodiscard]] double count(std::uint32_t classes) const {
    double sum = 0;
    for (std::size_t i = 0; i < piece_.counts.size(); ++i) sum += (classes >> i & 1U) != 0 ? piece_.counts[i] : 0;
    return sum;
  }

  void take(const units::condition_step& step) {
    if (step.what == operation::constant) return push(step.constant);
    if (step.what == operation::bytes) return push(piece_.bytes);
    if (step.what == operation::count) return push(count(step.classes));
    if (step.what == operation::share) return push(count(step.classes) / piece_.bytes);
    const value b = pop();
    if (step.what == operation::negate) return stack_.push_back(b ? value(-*b) : b);
    if (step.what == operation::invert) return stack_.push_back(b ? value(*b == 0 ? 1 : 0) : b);
    const value a = pop();
    stack_.push_back(joined(step.what, a, b));
  }

  static value joined(operation what, const value& a, const value& b) {
    if (what == operation::both && (a == 0.0 || b == 0.0)) return 0;
    if (what == operation::either && (a == 1.0 || b == 1.0)) return 1;
    if (!a || !b) return std::nullopt;
    const double found = known(what, *a, *b);
    return std::isfinite(found) ? value(found) : std::nullopt;
  }

  static double known(operation what, double a, double b) {
    switch (what) {
      case operation::multiply:
        return a * b;
      case operation::divide:
        return a / b;
      case operation::add:
        return a + b;
      case operation::subtract:
        return a - b;
      case operation::less:
        return a < b ? 1 : 0;
      case operation::at_most:
        return a <= b ? 1 : 0;
      case operation::greater:
        return a > b ? 1 : 0;
      case operation::at_least:
        return a >= b ? 1 : 0;
      case operation::equal:
        return a == b ? 1 : 0;
      case operation::unequal:
        return a != b ? 1 : 0;
      case operation::both:
        return 1;
      default:
        return 0;
    }
  }

  const expected_piece& piece_;
  std::vector<value> stack_;
};

// Joins the pieces of an extent that are omitted.
std::vector<expected_piece> returned(const std::vector<expected_piece>& pieces,
                                     const units::piece_condition& condition) {
  std::vector<expected_piece> found;
  for (const expected_piece& each : pieces) {
    const bool is_first = &each == pieces.data() || each.begins_tile;  // in its tile
    if (!condition.exists() || is_first || !each.ends_unit || simple_evaluation(each, condition).holds()) {
      found.push_back(each);
      continue;
    }
    if (found.back().omitted_units == 0) found.push_back({});
    ++found.back().omitted_units;
    found.back().bytes += each.bytes;
  }
  return found;
}

// Steps that leave a number, or a truth value.
class condition_maker {
 public:
  condition_maker(std::mt19937& random, const units::piece_classes& classes) : random_(random), classes_(classes) {}

  units::piece_condition make() {
    add_truth(2);
    return made_;
  }

 private:
  void add(const units::condition_step& step) { made_.steps[made_.size++] = step; }

  void add_truth(unsigned depth) {
    const bool joins = depth > 0 && random_() % 3 == 0;
    if (joins) add_truth(depth - 1);
    joins ? add_truth(depth - 1) : add_number(1);
    if (joins) return add({.what = random_() % 2 == 0 ? operation::both : operation::either});
    add_number(0);
    constexpr operation comparisons[] = {operation::less,     operation::at_most, operation::greater,
                                         operation::at_least, operation::equal,   operation::unequal};
    add({.what = comparisons[random_() % std::size(comparisons)]});
    if (random_() % 4 == 0) add({.what = operation::invert});
  }

  void add_number(unsigned depth) {
    constexpr operation operators[] = {operation::multiply, operation::divide, operation::add, operation::subtract};
    add_operand();
    if (depth == 0) return;
    if (random_() % 4 == 0) add({.what = operation::negate});
    if (random_() % 3 != 0) return;
    add_operand();
    add({.what = operators[random_() % std::size(operators)]});
  }

  void add_operand() {
    constexpr double constants[] = {0, 0.1, 0.5, 3, 100, -2, 1e308};
    const auto some = static_cast<std::uint32_t>(random_() & ((1U << classes_.classes) - 1));
    switch (random_() % 4) {
      case 0:
        return add({.what = operation::constant, .constant = constants[random_() % std::size(constants)]});
      case 1:
        return add({.what = operation::bytes});
      case 2:
        return add({.what = operation::count, .classes = some});
      default:
        return add({.what = operation::share, .classes = some});
    }
  }

  std::mt19937& random_;
  const units::piece_classes& classes_;
  units::piece_condition made_;
};

std::vector<expected_piece> simple_pieces(std::span<const std::byte> text, const gpu::extent& extent,
                                          const units::piece_classes& classes, std::byte delimiter) {
  std::vector<expected_piece> found;
  bool is_open = false;
  for (std::uint32_t at = extent.begin; at < extent.end; ++at) {
    if (!is_open) {
      found.push_back(
          {.counts = std::vector<std::uint32_t>(classes.classes), .begins_tile = at % units::tile_bytes == 0});
    }
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

units::piece_condition random_condition(std::mt19937& random, const units::piece_classes& classes) {
  return condition_maker(random, classes).make();
}

measured_pieces measure_pieces(const unit_text& text, const units::piece_classes& classes, std::byte delimiter,
                               const measure_function& measure, std::uint32_t row_room) {
  const auto bytes = aligned_copy(text.bytes());
  const units::class_table table = classes.table();
  std::vector<std::uint32_t> tile_pieces(units::tiles_in(text.room()) + 1);
  measured_pieces made{.extent_pieces = std::vector<std::uint32_t>(text.extents().size() + 1)};
  // a piece has a byte at least, and a row of an edge, too
  const auto edges = static_cast<std::uint32_t>(2 * classes.edge_bytes() * text.extents().size());
  const std::uint32_t room = std::min(row_room, text.room() + edges);
  made.rows.resize(room * classes.words_of_row());
  const bool selects = classes.selects_rows();
  std::vector<std::uint32_t> all_rows(selects ? made.rows.size() : 0);
  std::vector<std::uint32_t> tile_rows(selects ? tile_pieces.size() : 0);
  std::vector<std::uint32_t> all_pieces(selects ? made.extent_pieces.size() : 0);
  measure({.text = reinterpret_cast<const std::uint8_t*>(bytes.get()),
           .extents = text.extents().data(),
           .extent_count = static_cast<std::uint32_t>(text.extents().size()),
           .text_room = text.room(),
           .classes = table.data(),
           .counters = classes.counters,
           .delimiter = std::to_integer<std::uint8_t>(delimiter),
           .tile_pieces = tile_pieces.data(),
           .extent_pieces = (selects ? all_pieces : made.extent_pieces).data(),
           .rows = (selects ? all_rows : made.rows).data(),
           .row_room = room,
           .selection = {.condition = classes.condition,
                         .tile_rows = tile_rows.data(),
                         .extent_rows = selects ? made.extent_pieces.data() : nullptr,
                         .rows = selects ? made.rows.data() : nullptr},
           .strings = classes.strings ? &*classes.strings : nullptr,
           .edge_bytes = classes.edge_bytes()});
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
    const auto all = simple_pieces(text.bytes(), text.extents()[i], classes, delimiter);
    for (const expected_piece& each : returned(all, classes.condition)) {
      const std::string piece = where + "piece " + std::to_string(next - found.extent_pieces[i]) + ": ";
      if (next == pieces.size()) return piece + "it is missing";
      if (pieces.is_of_omitted(next) != (each.omitted_units > 0)) return piece + "it is wrongly omitted or returned";
      if (each.omitted_units > 0) {
        if (pieces.omitted_units(next) != each.omitted_units) return piece + "another number of units is omitted";
        if (pieces.omitted_bytes(next) != each.bytes) return piece + "another number of bytes is omitted";
        ++next;
        continue;
      }
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
