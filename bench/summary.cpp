#include "bench/summary.hpp"

#include "bench/table.hpp"
#include "config/size.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace gpuhist::bench {
namespace {

constexpr std::string_view main_kernel = "lane_private";
constexpr std::size_t name_width = 46;
constexpr std::size_t column_width = 12;

/// Groups that differ only in the data set.
using block = std::vector<const measured_group*>;
using column = std::function<std::optional<double>(const measured_group&)>;

std::vector<block> blocks_of(std::span<const measured_group> groups) {
  std::vector<block> blocks;
  for (const measured_group& each : groups) {
    const auto belongs = [&each](const block& to) {
      return to.front()->bytes == each.bytes && to.front()->counted == each.counted;
    };
    const auto found = std::ranges::find_if(blocks, belongs);
    if (found == blocks.end()) {
      blocks.push_back({&each});
    } else {
      found->push_back(&each);
    }
  }
  return blocks;
}

std::string line(const std::string& name, const block& groups, const column& value) {
  std::string text = left("  " + name, name_width);
  for (const measured_group* each : groups) text += right(fixed(value(*each), 3), column_width);
  return text;
}

/// Time of the slowest over that of the fastest data set: 1 if the time does not depend on the bytes.
std::optional<double> spread(std::string_view kernel, const block& groups) {
  std::vector<double> times;
  for (const measured_group* each : groups) {
    const measurement* const found = each->find(kernel);
    if (found == nullptr || !found->has_rate()) return std::nullopt;
    times.push_back(found->median);
  }
  const auto [least, most] = std::ranges::minmax(times);
  return most / least;
}

std::string share_of_ceiling(const std::string& kernel, const block& groups) {
  const auto share = [&kernel](const measured_group& group) { return speed_up(group.find(kernel), group.ceiling()); };
  return line(kernel + ", of ceiling", groups, share) + right(fixed(spread(kernel, groups), 3), column_width) + "\n";
}

std::string compared_with(const std::string& peer, const block& groups) {
  const auto times = [&peer](const measured_group& group) {
    return speed_up(group.find(main_kernel), group.find(peer));
  };
  return line(std::string(main_kernel) + ", times as fast as " + peer, groups, times) + "\n";
}

bool is_listed(const measurement& row) {
  return row.kernel == main_kernel || row.kernel == "bit_sliced" || row.kind == role::variant || row.kind == role::peer;
}

std::string block_text(const block& groups) {
  const measured_group& first = *groups.front();
  const std::string title = config::format_size(first.bytes) + ", " + std::string(name_of(first.counted));
  std::string text = left(title, name_width);
  for (const measured_group* each : groups) text += right(each->data, column_width);
  text += right("max/min", column_width) + "\n";
  for (const measurement& each : first.rows) {
    if (is_listed(each)) text += share_of_ceiling(each.kernel, groups);
  }
  if (first.find(main_kernel) == nullptr) return text;
  for (const measurement& each : first.rows) {
    if (each.kind == role::peer) text += compared_with(each.kernel, groups);
  }
  return text;
}

std::string verdict_text(std::span<const measured_group> groups) {
  std::size_t right_ones = 0;
  std::string wrong;
  for (const measured_group& group : groups) {
    for (const measurement& each : group.rows) {
      if (each.counts == verdict::right && each.kind != role::host) ++right_ones;
      if (each.counts != verdict::wrong) continue;
      wrong += "WRONG counts: " + each.kernel + ", " + group.data + ", " + config::format_size(group.bytes) + ", " +
               std::string(name_of(group.counted)) + "\n";
    }
  }
  return wrong + std::to_string(right_ones) + " measurements with right counts in every run\n";
}

}  // namespace

std::string summary_of(std::span<const measured_group> groups) {
  std::string text;
  for (const block& each : blocks_of(groups)) text += block_text(each) + "\n";
  return text + verdict_text(groups);
}

bool any_wrong(std::span<const measured_group> groups) {
  return std::ranges::any_of(groups, [](const measured_group& group) {
    return std::ranges::any_of(group.rows, [](const measurement& row) { return row.counts == verdict::wrong; });
  });
}

}  // namespace gpuhist::bench
