// --baseline previous:N: the sum of the windows that closed last.
#pragma once

#include "pipeline/report/measures/byte_counts.hpp"

#include <cstddef>
#include <vector>

namespace gpuhist::pipeline::measures {

/// Memory: 2 KiB per window. One thread.
class previous_baseline {
 public:
  /// Keeps the last `windows`, at least one.
  explicit previous_baseline(std::size_t windows);

  /// Adds a window that has closed; the oldest one is dropped if enough are kept. Call it after the window itself was
  /// compared.
  void close(const byte_counts& window);

  /// The sum of the kept windows, which are fewer at the beginning; null before the first. Valid until the next
  /// close().
  [[nodiscard]] const byte_counts* get() const { return kept_.empty() ? nullptr : &sum_; }

 private:
  std::size_t windows_;
  std::vector<byte_counts> kept_;
  std::size_t oldest_ = 0;
  byte_counts sum_{};
};

}  // namespace gpuhist::pipeline::measures
