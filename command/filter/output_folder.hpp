// The folder of `gpuhist filter --output-dir`: which inputs are already complete there, and the outputs of a run.
//
//     temporary file: text -> fsync -> line in the list -> rename
//
// The line has the size and the time of modification of the file, so it is valid only once the file has its name. A
// process that is killed at any time leaves only complete files under final names. Outputs are opened beneath the
// folder, where no link is followed. Those that did not exist replace nothing.
#pragma once

#include "command/file_guard.hpp"
#include "command/filter/folder_record.hpp"
#include "command/filter/output_names.hpp"
#include "report/units/kept_text.hpp"
#include "report/units/unit_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gpuhist::command {

/// What is done with files that are in the folder.
struct existing_outputs {
  bool are_resumed = false;      ///< complete outputs stay, those of changed inputs are replaced
  bool are_replaced = false;     ///< other files are replaced, too
  bool may_lack_text = false;    ///< an output without the damaged text of its input is complete (--skip-damage)
  std::string named_by;          ///< the option of the folder, in messages
  std::vector<named_file> read;  ///< files that are never replaced, besides the inputs
};

/// What a run must write, and what earlier runs wrote.
struct folder_work {
  std::vector<planned_output> outputs;  ///< those that are not complete
  std::size_t complete = 0;
  std::size_t lacking_text = 0;  ///< of the complete ones: without the damaged text of their inputs
};

/// The work of a run. The folder need not exist. Reads no input. Throws config::usage_error if a file is in the way, or
/// is one that is read.
folder_work outputs_to_write(const std::filesystem::path& folder, std::vector<planned_output> all,
                             const pipeline::looked_up_inputs& found, const earlier_outputs& earlier,
                             const existing_outputs& existing);

/// While it exists, no other `gpuhist filter` writes to the folder, except other shards, on filesystems that have
/// locks.
class folder_lock {
 public:
  /// Creates the folder if it is missing. Throws destination_error if it cannot be created, std::runtime_error if
  /// another process has the lock.
  folder_lock(const std::filesystem::path& folder, config::shard_choice shard);

 private:
  io::descriptor folder_;
  io::descriptor list_;  // of a shard
};

/// The outputs of one run. Thread-safe.
class output_folder final : public report::units::kept_outlets {
 public:
  /// Borrows `found`, the list of the inputs, and the plan of their units.
  output_folder(std::filesystem::path folder, std::vector<planned_output> outputs,
                const pipeline::looked_up_inputs& found, folder_record& record,
                const report::units::unit_plan& planned);

  std::unique_ptr<report::units::kept_outlet> open(const std::string& input) override;

  /// Writes the output of an input that is complete and has no text. To be called for every finished input.
  void note_finished(const pipeline::input_report& input);

  /// Complete outputs of this run.
  [[nodiscard]] std::size_t written() const;

  /// Messages about outputs that could not be written.
  [[nodiscard]] std::vector<std::string> failures() const;

 private:
  class outlet;

  [[nodiscard]] std::unique_ptr<outlet> open_outlet(const std::string& input);
  void note_end(const planned_output& output, const std::string& failure);

  const std::filesystem::path folder_;
  const io::descriptor root_;  // outputs are opened beneath it
  const std::vector<planned_output> outputs_;
  folder_record& record_;
  const report::units::unit_plan& plan_;
  std::unordered_map<std::string_view, const planned_output*> by_input_;
  mutable std::mutex mutex_;                            // of all below
  std::unordered_set<const planned_output*> finished_;  // written or failed
  std::vector<std::string> failures_;
};

}  // namespace gpuhist::command
