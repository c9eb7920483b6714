// Finding a literal with SIMD (Google Highway): two bytes of the literal are compared at all offsets of a vector at
// once, those that are the rarest ones in text (as in the crate memchr of Rust). Where both are equal, the others are
// compared, too.
//
//     text               f  i  l  e  _  f  a  i  l  e  d  :
//     equal to f         1  0  0  0  0  1  0  0  0  0  0  0
//     5 later, to d      0  0  0  0  0  1  0  0  0  0  0  0
//
// In a table of windows, one look-up for each stride decides. In cache on Zen 5, a vector search of one literal reads
// 60 GB/s; a table, 8 GB/s for literals of 7 bytes and more, and 2 GB/s for those of 4: vectors are for a few literals.
#include "gpu/host/literal_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/host/literal_search.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpuhist::gpu::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The literal occurs at `from` or after it, at an offset less than `end`; or `end`. One byte at a time.
HWY_INLINE std::size_t find_bytes(std::string_view text, const literal& sought, std::size_t from, std::size_t end) {
  while (from < end && !sought.is_at(text, from)) ++from;
  return from;
}

#if HWY_TARGET == HWY_SCALAR

// `end`: the number of offsets at which the literal may begin. Returns `end` if it is not found.
std::size_t find_here(std::string_view text, const literal& sought, std::size_t from, std::size_t end) {
  return find_bytes(text, sought, from, end);
}

#else

// As a byte of the literal: lower case if that is a letter.
class compared_byte {
 public:
  using lanes = hn::CappedTag<std::uint8_t, 64>;

  HWY_INLINE compared_byte(const literal& of, std::size_t i)
      : offset_(i), value_(hn::Set(lanes(), of.lower(i))), case_bit_(hn::Set(lanes(), of.case_bit(i))) {}

  // At which of the offsets of a vector from `text` on it is found.
  HWY_INLINE hn::Mask<lanes> operator()(const std::uint8_t* text) const {
    return hn::Eq(hn::Or(hn::LoadU(lanes(), text + offset_), case_bit_), value_);
  }

 private:
  std::size_t offset_;
  hn::Vec<lanes> value_;
  hn::Vec<lanes> case_bit_;
};

HWY_INLINE std::uint64_t bits_of(hn::Mask<compared_byte::lanes> mask) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(compared_byte::lanes(), mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}

// `end`: the number of offsets at which the literal may begin. Returns `end` if it is not found.
std::size_t find_here(std::string_view text, const literal& sought, std::size_t from, std::size_t end) {
  const compared_byte::lanes d;
  const std::size_t width = hn::Lanes(d);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const compared_byte first(sought, sought.rarest());
  const compared_byte last(sought, sought.next_rarest());
  for (; end - from >= width; from += width) {
    const auto equal = hn::And(first(bytes + from), last(bytes + from));
    if (hn::AllFalse(d, equal)) continue;
    for (std::uint64_t bits = bits_of(equal); bits != 0; bits &= bits - 1) {
      const std::size_t at = from + static_cast<std::size_t>(std::countr_zero(bits));
      if (sought.is_at(text, at)) return at;
    }
  }
  return find_bytes(text, sought, from, end);
}

#endif

const char* literals_target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace gpuhist::gpu::host
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpuhist::gpu::host {
namespace {

HWY_EXPORT(find_here);
HWY_EXPORT(literals_target);

// Literals of similar sizes. A longer one that is in a group with shorter ones has their stride.
struct size_group {
  std::size_t min_size;
  std::size_t max_alone;  // more of them are searched together
};

constexpr std::array size_groups = {size_group{7, 4}, size_group{4, 8}, size_group{literal::min_size, 16}};
constexpr std::size_t max_stride = 8;
constexpr unsigned hash_bits = 14;
constexpr std::uint32_t all_case_bits = 0x20202020;

// The first byte is the lowest on every machine.
std::uint32_t four_bytes(std::string_view text, std::size_t at) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, text.data() + at, sizeof bytes);
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap32(bytes);
  return bytes;
}

// Less than four, and zeros.
std::uint32_t last_bytes(std::string_view text, std::size_t at) {
  std::uint32_t bytes = 0;
  for (std::size_t i = text.size(); i > at; --i) bytes = bytes << 8U | static_cast<std::uint8_t>(text[i - 1]);
  return bytes;
}

std::uint32_t hash_of(std::uint32_t bytes, std::uint32_t mask) {
  return ((bytes | all_case_bits) & mask) * 0x9e3779b1U >> (32 - hash_bits);
}

bool is_letter(std::uint8_t byte) {
  const unsigned lower = byte | 0x20U;
  return lower >= 'a' && lower <= 'z';
}

// The higher, the more frequent in logs and text.
std::size_t frequency(std::uint8_t byte) {
  constexpr std::string_view frequent = " e0t1ai2o3sn4r5.-:l/6dc7u8m9p\"h=gf_wb,ykvxzjq";
  const std::size_t found = frequent.find(static_cast<char>(byte));
  return found == std::string_view::npos ? 0 : frequent.size() - found;
}

}  // namespace

literal::literal(std::string_view text, letters are) : lower_(text), case_bits_(text.size(), '\0') {
  if (text.size() < min_size) throw std::invalid_argument("a literal of less than two bytes");
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (are == letters::exact || !is_letter(lower(i))) continue;
    case_bits_[i] = 0x20;
    lower_[i] = static_cast<char>(lower(i) | 0x20U);
  }
  if (frequency(lower(1)) < frequency(lower(0))) std::swap(rarest_, next_rarest_);
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (frequency(lower(i)) < frequency(lower(rarest_)))
      next_rarest_ = std::exchange(rarest_, i);
    else if (frequency(lower(i)) < frequency(lower(next_rarest_)))
      next_rarest_ = i;
  }
}

bool literal::is_at(std::string_view text, std::size_t at) const {
  if (at > text.size() || text.size() - at < size()) return false;
  // from the end: literals with the same hash often have a common prefix, such as those of a list of codes
  for (std::size_t i = size(); i-- > 0;) {
    if ((static_cast<std::uint8_t>(text[at + i]) | case_bit(i)) != lower(i)) return false;
  }
  return true;
}

std::size_t literal::find(std::string_view text, std::size_t from) const {
  if (text.size() < size()) return std::string_view::npos;
  const std::size_t end = text.size() - size() + 1;
  if (from >= end) return std::string_view::npos;
  const std::size_t at = HWY_DYNAMIC_DISPATCH(find_here)(text, *this, from, end);
  return at < end ? at : std::string_view::npos;
}

literal_windows::literal_windows(std::span<const literal> literals, std::span<const std::size_t> chosen)
    : is_known_(std::size_t{1} << hash_bits), begins_(is_known_.size() + 1) {
  const auto size_of = [&](std::size_t i) { return literals[i].size(); };
  const std::size_t shortest = size_of(*std::ranges::min_element(chosen, {}, size_of));
  window_size_ = std::min(shortest, max_window);
  stride_ = std::min(shortest - window_size_ + 1, max_stride);
  window_mask_ = ~std::uint32_t{0} >> 8 * (max_window - window_size_);
  for (const std::size_t i : chosen) {
    std::string text;
    for (std::size_t at = 0; at < size_of(i); ++at) text += static_cast<char>(literals[i].lower(at));
    for (std::size_t at = 0; at < stride_; ++at) {
      windows_.push_back(
          {.hash = hash(text, at), .literal = static_cast<std::uint32_t>(i), .offset = static_cast<std::uint32_t>(at)});
    }
  }
  std::ranges::sort(windows_, {}, &window::hash);
  for (const window& each : windows_) {
    is_known_[each.hash] = 1;
    ++begins_[each.hash + 1];
  }
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
}

std::uint32_t literal_windows::hash(std::string_view text, std::size_t at) const {
  return hash_of(text.size() - at >= max_window ? four_bytes(text, at) : last_bytes(text, at), window_mask_);
}

std::size_t literal_windows::next_known(std::string_view text, std::size_t at) const {
  const std::size_t size = text.size();
  for (; at < size && size - at >= max_window; at += stride_) {
    if (is_known_[hash_of(four_bytes(text, at), window_mask_)] != 0) return at;
  }
  for (; at < size && size - at >= window_size_; at += stride_) {
    if (is_known_[hash(text, at)] != 0) return at;
  }
  return size;
}

std::span<const literal_windows::window> literal_windows::known_at(std::string_view text, std::size_t at) const {
  const std::uint32_t of_text = hash(text, at);
  return std::span(windows_).subspan(begins_[of_text], begins_[of_text + 1] - begins_[of_text]);
}

literal_set::literal_set(std::vector<literal> literals) : literals_(std::move(literals)) {
  std::array<std::vector<std::size_t>, size_groups.size()> groups;
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    const auto fits = [&](const size_group& each) { return literals_[i].size() >= each.min_size; };
    groups[static_cast<std::size_t>(std::ranges::find_if(size_groups, fits) - size_groups.begin())].push_back(i);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() > size_groups[i].max_alone) {
      together_.emplace_back(literals_, groups[i]);
    } else {
      alone_.insert(alone_.end(), groups[i].begin(), groups[i].end());
    }
  }
}

std::string_view literals_instruction_set() { return HWY_DYNAMIC_DISPATCH(literals_target)(); }

}  // namespace gpuhist::gpu::host
#endif  // HWY_ONCE
