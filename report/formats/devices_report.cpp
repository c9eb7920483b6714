#include "report/formats/devices_report.hpp"

#include "config/size.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

// For people: the engines, then each CUDA device, then the host.

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

// For programs.

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

std::string render_devices_table(const devices_report& listed, const render_target& target) {
  return engine_lines(listed.found, target.width) + "\n" + cuda_lines(listed.found.cuda, target.width, listed.verbose) +
         "\n" + host_lines(listed, target.width);
}

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

}  // namespace gpuhist::report
