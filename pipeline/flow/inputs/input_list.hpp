// The list of inputs, in order: names of the command line, then names of a list (--files-from). A directory is replaced
// by the files below it (--recursive). Each name is looked up only when it is next, so that a run over a million files
// holds only a few of them in memory.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/source.hpp"
#include "io/tree_walk.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/inputs/listed_input.hpp"
#include "pipeline/flow/run_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Throws config::usage_error if an output of the plan is also a named input or the list of names: it would be
/// replaced, or read while it is written. Called before anything is read or written.
void refuse_outputs_as_inputs(const run_plan& plan);

/// Used by one coroutine, on the pool. next() throws config::usage_error if an input is the same file as an output.
class input_list {
 public:
  /// `streams`: the event loop that reads a list from a pipe.
  input_list(const run_plan& plan, async::event_loop& streams, std::stop_token stop);

  /// The next inputs, at most `max_inputs`. Waits for the list of names only if there is no input yet. Empty at the
  /// end, and after a stop.
  async::task<std::vector<listed_input>> next(std::size_t max_inputs);

  /// After a stop: the inputs that next() did not return, with that as their error.
  std::vector<listed_input> unreached();

  /// Entries of directory trees that were skipped so far, by cause.
  [[nodiscard]] const std::vector<skipped_names>& skipped() const { return skipped_; }

  /// Directories of the list in which no file was found. `cause` is empty.
  [[nodiscard]] const skipped_names& empty_trees() const { return empty_trees_; }

 private:
  std::optional<listed_input> next_looked_up();
  [[nodiscard]] bool is_left_out(const listed_input& input) const;
  std::optional<listed_input> look_up(std::string name);
  std::optional<listed_input> next_in_tree();
  std::optional<std::string> take_name();
  async::task<> read_list();
  async::task<std::size_t> read_list_stream(io::stream_source& stream, std::span<std::byte> room);
  void note_skipped(const io::tree_entry& entry);
  [[nodiscard]] listed_input list_failed(const input_failure& failure) const;

  const run_plan& plan_;
  async::event_loop& streams_;
  std::stop_token stop_;
  std::size_t next_named_ = 0;
  std::size_t next_looked_up_ = 0;
  std::optional<io::tree_walk> tree_;  // the directory tree that is being listed
  bool tree_has_inputs_ = false;
  std::vector<skipped_names> skipped_;
  skipped_names empty_trees_;

  std::shared_ptr<io::source> list_;  // the open list of names
  bool list_finished_ = false;
  std::uint64_t list_offset_ = 0;  // next offset to read, if the list is a file
  std::string read_;               // part of the list; names from take_at_ on were not taken
  std::size_t take_at_ = 0;
  input_failure list_error_;
};

}  // namespace gpuhist::pipeline
