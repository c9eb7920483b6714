// Feeds the ring: takes the inputs of the list in turn, settles their formats, and has their text put into slots, by
// small_files where there are many, by plain_files, by compressed_inputs, by archive_inputs, by a follower, or read
// from a stream. What fails is the input's error in the rolling counts; the others are still fed.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "async/task_group.hpp"
#include "io/source.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/decoding/archive_inputs.hpp"
#include "pipeline/flow/decoding/compressed_inputs.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/inputs/follower.hpp"
#include "pipeline/flow/inputs/input_head.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/inputs/plain_files.hpp"
#include "pipeline/flow/inputs/small_files.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/text_divider.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

class feeder {
 public:
  /// `streams`: where pipes and the like are read; `pool`: where files are read and frames decoded.
  struct executors {
    async::executor& pool;
    async::event_loop& streams;
  };

  /// `pass_through_sink`: where the plan's passes_through goes, on the executor of the streams; null where that is
  /// nothing. `failures`: what no input is to blame for is noted there.
  feeder(const run_plan& what, const executors& where, ring& slots, collector& counted, rolling_counts& counts,
         feed_notes& notes, async::first_failure& failures, follower::remark tell, io::stream_sink* pass_through_sink,
         std::stop_token stop);

  /// Feeds all inputs and flushes the last slot. On the pool. All that was begun has ended when this does, by whichever
  /// way. Throws only for what no input is to blame for.
  async::task<> feed_all();

  /// What was found in trees and archives and is no input. After feed_all().
  [[nodiscard]] std::vector<skipped_names> skipped() const;

  /// Seals what there is in slots that are not full, so that it is counted now. Returns up to where. Thread-safe.
  std::vector<cut_mark> flush();

 private:
  using shared_source = std::shared_ptr<io::source>;
  using bytes = std::vector<std::byte>;

  async::task<> follow_all();
  async::task<> feed_listed();
  input_id open(const listed_input& what);
  async::task<> feed_batch(std::vector<listed_input> batch);
  async::task<> feed_left();
  void fail_left();
  async::task<> drain();
  async::task<> feed(numbered_input one);
  [[nodiscard]] bool passes_through(config::pass_through_mode what) const {
    return sink_ != nullptr && plan_.passes_through == what;
  }
  [[nodiscard]] io::source open_source(const listed_input& what) const;
  async::task<> count(input_id input, const std::string& name, const shared_source& source);
  async::task<> pass_through_rest(input_id input, shared_source source);
  async::task<> feed_file_in_order(input_id input, const io::file_source& file);
  void note_manner(const io::source& source, bool is_raw);
  async::task<> feed_stream(input_id input, shared_source source, bytes head);
  async::task<> put(input_id input, std::span<const std::byte> text, std::uint64_t& committed);
  async::task<> read_stream(input_id input, io::stream_source& stream, std::uint64_t& committed);

  const run_plan& plan_;
  const executors where_;
  const std::unique_ptr<text_divider> divider_;  // null: no windows are planned
  cutter cutter_;                                // of all text that is not decoded
  rolling_counts& counts_;
  feed_notes& notes_;
  async::first_failure& failures_;
  follower::remark tell_;
  io::stream_sink* sink_;
  std::stop_token stop_;
  plain_files files_;
  decode_contexts contexts_;
  compressed_inputs compressed_;
  archive_inputs archives_;
  small_files small_;
  input_list list_;
  head_reader heads_;
};

}  // namespace gpuhist::pipeline
