// Reads uncompressed files whose text is passed to text_taps, directly into slots. Stretches of a large file are read
// at the same time if their text may be passed so; each stretch is a group of the input, as groups of frames are:
//
//     file:  | stretch 1 | stretch 2 | stretch 3 | last stretch, up to the end of the file |
//
// The stretches are planned by the size from fstat. The last one ends where the file ends.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "async/task_group.hpp"
#include "io/source.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"
#include "pipeline/flow/text_taps.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <stop_token>

namespace gpuhist::pipeline {

/// Used by one coroutine. After drain(), every added file has finished or failed in the rolling counts.
class observed_files {
 public:
  struct settings {
    std::uint32_t read_bytes = 0;  ///< maximum size of one read
    std::uint64_t stretch_bytes =
        0;  ///< size of the stretches that are read at the same time; 0: files are not divided
  };

  /// Each stretch borrows a context for its cutter. `clock`: of the reads. Borrows all but the settings.
  observed_files(const settings& options, decode_contexts& contexts, text_taps& taps, rolling_counts& counts,
                 stage_clock& clock, async::executor& pool, async::first_failure& failures, std::stop_token stop);

  /// Starts to read a file. Waits while two others are read.
  async::task<> add(input_id input, std::shared_ptr<const io::file_source> source);

  /// Awaitable; completes when all files were read. Exceptions that belong to no file are noted in the failures.
  [[nodiscard]] auto drain() noexcept { return reading_.ended(); }

 private:
  struct open_file;
  struct stretch;
  using stretch_pointer = std::shared_ptr<stretch>;

  async::task<> read(input_id input, std::shared_ptr<const io::file_source> source, async::semaphore::permit);
  async::task<> begin_stretches(open_file& file);
  [[nodiscard]] std::uint64_t end_of_stretch(std::uint64_t begin, std::uint64_t size) const;
  void spawn(const stretch_pointer& next);
  async::task<> read_stretch(stretch_pointer task);
  async::task<> read_text(stretch& task);
  void end_stretch(stretch& task, const std::exception_ptr& error) noexcept;
  static async::task<> retire_oldest(open_file& file);
  void end(const open_file& file, const std::exception_ptr& error);

  const settings options_;
  decode_contexts& contexts_;
  text_taps& taps_;
  rolling_counts& counts_;
  stage_clock& clock_;
  async::executor& pool_;
  std::stop_token stop_;
  async::first_failure& failures_;
  async::semaphore open_;  // files
  async::task_group reading_;
};

}  // namespace gpuhist::pipeline
