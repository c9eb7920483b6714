#include "command/file_guard.hpp"

#include "batch/result_files.hpp"
#include "command/filter/output_names.hpp"
#include "config/text_functions.hpp"
#include "config/usage_error.hpp"
#include "io/file_access.hpp"
#include "io/open_descriptors.hpp"
#include "report/formats/report.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::command {
namespace {

class named_files {
 public:
  explicit named_files(const config::options& typed) : typed_(typed) {}

  void add(std::string_view option, const std::optional<std::string>& path) {
    if (path) all.push_back({.option = typed_.where(option) + " " + report::printable(*path), .path = path_of(*path)});
  }

  std::vector<named_file> all;

 private:
  static std::string path_of(const std::string& name) {
    return name.starts_with("fd:") ? "/dev/fd/" + name.substr(3) : name;
  }

  const config::options& typed_;
};

// Those that conditions and formulas read.
std::vector<named_file> files_of_formulas(const counting_options& from) {
  std::vector<std::string> formulas = from.fail_if;
  formulas.insert(formulas.end(), from.alert_if.begin(), from.alert_if.end());
  if (from.units) {
    formulas.insert(formulas.end(), from.units->rules.begin(), from.units->rules.end());
    for (const std::string& each : {from.units->where, from.units->top_by, from.units->distribution_of}) {
      formulas.push_back(each);
    }
  }
  std::vector<named_file> made;
  for (const std::string& formula : formulas) {
    for (std::string& each : config::files_in(formula)) {
      made.push_back({.option = report::printable(each) + " of a formula", .path = std::move(each)});
    }
  }
  return made;
}

// The files in the folder of outputs whose names are known. (Other outputs of a filter are compared when they are
// planned.)
std::vector<named_file> files_of_folder(const config::options& typed, const std::filesystem::path& folder) {
  std::vector<named_file> made;
  const auto add = [&](const char* name) {
    made.push_back(
        {.option = report::printable((folder / name).string()) + ", an output", .path = (folder / name).string()});
  };
  if (typed.what == config::command::filter) {
    add(record_name);
  } else if (!typed.shard) {
    for (const char* const each : batch::names_of_results) add(each);
  }
  return made;
}

std::vector<named_file> written_files(const config::options& typed) {
  using enum config::command;
  named_files made(typed);
  const bool is_run_of_job = typed.what == batch && !typed.plans_only;
  if (typed.what == devices || (is_run_of_job && typed.dry_run)) return {};
  made.add("--output", typed.output);
  made.add("--result", typed.result);
  made.add("--resume", typed.resumed_file);
  if (typed.output_dir && !typed.plans_only) {
    for (named_file& each : files_of_folder(typed, *typed.output_dir)) made.all.push_back(std::move(each));
  } else if (!typed.output && !typed.resumed_file) {
    made.all.push_back({.option = "standard output", .path = "/dev/stdout"});
  }
  return made.all;
}

std::optional<struct stat> regular_file(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return found;
}

}  // namespace

std::vector<named_file> read_files(const config::options& typed) {
  named_files made(typed);
  made.add("--config", typed.config);
  if (!typed.job.empty())
    made.all.push_back({.option = "the job file " + report::printable(typed.job), .path = typed.job});
  const std::string& baseline = typed.run.counting.baseline_file;
  if (!baseline.empty()) made.add("--baseline", baseline);
  const std::optional<unit_options>& units = typed.run.counting.units;
  if (units && !units->match_file.empty()) made.add("--match-file", units->match_file);
  for (named_file& each : files_of_formulas(typed.run.counting)) made.all.push_back(std::move(each));
  if (!typed.run.dictionary.empty()) made.add("--zstd-dictionary", typed.run.dictionary);
  made.add("--manifest", typed.manifest);
  if (typed.output_dir && typed.run.list)
    made.add("--files-from", typed.run.list->path);  // --output is compared when the list is looked up
  return made.all;
}

void refuse_to_write_what_is_read(const config::options& typed) {
  for (const std::optional<std::string>& each : {typed.manifest, typed.resumed_file}) {
    if (each && !io::descriptor_named(*each)) io::require_regular(*each, io::links::followed);
  }
  const std::vector<named_file> written = written_files(typed);
  for (const named_file& read : read_files(typed)) {
    const std::optional<struct stat> source = regular_file(read.path);
    if (!source) continue;
    for (const named_file& each : written) {
      const std::optional<struct stat> target = regular_file(each.path);
      if (!target || target->st_dev != source->st_dev || target->st_ino != source->st_ino) continue;
      throw config::usage_error(each.option + ": is the same file as " + read.option +
                                ", which is read; give another file");
    }
  }
}

}  // namespace gpuhist::command
