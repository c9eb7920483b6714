// Reads uncompressed files in ranges, in parallel and directly into the slots. Several ranges of several files are in
// flight at once. The ranges are planned by the size from fstat, and corrected by the results of the reads.
//
// Ranges are committed in order. The thread that finishes the oldest range commits it, and all finished ranges after
// it: waking another thread would take longer than reading a range. For the same reason, where readers keep their
// threads they reserve the ranges of a long file themselves, each in a slot that it had before, if there is one: the
// memory of the slot may still be in the cache of its core. A short read ends the file there, and bytes of its later
// ranges are dropped. If a file is longer than its size, reading continues to its end.
#pragma once

#include "async/semaphore.hpp"
#include "async/task_group.hpp"
#include "io/source.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"
#include "pipeline/flow/text_track.hpp"

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

/// Used by one coroutine. After drain(), every added file has finished or failed in the rolling counts. The threads of
/// the pool end before it is destroyed.
class plain_files {
 public:
  struct settings {
    std::uint32_t range_bytes = 0;  ///< maximum size of one read
    std::size_t in_flight = 1;      ///< maximum number of ranges that are read, or wait for older ones or for a reader
    std::size_t readers = 1;        ///< maximum number of threads that read at once
    bool keeps_threads = false;     ///< a thread reads one range after the other, and may block while no slot is free:
                                    ///< the pool has more threads, and its tasks are not needed to free slots. False:
                                    ///< other work of the pool takes its turn between two ranges
  };

  plain_files(const settings& options, cutter& cut, rolling_counts& counts, stage_clock& clock, async::executor& pool,
              async::first_failure& failures, std::stop_token stop);

  /// Starts the reads of a file. Waits while too many ranges are in flight.
  async::task<> add(input_id input, std::shared_ptr<const io::file_source> source, io::file_range within = {});

  /// Waits for all reads, and reads the rest of files that are longer than their size. Exceptions that belong to no
  /// file are noted in the failures.
  async::task<> drain();

  /// Awaitable; completes when all reads have ended, with a permit that prevents new ones.
  [[nodiscard]] auto all_read() noexcept { return in_flight_.acquire(options_.in_flight); }

 private:
  struct open_file {
    std::shared_ptr<const io::file_source> source;
    std::optional<std::uint64_t> end;  // as io::file_range::end
    text_track text;                   // from the beginning of the file
    bool ended = false;                // finished or failed in the rolling counts
  };

  struct range {
    range(std::shared_ptr<open_file> source, std::uint64_t begin, async::semaphore::permit in_flight = {})
        : permit(std::move(in_flight)), file(std::move(source)), offset(begin) {}

    [[nodiscard]] std::span<std::byte> room() const noexcept {
      return target ? target->bytes() : std::span<std::byte>();
    }

    async::semaphore::permit permit;
    std::shared_ptr<open_file> file;
    std::optional<held_reservation> target{};  // nothing for the first read of a file of size 0
    std::uint64_t offset;
    bool last = false;  // according to the size: also checks whether the file is longer
    bool is_read = false;
    std::size_t filled = 0;
    bool is_longer = false;
    std::exception_ptr error = nullptr;
  };

  // Reads ranges on a thread of the pool, until none is left.
  struct reader final : async::work_item {
    explicit reader(plain_files& files) : owner(files) {}
    void run() noexcept override { owner.read_ranges(*this); }

    plain_files& owner;
  };

  // The rest of a long file, whose ranges the readers reserve.
  struct unreserved {
    std::shared_ptr<open_file> file{};
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
  };

  async::task<> start_all(std::shared_ptr<open_file> file);
  async::task<> let_readers_reserve(unreserved rest);
  [[nodiscard]] bool is_reserved();
  void start(std::unique_ptr<range> next);
  reader* idle_reader() noexcept;
  void read_ranges(reader& self) noexcept;
  range* next_for(reader& self) noexcept;
  range* begin_next() noexcept;
  range* reserve_next() noexcept;
  void end_reserving(std::exception_ptr error) noexcept;
  [[nodiscard]] std::optional<reservation> room_in_slot(std::uint64_t bytes);
  void commit_oldest() noexcept;
  void read(range& item);
  void settle(range& oldest);
  async::task<> read_growing_files();
  async::task<> read_rest(open_file& file);
  bool has_ended(const open_file& file);
  static void finish(open_file& file);
  static void fail(open_file& file, const std::exception_ptr& error);

  const settings options_;
  cutter& cutter_;
  rolling_counts& counts_;
  stage_clock& clock_;
  async::executor& pool_;
  async::first_failure& failures_;
  std::stop_token stop_;

  async::semaphore in_flight_;  // ranges
  std::mutex mutex_;  // protects the members below, and every open_file; locked before the mutex of the cutter
  std::deque<std::unique_ptr<range>> ranges_;        // in flight, in the order of the text
  std::size_t begun_ = 0;                            // ranges at the front that a thread reads or has read
  std::size_t reading_ = 0;                          // ranges that are being read
  std::deque<reader> readers_;                       // as many as may read
  std::vector<reader*> idle_;                        // those that do not read
  bool readers_reserve_ = false;                     // some of rest_ is left
  std::exception_ptr reserving_error_;               // why readers could not reserve it
  std::vector<std::shared_ptr<open_file>> growing_;  // files that are longer than their size

  std::mutex reserving_mutex_;  // protects rest_; locked before mutex_, and while a reader waits for a slot
  unreserved rest_;
  async::wakeup all_reserved_;  // of rest_
};

}  // namespace gpuhist::pipeline
