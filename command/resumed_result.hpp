// --resume FILE: a jsonl result of an earlier run, and the inputs that it holds complete.
#pragma once

#include "command/plan.hpp"
#include "io/file_state.hpp"
#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "report/formats/bucket_counts.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace gpuhist::config {
struct options;
}

namespace gpuhist::command {

/// The options of a run that resumes typed.resumed_file: it is the output, appended to as jsonl. Throws
/// config::usage_error for options that it cannot be combined with.
config::options options_of_resumed_run(const config::options& typed);

/// report::counted_with, for the lines of a result that can be resumed.
std::string counted_with(const library::counting_plan& planned);

/// One thread at a time, but state_of() also during take(). Memory: 16 bytes and more for each complete input.
class resumed_result {
 public:
  /// Reads the file. A missing file holds no inputs. Throws std::runtime_error that names the line, std::system_error.
  resumed_result(std::string path, const plan& planned);

  /// Whether several lines are of inputs with the same name: the input was named as often, or two runs counted it.
  [[nodiscard]] bool has_duplicates() const;

  /// Throws std::runtime_error if the file has more lines of a name than there are inputs of that name.
  void refuse_duplicates(const pipeline::looked_up_inputs& inputs) const;

  /// Replaces the file by one that has only the lines of complete inputs. Throws destination_error.
  void rewrite();

  /// Throws std::runtime_error if the file is not as rewrite() has left it.
  void refuse_other_lines() const;

  /// Whether an input of this name was counted. Each line of the file is found once.
  [[nodiscard]] bool take(const std::string& name);

  /// The state of the file that was read since take() has returned false, for its line; nothing: it is not a regular
  /// file, or a member of an archive. Each state is returned once.
  [[nodiscard]] std::optional<io::file_state> state_of(const std::string& name);

  /// Whether lines do not record what they were counted with: of versions without `counted_with`, or of a report.
  [[nodiscard]] bool has_older_lines() const { return has_older_lines_; }

  /// The number of inputs that have changed since they were counted, which rewrite() removes.
  [[nodiscard]] std::size_t changed() const { return changed_.size(); }

  /// The name of the first of them.
  [[nodiscard]] const std::string& first_changed() const { return first_changed_; }

  /// The name of the run in the lines; empty: there are none.
  [[nodiscard]] const std::string& run() const { return run_; }

  /// The counts of the complete inputs.
  [[nodiscard]] const pipeline::run_counts& counts() const { return counts_; }

 private:
  void read();
  void add_line(const std::string& line);
  void check_options(const nlohmann::json& document);
  void check_options_of_older_line(const nlohmann::json& document);
  void check_run(const nlohmann::json& document);
  bool has_changed(const nlohmann::json& document, const std::string& name);

  std::string path_;
  const plan& planned_;
  const nlohmann::ordered_json options_;  // of the lines of this run
  report::bucket_counts by_bucket_;
  std::shared_ptr<pipeline::finished_inputs> finished_;
  pipeline::run_counts counts_;
  std::size_t number_ = 0;
  std::size_t lines_ = 0;             // that were read
  std::vector<std::size_t> changed_;  // lines of files that have changed, in order
  std::string first_changed_;
  bool has_older_lines_ = false;
  std::uint64_t rewritten_bytes_ = 0;
  std::string run_;
  std::unordered_map<std::string, std::uint32_t> names_;  // of complete inputs, with their lines
  std::mutex mutex_;
  std::unordered_multimap<std::string, io::file_state> begun_;  // before they are read, without fingerprints
};

}  // namespace gpuhist::command
