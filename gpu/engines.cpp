#include "gpu/engines.hpp"

#include "gpu/cuda/cuda_engine.hpp"
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

engine_choice make_cuda(const engine_request& request) {
  return {.taken = std::make_unique<cuda::cuda_engine>(cuda::make_runtime(), request), .reason = {}};
}

// A device that is there but cannot be had (another process took its memory) is a reason to count on the host, too.
engine_choice make_auto(const engine_request& request) {
  std::string why;
  engine_choice choice;
  try {
    if (will_use_cuda("auto", why)) choice = make_cuda(request);
  } catch (const engine_error& unusable) {
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

bool will_use_cuda(std::string_view name, std::string& why) {
  if (canonical_engine(name) == "host") {
    why = "the host was asked for";
    return false;
  }
  const auto api = cuda::make_runtime();
  auto chosen = cuda::choose_device(*api);
  why = std::move(chosen.why);
  return chosen.device.has_value();
}

engine_choice make_engine(std::string_view name, const engine_request& request) { return find(name).make(request); }

}  // namespace gpuhist::gpu
