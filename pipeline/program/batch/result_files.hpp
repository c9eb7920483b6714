// The results of a job in its folder. A file of the user that has the name of a result is never replaced: the state has
// a hash of the content of each result, and only a file with such a content is one.
#pragma once

#include "pipeline/program/batch/job_folder.hpp"
#include "pipeline/report/formats/report.hpp"

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

inline constexpr std::array names_of_results = {"files.jsonl",   "errors.jsonl", "total.json",
                                                "windows.jsonl", "units.jsonl",  "job.json"};

/// One thread. Precondition of write(): the folders of the job exist.
class result_files {
 public:
  /// Throws config::usage_error if a file has the name of a result and is none of this job.
  explicit result_files(job_folder folder);

  /// Writes a result under a temporary name, records its hash, and renames it. `name`: one of names_of_results. Throws
  /// destination_error, and config::usage_error if a file of another process has appeared there.
  void write(const std::string& name, const std::function<void(const text_sink&)>& pieces);

 private:
  struct recorded_result {
    std::string hash;
    std::string name;
  };

  [[nodiscard]] std::optional<std::string> hash_of_existing(const std::string& name) const;
  void read();
  void record() const;

  job_folder folder_;
  std::vector<recorded_result> recorded_;
};

}  // namespace gpuhist::pipeline
