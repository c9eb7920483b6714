// Where text goes before it is counted: to the output of --pass-through=text, to an observer, and to the validation of
// --utf8. Text that a program feeds (fed_text) goes to an observer only.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "async/task_group.hpp"
#include "gpu/host/utf8_meter.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/text_observer.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace gpuhist::pipeline {

/// Thread-safe. The text of an input is passed in order, one call at a time; with a sink, that of all inputs.
class text_taps {
 public:
  /// What text is passed to. Borrows both.
  struct targets {
    io::stream_sink* sink = nullptr;    ///< receives the text, or what the observer keeps of it; null: none
    text_observer* observer = nullptr;  ///< null: none
    bool validates_utf8 = false;        ///< the text is validated, and the counts are noted in `counts`
    // Of text that threads of a program pass.
    /// Receives what the observer keeps, on the thread that passes the text; empty: `sink` does.
    std::function<void(input_id, std::span<const std::byte>)> kept{};
    /// Runs a task on the thread of the run, and blocks until it has ended or the run is stopped; empty: the coroutine
    /// waits.
    std::function<void(async::task<>)> run_blocking{};
  };

  /// `streams`: the thread of the run. An exception of the observer's publish() is noted in `failures`.
  text_taps(const targets& to, async::event_loop& streams, rolling_counts& counts, async::first_failure& failures)
      : sink_(to.sink),
        observer_(to.observer),
        validates_utf8_(to.validates_utf8),
        kept_(to.kept),
        run_blocking_(to.run_blocking),
        streams_(streams),
        counts_(counts),
        failures_(failures) {}

  /// Whether text must be passed at all.
  [[nodiscard]] bool is_used() const { return sink_ != nullptr || is_observed(); }

  [[nodiscard]] bool is_observed() const { return observer_ != nullptr || validates_utf8_; }

  /// Whether the sink receives the text as it is.
  [[nodiscard]] bool forwards_all() const { return sink_ != nullptr && !filters(); }

  /// Passes the next text of an input, which its owner commits afterwards. Completes when it was written.
  async::task<> pass(const text_owner& owner, std::span<const std::byte> text);

  /// As pass(), for text that the sink has received: it receives only what the observer keeps.
  async::task<> observe(const text_owner& owner, std::span<const std::byte> text);

  /// Text is missing before the next text of the input.
  void note_gap(input_id input);

  /// The input has no more text.
  async::task<> end(input_id input, input_observer::ending how);

  /// As end() after a failure of observing: nothing more is observed, and nothing is passed.
  void discard(input_id input);

 private:
  // Of one input. It is used by one thread at a time.
  struct tap {
    std::unique_ptr<input_observer> observer{};         // null: none
    std::optional<gpu::host::utf8_meter> utf8_meter{};  // nothing: the text is not validated
  };

  [[nodiscard]] bool filters() const { return observer_ != nullptr && observer_->filters(); }
  [[nodiscard]] tap* find(input_id input);
  tap& open(input_id input);
  async::task<> flush(input_id input);
  async::task<> publish();

  io::stream_sink* const sink_;
  text_observer* const observer_;
  const bool validates_utf8_;
  const std::function<void(input_id, std::span<const std::byte>)> kept_;
  const std::function<void(async::task<>)> run_blocking_;
  async::event_loop& streams_;
  rolling_counts& counts_;
  async::first_failure& failures_;
  std::atomic<bool> has_failed_ = false;  // publishing; the run ends, and nothing more is observed
  std::mutex mutex_;
  std::map<input_id, tap> open_;  // under the mutex
};

}  // namespace gpuhist::pipeline
