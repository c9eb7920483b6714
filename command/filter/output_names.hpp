// The outputs of `gpuhist filter --output-dir`: one for each input, with a name that is known before anything is read.
#pragma once

#include "command/plan.hpp"
#include "config/options.hpp"
#include "io/file_state.hpp"
#include "library/file_run.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::command {

/// One output. `compression` is never `same`.
struct planned_output {
  std::size_t input = 0;  ///< its place in the list of inputs
  std::string name;       ///< below the folder, with slashes
  config::output_compression compression{};
  io::file_state input_state{};              ///< before the run, with a fingerprint; zeros: the input cannot be found
  std::optional<io::file_state> replaced{};  ///< the file that has the name, and is replaced; nothing: there is none
};

/// The list of complete outputs in the folder.
inline constexpr const char* record_name = ".gpuhist-filter.jsonl";

/// That of a shard: ".gpuhist-filter.3-of-8.jsonl". 0 of 0: record_name.
std::string record_name_of(config::shard_choice shard);

/// Whether a file below the folder is such a list.
bool is_record_name(std::string_view name);

/// Whether the input with this output belongs to the shard: by the name of the output alone, so that shards agree
/// whatever files are added or removed while they run.
bool is_in_shard(std::string_view output, config::shard_choice shard);

/// One output for each input without an error, in the order of the inputs. The folder need not exist. Reads inputs for
/// their fingerprints, several at once, and their first bytes for output_compression::kind::same. Throws
/// config::usage_error for an input without a name of its own, two inputs with one name, a folder in a tree of inputs,
/// and formats that cannot be written.
/// Only those of the shard, if the run has one.
std::vector<planned_output> plan_outputs(const config::options& typed, const plan& planned,
                                         const pipeline::looked_up_inputs& found, config::shard_choice shard);

}  // namespace gpuhist::command
