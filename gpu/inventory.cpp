#include "gpu/inventory.hpp"

#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/cuda/devices.hpp"
#include "gpu/cuda/error.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/host/kernel.hpp"
#include "gpu/host/process_limits.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

namespace gpuhist::gpu {
namespace {

namespace fs = std::filesystem;

// The instruction sets that SIMD kernels are compiled for and that this machine supports: names of Highway, best first;
// kernels use the first. "EMU128" and "SCALAR" use no SIMD instructions.
std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

// 13010 is 13.1.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string version_of(cuda::runtime& api, cuda::result (cuda::runtime::*ask)(int&)) {
  int version = 0;
  if ((api.*ask)(version) != cuda::success || version == 0) return {};
  return version_text(version);
}

listed_device listed(const cuda::found_device& found, const fs::path& sysfs) {
  const cuda::device_properties& properties = found.properties;
  return {.number = found.number,
          .name = properties.name,
          .unusable = found.unusable,
          .compute_major = properties.compute_major,
          .compute_minor = properties.compute_minor,
          .multiprocessors = properties.multiprocessors,
          .memory_bytes = properties.memory_bytes,
          .pci_bus_id = properties.pci_bus_id,
          .place = pci_place_of(sysfs, properties.pci_bus_id),
          .shared_bytes = properties.shared_bytes,
          .shared_bytes_block = properties.shared_bytes_block,
          .threads = properties.threads,
          .l2_bytes = properties.l2_bytes,
          .tuning = cuda::tuning_for({.compute_major = properties.compute_major,
                                      .compute_minor = properties.compute_minor,
                                      .multiprocessors = properties.multiprocessors,
                                      .shared_bytes = properties.shared_bytes,
                                      .shared_bytes_block = properties.shared_bytes_block,
                                      .threads = properties.threads})};
}

std::vector<listed_kernel> list_cuda_kernels() {
  return {{.name = std::string(cuda::kernel_name),
           .description = "a copy of the counters for every lane of a warp: lanes never collide, whatever the text"}};
}

std::string text_in(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// Threads of one core have the same package and core id.
std::optional<unsigned> count_cores(const fs::path& sysfs) {
  std::set<std::pair<std::string, std::string>> cores;
  std::error_code error;
  for (fs::directory_iterator each(sysfs / "devices" / "system" / "cpu", error), end; !error && each != end;
       each.increment(error)) {
    const fs::path topology = each->path() / "topology";
    const std::string core = text_in(topology / "core_id");
    if (!core.empty()) cores.emplace(text_in(topology / "physical_package_id"), core);
  }
  if (cores.empty()) return std::nullopt;
  return static_cast<unsigned>(cores.size());
}

listed_host list_host(const fs::path& sysfs) {
  listed_host all{
      .threads = host::available_cores(), .cores = count_cores(sysfs), .simd_targets = simd_targets(), .kernels = {}};
  for (const host::kernel& each : host::kernels()) {
    all.kernels.push_back({.name = std::string(each.name),
                           .description = std::string(each.description),
                           .instruction_set = std::string(each.instruction_set())});
  }
  return all;
}

// In the order of the table of engines.
std::vector<listed_engine> list_engines(const cuda::device_choice& chosen, const listed_host& host) {
  const bool cuda = !chosen.taken.empty();
  const std::string on_host = std::to_string(host.threads) + (host.threads == 1 ? " thread, " : " threads, ") +
                              (host.simd_targets.empty() ? "no SIMD" : host.simd_targets.front());
  // see automatic_engine
  const std::string automatic = cuda ? "takes host, and wakes cuda if the cores are saturated: " : "takes host: ";
  return {{.name = "auto", .synonym = {}, .usable = true, .why = automatic + chosen.why},
          {.name = "cuda", .synonym = "gpu", .usable = cuda, .why = chosen.why},
          {.name = "host", .synonym = "cpu", .usable = true, .why = on_host}};
}

}  // namespace

inventory take_inventory() {
  const auto api = cuda::make_runtime();
  return take_inventory(*api, "/sys");
}

inventory take_inventory(cuda::runtime& api, const fs::path& sysfs) {
  const cuda::found_devices found = cuda::find_devices(api);
  const cuda::device_choice chosen = cuda::choose_devices(found, {.counted = {}, .run = {}});
  inventory all{.engines = {},
                .auto_wakes_cuda = !chosen.taken.empty(),
                .cuda = {.built_in = api.built_in(),
                         .driver_version = version_of(api, &cuda::runtime::driver_version),
                         .runtime_version = version_of(api, &cuda::runtime::runtime_version),
                         .kernels = list_cuda_kernels(),
                         .devices = {}},
                .host = list_host(sysfs)};
  all.engines = list_engines(chosen, all.host);
  for (const cuda::found_device& each : found.all) all.cuda.devices.push_back(listed(each, sysfs));
  return all;
}

std::string host_kernel_for(const partition& counted) { return host::best_kernel(host::prepare(counted)).full_name(); }

std::vector<std::string_view> host_kernel_names() {
  std::vector<std::string_view> names;
  for (const host::kernel& each : host::kernels()) names.push_back(each.name);
  return names;
}

std::vector<std::string_view> host_kernel_names_for(const partition& counted) {
  const host::prepared_partition prepared = host::prepare(counted);
  std::vector<std::string_view> names;
  for (const host::kernel& each : host::kernels()) {
    if (each.applies(prepared)) names.push_back(each.name);
  }
  return names;
}

std::vector<std::string_view> cuda_kernel_names() { return {cuda::kernel_name}; }

}  // namespace gpuhist::gpu
