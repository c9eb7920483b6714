#include "pipeline/library/counting_plan.hpp"

#include "config/usage_error.hpp"
#include "pipeline/library/plan.hpp"

#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

std::string name_of(engine chosen) {
  switch (chosen) {
    case engine::automatic:
      return "auto";
    case engine::host:
      return "host";
    case engine::cuda:
      return "cuda";
  }
  throw config::usage_error("counting_options::counting_engine: no such engine");
}

config::options typed_for(const counting_options& options) {
  constexpr unsigned max_threads = 1024;
  constexpr std::uint64_t default_memory = std::uint64_t{256} << 20U;
  if (options.threads > max_threads) {
    throw config::usage_error("counting_options::threads: " + std::to_string(options.threads) + ", more than " +
                              std::to_string(max_threads));
  }
  config::options typed;
  typed.inputs = {"/dev/null"};  // inputs are fed: none is read
  typed.buckets = options.schemes;
  typed.ignore_case = options.ignore_case;
  typed.byte_counts = options.byte_counts;
  typed.engine = name_of(options.counting_engine);
  typed.devices = options.devices;
  typed.all_devices = options.all_devices;
  if (options.streams > 0) typed.streams = options.streams;
  if (!options.kernel.empty()) typed.kernel = options.kernel;
  if (options.threads > 0) typed.threads = options.threads;
  typed.memory_limit = options.memory_limit > 0 ? options.memory_limit : default_memory;
  return typed;
}

}  // namespace

counting_plan make_plan(const counting_options& options) {
  counting_plan planned = make_plan(typed_for(options));
  planned.inputs.clear();
  planned.source_bytes.reset();
  return planned;
}

report make_report(const counting_plan& planned, report::kind kind, run_counts counts) {
  report made;
  static_cast<run_counts&>(made) = std::move(counts);
  made.type = kind;
  made.schemes = planned.schemes;
  made.byte_counts = planned.byte_counts;
  made.measuring = planned.measuring;
  made.ignore_case = planned.ignore_case;
  return made;
}

}  // namespace gpuhist::pipeline
