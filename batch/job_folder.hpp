// The folder of a batch job: the names of its files, its lock, and the shard of the job that a run counts.
#pragma once

#include "batch/job_identity.hpp"
#include "batch/manifest.hpp"
#include "config/options.hpp"
#include "io/descriptor.hpp"
#include "io/output_files.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gpuhist::batch {

/// Lines of inputs that are kept beside the journal.
enum class lines_of { units, windows };

/// The paths below a folder:
///   .gpuhist-batch/manifest.jsonl, .gpuhist-batch/results: the hashes of the results (result_files)
///   .gpuhist-batch/lock, state and runs.jsonl, for shards in .gpuhist-batch/3-of-8
///   beside a state: units and windows, the lines that its records name
///   parts/3-of-8, parts/3-of-8.units, parts/3-of-8.windows: the result of a shard (its published state), and its lines
class job_folder {
 public:
  /// `shard`: 0 of 0 if the job is not divided.
  explicit job_folder(std::filesystem::path path, config::shard_choice shard = {});

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path manifest_file() const;
  [[nodiscard]] std::filesystem::path lock_file() const { return state_ / "lock"; }
  [[nodiscard]] std::filesystem::path journal_file() const { return state_ / "state"; }
  /// The results of a finished job: a line for each input, and the totals.
  [[nodiscard]] std::filesystem::path inputs_file() const { return path_ / "files.jsonl"; }
  [[nodiscard]] std::filesystem::path totals_file() const { return path_ / "total.json"; }

  [[nodiscard]] std::filesystem::path runs_file() const { return state_ / "runs.jsonl"; }

  [[nodiscard]] std::filesystem::path lines_file(lines_of which) const;
  [[nodiscard]] std::filesystem::path results_file() const { return path_ / ".gpuhist-batch" / "results"; }

  /// The state, the results of shards and those of the job that exist, also under temporary names: none is an input of
  /// the job.
  [[nodiscard]] std::shared_ptr<const io::output_files> own_files() const;

  /// Throws std::runtime_error if a link, a FIFO or the like is in the place of a folder or file of the state.
  void require_own() const;

  /// The lines of the result of a shard.
  [[nodiscard]] static std::filesystem::path lines_of_result(const std::filesystem::path& result, lines_of which);

  /// Creates the folders, whose names are then on disk. Throws destination_error, and as require_own().
  void create() const;

  /// Writes the manifest, if the folder has none; it appears as a whole. Throws std::runtime_error if it has another
  /// one, destination_error.
  void keep_manifest(const std::string& text) const;

  /// Throws std::runtime_error if the result of this shard is of another job.
  void refuse_other_shard_result(const job_identity& job) const;

  /// Publishes the state of the shard by a link, whose name is then on disk. If it was published before, nothing
  /// changes. Throws destination_error. Precondition: the state is on disk.
  void publish() const;

  /// The results of shards, in the order of their names. Throws std::system_error, and std::runtime_error if there is
  /// something else than files.
  [[nodiscard]] std::vector<std::filesystem::path> shard_results() const;

 private:
  [[nodiscard]] std::filesystem::path shard_result_file() const;
  void publish_lines(const std::filesystem::path& result, lines_of which) const;

  std::filesystem::path path_;
  config::shard_choice shard_;
  std::filesystem::path state_;
};

/// Locks a whole file for writing. `command`: F_OFD_SETLK or, to wait, F_OFD_SETLKW. False: errno is the cause.
[[nodiscard]] bool lock_whole(int file, int command);

/// While it exists, no other run writes to the folder, on this machine or on another one: the lock is one of fcntl(2),
/// which network file systems pass to their server. The system releases it when the process ends, however it ends, so
/// the lock of a dead run is taken over. The file names its owner for messages; its content is no lock.
class job_lock {
 public:
  /// Creates the file. If another process has the lock, calls `wait` with a text that names it, and waits for its end;
  /// without `wait`, throws std::runtime_error with that text. Throws destination_error if the file cannot be written.
  /// Precondition of waiting: the process handles no signals, so that they end it.
  explicit job_lock(const std::filesystem::path& file, const std::function<void(const std::string&)>& wait = {});

 private:
  io::descriptor file_;
};

/// The shard of this task, with `auto` as Slurm or MPI numbers it. `variable`: the value of an environment variable, or
/// null. Throws config::usage_error if `typed` is auto and no variable says which.
config::shard_choice resolve_shard(const config::shard_choice& typed,
                                   const std::function<const char*(const char*)>& variable);

}  // namespace gpuhist::batch
