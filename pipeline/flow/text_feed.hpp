// The part of a run that puts text into the ring: the inputs of a plan (feeder), or of a program (fed_inputs).
#pragma once

#include "async/event_loop.hpp"
#include "async/executor.hpp"
#include "async/task.hpp"
#include "async/task_group.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/counts/text_observer.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <functional>
#include <stop_token>
#include <vector>

namespace gpuhist::pipeline {

/// What a feed uses of the run. All outlive feed_all().
struct fed_run {
  ring& slots;
  collector& collected;
  rolling_counts& counts;
  feed_notes& notes;
  async::executor& pool;
  async::event_loop& streams;            ///< the thread of the run
  async::first_failure& failures;        ///< receives failures that no input causes
  std::stop_source stop;                 ///< nothing more is to be read
  const run_plan& plan;                  ///< as far as the system permits it
  std::function<run_counts()> snapshot;  ///< the counts at this moment; thread-safe
  text_observer* observer = nullptr;     ///< of the text; null: none
};

class text_feed {
 public:
  text_feed() = default;
  text_feed(const text_feed&) = delete;
  text_feed& operator=(const text_feed&) = delete;
  virtual ~text_feed() = default;

  /// Feeds all inputs and flushes the last slot. All work that it began has ended when it completes or throws. Throws
  /// only failures that no input causes.
  virtual async::task<> feed_all() = 0;

  /// Names that are not inputs. Precondition: feed_all() has ended.
  [[nodiscard]] virtual std::vector<skipped_names> skipped() const = 0;

  /// Directories in which no file was found. Precondition: feed_all() has ended.
  [[nodiscard]] virtual skipped_names empty_trees() const { return {}; }

  /// Seals all slots that are filling, so that their text is counted. Returns the marks of all chunks sealed so far.
  /// Thread-safe.
  virtual std::vector<cut_mark> flush() = 0;

  /// Chunks were merged. Any thread.
  virtual void note_merged() {}
};

}  // namespace gpuhist::pipeline
