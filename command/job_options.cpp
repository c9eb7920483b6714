#include "command/job_options.hpp"

#include "batch/job_folder.hpp"
#include "config/option_values.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "report/formats/text.hpp"
#include "report/output/messages.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

// A file of that name has precedence over the pattern.
bool is_pattern(const std::string& name) {
  std::error_code ignored;
  return name.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(name, ignored);
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, decltype(&::globfree)> owner(&found, ::globfree);
  // before threads start NOLINTNEXTLINE(concurrency-mt-unsafe)
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  if (result == GLOB_NOMATCH) {
    throw config::usage_error("inputs: no file matches " + config::quote(pattern) +
                              "; leave the pattern out, or correct it");
  }
  if (result == GLOB_NOSPACE) throw std::bad_alloc();
  if (result != 0) {
    throw std::system_error(errno, std::system_category(),
                            "inputs: cannot read the folders of " + config::quote(pattern));
  }
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

bool is_of_job(const std::string& name, const io::output_files& own) {
  struct stat found{};
  return ::stat(name.c_str(), &found) == 0 && (own.find(found) || own.has_folder(found));
}

// The matches that are inputs. Those that are files of the job are reported.
std::vector<std::string> inputs_among_matches(const std::string& pattern, const io::output_files& own, bool is_quiet) {
  std::vector<std::string> made;
  std::vector<std::string> of_job;
  for (std::string& each : matches_of(pattern)) (is_of_job(each, own) ? of_job : made).push_back(std::move(each));
  if (!of_job.empty() && !is_quiet) {
    const std::size_t more = of_job.size() - 1;
    report::complain("inputs: " + config::quote(pattern) + " matches " + report::printable(of_job.front()) +
                     (more > 0 ? " and " + config::grouped(more) + " more" : "") + ", which " +
                     (more > 0 ? "are files of the job or links to them" : "is a file of the job or a link to it") +
                     ", and not counted");
  }
  return made;
}

// A window is checked by the run that reads it, and a later run does not read it again.
void check_watched(const config::options& typed) {
  if (typed.run.counting.fail_if.empty() || !typed.run.counting.watch.windows) return;
  throw config::option_error("fail-if",
                             "a job that is continued does not check windows of earlier runs again; give --watch "
                             "totals,inputs, and --each window --where CONDITION, which lists the windows");
}

void check_windows(const config::options& typed, const window_options& windows) {
  if (windows.measured_in == window_options::measure::milliseconds) {
    throw config::option_error("window",
                               "the files of a job do not arrive over time; give a size of text, such as 64MiB, or "
                               "100000lines");
  }
  if (!windows.per_input) {
    throw config::option_error("window",
                               "a job reads its inputs in any order, so no window can span two of them; give "
                               "--per-input (per-input = true), for windows that start again in every input");
  }
  check_watched(typed);
}

}  // namespace

void check_unit_options(const config::options& typed) {
  constexpr unsigned max_ranked = 1000;
  const counting_options& counting = typed.run.counting;
  if (config::writes_windows(counting)) check_windows(typed, *counting.windows);
  if (typed.top) {
    throw config::option_error("top",
                               "a job has no table of inputs; give N:FORMULA and --each, for the units with the "
                               "highest values");
  }
  if (counting.units && counting.units->top > max_ranked) {
    throw config::option_error(
        "top", "at most " + std::to_string(max_ranked) + " units in a job, because the state has those of every input");
  }
}

config::options options_of_job(const config::options& typed, const io::output_files& own) {
  config::options made = typed;
  made.inputs.clear();
  for (const std::string& each : typed.inputs) {
    if (each == "-") throw config::usage_error("inputs: standard input cannot be read again; give the names of files");
    if (!is_pattern(each)) {
      made.inputs.push_back(each);
      continue;
    }
    std::ranges::move(inputs_among_matches(each, own, typed.quiet), std::back_inserter(made.inputs));
  }
  if (made.inputs.empty() && !made.run.list) {
    throw config::usage_error(
        "gpuhist batch: there are no inputs; give a job file with inputs = [\"*.zst\"], or names");
  }
  if (!made.run.trees) made.run.trees.emplace();
  made.output.reset();
  made.format = "jsonl";
  return made;
}

config::shard_choice shard_of(const config::options& typed) {
  if (!typed.shard) return {};
  // before threads start NOLINTNEXTLINE(concurrency-mt-unsafe)
  return batch::resolve_shard(*typed.shard, [](const char* name) { return std::getenv(name); });
}

plan plan_of_run(const config::options& typed) {
  config::options made = typed;
  made.inputs.clear();
  made.run.list.reset();
  if (!made.run.trees) made.run.trees.emplace();
  made.output.reset();
  made.format = "jsonl";
  made.stats = true;  // job.json names the GPU
  plan planned = make_plan(made);
  if (planned.windows) planned.windows->numbered_by_input = true;
  return planned;
}

}  // namespace gpuhist::command
