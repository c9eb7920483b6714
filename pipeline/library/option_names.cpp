#include "pipeline/library/option_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::pipeline {
namespace {

struct field {
  std::string_view option;
  std::string_view name;
};

constexpr auto fields = std::to_array<field>({
    {.option = "--alert-if", .name = "counting_options::alert_if"},
    {.option = "--all-devices", .name = "counting_options::all_devices"},
    {.option = "--baseline", .name = "counting_options::baseline"},
    {.option = "--buckets", .name = "counting_options::schemes"},
    {.option = "--chunk-size", .name = "file_options::chunk_size"},
    {.option = "--devices", .name = "counting_options::devices"},
    {.option = "--engine", .name = "counting_options::counting_engine"},
    {.option = "--fail-fast", .name = "counting_options::fail_fast"},
    {.option = "--fail-if", .name = "counting_options::fail_if"},
    {.option = "--files-from", .name = "file_options::list"},
    {.option = "--follow", .name = "file_options::follow"},
    {.option = "--input-format", .name = "file_options::format"},
    {.option = "--kernel", .name = "counting_options::kernel"},
    {.option = "--max-output", .name = "file_options::max_output"},
    {.option = "--measures", .name = "counting_options::measures"},
    {.option = "--memory-limit", .name = "counting_options::memory_limit"},
    {.option = "--pairs", .name = "counting_options::pairs"},
    {.option = "--pass-through", .name = "file_options::pass_through"},
    {.option = "--previous-windows", .name = "counting_options::previous_windows"},
    {.option = "--recursive", .name = "file_options::trees"},
    {.option = "--slots", .name = "file_options::slots"},
    {.option = "--snapshot-every", .name = "file_options::snapshot_every"},
    {.option = "--step", .name = "window_options::step"},
    {.option = "--streams", .name = "counting_options::streams"},
    {.option = "--threads", .name = "counting_options::threads"},
    {.option = "--watch", .name = "counting_options::watch"},
    {.option = "--window", .name = "counting_options::windows"},
    {.option = "--zstd-dictionary", .name = "file_options::dictionary"},
});

}  // namespace

std::string option_names::where(std::string_view option) const {
  const auto found = origins_.find(option);
  return found == origins_.end() ? name(option) : found->second;
}

std::string option_names::name(std::string_view option) const {
  if (is_command_) return std::string(option);
  const auto* const found = std::ranges::find(fields, option, &field::option);
  return std::string(found == fields.end() ? option : found->name);
}

}  // namespace gpuhist::pipeline
