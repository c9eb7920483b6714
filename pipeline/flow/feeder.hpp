// Feeds the ring: takes the inputs of the list in order, recognizes their formats, and passes each one to the object
// that puts its text into slots: small_files for many small files, plain_files, compressed_inputs, archive_inputs or a
// follower. Streams are read here. A failure of an input is its error in the rolling counts; other inputs are still
// fed.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "async/task_group.hpp"
#include "io/format.hpp"
#include "io/http/client.hpp"
#include "io/source.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/decoding/archive_inputs.hpp"
#include "pipeline/flow/decoding/compressed_inputs.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/inputs/followed_trees.hpp"
#include "pipeline/flow/inputs/follower.hpp"
#include "pipeline/flow/inputs/input_head.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/inputs/observed_files.hpp"
#include "pipeline/flow/inputs/plain_files.hpp"
#include "pipeline/flow/inputs/small_files.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/text_divider.hpp"
#include "pipeline/flow/text_feed.hpp"
#include "pipeline/flow/text_taps.hpp"
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
#include <string>
#include <vector>

namespace gpuhist::pipeline {

class feeder final : public text_feed {
 public:
  /// `pool` reads files and decodes frames; `streams` reads pipes and other streams.
  struct executors {
    async::executor& pool;
    async::event_loop& streams;
  };

  /// Where bytes go besides being counted.
  struct outlets {
    io::stream_sink* sink = nullptr;    ///< the output of --pass-through; null: nothing is forwarded
    text_observer* observer = nullptr;  ///< null: none
  };

  /// `failures`: receives failures that no input causes.
  feeder(const run_plan& plan, const executors& executors, ring& slots, collector& counted, rolling_counts& counts,
         feed_notes& notes, async::first_failure& failures, follower::remark notify, const outlets& outlets,
         gpu::engine& engine, std::stop_token stop);

  /// Runs on the pool.
  async::task<> feed_all() override;

  /// Of trees and archives.
  [[nodiscard]] std::vector<skipped_names> skipped() const override;
  std::vector<cut_mark> flush() override;
  [[nodiscard]] skipped_names empty_trees() const override { return list_.empty_trees(); }

 private:
  using shared_source = std::shared_ptr<io::source>;
  using bytes = std::vector<std::byte>;

  /// An input, and what its first bytes say of it.
  struct opened_input {
    numbered_input next{};
    shared_source source{};  ///< null: it could not be opened
    bytes head{};
    std::optional<io::identity> found{};  ///< nothing: it could not be read
    io::settled_archive archive{};
    std::exception_ptr error{};  ///< the first one
  };

  struct queued_file {
    numbered_input file{};
    async::semaphore::permit room{};
  };

  async::task<> follow_all();
  async::task<> feed_listed();
  input_id open(const listed_input& listed);
  async::task<> feed_batch(std::vector<listed_input> batch);
  async::task<> queue_file(numbered_input next);
  std::optional<queued_file> next_queued();
  async::task<> open_queued();
  async::task<> open_and_feed(numbered_input file, async::semaphore::permit room);
  async::task<> feed_opened_files();
  async::task<> feed_remaining();
  void fail_remaining();
  async::task<> drain();
  async::task<> feed(numbered_input next);
  async::task<> open_input(opened_input& to);
  async::task<> feed_opened(opened_input& from);
  [[nodiscard]] bool passes_through(pass_through_options::content mode) const {
    return sink_ != nullptr && plan_.passes_through == mode;
  }
  [[nodiscard]] io::source open_source(const listed_input& listed);
  void note_traffic();
  async::task<> count(opened_input& from);
  async::task<> pass_through_rest(input_id input, shared_source source);
  void note_manner(const io::source& source, bool is_raw);
  async::task<> feed_stream(input_id input, shared_source source, bytes head);
  async::task<> read_stream(text_track& text, io::stream_source& stream);

  const run_plan& plan_;
  const executors executors_;
  const std::unique_ptr<window_divider> divider_;  // null: no windows are planned
  cutter cutter_;                                  // of all text that is not decoded
  rolling_counts& counts_;
  feed_notes& notes_;
  async::first_failure& failures_;
  follower::remark notify_;
  io::stream_sink* sink_;
  text_taps taps_;
  std::stop_token stop_;
  io::http::client remote_;  // inputs on servers
  plain_files files_;
  decode_contexts contexts_;
  const std::unique_ptr<device_frames> device_;  // null: the host decodes all
  compressed_inputs compressed_;
  member_windows member_windows_;
  archive_inputs archives_;
  small_files small_;
  observed_files observed_;
  input_list list_;
  std::optional<followed_trees> followed_trees_;  // of a run that follows
  head_reader heads_;
  async::semaphore queue_room_;
  std::mutex queue_mutex_;
  std::deque<queued_file> queued_;    // under the mutex: files to be opened
  unsigned openers_ = 0;              // under the mutex: coroutines that open them
  std::vector<opened_input> opened_;  // under the mutex: to be fed by feed_remaining()
  async::task_group opening_;         // of the openers
};

}  // namespace gpuhist::pipeline
