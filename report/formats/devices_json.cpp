// The inventory as one line of JSON, schema gpuhist.devices/1.
#include "report/formats/devices_report.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

json or_null(const std::optional<unsigned>& number) { return number ? json(*number) : json(nullptr); }
json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json link_of(const gpu::pci_place& place) {
  return {{"generation", or_null(place.now.generation)},
          {"width", or_null(place.now.width)},
          {"max_generation", or_null(place.best.generation)},
          {"max_width", or_null(place.best.width)}};
}

json tuning_of(const gpu::cuda::kernel_tuning& tuning) {
  return {{"threads", tuning.threads},      {"blocks_per_multiprocessor", tuning.blocks_per_multiprocessor},
          {"copies", tuning.copies},        {"shared_bytes", tuning.shared_bytes()},
          {"loads", tuning.loads},          {"tile_bytes", tuning.tile_bytes()},
          {"description", describe(tuning)}};
}

void add_details(json& to, const gpu::listed_device& device) {
  to["shared_bytes"] = device.shared_bytes;
  to["shared_bytes_block"] = device.shared_bytes_block;
  to["threads_per_multiprocessor"] = device.threads;
  to["l2_bytes"] = device.l2_bytes;
  to["tuning"] = tuning_of(device.tuning);
}

json device_of(const gpu::listed_device& device, bool verbose) {
  json out = {{"number", device.number}, {"name", or_null(device.name)}, {"usable", device.unusable.empty()}};
  if (!device.unusable.empty()) out["reason"] = device.unusable;
  if (device.name.empty()) return out;  // its properties could not be read
  out["compute_capability"] = std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor);
  out["multiprocessors"] = device.multiprocessors;
  out["memory_bytes"] = device.memory_bytes;
  out["pci_bus_id"] = or_null(device.pci_bus_id);
  out["link"] = link_of(device.place);
  out["numa_node"] = or_null(device.place.numa_node);
  if (verbose) add_details(out, device);
  return out;
}

json engines_of(const gpu::inventory& found) {
  json all = json::array();
  for (const gpu::listed_engine& each : found.engines) {
    json engine = {{"name", each.name}};
    if (!each.synonym.empty()) engine["synonym"] = each.synonym;
    engine["usable"] = each.usable;
    engine["reason"] = each.why;
    all.push_back(std::move(engine));
  }
  return all;
}

json kernels_of(const std::vector<gpu::listed_kernel>& kernels) {
  json all = json::array();
  for (const gpu::listed_kernel& each : kernels) {
    all.push_back(
        {{"name", each.name}, {"instruction_set", or_null(each.instruction_set)}, {"description", each.description}});
  }
  return all;
}

json cuda_of(const gpu::listed_cuda& cuda, bool verbose) {
  json devices = json::array();
  for (const gpu::listed_device& each : cuda.devices) devices.push_back(device_of(each, verbose));
  return {{"built_in", cuda.built_in},
          {"driver_version", or_null(cuda.driver_version)},
          {"runtime_version", or_null(cuda.runtime_version)},
          {"kernels", kernels_of(cuda.kernels)},
          {"devices", std::move(devices)}};
}

json host_of(const devices_report& listed) {
  const gpu::listed_host& host = listed.found.host;
  json schemes = json::object();
  json able = json::object();
  for (const scheme_kernel& each : listed.schemes) {
    schemes[each.scheme] = each.kernel;
    able[each.scheme] = each.able;
  }
  json out = {{"cores", or_null(host.cores)},
              {"threads", host.threads},
              {"simd_targets", host.simd_targets},
              {"kernels", kernels_of(host.kernels)},
              {"schemes", std::move(schemes)}};
  if (listed.verbose) out["scheme_kernels"] = std::move(able);
  return out;
}

}  // namespace

std::string render_devices_json(const devices_report& listed) {
  const json out = {
      {"kind", "devices"},
      {"schema", "gpuhist.devices/1"},
      {"auto_takes", listed.found.auto_wakes_cuda ? json::array({"host", "cuda"}) : json::array({"host"})},
      {"engines", engines_of(listed.found)},
      {"cuda", cuda_of(listed.found.cuda, listed.verbose)},
      {"host", host_of(listed)}};
  // names from a driver may not be UTF-8: invalid bytes become U+FFFD
  return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace gpuhist::pipeline
