// The law of every engine and kernel: its rows are those of the obvious loop, whatever the bytes, the extents and the
// partition, and every job is answered once. One suite; each implementation passes it by handing in how it is made.
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

/// Makes the engine under test for a request whose partition, sizes and streams count; null where the implementation
/// does not count such a partition.
using engine_maker = std::function<std::unique_ptr<engine>(const engine_request&)>;

/// What the obvious loop counts: the oracle, which shares no code with any engine.
std::vector<std::uint32_t> count_obviously(std::span<const std::byte> bytes, std::span<const extent> extents,
                                           const partition& columns);

/// Partitions that differ in how many boundaries they have: 1 class, letters, single values, random ones, identity.
struct named_partition {
  std::string name;
  partition value;
};
std::vector<named_partition> sample_partitions();
partition letters_partition();

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed);
std::vector<std::byte> text_bytes(std::size_t size, std::uint32_t seed);

/// Memory for one job, in one piece that an engine can register, and the answer to it.
class job_memory {
 public:
  job_memory(std::size_t max_bytes, std::size_t max_extents, std::size_t classes);
  job_memory(const job_memory&) = delete;
  job_memory& operator=(const job_memory&) = delete;
  ~job_memory();

  [[nodiscard]] std::span<std::byte> all() const;

  /// Lays out a job: copies bytes (at `offset` in the memory, 0 to 63, so that they are unaligned) and extents, fills
  /// the rows with rubbish, forgets the last answer.
  counting_job& prepare(std::span<const std::byte> bytes, std::span<const extent> extents, std::size_t offset = 0);

  /// Waits for the answer; throws what went wrong.
  std::span<const std::uint32_t> wait();

  /// How often `done` was called since prepare().
  [[nodiscard]] unsigned answers() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// The laws. Each makes its own engines.
void rows_equal_the_obvious_loop_for_all_sizes(const engine_maker& make);
void rows_equal_the_obvious_loop_for_all_extents(const engine_maker& make);
void rows_equal_the_obvious_loop_for_all_partitions(const engine_maker& make);
void jobs_in_flight_together_are_each_answered_once(const engine_maker& make);
void a_wrong_job_fails_alone(const engine_maker& make);
void a_job_is_counted_here_where_the_engine_says_so(const engine_maker& make);

/// All of the above.
void keeps_the_contract(const engine_maker& make);

/// Of engines with threads of their own: they may be let go while jobs are in flight, which are answered first, and
/// once a job is answered, nobody touches its memory. (The memory of each goes as soon as its engine has.)
void answers_what_is_in_flight_when_it_is_let_go(const engine_maker& make);

}  // namespace gpuhist::gpu::contract
