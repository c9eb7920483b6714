// Counting sets of byte values in units with SIMD (Google Highway): masks of 64 bytes, and population counts of them.
//
// Each block of 64 bytes gives a mask of the delimiters and a mask for each column (unit_masks-inl.hpp; byte 0 is
// on the left):
//
//     text             7  :  4  5 \n  a  1 \n  b  ...
//     delimiters       0  0  0  0  1  0  0  1  0       ends of units: 5, 8
//     digits           1  0  1  1  0  0  1  0  0
//     up to the 1st    1  1  1  1  1  0  0  0  0       d ^ (d - 1), where d has the delimiters that remain
//     digits in it     1  0  1  1  0  0  0  0  0       3, and the digits of all blocks before: the running count
//     up to the 2nd    1  1  1  1  1  1  1  1  0       d is now d & (d - 1)
//     digits in it     1  0  1  1  0  0  1  0  0       4
//
// A row first gets running counts: no counter is cleared at the end of a unit, and no unit depends on the one before.
// The rows of some thousands of bytes, still in the first-level cache, are then subtracted from their successors.
//
// To avoid branches that are predicted wrongly, a block without a delimiter writes a row, too, which the next block
// overwrites; a block with more than one delimiter writes a multiple of four rows.
//
// A word begins where the mask of bytes of words has a one after a zero. The delimiter is no byte of a word, so that a
// word never continues in the next unit:
//
//     text                      t  h  e     c  a  t \n  s  a  t
//     w: bytes of words         1  1  1  0  1  1  1  0  1  1  1
//     after a byte of a word    0  1  1  1  0  1  1  1  0  1  1     w << 1 | the last bit of the block before
//     beginnings                1  0  0  0  1  0  0  0  1  0  0     w without these
#include "gpu/host/unit_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/unit_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "gpu/host/unit_masks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t blocks_per_step = 128;  // 8 KiB: with the rows of short lines, less than a first-level cache
constexpr std::size_t rows_at_once = 4;

// The counts of all blocks before the current one, and the masks of the current one.
template <std::size_t Columns, bool Words>
class running_counts {
 public:
  HWY_INLINE running_counts(const prepared_units& prepared, bool in_word)
      : classifier_(prepared), columns_(prepared.columns()), in_word_(in_word) {
    for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR { counts_[i] = 0; });
  }

  // Makes the 64 bytes at `text` the current block, of which only those in `valid` exist. Returns its delimiters.
  HWY_INLINE std::uint64_t load(const std::uint8_t* text, std::uint64_t valid) {
    const std::uint64_t delimiters = classifier_.classify(text, members_) & valid;
    if constexpr (Words) {
      std::uint64_t& words = members_[(Columns == any ? columns_ : Columns) - 1];
      const std::uint64_t starts = words & ~(words << 1U | in_word_);
      in_word_ = words >> (block - 1);
      words = starts;
    }
    return delimiters;
  }

  // Writes the counts of all bytes before the current block, and of those in `part` of the current block.
  HWY_INLINE void write(std::uint64_t part, std::uint32_t* HWY_RESTRICT row) const {
    for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR { row[i] = counts_[i] + count(members_[i] & part); });
  }

  // Adds those in `part` of the current block.
  HWY_INLINE void add(std::uint64_t part) {
    for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR { counts_[i] += count(members_[i] & part); });
  }

  HWY_INLINE void subtract(const std::uint32_t* row) {
    for_columns<Columns>(columns_, [&](std::size_t i) HWY_ATTR { counts_[i] -= row[i]; });
  }

 private:
  static HWY_INLINE std::uint32_t count(std::uint64_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

  classifier<Columns> classifier_;
  std::uint64_t members_[std::max<std::size_t>(Columns, 1)];
  std::uint32_t counts_[std::max<std::size_t>(Columns, 1)];
  std::size_t columns_;
  std::uint64_t in_word_;
};

// The blocks of a text. The last one is copied if it is incomplete, so that nothing after the text is read.
class text_blocks {
 public:
  explicit text_blocks(std::span<const std::byte> text)
      : text_(reinterpret_cast<const std::uint8_t*>(text.data())), size_(text.size()) {
    if (size_ % block != 0) std::memcpy(last_, text_ + size_ / block * block, size_ % block);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  // `at`: a multiple of 64, less than the size.
  [[nodiscard]] HWY_INLINE const std::uint8_t* bytes(std::size_t at) const {
    return is_complete(at) ? text_ + at : last_;
  }
  // Bit i: the byte at + i is a byte of the text.
  [[nodiscard]] HWY_INLINE std::uint64_t valid(std::size_t at) const {
    return is_complete(at) ? ~std::uint64_t{0} : (std::uint64_t{1} << size_ % block) - 1;
  }

 private:
  [[nodiscard]] HWY_INLINE bool is_complete(std::size_t at) const { return size_ - at >= block; }

  const std::uint8_t* text_;
  std::size_t size_;
  std::uint8_t last_[block]{};
};

// The units found, with rows of running counts.
template <std::size_t Columns>
class unit_writer {
 public:
  HWY_INLINE unit_writer(std::span<std::uint32_t> ends, std::uint32_t* rows, std::size_t columns)
      : ends_(ends.data()), rows_(rows), limit_(ends.size()), columns_(Columns == any ? columns : Columns) {}

  // Writes the units that end in the current block of `counts`, which begins at `at`, as far as there is room.
  template <class Counts>
  HWY_INLINE void write(const Counts& counts, std::uint64_t delimiters, std::size_t at) {
    const auto ended = static_cast<std::size_t>(std::popcount(delimiters));
    if (units_ + ended + rows_at_once > limit_) [[unlikely]] {
      for (; delimiters != 0 && units_ < limit_; ++units_) delimiters = write_unit(counts, delimiters, at, units_);
      return;
    }
    if (ended <= 1) {
      write_unit(counts, delimiters, at, units_);
    } else {
      for (std::size_t i = 0; i < ended; i += rows_at_once) {
        for_columns<rows_at_once>(
            0, [&](std::size_t more) HWY_ATTR { delimiters = write_unit(counts, delimiters, at, units_ + i + more); });
      }
    }
    units_ += ended;
  }

  [[nodiscard]] HWY_INLINE std::size_t units() const { return units_; }
  [[nodiscard]] HWY_INLINE bool is_full() const { return units_ == limit_; }

 private:
  template <class Counts>
  HWY_INLINE std::uint64_t write_unit(const Counts& counts, std::uint64_t delimiters, std::size_t at,
                                      std::size_t unit) {
    ends_[unit] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(delimiters)) + 1;
    counts.write(delimiters ^ (delimiters - 1), rows_ + unit * columns_);
    return delimiters & (delimiters - 1);
  }

  std::uint32_t* HWY_RESTRICT ends_;
  std::uint32_t* HWY_RESTRICT rows_;
  std::size_t units_ = 0;
  std::size_t limit_;
  std::size_t columns_;
};

// Subtracts from each element at [begin, end) the one `distance` before it; the last element first.
void subtract_previous(std::uint32_t* rows, std::size_t begin, std::size_t end, std::size_t distance) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t width = hn::Lanes(d);
  for (; end - begin >= width; end -= width) {
    std::uint32_t* const at = rows + end - width;
    hn::StoreU(hn::Sub(hn::LoadU(d, at), hn::LoadU(d, at - distance)), d, at);
  }
  for (; end != begin; --end) rows[end - 1] -= rows[end - 1 - distance];
}

template <std::size_t Columns, bool Words>
HWY_FLATTEN std::size_t count_units_of(const text_blocks& text, const prepared_units& prepared,
                                       std::span<std::uint32_t> ends, std::uint32_t* HWY_RESTRICT rows) {
  const std::size_t columns = prepared.columns();
  running_counts<Columns, Words> counts(prepared, false);
  unit_writer<Columns> writer(ends, rows, columns);
  for (std::size_t at = 0; at < text.size() && !writer.is_full();) {
    const std::size_t first = writer.units();
    const std::size_t step_end = std::min(text.size(), at + blocks_per_step * block);
    for (; at < step_end && !writer.is_full(); at += block) {
      const std::uint64_t delimiters = counts.load(text.bytes(at), text.valid(at));
      writer.write(counts, delimiters, at);
      counts.add(~std::uint64_t{0});
    }
    if (writer.units() == first) continue;
    counts.subtract(rows + (writer.units() - 1) * columns);  // the next step counts from the end of the last unit
    subtract_previous(rows, (first + 1) * columns, writer.units() * columns, columns);
  }
  return writer.units();
}

template <std::size_t Columns, bool Words>
HWY_FLATTEN void count_within_unit_of(const text_blocks& text, bool in_word, const prepared_units& prepared,
                                      std::uint32_t* row) {
  running_counts<Columns, Words> counts(prepared, in_word);
  for (std::size_t at = 0; at < text.size(); at += block) {
    const std::uint64_t valid = text.valid(at);
    counts.load(text.bytes(at), valid);
    counts.add(valid);
  }
  counts.write(0, row);
}

// Calls `function` with the number of columns and whether words are counted, as types.
template <class Function>
auto specialised(const prepared_units& prepared, const Function& function) {
  const auto with_words = [&]<std::size_t Columns>(std::integral_constant<std::size_t, Columns> columns) {
    return prepared.counts_words() ? function(columns, std::true_type()) : function(columns, std::false_type());
  };
  switch (prepared.columns()) {
    case 0:
      return function(std::integral_constant<std::size_t, 0>(), std::false_type());
    case 1:
      return with_words(std::integral_constant<std::size_t, 1>());
    case 2:
      return with_words(std::integral_constant<std::size_t, 2>());
    case 3:
      return with_words(std::integral_constant<std::size_t, 3>());
    case 4:
      return with_words(std::integral_constant<std::size_t, 4>());
    default:
      return with_words(std::integral_constant<std::size_t, any>());
  }
}

std::size_t count_units_here(std::span<const std::byte> text, const prepared_units& prepared,
                             std::span<std::uint32_t> ends, std::uint32_t* rows) {
  const text_blocks blocks(text);
  return specialised(prepared, [&](auto columns, auto words) {
    return count_units_of<columns(), words()>(blocks, prepared, ends, rows);
  });
}

void count_within_unit_here(std::span<const std::byte> text, bool in_word, const prepared_units& prepared,
                            std::uint32_t* row) {
  const text_blocks blocks(text);
  specialised(prepared, [&](auto columns, auto words) {
    count_within_unit_of<columns(), words()>(blocks, in_word, prepared, row);
  });
}

const char* units_target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

HWY_EXPORT(count_units_here);
HWY_EXPORT(count_within_unit_here);
HWY_EXPORT(units_target);

}  // namespace

prepared_units::prepared_units(const unit_columns& columns, std::byte delimiter)
    : delimiter_(delimiter), counts_words_(columns.word_separators.has_value()) {
  if (columns.sets.size() > max_unit_sets) throw std::invalid_argument("more than 16 sets of byte values for units");
  for (const auto& values : columns.sets) add_column(values);
  if (!columns.word_separators) return;
  auto values = ~*columns.word_separators;
  add_column(values.reset(std::to_integer<std::size_t>(delimiter)));
}

void prepared_units::add_column(const std::bitset<256>& values) {
  const std::size_t column = nibbles_.size();
  if (column % 8 == 0) tables_.emplace_back();
  nibble_set& halves = nibbles_.emplace_back();
  for (std::size_t value = 0; value < values.size(); ++value) {
    if (!values[value]) continue;
    tables_.back()[value] |= static_cast<std::uint8_t>(1U << column % 8);
    auto& half = value < 0x80 ? halves.low_half : halves.high_half;
    half[value % 16] |= static_cast<std::uint8_t>(1U << value / 16 % 8);
  }
}

void count_within_unit(std::span<const std::byte> text, bool in_word, const prepared_units& prepared,
                       std::uint32_t* row) {
  HWY_DYNAMIC_DISPATCH(count_within_unit_here)(text, in_word, prepared, row);
}

std::size_t count_units(std::span<const std::byte> text, const prepared_units& prepared, std::span<std::uint32_t> ends,
                        std::span<std::uint32_t> rows) {
  return HWY_DYNAMIC_DISPATCH(count_units_here)(text, prepared, ends, rows.data());
}

std::string_view units_instruction_set() { return HWY_DYNAMIC_DISPATCH(units_target)(); }

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
