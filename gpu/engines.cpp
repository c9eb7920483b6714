#include "gpu/engines.hpp"

#include "gpu/automatic_engine.hpp"
#include "gpu/cuda/cuda_engine.hpp"
#include "gpu/cuda/devices.hpp"
#include "gpu/host/host_engine.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace gpuhist::gpu {
namespace {

engine_choice make_host(const engine_request& request) {
  return {.taken = std::make_unique<host::host_engine>(request), .reason = {}};
}

engine_forecast forecast_cuda(const engine_request& request) {
  const auto api = cuda::make_runtime();
  cuda::device_choice chosen = cuda::choose_devices(cuda::find_devices(*api), request);
  const auto devices = static_cast<unsigned>(chosen.taken.size());
  const unsigned lanes = request.streams != 0 ? request.streams : cuda::default_lanes;
  return {
      .cuda = devices > 0, .devices = std::move(chosen.taken), .lanes = devices * lanes, .why = std::move(chosen.why)};
}

engine_request with_forecast(engine_request request) {
  if (!request.forecast) request.forecast = forecast_cuda(request);
  return request;
}

engine_choice make_cuda(const engine_request& request) {
  if (!request.kernel.empty() && request.kernel != cuda::kernel_name) {
    throw engine_error("the CUDA engine has no kernel '" + request.kernel + "', only " +
                       std::string(cuda::kernel_name));
  }
  const engine_request full = with_forecast(request);
  if (!full.forecast->cuda) throw engine_error(full.forecast->why);
  return {.taken = std::make_unique<cuda::cuda_engine>(cuda::make_runtime(), full), .reason = {}};
}

// Two copies per lane are in flight. More would not help: chunks are merged in order, so chunks of the host wait for
// those of the device.
std::uint64_t max_device_bytes(const engine_request& request, unsigned lanes) {
  return std::uint64_t{2} * std::max(lanes, 1U) * std::max(request.max_copy, request.max_chunk);
}

// Devices that are requested by number are enumerated at once, so that a wrong number is an error. Otherwise devices
// are enumerated only if the cores are saturated: enumeration alone takes tenths of a second.
engine_forecast forecast_auto(const engine_request& request) {
  engine_forecast forecast;
  if (!request.devices.empty() || request.all_devices) {
    forecast = forecast_cuda(request);
    forecast.shared = std::exchange(forecast.cuda, false);
  } else if (cuda::may_have_devices()) {
    forecast.shared = true;
    forecast.lanes = request.streams != 0 ? request.streams : cuda::default_lanes;
  } else {
    forecast.why = cuda::why_no_devices();
  }
  return forecast;
}

// If devices were not enumerated yet, the waking thread does it.
std::unique_ptr<engine> wake_cuda(const engine_request& request, const std::vector<cuda_device>& devices) {
  auto api = cuda::make_runtime();
  engine_request full = request;
  full.forecast = devices.empty() ? forecast_cuda(request) : engine_forecast{.cuda = true, .devices = devices};
  if (!full.forecast->cuda) throw engine_error(full.forecast->why);
  return std::make_unique<cuda::cuda_engine>(std::move(api), full);
}

engine_choice make_auto(const engine_request& request) {
  const engine_forecast forecast = request.forecast ? *request.forecast : forecast_auto(request);
  if (!forecast.shared) return {.taken = make_host(request).taken, .reason = forecast.why};
  auto shared = std::make_unique<automatic_engine>(
      request,
      automatic_engine::settings{.wake = [request, devices = forecast.devices] { return wake_cuda(request, devices); },
                                 .max_device_bytes = max_device_bytes(request, forecast.lanes)});
  return {.taken = std::move(shared), .reason = {}};
}

struct engine_row {
  std::string_view name;
  std::string_view synonym;
  engine_choice (*make)(const engine_request&);
};

constexpr std::array<engine_row, 3> table{{
    {.name = "auto", .synonym = {}, .make = make_auto},
    {.name = "cuda", .synonym = "gpu", .make = make_cuda},
    {.name = "host", .synonym = "cpu", .make = make_host},
}};

const engine_row& find(std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(),
                                [&](const engine_row& each) { return each.name == name || each.synonym == name; });
  if (row == table.end() || name.empty()) throw std::invalid_argument("unknown engine '" + std::string(name) + "'");
  return *row;
}

}  // namespace

std::vector<std::string_view> engine_names() {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.name);
  for (const auto& row : table) {
    if (!row.synonym.empty()) names.push_back(row.synonym);
  }
  return names;
}

std::string_view canonical_engine(std::string_view name) { return find(name).name; }

engine_forecast forecast_engine(std::string_view name, const engine_request& request) {
  const std::string_view canonical = canonical_engine(name);
  if (canonical == "host") return {.why = "the host was requested"};
  return canonical == "auto" ? forecast_auto(request) : forecast_cuda(request);
}

engine_choice make_engine(std::string_view name, const engine_request& request) { return find(name).make(request); }

}  // namespace gpuhist::gpu
