// The compact form of what is spilled or recorded: numbers as LEB128 (seven bits a byte, the lowest first), texts after
// their length. The counts of a tally are the distances from the previous class that occurs, and the counts. Its pairs
// follow after their number, in the same form.
#pragma once

#include "gpu/tally.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Reads what a packer has appended, in the same order. Precondition of all members: there is as much.
class unpacker {
 public:
  explicit unpacker(std::string_view from) : rest_(from) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80U) return value;
    }
  }

  std::string text() {
    const std::size_t length = number();
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }

  gpu::tally tally(std::size_t classes) {
    gpu::tally value(classes);
    counters(value.counts);
    value.pairs.resize(number());
    counters(value.pairs);
    return value;
  }

 private:
  void counters(std::vector<std::uint64_t>& values) {
    std::size_t next = 0;
    for (std::uint64_t remaining = number(); remaining > 0; --remaining) {
      next += number();
      values[next++] = number();
    }
  }

  std::string_view rest_;
};

}  // namespace gpuhist::pipeline
