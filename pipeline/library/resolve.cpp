#include "pipeline/library/resolve.hpp"

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

void check_engine_has(const std::string& option, const std::string& kernel, std::string_view engine) {
  const names on_host = gpu::host_kernel_names();
  const names on_devices = gpu::cuda_kernel_names();
  if (!holds(on_host, kernel) && !holds(on_devices, kernel)) {
    names known = on_host;
    known.insert(known.end(), on_devices.begin(), on_devices.end());
    unknown_name(option, kernel, known);
  }
  if (engine == "cuda" && !holds(on_devices, kernel)) {
    throw config::usage_error(option + ": " + kernel + " counts on the host; give --engine host, or " +
                              joined(on_devices, " or "));
  }
  if (engine != "cuda" && !holds(on_host, kernel)) {
    throw config::usage_error(option + ": " + kernel + " counts on CUDA devices; give --engine cuda, or " +
                              joined(on_host, " or "));
  }
}

}  // namespace

void unknown_name(const std::string& option, std::string_view name, const std::vector<std::string_view>& known) {
  std::string message = option + ": there is no " + config::quote(name) + "; known are " + joined(known);
  if (const auto meant = config::likely_name(name, known)) message += "; did you mean " + std::string(*meant) + "?";
  throw config::usage_error(message);
}

const io::format* resolve_input_format(const config::options& typed) {
  if (typed.input_format == "auto") return nullptr;
  if (const io::format* found = io::format_named(typed.input_format)) return found;
  unknown_name(typed.where("--input-format"), typed.input_format, io::input_format_names());
}

std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const config::options& typed) {
  if (!typed.zstd_dictionary) return nullptr;
  const std::string prefix = typed.where("--zstd-dictionary") + ": '" + *typed.zstd_dictionary + "' ";
  try {
    return io::load_zstd_dictionary(*typed.zstd_dictionary);
  } catch (const std::invalid_argument& e) {
    throw config::usage_error(prefix + e.what() + "; give a file that 'zstd --train' wrote");
  } catch (const std::system_error& e) {
    throw config::usage_error(prefix + "cannot be read: " + e.code().message());
  }
}

unsigned resolve_threads(const config::options& typed) {
  return typed.threads.value_or(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
}

std::string resolve_kernel(const config::options& typed, std::string_view engine, const gpu::partition& counted) {
  if (!typed.kernel) return {};
  const std::string option = typed.where("--kernel");
  check_engine_has(option, *typed.kernel, engine);
  const names able = engine == "cuda" ? gpu::cuda_kernel_names() : gpu::host_kernel_names_for(counted);
  if (holds(able, *typed.kernel)) return *typed.kernel;
  throw config::usage_error(option + ": " + *typed.kernel + " cannot count the " + std::to_string(counted.classes) +
                            " classes of this run; give " + joined(able, " or ") + ", or no --kernel");
}

const report_format* resolve_report_format(const config::options& typed) {
  const std::string default_name = typed.window ? "jsonl" : "table";
  const std::string typed_name = typed.format.value_or(default_name);
  const std::string& name = typed.window && typed_name == "json" ? default_name : typed_name;
  if (const report_format* found = find_report_format(name)) return found;
  std::vector<std::string_view> known;
  for (const report_format& each : report_formats()) known.push_back(each.name);
  unknown_name(typed.where("--format"), name, known);
}

std::vector<config::scheme> resolve_schemes(const config::options& typed) {
  try {
    return config::make_schemes(typed.buckets, typed.ignore_case);
  } catch (const config::usage_error& error) {
    throw config::usage_error(typed.where("--buckets") + ": " + error.what());
  }
}

std::optional<gpu::partition> resolve_pairs(const config::options& typed, std::span<const config::scheme> schemes) {
  if (!typed.pairs) return std::nullopt;
  const gpu::partition needed = pair_partition(schemes);
  if (needed.classes <= gpu::max_pair_classes) return needed;
  names scheme_names;
  for (const config::scheme& each : schemes) scheme_names.emplace_back(each.name);
  const bool is_one = scheme_names.size() == 1;
  throw config::usage_error(
      typed.where("--pairs") + ": " + (is_one ? "scheme " : "schemes ") + joined(scheme_names, " and ") +
      (is_one ? " divides" : " together divide") + " the byte values into " + std::to_string(needed.classes) +
      " classes; pairs are counted for at most " + std::to_string(gpu::max_pair_classes) + "; give --buckets " +
      (is_one ? "with fewer buckets, such as letters or classes" : "with fewer schemes or with fewer buckets"));
}

bool is_live(const config::options& typed, const report_format& format) {
  const bool is_filter = typed.pass_through != config::pass_through_mode::nothing;
  return typed.snapshot_every || typed.window || (is_filter && format.carries_alerts);  // SIGUSR1 asks for snapshots
}

writing resolve_writing(const config::options& typed, const report_format& format) {
  if (typed.append) {
    const std::string option = typed.where("--append");
    if (!typed.output) throw config::usage_error(option + ": there is no file to append to; give --output FILE");
    if (format.whole) {
      throw config::usage_error(option + ": a report of format " + std::string(format.name) +
                                " must be alone in its file; leave --append out, or give --format jsonl or csv");
    }
    return writing::append;
  }
  if (!is_live(typed, format)) return writing::whole;
  if (!format.whole) return writing::live;
  if (!typed.output) {
    throw config::usage_error(typed.where("--snapshot-every") + ": every snapshot of format " +
                              std::string(format.name) +
                              " replaces the previous one, which is impossible in a stream; give --output FILE, or "
                              "--format jsonl");
  }
  return writing::replacing;
}

}  // namespace gpuhist::pipeline
