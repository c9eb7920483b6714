// What is to be counted, one name after the other: the names of the command line, those of a list (--files-from), and
// in their place the files below directories (--recursive). Nothing is looked at before its turn, so that a run over a
// million files holds only the next few.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/source.hpp"
#include "io/tree_walk.hpp"
#include "pipeline/inputs/input_failure.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/reports/report.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// An input as it is met.
struct listed_input {
  std::string name;          ///< a path; "-" is standard input
  bool in_tree = false;      ///< found in a tree, where only regular files are inputs
  bool follow_links = true;  ///< where the last component is a symbolic link by now
  bool regular = false;      ///< a regular file, as far as is known ...
  std::uint64_t size = 0;    ///< ... of so many bytes, or 0 where nobody looked
  input_failure error{};     ///< why it cannot be read, where that is known already
};

/// Throws config::usage_error where an output of the plan is one of the inputs that it names, or the list of them: it
/// would be replaced, or read while it is written. To be called before anything is read or written.
void refuse_outputs_as_inputs(const plan& what);

/// The same of a file that does not exist yet but would be created in place (live output, --append) and then be found
/// as an input. To be called before the output is opened.
void refuse_new_output_as_input(const plan& what);

/// For one coroutine, on the pool. Throws config::usage_error where an input turns out to be the output only now.
class input_list {
 public:
  /// `streams`: where a list in a pipe is read.
  input_list(const plan& what, async::event_loop& streams, std::stop_token stop);

  /// The next ones, as many as can be had without waiting for a list, up to `most`; waits for the first one. Nothing
  /// at the end, or after a stop.
  async::task<std::vector<listed_input>> next(std::size_t most);

  /// After a stop: what of the names was not come to, with that as the error.
  std::vector<listed_input> left();

  /// What was found in trees so far and is no input, by cause.
  [[nodiscard]] const std::vector<skipped_names>& skipped() const { return skipped_; }

 private:
  std::optional<listed_input> come_to(std::string name);
  std::optional<listed_input> next_in_tree();
  std::optional<std::string> take_name();
  async::task<> read_list();
  async::task<std::size_t> read_list_stream(io::stream_source& stream, std::span<std::byte> room);
  void note_skipped(const io::tree_entry& what);
  [[nodiscard]] listed_input list_failed(const input_failure& why) const;

  const plan& plan_;
  async::event_loop& streams_;
  std::stop_token stop_;
  std::size_t next_named_ = 0;
  std::optional<io::tree_walk> tree_;  // that is being walked
  std::vector<skipped_names> skipped_;

  std::shared_ptr<io::source> list_;  // open
  bool list_over_ = false;
  std::uint64_t list_offset_ = 0;  // of a file
  std::string read_;               // of the list, from take_at_ on not yet taken
  std::size_t take_at_ = 0;
  input_failure list_error_;
};

}  // namespace gpuhist::pipeline
