// The inventory for people: the engines, then each CUDA device, then the host.
#include "config/size.hpp"
#include "report/formats/devices_report.hpp"
#include "report/formats/text.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t key_width = 14;
constexpr std::size_t narrowest_value = 20;  // on narrower terminals lines are wrapped by the terminal

// A key and its value; words that do not fit continue on the next line, below the value.
std::string entry(const std::string& key, const std::string& value, unsigned width) {
  const std::size_t room = std::max<std::size_t>(width, key_width + narrowest_value) - key_width;
  std::string text = key + std::string(key_width - std::min(key_width, columns(key)), ' ');
  std::size_t used = 0;
  for (std::string_view rest = value; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (used > 0 && used + 1 + columns(word) > room) {
      text += "\n" + std::string(key_width, ' ');
      used = 0;
    }
    if (used > 0) text += ' ';
    text += word;
    used += columns(word) + (used > 0 ? 1 : 0);
  }
  return text + "\n";
}

std::string link_text(const gpu::pci_link& link) {
  if (!link.generation && !link.width) return "not reported";
  const std::string generation = link.generation ? "PCIe " + std::to_string(*link.generation) : "PCIe";
  return link.width ? generation + " x" + std::to_string(*link.width) : generation;
}

std::string link_text(const gpu::pci_place& place) {
  if (place.best == gpu::pci_link{}) return link_text(place.now);
  std::string text = link_text(place.best);
  if (place.now == place.best) return text;
  text += ", now " + link_text(place.now);
  const bool slower = place.now.generation && place.best.generation && *place.now.generation < *place.best.generation;
  return slower ? text + " (links slow down while idle)" : text;
}

std::string place_text(const gpu::listed_device& device) {
  const std::string bus = device.pci_bus_id.empty() ? "PCI bus id not reported" : device.pci_bus_id;
  return bus + ", NUMA node " + (device.place.numa_node ? std::to_string(*device.place.numa_node) : "not reported");
}

// The tuning of the kernel, and the properties that it depends on.
std::string detail_lines(const gpu::listed_device& device, unsigned width) {
  return entry("  shared",
               config::format_size(device.shared_bytes) + " a multiprocessor, " +
                   config::format_size(device.shared_bytes_block) + " a block at most",
               width) +
         entry("  threads", std::to_string(device.threads) + " a multiprocessor", width) +
         entry("  L2 cache", config::format_size(device.l2_bytes), width) +
         entry("  tuning", "for text in its memory: " + describe(device.tuning), width);
}

std::string device_lines(const gpu::listed_device& device, unsigned width, bool verbose) {
  std::string text = entry("device " + std::to_string(device.number),
                           device.name.empty() ? "(name not reported)" : printable(device.name), width);
  text += entry("  usable", device.unusable.empty() ? "yes" : "no: " + printable(device.unusable), width);
  if (device.name.empty()) return text;  // its properties could not be read
  text += entry("  compute",
                std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor) + ", " +
                    std::to_string(device.multiprocessors) + " multiprocessors",
                width);
  text += entry("  memory", config::format_size(device.memory_bytes), width);
  text += entry("  link", link_text(device.place), width);
  text += entry("  bus", place_text(device), width);
  return verbose ? text + detail_lines(device, width) : text;
}

std::string cuda_lines(const gpu::listed_cuda& cuda, unsigned width, bool verbose) {
  if (!cuda.built_in) return entry("CUDA", "built without CUDA", width);
  const auto version = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
  std::string text =
      entry("CUDA", "driver " + version(cuda.driver_version) + ", runtime " + version(cuda.runtime_version), width);
  for (const gpu::listed_kernel& each : cuda.kernels) {
    text += entry("  kernel", each.name + ": " + each.description, width);
  }
  for (const gpu::listed_device& each : cuda.devices) text += device_lines(each, width, verbose);
  return text;
}

std::string engine_lines(const gpu::inventory& found, unsigned width) {
  std::string text = entry("engine", "usable", width);
  for (const gpu::listed_engine& each : found.engines) {
    text += entry(each.name, (each.usable ? "yes: " : "no: ") + printable(each.why), width);
  }
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

std::string host_lines(const devices_report& listed, unsigned width) {
  const gpu::listed_host& host = listed.found.host;
  const std::string cores = host.cores ? std::to_string(*host.cores) : "not reported";
  std::string text = entry("host", "cores " + cores + ", threads " + std::to_string(host.threads), width);
  std::string targets;
  for (const std::string& each : host.simd_targets) targets += (targets.empty() ? "" : " ") + each;
  text += entry("  SIMD", targets + " (the first is used)", width);
  for (const gpu::listed_kernel& each : host.kernels) {
    const std::string target = each.instruction_set.empty() ? "" : " (" + each.instruction_set + ")";
    text += entry("  " + each.name, each.description + target, width);
  }
  text += "\n" + entry("scheme", listed.verbose ? "host kernel, and all kernels that --kernel may name" : "host kernel",
                       width);
  for (const scheme_kernel& each : listed.schemes) {
    text += entry(printable(each.scheme), each.kernel + (listed.verbose ? ": " + joined(each.able) : ""), width);
  }
  return text;
}

}  // namespace

std::string render_devices_table(const devices_report& listed, const render_target& target) {
  return engine_lines(listed.found, target.width) + "\n" + cuda_lines(listed.found.cuda, target.width, listed.verbose) +
         "\n" + host_lines(listed, target.width);
}

}  // namespace gpuhist::pipeline
