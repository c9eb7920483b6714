// `gpuhist devices`: lists the engines, kernels and devices of this machine. An unusable device is not an error.
#include "command/commands.hpp"
#include "command/plan.hpp"
#include "config/scheme.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "gpu/inventory.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/devices_report.hpp"
#include "report/output/destination.hpp"
#include "report/output/terminal.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::command {
namespace {

std::vector<report::scheme_kernel> kernels_of_schemes() {
  std::vector<report::scheme_kernel> all;
  for (const std::string_view name : config::scheme_names()) {
    const gpu::partition counted = pipeline::coarsest_partition(std::array{config::find_scheme(name)});
    const std::vector<std::string_view> able = gpu::host_kernel_names_for(counted);
    all.push_back({.scheme = std::string(name),
                   .kernel = gpu::host_kernel_for(counted),
                   .able = std::vector<std::string>(able.begin(), able.end())});
  }
  return all;
}

void check(const config::options& typed) {
  if (!typed.inputs.empty()) {
    throw config::usage_error("devices: takes no FILE, but was given " + config::quote(typed.inputs.front()));
  }
  const std::string format = format_name_of(typed);
  if (format != "table" && format != "json") {
    throw config::option_error(typed.format ? "format" : "output",
                               "the list of devices has no format " + config::quote(format) + "; give table or json");
  }
}

}  // namespace

ending list_devices(const config::options& typed, const io::open_descriptors& open_descriptors) {
  check(typed);
  report::destination output(typed.output, report::writing::whole, open_descriptors);
  const report::render_target target = report::target_for(output);
  const report::devices_report listed{
      .found = gpu::take_inventory(), .schemes = kernels_of_schemes(), .verbose = typed.verbose};
  output.write(format_name_of(typed) == "json" ? report::render_devices_json(listed)
                                               : report::render_devices_table(listed, target));
  output.commit();
  return {};
}

}  // namespace gpuhist::command
