#include "gpu/cuda/devices.hpp"

#include "gpu/cuda/error.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gpuhist::gpu::cuda {
namespace {

// One of these exists if a driver is loaded: on Linux, under WSL, on a Tegra.
constexpr std::array driver_files = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"};

constexpr std::string_view no_driver = "no NVIDIA driver is loaded";

// The oldest architecture that nvcc 13 supports.
constexpr int oldest_capability = 75;

std::string reason_unusable(const device_properties& properties) {
  if (properties.compute_major * 10 + properties.compute_minor < oldest_capability) {
    return properties.name + " is too old: it has compute capability " + std::to_string(properties.compute_major) +
           "." + std::to_string(properties.compute_minor) + ", gpuhist needs 7.5 or more";
  }
  if (properties.prohibited)
    return properties.name + " cannot be used by programs: its compute mode is 'prohibited' (see nvidia-smi -c)";
  return {};
}

// Without a driver, the error of CUDA is that the driver is too old.
std::string why_not_counted(runtime& api, result code) {
  int driver = 0;
  if (api.driver_version(driver) == success && driver == 0) return std::string(no_driver);
  return api.error_text(code) + " (cudaGetDeviceCount)";
}

found_device inspect(runtime& api, int number) {
  found_device found{.number = number, .properties = {}, .unusable = {}};
  const result code = api.properties(number, found.properties);
  found.unusable =
      code == success ? reason_unusable(found.properties) : api.error_text(code) + " (cudaGetDeviceProperties)";
  return found;
}

cuda_device taken_from(const found_device& found) {
  return {.number = found.number, .name = found.properties.name, .multiprocessors = found.properties.multiprocessors};
}

std::string numbers_there(const found_devices& found) {
  if (found.all.empty()) return found.none;
  if (found.all.size() == 1) return "there is only device 0";
  return "there are devices 0 to " + std::to_string(found.all.size() - 1);
}

// "device 1: ...; device 3: ..."; without the number if there is only one device.
std::string reasons_unusable(const found_devices& found) {
  std::string text;
  for (const found_device& each : found.all) {
    if (each.unusable.empty()) continue;
    if (!text.empty()) text += "; ";
    if (found.all.size() > 1) text += "device " + std::to_string(each.number) + ": ";
    text += each.unusable;
  }
  return text;
}

cuda_device requested_device(const found_devices& found, unsigned number) {
  const std::string asked = "device " + std::to_string(number) + ": ";
  if (number >= found.all.size()) throw engine_error(asked + numbers_there(found));
  const found_device& device = found.all[number];
  if (!device.unusable.empty()) throw engine_error(asked + device.unusable + "; " + numbers_there(found));
  return taken_from(device);
}

std::vector<cuda_device> take(const found_devices& found, const engine_request& request) {
  std::vector<cuda_device> taken;
  for (const unsigned number : request.devices) {
    const cuda_device next = requested_device(found, number);
    if (std::ranges::find(taken, next.number, &cuda_device::number) == taken.end()) taken.push_back(next);
  }
  if (!request.devices.empty()) return taken;
  for (const found_device& each : found.all) {
    if (!each.unusable.empty()) continue;
    taken.push_back(taken_from(each));
    if (!request.all_devices) break;
  }
  return taken;
}

std::string describe(std::span<const cuda_device> taken) {
  std::string text = names_of(taken);
  if (taken.size() == 1) text += ", " + std::to_string(taken.front().multiprocessors) + " multiprocessors";
  return text;
}

}  // namespace

found_devices find_devices(runtime& api) {
  found_devices result;
  if (!api.built_in()) {
    result.none = "no CUDA device: this gpuhist was built without CUDA";
    return result;
  }
  int count = 0;
  if (const cuda::result code = api.device_count(count); code != success) {
    result.none = "no CUDA device: " + why_not_counted(api, code);
    return result;
  }
  if (count == 0) result.none = "no CUDA device";
  for (int number = 0; number < count; ++number) result.all.push_back(inspect(api, number));
  return result;
}

device_choice choose_devices(const found_devices& found, const engine_request& request) {
  device_choice choice{.taken = take(found, request), .why = {}};
  if (found.all.empty()) {
    choice.why = found.none;
  } else if (choice.taken.empty()) {
    choice.why = "no usable CUDA device: " + reasons_unusable(found);
  } else {
    choice.why = describe(choice.taken);
    if (request.all_devices && choice.taken.size() < found.all.size())
      choice.why += "; without " + reasons_unusable(found);
  }
  return choice;
}

std::string names_of(std::span<const cuda_device> devices) {
  std::vector<std::pair<std::string, unsigned>> counted;
  for (const cuda_device& each : devices) {
    const auto same = std::ranges::find(counted, each.name, [](const auto& entry) { return entry.first; });
    if (same == counted.end()) {
      counted.emplace_back(each.name, 1);
    } else {
      ++same->second;
    }
  }
  std::string text;
  for (const auto& [name, count] : counted) {
    if (!text.empty()) text += ", ";
    if (count > 1) text += std::to_string(count) + " x ";
    text += name;
  }
  return text;
}

bool may_have_devices() {
  if (!make_runtime()->built_in()) return false;
  return std::any_of(driver_files.begin(), driver_files.end(),
                     [](const char* name) { return ::access(name, F_OK) == 0; });
}

std::string why_no_devices() {
  if (!make_runtime()->built_in()) return "this gpuhist was built without CUDA";
  return "no CUDA device: " + std::string(no_driver);
}

}  // namespace gpuhist::gpu::cuda
