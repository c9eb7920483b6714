#include "bench/measurement.hpp"

#include <algorithm>

namespace gpuhist::bench {

std::string_view name_of(role value) {
  switch (value) {
    case role::ceiling:
      return "ceiling";
    case role::catalogue:
      return "catalogue";
    case role::variant:
      return "variant";
    case role::peer:
      return "peer";
    case role::host:
      return "host";
  }
  return "";
}

std::string_view name_of(verdict value) {
  switch (value) {
    case verdict::right:
      return "right";
    case verdict::wrong:
      return "wrong";
    case verdict::uncounted:
      return "";
  }
  return "";
}

const measurement* measured_group::ceiling() const {
  const measurement* fastest = nullptr;
  for (const measurement& each : rows) {
    if (each.kind != role::ceiling || !each.has_rate()) continue;
    if (fastest == nullptr || each.median < fastest->median) fastest = &each;
  }
  return fastest;
}

const measurement* measured_group::find(std::string_view kernel) const {
  const auto found = std::ranges::find(rows, kernel, &measurement::kernel);
  return found == rows.end() ? nullptr : &*found;
}

std::optional<double> speed_up(const measurement* measured, const measurement* reference) {
  if (measured == nullptr || reference == nullptr || !measured->has_rate() || !reference->has_rate())
    return std::nullopt;
  return reference->median / measured->median;
}

figures figures_of(const measured_group& group, const measurement& measured) {
  if (!measured.has_rate()) return {};
  return {.bytes_per_second = static_cast<double>(group.bytes) / measured.median,
          .of_ceiling = speed_up(&measured, group.ceiling()),
          .over_loop = speed_up(&measured, group.find(sequential_loop)),
          .over_global_atomic = speed_up(&measured, group.find("global_atomic"))};
}

}  // namespace gpuhist::bench
