// An input of the list of inputs, lists that were made before the run, and their size.
#pragma once

#include "io/tree_walk.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/run_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// An input of the list.
struct listed_input {
  std::string name;                               ///< a path; "-" is standard input
  bool in_tree = false;                           ///< found in a directory tree, where only regular files are inputs
  std::size_t root_bytes = 0;                     ///< in a tree: the length of the root, with which the name begins
  bool follow_links = true;                       ///< whether to follow a symbolic link as last component
  bool regular = false;                           ///< known to be a regular file
  std::uint64_t size = 0;                         ///< its size in bytes; 0: not known
  input_failure error{};                          ///< why it cannot be read, if that is already known
  std::shared_ptr<const input_prefix> counted{};  ///< by an earlier run; only the rest is read. Null: nothing was
  std::optional<std::uint64_t> stored_end{};      ///< with `counted`: reading ends here, between two frames
};

/// All inputs of a run, with what was found while they were looked up.
struct looked_up_inputs {
  std::vector<listed_input> inputs;
  std::vector<skipped_names> skipped{};  ///< entries of trees, by cause
  skipped_names empty_trees{};           ///< directories in which no file was found; `cause` is empty
};

// The number of bytes to read, determined before reading.

/// The total size of all inputs on disk. Nothing if one of them is not a regular file, because its size is not known in
/// advance. Opens no file. Standard input ("-") counts from its current offset. Directories and missing files count as
/// 0.
std::optional<std::uint64_t> source_bytes_of(std::span<const std::string> inputs);

/// About the same. Of very many inputs a sample is looked at, because to ask for all sizes takes long: what is not
/// sampled is expected to be a regular file. `trees`: how directories are walked, of which the first 2^14 names are
/// read. Other inputs are expected to be like those; a single tree with more names has more bytes. Nothing: directories
/// count as 0.
std::optional<std::uint64_t> expected_source_bytes(std::span<const std::string> inputs,
                                                   const std::optional<io::walk_settings>& trees = {});

}  // namespace gpuhist::pipeline
