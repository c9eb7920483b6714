#include "pipeline/program/batch/job_shards.hpp"

#include "config/usage_error.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint64_t cost_of_opening = std::uint64_t{64} << 10U;  // in bytes: an input is not free

// The variables of a task: its number, the first number, and the count of tasks.
struct task_variables {
  const char* number;
  const char* first;  // null: numbers begin with 0
  const char* count;
};

constexpr task_variables array_task{
    .number = "SLURM_ARRAY_TASK_ID", .first = "SLURM_ARRAY_TASK_MIN", .count = "SLURM_ARRAY_TASK_COUNT"};
constexpr task_variables step_task{.number = "SLURM_PROCID", .first = nullptr, .count = "SLURM_NTASKS"};
constexpr task_variables mpi_task{.number = "OMPI_COMM_WORLD_RANK", .first = nullptr, .count = "OMPI_COMM_WORLD_SIZE"};

std::optional<unsigned> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view all(text);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size()) return std::nullopt;
  return value;
}

std::optional<config::shard_choice> shard_in(const task_variables& names,
                                             const std::function<const char*(const char*)>& variable) {
  const std::optional<unsigned> number = number_in(variable(names.number));
  const std::optional<unsigned> count = number_in(variable(names.count));
  const unsigned first = names.first == nullptr ? 0 : number_in(variable(names.first)).value_or(0);
  if (!number || !count || *number < first || *number - first >= *count) return std::nullopt;
  return config::shard_choice{.number = *number - first + 1, .count = *count};
}

}  // namespace

std::vector<std::vector<std::size_t>> divide(const manifest& inputs, unsigned shards) {
  std::vector<std::size_t> by_size(inputs.entries.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::sort(by_size, [&](std::size_t a, std::size_t b) {
    const std::uint64_t of_a = inputs.entries[a].size;
    const std::uint64_t of_b = inputs.entries[b].size;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  using load = std::pair<std::uint64_t, unsigned>;  // bytes, shard: of equal loads the first shard
  std::priority_queue<load, std::vector<load>, std::greater<>> loads;
  for (unsigned each = 0; each < shards; ++each) loads.emplace(0, each);
  std::vector<std::vector<std::size_t>> made(shards);
  for (const std::size_t each : by_size) {
    const auto [bytes, shard] = loads.top();
    loads.pop();
    made[shard].push_back(each);
    loads.emplace(bytes + inputs.entries[each].size + cost_of_opening, shard);
  }
  for (std::vector<std::size_t>& each : made) std::ranges::sort(each);
  return made;
}

config::shard_choice resolve_shard(const config::shard_choice& typed,
                                   const std::function<const char*(const char*)>& variable) {
  if (typed.count != 0) return typed;
  const auto of_array = shard_in(array_task, variable);
  const auto of_step = shard_in(step_task, variable);
  // an array of steps with several tasks: one shard for each task of the whole
  if (of_array && of_step && of_step->count > 1) {
    return {.number = (of_array->number - 1) * of_step->count + of_step->number,
            .count = of_array->count * of_step->count};
  }
  for (const auto& each : {of_array, of_step, shard_in(mpi_task, variable)}) {
    if (each) return *each;
  }
  throw config::usage_error(
      "--shard auto: neither Slurm nor MPI has set the number of this task (SLURM_ARRAY_TASK_ID and _COUNT, "
      "SLURM_PROCID "
      "and SLURM_NTASKS, OMPI_COMM_WORLD_RANK and _SIZE); give --shard I/N");
}

}  // namespace gpuhist::pipeline
