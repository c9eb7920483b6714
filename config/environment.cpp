#include "config/environment.hpp"

#include "config/option_values.hpp"
#include "config/quote.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace gpuhist::config {
namespace {

constexpr std::string_view prefix = "GPUHIST_";

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> known;
  for (const option_row& row : option_table()) {
    if (row.is_setting()) known.push_back(row.variable().substr(prefix.size()));
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto meant = likely_name(std::string_view(name).substr(prefix.size()), names);
  throw usage_error(on_one_line(name) + ": no option has this variable name; " +
                    (meant ? "did you mean " + std::string(prefix) + std::string(*meant) + "?"
                           : "the names are those of the options, as GPUHIST_CHUNK_SIZE; unset it"));
}

std::string flag_value(const std::string& name, const std::string& typed) {
  try {
    return parse_switch(typed);
  } catch (const usage_error& error) {
    throw usage_error(name + ": " + error.what());
  }
}

}  // namespace

settings settings_of_environment(std::span<const std::string> environment) {
  settings found;
  for (const std::string& each : environment) {
    if (!each.starts_with(prefix)) continue;
    const std::size_t sign = std::min(each.find('='), each.size());
    const std::string name = each.substr(0, sign);
    const std::string value = sign == each.size() ? "" : each.substr(sign + 1);
    if (value.empty()) continue;
    const auto row = std::find_if(option_table().begin(), option_table().end(),
                                  [&](const option_row& r) { return r.is_setting() && r.variable() == name; });
    if (row == option_table().end()) refuse_unknown(name);
    found.push_back({&*row, row->is_flag() ? flag_value(name, value) : value, name});
  }
  return found;
}

}  // namespace gpuhist::config
