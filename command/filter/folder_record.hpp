// The list of complete outputs in the folder of `gpuhist filter --output-dir`: a line of JSON for each.
#pragma once

#include "command/filter/output_names.hpp"
#include "report/output/destination.hpp"

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gpuhist::command {

/// A new line: an output that is complete, and where it is from.
struct recorded_output {
  std::string name;  ///< of the output, below the folder
  io::file_state input;
  io::file_state output;
  std::uint64_t kept = 0;  ///< units
  std::uint64_t kept_bytes = 0;
  std::uint64_t dropped = 0;
  std::uint64_t dropped_bytes = 0;
  bool lacks_damaged_text = false;  ///< the input is damaged, and --skip-damage was given
};

/// A line of an earlier run.
struct earlier_output {
  io::file_state input;
  io::file_state output;
  bool has_same_options = false;
  bool lacks_damaged_text = false;
};

/// The lines of earlier runs, by the name of the output, in the order of the file.
using earlier_outputs = std::unordered_map<std::string, std::vector<earlier_output>>;

/// The options that determine the outputs, and the content of the baseline: an object of JSON. Equal texts: equal
/// outputs of equal inputs.
std::string options_of_output(const config::options& typed, const plan& planned);

/// The lists of all runs and shards. `options`: those of this run. Empty if there is none. A line that is not complete
/// or not valid is left out: its output is filtered again. Throws what bounded_lines throws.
earlier_outputs read_record(const std::filesystem::path& folder, const std::string& options);

/// Opens a folder, for the names in it. Throws destination_error.
io::descriptor open_output_folder(const std::filesystem::path& folder);

/// Appends lines. Thread-safe.
class folder_record {
 public:
  /// Creates the file if it is missing. `name`: record_name_of(). `options`: those of this run. Throws
  /// destination_error.
  folder_record(const std::filesystem::path& folder, const std::string& name, std::string options);

  /// Returns when the line is on disk. Throws destination_error.
  void add(const recorded_output& line);

 private:
  const std::string options_;
  std::mutex mutex_;
  report::destination file_;
};

}  // namespace gpuhist::command
