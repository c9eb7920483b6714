// The files of a batch job in its folder.
#pragma once

#include "config/options.hpp"
#include "pipeline/program/batch/manifest.hpp"

#include <filesystem>
#include <vector>

namespace gpuhist::pipeline {

/// The paths below a folder:
///   .gpuhist-batch/manifest.jsonl
///   .gpuhist-batch/lock, state and runs.jsonl, for shards in .gpuhist-batch/3-of-8
///   parts/3-of-8: the published state of a shard
class job_folder {
 public:
  /// `shard`: 0 of 0 if the job is not divided.
  explicit job_folder(std::filesystem::path path, config::shard_choice shard = {});

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path manifest_file() const;
  [[nodiscard]] std::filesystem::path lock_file() const { return state_ / "lock"; }
  [[nodiscard]] std::filesystem::path journal_file() const { return state_ / "state"; }
  [[nodiscard]] std::filesystem::path runs_file() const { return state_ / "runs.jsonl"; }

  /// Creates the folders, whose names are then on disk. Throws destination_error.
  void create() const;

  /// Writes the manifest, if the folder has none; it appears as a whole. Throws std::runtime_error if it has another
  /// one, destination_error.
  void keep_manifest(const std::string& text) const;

  /// Publishes the state of the shard by a link, whose name is then on disk. If it was published before, nothing
  /// changes. Throws destination_error. Precondition: the state is on disk.
  void publish() const;

  /// The published states, in the order of their names. Throws std::system_error.
  [[nodiscard]] std::vector<std::filesystem::path> parts() const;

 private:
  std::filesystem::path path_;
  config::shard_choice shard_;
  std::filesystem::path state_;
};

}  // namespace gpuhist::pipeline
