// --baseline previous:N: the windows that closed last, added up.
#pragma once

#include "pipeline/report/measures/byte_counts.hpp"

#include <cstddef>
#include <vector>

namespace gpuhist::pipeline::measures {

/// Memory: 2 KiB a window. One thread.
class previous_baseline {
 public:
  /// Keeps the last `windows`, at least one.
  explicit previous_baseline(std::size_t windows);

  /// One more window has closed: the oldest goes where there were as many as are kept. To be called after the window
  /// itself was compared.
  void close(const byte_counts& window);

  /// The sum of those that are kept, of fewer than asked for while fewer have closed; null before the first. Borrowed
  /// until the next close().
  [[nodiscard]] const byte_counts* get() const { return kept_.empty() ? nullptr : &sum_; }

 private:
  std::size_t windows_;
  std::vector<byte_counts> kept_;
  std::size_t oldest_ = 0;
  byte_counts sum_{};
};

}  // namespace gpuhist::pipeline::measures
