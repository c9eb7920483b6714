// The plan of a run and of how its counts are checked and measured: what counter and count_files have in common.
#pragma once

#include "config/option_table.hpp"
#include "gpuhist/files.hpp"
#include "gpuhist/options.hpp"
#include "library/resolve.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "report/conditions/watcher.hpp"
#include "report/formats/report.hpp"
#include "report/measures/measure.hpp"
#include "report/units/unit_plan.hpp"

#include <memory>
#include <span>
#include <vector>

namespace gpuhist::library {

struct counting_plan : pipeline::run_plan {
  std::vector<pipeline::scheme_view> schemes;  ///< in the order in which they were requested
  report::gates::watch_list watched;           ///< the conditions that counts are checked against
  report::measures::measuring measuring;       ///< measures that are computed from the counts of the 256 byte values
  std::shared_ptr<const report::units::unit_plan> units;  ///< null: no units are measured
  std::vector<config::decided_option> decided;            ///< options that decide what is counted, for identities
  bool ignore_case = false;
  bool byte_counts = false;
};

/// The plan of count_files(). If the engine is not the host, probes for CUDA devices, because the size of slots depends
/// on the engine. Throws config::usage_error for unknown names, for values outside their limits and for sizes that
/// exceed the memory limit, gpu::engine_error for devices that were given by number and are not usable.
counting_plan make_plan(const file_options& options, std::span<const asked_value> reported = {});

/// The plan of a counter: its inputs are fed, so none is read. Throws config::usage_error and gpu::engine_error.
counting_plan make_plan(const counting_options& options);

/// Adds the files that reports are written to. None of them is an input. Throws config::usage_error if one is a named
/// input, or the list of names.
void set_outputs(counting_plan& planned, std::shared_ptr<const io::output_files> outputs);

/// The report of a run's counts, as the plan asks for it, without statistics.
report::run_report make_report(const counting_plan& planned, report::run_report::kind kind,
                               pipeline::run_counts counts);

/// Sets `planned.buffers`, `planned.readers` and the text that units hold, from the options, the engines and the counts
/// that are planned. Throws config::option_error if the buffers need more than the memory limit.
void size_buffers(const file_options& options, counting_plan& planned);

}  // namespace gpuhist::library
