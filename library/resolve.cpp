#include "library/resolve.hpp"

#include "config/quote.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"
#include "gpu/kernel_names.hpp"
#include "gpu/row_layout.hpp"
#include "pipeline/counts/partitioning.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace gpuhist::pipeline {
namespace {

using names = std::vector<std::string_view>;

std::string joined(const names& all, std::string_view between = ", ") {
  std::string text;
  for (const std::string_view name : all) text += (text.empty() ? "" : std::string(between)) + std::string(name);
  return text;
}

bool holds(const names& all, std::string_view name) { return std::ranges::find(all, name) != all.end(); }

void check_engine_has(const std::string& kernel, engine chosen, const option_names& names_of_options) {
  const std::string option = names_of_options.where("--kernel");
  const names on_host = gpu::host_kernel_names();
  const names on_devices = gpu::cuda_kernel_names();
  if (!holds(on_host, kernel) && !holds(on_devices, kernel)) {
    names known = on_host;
    known.insert(known.end(), on_devices.begin(), on_devices.end());
    unknown_name(option, kernel, known);
  }
  if (chosen == engine::cuda && !holds(on_devices, kernel)) {
    throw config::usage_error(option + ": " + kernel + " counts on the host; give " +
                              names_of_options.with("--engine", "host") + ", or " + joined(on_devices, " or "));
  }
  if (chosen != engine::cuda && !holds(on_host, kernel)) {
    throw config::usage_error(option + ": " + kernel + " counts on CUDA devices; give " +
                              names_of_options.with("--engine", "cuda") + ", or " + joined(on_host, " or "));
  }
}

}  // namespace

void unknown_name(const std::string& option, std::string_view name, const std::vector<std::string_view>& known) {
  std::string message = option + ": there is no " + config::quote(name) + "; known are " + joined(known);
  if (const auto meant = config::likely_name(name, known)) message += "; did you mean " + std::string(*meant) + "?";
  throw config::usage_error(message);
}

void check_range(const std::string& option, std::uint64_t value, std::uint64_t lowest, std::uint64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw config::usage_error(option + ": " + std::to_string(value) + " is not a number from " + std::to_string(lowest) +
                            " to " + std::to_string(highest));
}

const io::format* resolve_input_format(const std::string& name, const option_names& names_of_options) {
  if (name.empty() || name == "auto") return nullptr;
  if (const io::format* found = io::format_named(name)) return found;
  unknown_name(names_of_options.where("--input-format"), name, io::input_format_names());
}

std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const std::string& path,
                                                              const option_names& names_of_options) {
  if (path.empty()) return nullptr;
  const std::string prefix = names_of_options.where("--zstd-dictionary") + ": '" + path + "' ";
  try {
    return io::load_zstd_dictionary(path);
  } catch (const std::invalid_argument& e) {
    throw config::usage_error(prefix + e.what() + "; give a file that 'zstd --train' wrote");
  } catch (const std::system_error& e) {
    throw config::usage_error(prefix + "cannot be read: " + e.code().message());
  }
}

std::string_view resolve_engine(engine chosen, const option_names& names_of_options) {
  switch (chosen) {
    case engine::automatic:
      return "auto";
    case engine::host:
      return "host";
    case engine::cuda:
      return "cuda";
  }
  throw config::usage_error(names_of_options.where("--engine") + ": no value of the enumeration");
}

unsigned resolve_threads(unsigned given, const option_names& names_of_options) {
  constexpr unsigned max_threads = 1024;
  constexpr unsigned max_default = 64;
  check_range(names_of_options.where("--threads"), given, 0, max_threads);
  return given > 0 ? given : std::clamp(std::thread::hardware_concurrency(), 1U, max_default);
}

std::string resolve_kernel(const counting_options& options, const gpu::partition& counted,
                           const option_names& names_of_options) {
  const std::string& kernel = options.kernel;
  if (kernel.empty()) return {};
  check_engine_has(kernel, options.counting_engine, names_of_options);
  const bool on_devices = options.counting_engine == engine::cuda;
  const names able = on_devices ? gpu::cuda_kernel_names() : gpu::host_kernel_names_for(counted);
  if (holds(able, kernel)) return kernel;
  throw config::usage_error(names_of_options.where("--kernel") + ": " + kernel + " cannot count the " +
                            std::to_string(counted.classes) + " classes of this run; give " + joined(able, " or ") +
                            ", or no " + names_of_options.name("--kernel"));
}

std::vector<config::scheme> resolve_schemes(const counting_options& options, const option_names& names_of_options) {
  try {
    return config::make_schemes(options.schemes, options.ignore_case);
  } catch (const config::usage_error& error) {
    throw config::usage_error(names_of_options.where("--buckets") + ": " + error.what());
  }
}

std::optional<gpu::partition> resolve_pairs(const counting_options& options, std::span<const config::scheme> schemes,
                                            const option_names& names) {
  if (!options.pairs) return std::nullopt;
  const gpu::partition needed = pair_partition(schemes);
  if (needed.classes <= gpu::max_pair_classes) return needed;
  std::vector<std::string_view> scheme_names;
  for (const config::scheme& each : schemes) scheme_names.emplace_back(each.name);
  const bool is_one = scheme_names.size() == 1;
  throw config::usage_error(
      names.where("--pairs") + ": " + (is_one ? "scheme " : "schemes ") + joined(scheme_names, " and ") +
      (is_one ? " divides" : " together divide") + " the byte values into " + std::to_string(needed.classes) +
      " classes; pairs are counted for at most " + std::to_string(gpu::max_pair_classes) + "; give " +
      names.name("--buckets") +
      (is_one ? " with fewer buckets, such as letters or classes" : " with fewer schemes or with fewer buckets"));
}

}  // namespace gpuhist::pipeline
