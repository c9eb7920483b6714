// The outputs of `gpuhist filter --output-dir`: one for each input, with a name that is known before anything is read.
#pragma once

#include "command/plan.hpp"
#include "config/options.hpp"
#include "library/file_run.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Size and time of a file, by which a change is recognized, and of an input a fingerprint, because another input may
/// have the same name, size and time.
struct file_state {
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970
  std::string fingerprint{};  ///< of the content, or of the ends of a large file (batch/manifest); empty for an output

  bool operator==(const file_state&) const = default;
};

file_state state_of(const struct stat& file);

/// One output. `compression` is never `same`.
struct planned_output {
  std::size_t input = 0;  ///< its place in the list of inputs
  std::string name;       ///< below the folder, with slashes
  config::output_compression compression{};
  file_state input_state{};              ///< before the run; zeros: the input cannot be found
  std::optional<file_state> replaced{};  ///< the file that has the name, and is replaced; nothing: there is none
};

/// The name of the list of complete outputs in the folder.
inline constexpr const char* record_name = ".gpuhist-filter.jsonl";

/// One output for each input without an error, in the order of the inputs. The folder need not exist. Reads inputs for
/// their fingerprints, several at once, and their first bytes for output_compression::kind::same. Throws
/// config::usage_error for an input without a name of its own, two inputs with one name, a folder in a tree of inputs,
/// and formats that cannot be written.
std::vector<planned_output> plan_outputs(const config::options& typed, const plan& planned,
                                         const looked_up_inputs& found);

}  // namespace gpuhist::pipeline
