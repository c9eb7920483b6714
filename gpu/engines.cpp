#include "gpu/engines.hpp"

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
  const engine_request full = with_forecast(request);
  if (!full.forecast->cuda) throw engine_error(full.forecast->why);
  return {.taken = std::make_unique<cuda::cuda_engine>(cuda::make_runtime(), full), .reason = {}};
}

// A device that is there but cannot be had (another process took its memory) is a reason to count on the host, too.
engine_choice make_auto(const engine_request& request) {
  const engine_request full = with_forecast(request);
  std::string why = full.forecast->why;
  engine_choice choice;
  try {
    if (full.forecast->cuda) choice = make_cuda(full);
  } catch (const engine_error& unusable) {
    if (!request.devices.empty()) throw;  // that device or none
    why += " cannot be used: " + std::string(unusable.what());
  }
  if (!choice.taken) choice = make_host(request);
  choice.reason = std::move(why);
  return choice;
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
  if (canonical_engine(name) == "host") return {.why = "the host was asked for"};
  return forecast_cuda(request);
}

engine_choice make_engine(std::string_view name, const engine_request& request) { return find(name).make(request); }

}  // namespace gpuhist::gpu
