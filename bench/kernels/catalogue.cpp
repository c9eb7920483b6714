#include "bench/kernels/catalogue.hpp"

#include "bench/kernels/strategies.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::bench::kernels {
namespace {

constexpr std::array table{
    strategy{.name = "global_atomic",
             .overview = "one thread per byte, additions in global memory",
             .launch = launch_global_atomic},
    strategy{.name = "block_private_global",
             .overview = "one copy of the counters per block in global memory",
             .scratch_bytes = scratch_of_block_private_global,
             .launch = launch_block_private_global},
    strategy{.name = "block_private_shared",
             .overview = "one thread per byte, one copy per block in shared memory",
             .launch = launch_block_private_shared},
    strategy{.name = "coarsened_contiguous",
             .overview = "many adjacent bytes per thread",
             .has_coarsening = true,
             .launch = launch_coarsened_contiguous},
    strategy{.name = "coarsened_interleaved",
             .overview = "many bytes per thread, with the stride of the grid",
             .has_coarsening = true,
             .launch = launch_coarsened_interleaved},
    strategy{.name = "run_aggregated",
             .overview = "one addition for consecutive equal bytes of a thread",
             .has_coarsening = true,
             .launch = launch_run_aggregated},
    strategy{.name = "warp_aggregated",
             .overview = "one lane adds for all lanes with equal bytes",
             .has_coarsening = true,
             .launch = launch_warp_aggregated},
    strategy{.name = "register_private",
             .overview = "the counters of a thread in its registers",
             .counts_bytes = false,
             .launch = launch_register_private},
    strategy{
        .name = "vector_loads_4", .overview = "one copy per block, 4 bytes per load", .launch = launch_vector_loads_4},
    strategy{.name = "vector_loads_16",
             .overview = "one copy per block, 16 bytes per load",
             .launch = launch_vector_loads_16},
    strategy{.name = "bit_sliced",
             .overview = "buckets from bit planes, counted in registers",
             .counts_bytes = false,
             .launch = launch_bit_sliced},
    strategy{.name = "lane_private",
             .overview = "one copy per lane, in a bank of its own",
             .launch = gpu::cuda::kernels::launch_lane_private_span},
};

}  // namespace

std::span<const strategy> catalogue() { return table; }

const strategy* find_strategy(std::string_view name) {
  const auto found = std::ranges::find(table, name, &strategy::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace gpuhist::bench::kernels
