// --baseline previous:N: the sum of the windows that closed last.
#pragma once

#include "pipeline/counts/windows/window_events.hpp"
#include "report/measures/measure.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace gpuhist::report::measures {

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

/// The baselines of the windows of a run: of each input its own, or one. One thread.
class window_baselines {
 public:
  /// `windows`: nothing: windows are not compared with earlier ones.
  window_baselines(std::optional<std::size_t> windows, bool per_input) : windows_(windows), per_input_(per_input) {}

  /// What a window is compared with; null: nothing. Valid until it is closed.
  [[nodiscard]] const byte_counts* before(const pipeline::closed_window& window);

  /// The window was compared.
  void close(const pipeline::closed_window& window);

 private:
  [[nodiscard]] previous_baseline& of(const pipeline::closed_window& window);

  std::optional<std::size_t> windows_;
  bool per_input_;
  std::map<pipeline::source_name, previous_baseline> baselines_;  // by stream; null: the stream of all inputs
};

}  // namespace gpuhist::report::measures
