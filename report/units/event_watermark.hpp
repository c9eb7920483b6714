// When windows of event time close: the watermark of a run, and what each reader of lines knows of it.
//
// The watermark is the lowest of the latest times of those inputs that have unread text: while logs are read that were
// written earlier, the one that was read least far holds it back. An input whose text was all read is idle and holds
// back nothing; if all inputs are idle, the watermark is the latest time of all. It never decreases. A window closes
// when the watermark is so much later than its end as lateness is allowed. A line of a window that has closed is late.
//
//     input A   ..... 12:03 |unread         watermark 12:03
//     input B   ................. 12:05 |unread
//     input C   ............. 12:04|  idle
//
// If all inputs are idle and the latest time is that of now, within an hour, the watermark moves as a clock does: the
// last window of a log that ends closes, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

namespace gpuhist::report::units {

/// Windows that close, in nanoseconds.
struct closing_windows {
  std::int64_t length = 0;    ///< of a window, above 0
  std::int64_t lateness = 0;  ///< that is allowed after its end

  /// Windows that begin before it have closed. Precondition: the watermark is the time of a line.
  [[nodiscard]] std::int64_t closed_before(std::int64_t watermark) const;
};

/// The watermark as one reader sees it, line by line, so that what is late in an input does not depend on how its text
/// is divided. A plain value.
class event_horizon {
 public:
  static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  struct state {
    std::int64_t latest = no_time;         ///< of the input
    std::int64_t held_at = no_limit;       ///< by other inputs
    std::int64_t closed_before = no_time;  ///< start of the first window that may be open
    std::int64_t believed = no_limit;      ///< later times do not move the watermark
  };

  event_horizon(const closing_windows& windows, const state& from) : windows_(windows), now_(from) {}

  /// The time of the next line. Returns whether it is late.
  bool note(std::int64_t time) {
    const bool is_late = time < now_.closed_before;
    if (time > now_.latest && time <= now_.believed) advance(time);
    return is_late;
  }

  [[nodiscard]] bool is_late(std::int64_t time) const { return time < now_.closed_before; }
  [[nodiscard]] const state& now() const { return now_; }

 private:
  void advance(std::int64_t time);

  closing_windows windows_;
  state now_;
};

/// Thread-safe. Times are nanoseconds since 1970-01-01 UTC.
class event_watermark {
 public:
  explicit event_watermark(const closing_windows& windows) : windows_(windows) {}

  /// An input that has unread text. It holds the watermark back until it has a time, is idle or has ended.
  void open(std::uint64_t input);

  /// Text of the input is read. `clock`: of the machine. A line that is a day later than it has a wrong time, and does
  /// not move the watermark.
  [[nodiscard]] event_horizon begin(std::uint64_t input, std::int64_t clock);

  /// The lines of the text were added to their windows.
  void end(std::uint64_t input, const event_horizon& reached);

  /// All text of the input was read. `clock`: of the machine; it may be set.
  void note_idle(std::uint64_t input, std::int64_t clock);

  /// The input has ended.
  void close(std::uint64_t input);

  /// Moves the watermark if no text arrives. `elapsed`: nanoseconds since the last call; longer than a second: the
  /// process did not run, and text may wait.
  void tick(std::int64_t elapsed);

  /// Closes all windows.
  void close_all();

  /// Windows that begin before it have closed, and all their lines were added.
  [[nodiscard]] std::int64_t closed_before() const;

 private:
  static constexpr std::uint64_t no_input = ~std::uint64_t{0};

  struct input_state {
    std::int64_t latest = event_horizon::no_time;
    bool is_idle = false;
  };

  [[nodiscard]] std::int64_t held_by_others(std::uint64_t input) const;
  [[nodiscard]] std::int64_t latest_of_all() const;
  [[nodiscard]] bool are_all_idle() const;
  void settle();
  void advance(std::int64_t watermark);

  const closing_windows windows_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, input_state> inputs_;            // that have not ended
  std::int64_t latest_of_ended_ = event_horizon::no_time;  // of those that have
  std::int64_t closed_before_ = event_horizon::no_time;
  std::int64_t clock_when_idle_ = event_horizon::no_time;  // when the last input became idle
  std::int64_t idle_for_ = 0;                              // since then
};

}  // namespace gpuhist::report::units
