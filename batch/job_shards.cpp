#include "batch/job_shards.hpp"

#include "config/usage_error.hpp"

#include <charconv>
#include <optional>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

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
