// Resolves the command line, the environment and a configuration file to options, or to a text (help, version).
#include "config/options.hpp"

#include "config/help.hpp"
#include "config/settings.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#ifndef GPUHIST_VERSION
#error "GPUHIST_VERSION comes from config/CMakeLists.txt"
#endif

namespace gpuhist::config {
namespace {

std::string generated(const std::string& kind) {
  if (kind == "man") return manual_page(GPUHIST_VERSION);
  if (kind == "options") return option_list();
  if (kind == "bash") return bash_completions();
  if (kind == "zsh") return zsh_completions();
  if (kind == "fish") return fish_completions();
  const auto names = find_option("--generate")->choice_names();
  const auto meant = likely_name(kind, names);
  throw usage_error("--generate: " + quote(kind) + " cannot be generated; " +
                    (meant ? "did you mean " + std::string(*meant) + "?" : "give man, bash, zsh, fish or options"));
}

/// The text, if one of the options is --help, --version or --generate.
std::optional<information> requested_text(const settings& typed) {
  for (const setting& each : typed) {
    if (each.row->is_setting()) continue;
    if (each.row->key() == "help") return information{help_about(each.value)};
    if (each.row->key() == "version") return information{"gpuhist " GPUHIST_VERSION "\n"};
    return information{generated(each.value)};
  }
  return std::nullopt;
}

/// The setting of --config at the highest level that has one, or null.
const setting* named_file(const settings& environment, const settings& typed) {
  const setting* last = nullptr;
  for (const settings* level : {&environment, &typed}) {
    for (const setting& each : *level) {
      if (each.row->key() == "config") last = each.unset ? nullptr : &each;
    }
  }
  return last;
}

/// The operands of `gpuhist batch [plan] [JOB.toml] [INPUT...]`.
struct job_operands {
  bool plans_only = false;
  std::string job;  // empty: none is named
  std::vector<std::string> inputs;
};

// "job.tml" would be counted as an input.
void check_no_misnamed_job(const std::string& first) {
  constexpr std::array<std::string_view, 1> suffixes = {"toml"};
  const std::size_t dot = first.rfind('.');
  if (dot == std::string::npos) return;
  std::string suffix = first.substr(dot + 1);
  std::ranges::transform(suffix, suffix.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (!nearest_name(suffix, suffixes)) return;
  throw usage_error("gpuhist batch: " + on_one_line(first) +
                    " is no job file, because its name does not end in .toml; correct the name, or rename the file");
}

job_operands job_operands_of(std::vector<std::string> typed) {
  job_operands made;
  made.plans_only = !typed.empty() && typed.front() == "plan";
  if (made.plans_only) typed.erase(typed.begin());
  if (!typed.empty() && typed.front().ends_with(".toml")) {
    made.job = typed.front();
    typed.erase(typed.begin());
  } else if (!typed.empty()) {
    check_no_misnamed_job(typed.front());
  }
  made.inputs = std::move(typed);
  return made;
}

}  // namespace

std::variant<options, information> parse_command_line(int argc, const char* const* argv,
                                                      std::span<const std::string> environment) {
  using words = std::vector<std::string>;
  command_line typed = split_command_line(argc > 1 ? words(argv + 1, argv + argc) : words{});
  if (auto text = requested_text(typed.typed)) return *std::move(text);

  std::array<settings, 4> levels;
  auto& [of_file, of_environment, of_job, of_command_line] = levels;
  of_environment = settings_of_environment(environment);
  of_command_line = std::move(typed.typed);
  if (const setting* file = named_file(of_environment, of_command_line); file != nullptr && !file->value.empty()) {
    of_file = settings_of_file(file->value, file->origin.empty() ? "--config" : file->origin);
  }
  job_operands operands;
  if (typed.selected == command::batch) {
    operands = job_operands_of(std::move(typed.inputs));
  } else {
    operands.inputs = std::move(typed.inputs);
  }
  if (!operands.job.empty()) {
    job_file job = read_job_file(operands.job);
    of_job = std::move(job.options);
    if (operands.inputs.empty()) operands.inputs = std::move(job.inputs);
  }
  options result = resolve(typed.selected, levels);
  result.inputs = std::move(operands.inputs);
  result.job = std::move(operands.job);
  result.plans_only = operands.plans_only;
  return result;
}

}  // namespace gpuhist::config
