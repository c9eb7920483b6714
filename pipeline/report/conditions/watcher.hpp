// Gates and watches: the conditions of --fail-if and --alert-if, held against whatever was counted to its end.
#pragma once

#include "gpu/tally.hpp"
#include "pipeline/counts/windows/window_events.hpp"
#include "pipeline/report/conditions/condition.hpp"
#include "pipeline/report/measures/measuring.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline::gates {

/// What was counted to its end. Borrows everything.
struct unit {
  enum class kind : std::uint8_t { total, input, window };

  kind what = kind::total;
  std::string_view source;                          ///< the input, raw bytes; empty where it is all of them
  std::uint64_t window = 0;                         ///< its index
  std::uint64_t begin = 0;                          ///< offset in the text of the source, in bytes
  std::uint64_t end = 0;                            ///< one past its last byte
  std::optional<line_range> lines{};                ///< of a window, if known; the watcher derives those of an input
  const gpu::tally& counts;                         ///< over the partition of the watch
  const measures::byte_counts* baseline = nullptr;  ///< of this window; null: that of the watch
};

/// A condition with what becomes of it.
struct gate {
  enum class kind : std::uint8_t { fail, alert };

  kind what = kind::fail;
  condition when;
};

/// What is watched for: a plain value, of the plan.
struct watch_list {
  std::vector<gate> gates;  ///< empty: nothing is watched
  bool totals = true;
  bool inputs = true;
  bool windows = true;
  bool fail_fast = false;
  /// Inputs and totals are watched again and again while they grow: a condition is told when it begins to hold for one.
  bool growing = false;

  /// Some condition needs the counts of all byte values.
  [[nodiscard]] bool needs_byte_counts() const;

  /// Of units of that kind.
  [[nodiscard]] bool covers(unit::kind what) const;
};

/// A condition that holds, for those who tell it. Owns everything, so that it may cross threads.
struct firing {
  gate::kind by = gate::kind::fail;
  std::string condition;  ///< as typed
  unit::kind what = unit::kind::total;
  std::string source;
  std::uint64_t window = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::optional<line_range> lines{};  ///< absent: unknown, or of the totals
  std::vector<named_value> values;    ///< of every name in the condition
};

/// Holds units against conditions. Any thread, one at a time.
class watcher {
 public:
  /// Borrows the three. `tell` is called in watch(), once for every condition that holds.
  watcher(const watch_list& what, const gpu::partition& counted, const measures::measuring& measuring,
          std::function<void(const firing&)> tell);

  /// Where the unit is one that is watched. Says whether the run is to end now: --fail-fast, and a gate of --fail-if
  /// that holds. Of a watch_list that is `growing`, what held at the last call for the same input, or for the totals,
  /// and still holds is not told again.
  bool watch(const unit& what);

  /// Some gate of --fail-if held: the exit status is to be 3.
  [[nodiscard]] bool has_failed() const { return failed_; }

 private:
  const watch_list& watched_;
  const gpu::partition& partition_;
  const measures::measuring& measuring_;
  std::function<void(const firing&)> tell_;
  [[nodiscard]] bool begins_to_hold(std::size_t gate, const unit& what, bool holds);
  [[nodiscard]] std::optional<line_range> lines_of(const unit& what) const;

  std::set<std::pair<std::size_t, std::string>> holding_;  // gates with what they hold for, by name; where it grows
  bool failed_ = false;
};

}  // namespace gpuhist::pipeline::gates
