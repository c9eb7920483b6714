// The contract of every engine and host kernel: its rows are those of the simple loop for all bytes, extents and
// partitions, and every job is completed exactly once. Each implementation passes a function that makes it to this
// suite.
#pragma once

#include "gpu/engine.hpp"
#include "gpu/engines.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gpuhist::gpu::contract {

/// Makes the engine under test. Only the partition, sizes and streams of the request matter. Null if the implementation
/// does not apply to the partition.
using engine_maker = std::function<std::unique_ptr<engine>(const engine_request&)>;

/// The rows of simple loops: the oracle, which shares no code with any engine.
std::vector<std::uint32_t> count_obviously(std::span<const std::byte> bytes, std::span<const extent> extents,
                                           const row_layout& columns);

/// Partitions with different numbers of boundaries: one class, letters, single values, random ones, identity.
struct named_partition {
  std::string name;
  partition value;
};
std::vector<named_partition> sample_partitions();
partition letters_partition();

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed);
std::vector<std::byte> text_bytes(std::size_t size, std::uint32_t seed);

/// Memory for one job in one block that an engine can register, and the result of the job.
class job_memory {
 public:
  job_memory(std::size_t max_bytes, std::size_t max_extents, std::size_t classes);
  job_memory(const job_memory&) = delete;
  job_memory& operator=(const job_memory&) = delete;
  ~job_memory();

  [[nodiscard]] std::span<std::byte> all() const;

  /// Prepares a job: copies the bytes (to `offset` in the memory, 0 to 63, so that they are unaligned) and the extents,
  /// fills the rows with garbage, and resets the result.
  counting_job& prepare(std::span<const std::byte> bytes, std::span<const extent> extents, std::size_t offset = 0);

  /// Waits for the completion of the job; throws its error.
  std::span<const std::uint32_t> wait();

  /// The number of calls of `on_complete` since prepare().
  [[nodiscard]] unsigned answers() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// The invariants. Each function makes its own engines.
void rows_equal_the_simple_loop_for_all_sizes(const engine_maker& make);
void rows_equal_the_simple_loop_for_all_extents(const engine_maker& make);
void rows_equal_the_simple_loop_for_all_partitions(const engine_maker& make);
void jobs_in_flight_are_completed_once(const engine_maker& make);
void an_invalid_job_fails_alone(const engine_maker& make);
void pairs_equal_the_simple_loop(const engine_maker& make);
void a_job_is_counted_within_submit_if_the_engine_counts_here(const engine_maker& make);

/// Checks all invariants above.
void keeps_the_contract(const engine_maker& make);

/// For engines with their own threads: an engine may be destroyed while jobs are in flight. They are completed first,
/// and after the completion of a job no thread accesses its memory. (The memory of each job is freed right after its
/// engine.)
void completes_jobs_in_flight_before_destruction(const engine_maker& make);

}  // namespace gpuhist::gpu::contract
