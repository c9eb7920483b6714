// The compact form of what is spilled or recorded: numbers as LEB128 (seven bits a byte, the lowest first), texts after
// their length. The counts of a tally are the distances from the previous class that occurs, and the counts. Its pairs
// follow after their number, in the same form.
#pragma once

#include "gpu/tally.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Appends numbers, texts and tallies.
class packer {
 public:
  packer& number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) out_ += static_cast<char>(value | 0x80U);
    out_ += static_cast<char>(value);
    return *this;
  }

  packer& text(std::string_view value) {
    number(value.size());
    out_ += value;
    return *this;
  }

  packer& tally(const gpu::tally& value) {
    return counters(value.counts).number(value.pairs.size()).counters(value.pairs);
  }

  packer& counters(const std::vector<std::uint64_t>& values) {
    number(static_cast<std::uint64_t>(std::ranges::count_if(values, [](std::uint64_t each) { return each != 0; })));
    std::size_t next = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) continue;
      number(i - next).number(values[i]);
      next = i + 1;
    }
    return *this;
  }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// The bytes are not what a packer has appended: they were damaged or crafted.
struct unpack_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads what a packer has appended, in the same order. Any bytes may be read: all members throw unpack_error if there
/// are too few, or if a number is outside its limits. Nothing is allocated that is larger than the bytes account for.
class unpacker {
 public:
  static constexpr std::size_t any_pairs = ~std::size_t{0};

  /// `pairs`: columns of the tallies that have pairs. Any number: only for bytes that this process has packed.
  explicit unpacker(std::string_view from, std::size_t pairs = any_pairs) : rest_(from), pairs_(pairs) {}

  std::uint64_t number() {
    constexpr unsigned last_shift = 63;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift <= last_shift; shift += 7) {
      if (rest_.empty()) throw unpack_error("it ends early");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == last_shift && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80U) return value;
    }
    throw unpack_error("a number has more than 64 bits");
  }

  /// A number up to `limit`.
  std::uint64_t at_most(std::uint64_t limit) {
    const std::uint64_t value = number();
    if (value > limit) throw unpack_error("a number is too large");
    return value;
  }

  /// The number of elements that follow. `bytes`: of the shortest one.
  std::size_t elements(std::size_t bytes) {
    const std::uint64_t value = number();
    if (value > rest_.size() / bytes) throw unpack_error("it ends early");
    return value;
  }

  /// An enumerator. `last`: the one with the highest value.
  template <typename Enumeration>
  Enumeration choice(Enumeration last) {
    return static_cast<Enumeration>(at_most(static_cast<std::uint64_t>(last)));
  }

  std::string text() {
    const std::size_t length = elements(1);
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }

  gpu::tally tally(std::size_t classes) {
    gpu::tally value(classes);
    counters(value.counts);
    constexpr std::uint64_t most_pairs = std::uint64_t{1} << 20U;
    const std::uint64_t pairs = at_most(most_pairs);
    if (pairs_ != any_pairs && pairs != 0 && pairs != pairs_) throw unpack_error("it has another number of pairs");
    value.pairs.resize(pairs);
    counters(value.pairs);
    return value;
  }

  /// There must be no more bytes.
  void finish() const {
    if (!rest_.empty()) throw unpack_error("it has too many bytes");
  }

 private:
  void counters(std::vector<std::uint64_t>& values) {
    std::size_t next = 0;
    for (std::size_t remaining = at_most(values.size()); remaining > 0; --remaining) {
      const std::uint64_t skipped = number();
      if (skipped >= values.size() - next) throw unpack_error("it has another number of classes");
      next += skipped;
      values[next++] = number();
    }
  }

  std::string_view rest_;
  std::size_t pairs_;
};

struct input_report;

/// Reads a packed_report() that may have been damaged or crafted. `classes`: of the tallies. Throws unpack_error.
input_report unpacked_report(unpacker in, std::size_t classes);

}  // namespace gpuhist::pipeline
