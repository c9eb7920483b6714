// Reads uncompressed files in parallel ranges, straight into the slots: several ranges of several files in flight at
// once, laid out by the size that fstat gave and corrected by what the reads found.
//
// The thread that finishes the oldest range commits it, and those behind it that wait for it: in order, and without a
// detour, because waking a thread takes longer than reading a range. A range that comes up short ends its file there,
// and what later ranges of the same file read is dropped; a file that turns out longer than its size is read on, from
// there, to its end.
#pragma once

#include "async/semaphore.hpp"
#include "async/task_group.hpp"
#include "io/source.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Used by one coroutine. Everything that was added is finished (or failed) in the rolling counts by drain().
class plain_files {
 public:
  struct settings {
    std::uint32_t range_bytes = 0;  ///< of one read at the most
    std::size_t in_flight = 1;      ///< ranges at once
  };

  plain_files(const settings& how, cutter& cut, rolling_counts& counts, stage_clock& clock, async::executor& pool,
              async::first_failure& failures, std::stop_token stop);

  /// Lays out and starts the reads of a file; waits while too many are in flight.
  async::task<> add(input_id input, std::shared_ptr<const io::file_source> source);

  /// Waits for all reads, and reads on where files were longer than their size. What no file is to blame for is noted
  /// in the failures.
  async::task<> drain();

  /// Awaited, waits for all reads, and gives a permit that keeps others from being begun.
  [[nodiscard]] auto all_read() noexcept { return in_flight_.acquire(how_.in_flight); }

 private:
  struct open_file {
    input_id input = 0;
    std::shared_ptr<const io::file_source> source;
    std::uint64_t committed = 0;  // bytes
    bool ended = false;           // finished or failed in the rolling counts
  };

  struct range final : async::work_item {
    range(plain_files& files, std::shared_ptr<open_file> from, std::uint64_t begin,
          async::semaphore::permit place_in_flight = {})
        : of(files), right(std::move(place_in_flight)), file(std::move(from)), offset(begin) {}

    void run() noexcept override { of.read_in_turn(*this); }
    [[nodiscard]] std::span<std::byte> room() const noexcept { return where ? where->bytes() : std::span<std::byte>(); }

    plain_files& of;
    async::semaphore::permit right;
    std::shared_ptr<open_file> file;
    std::optional<held_reservation> where{};  // nothing for the probe of a file whose size is 0
    std::uint64_t offset;
    bool last = false;  // by the size hint: looks whether the file goes on
    bool done = false;
    std::size_t filled = 0;
    bool goes_on = false;
    std::exception_ptr error = nullptr;
  };

  async::task<> start_all(std::shared_ptr<open_file> file);
  void start(std::unique_ptr<range> next);
  void read_in_turn(range& each) noexcept;
  void read(range& each);
  void settle(range& oldest);
  async::task<> read_on_where_files_grew();
  async::task<> read_on(open_file& file);
  bool has_ended(const open_file& file);
  void finish(open_file& file);
  void fail(open_file& file, const std::exception_ptr& error);

  const settings how_;
  cutter& cutter_;
  rolling_counts& counts_;
  stage_clock& clock_;
  async::executor& pool_;
  async::first_failure& failures_;
  std::stop_token stop_;

  async::semaphore in_flight_;                       // ranges
  std::mutex mutex_;                                 // of all below, and of every open_file; taken before the cutter's
  std::deque<std::unique_ptr<range>> ranges_;        // in flight, in stream order
  std::vector<std::shared_ptr<open_file>> growing_;  // longer than their size
};

}  // namespace gpuhist::pipeline
