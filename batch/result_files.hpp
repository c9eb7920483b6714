// The results of a job in its folder. A file of the user that has the name of a result is never replaced: the state has
// size, time and hash of each result, and only a file with such a content is one. The results of another job are not
// replaced, either.
#pragma once

#include "batch/job_folder.hpp"
#include "batch/job_identity.hpp"
#include "report/formats/report.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::batch {

inline constexpr std::array names_of_results = {"files.jsonl", "errors.jsonl", "total.json", "windows.jsonl",
                                                "units.jsonl", "job.json",     "changes.txt"};

/// One thread. Precondition of write(): the folders of the job exist, and its lock is held.
class result_files {
 public:
  /// Throws config::usage_error if a file has the name of a result and is none of this folder.
  explicit result_files(job_folder folder);

  /// Throws config::usage_error if a file has the name of a result, and none was written here. Reads no result, and
  /// needs no lock.
  static void refuse_files_of_user(const job_folder& folder);

  /// Throws config::usage_error if the results in the folder are of a job with another manifest, or with counts of
  /// another meaning. Those of earlier versions do not name their job.
  void refuse_other_job(const job_identity& job) const;

  /// What is written from now on is of this job.
  void set_job(const job_identity& job);

  /// Writes a result under a temporary name, records its hash, and renames it. `name`: one of names_of_results. Throws
  /// destination_error, and config::usage_error if a file of another process has appeared there.
  void write(const std::string& name, const std::function<void(const report::text_sink&)>& pieces);

 private:
  struct recorded_result {
    std::string hash;
    std::string name;  // or "job": the hash is that of the job
    std::uint64_t size = 0;
    std::int64_t modified = 0;  // nanoseconds since 1970
  };

  static std::vector<recorded_result> read(const job_folder& folder);
  // What is known of the file of that name; nothing: there is none.
  [[nodiscard]] std::optional<recorded_result> existing(const std::string& name) const;
  void record() const;

  job_folder folder_;
  std::vector<recorded_result> recorded_;
};

}  // namespace gpuhist::batch
