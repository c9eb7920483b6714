#include "library/option_names.hpp"

#include <algorithm>
#include <array>
#include <span>

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
    {.option = "--device-decode", .name = "counting_options::device_decode"},
    {.option = "--device-memory", .name = "counting_options::device_memory"},
    {.option = "--delimiter", .name = "unit_options::delimiter"},
    {.option = "--devices", .name = "counting_options::devices"},
    {.option = "--distribution-of", .name = "unit_options::distribution_of"},
    {.option = "--each", .name = "counting_options::units"},
    {.option = "--engine", .name = "counting_options::counting_engine"},
    {.option = "--fail-fast", .name = "counting_options::fail_fast"},
    {.option = "--fail-if", .name = "counting_options::fail_if"},
    {.option = "--fail-on-unknown", .name = "file_options::fail_on_unknown"},
    {.option = "--files-from", .name = "file_options::list"},
    {.option = "--follow", .name = "file_options::follow"},
    {.option = "--input-format", .name = "file_options::format"},
    {.option = "--jsonl-field", .name = "unit_options::jsonl_field"},
    {.option = "--kernel", .name = "counting_options::kernel"},
    {.option = "--max-output", .name = "file_options::max_output"},
    {.option = "--measures", .name = "counting_options::measures"},
    {.option = "--memory-limit", .name = "counting_options::memory_limit"},
    {.option = "--null", .name = "list_options::terminator"},
    {.option = "--pairs", .name = "counting_options::pairs"},
    {.option = "--pass-through", .name = "file_options::pass_through"},
    {.option = "--previous-windows", .name = "counting_options::previous_windows"},
    {.option = "--recursive", .name = "file_options::trees"},
    {.option = "--recursive (-r)", .name = "file_options::trees"},
    {.option = "--slots", .name = "file_options::slots"},
    {.option = "--snapshot-every", .name = "file_options::snapshot_every"},
    {.option = "--step", .name = "window_options::step"},
    {.option = "--streams", .name = "counting_options::streams"},
    {.option = "--strict-names", .name = "file_options::strict_names"},
    {.option = "--threads", .name = "counting_options::threads"},
    {.option = "--top", .name = "unit_options::top"},
    {.option = "--utf8", .name = "file_options::utf8"},
    {.option = "--watch", .name = "counting_options::watch"},
    {.option = "--where", .name = "unit_options::where"},
    {.option = "--window", .name = "counting_options::windows"},
    {.option = "--zstd-dictionary", .name = "file_options::dictionary"},
});

// Of inputs that are fed. Empty: there is no such field.
constexpr auto fields_of_counter = std::to_array<field>({
    {.option = "--chunk-size", .name = ""},
    {.option = "--input-format", .name = "input_options::format"},
    {.option = "--max-output", .name = "input_options::max_output"},
    {.option = "--slots", .name = ""},
    {.option = "--utf8", .name = ""},
    {.option = "--zstd-dictionary", .name = "count_files() and file_options::dictionary"},
});

constexpr auto fields_of_reading = std::to_array<field>({
    {.option = "--buckets", .name = "schemes"},
    {.option = "--byte-counts", .name = "byte_counts"},
    {.option = "--ignore-case", .name = "ignore_case"},
    {.option = "--pairs", .name = "pairs"},
    {.option = "gpuhist --byte-counts --format json", .name = "results::to_json() with byte_counts"},
});

// The option itself if the table does not have it.
std::string_view name_in(std::span<const field> table, std::string_view option) {
  const auto found = std::ranges::find(table, option, &field::option);
  return found == table.end() ? option : found->name;
}

std::string_view field_of_counter(std::string_view option) {
  const std::string_view own = name_in(fields_of_counter, option);
  return own == option ? field_of_files(option) : own;
}

}  // namespace

std::string_view field_of_files(std::string_view option) { return name_in(fields, option); }

std::string_view field_of_reading(std::string_view option) { return name_in(fields_of_reading, option); }

option_names option_names::of_counter() {
  option_names made;
  made.naming_ = field_of_counter;
  return made;
}

std::string option_names::where(std::string_view option) const {
  const auto found = origins_.find(option);
  return found == origins_.end() ? name(option) : found->second;
}

}  // namespace gpuhist::pipeline
