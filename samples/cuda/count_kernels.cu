// Kernels that count samples, for each placement of the counters (tuning.hpp).
//
// Performance considerations. Shared, 32 copies: the lanes of a warp add in 32 different banks, so all samples cost the
// same; the additions return nothing (SASS: ATOMS.POPC.INC). With fewer copies random bins conflict; equal bins of a
// warp are still one addition. Packed: additions return the counter, so equal bins are added one after the other; a
// warp with only one bin adds once. Global: the L2 cache adds, which limits the rate; a warp with only one bin adds
// once.
#include "gpu/cuda/kernels/launch.cuh"
#include "samples/cuda/places.cuh"

#include <algorithm>

namespace gpuhist::gpu::cuda::samples {
namespace {

class shared_counters {
 public:
  static constexpr std::uint32_t most_between_barriers = 0;  ///< samples of the block; 0: any number

  __device__ __forceinline__ shared_counters(std::uint32_t* words, unsigned copies)
      : words_(words), copies_(copies), copy_(threadIdx.x & (copies - 1)) {}

  __device__ __forceinline__ void add(std::uint32_t place) { atomicAdd(words_ + copy_ + place * copies_, 1U); }
  __device__ __forceinline__ void add_converged(const group_places& at, const channel_offsets& offsets) {
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      // the same for all groups, so it is not calculated here
      std::uint32_t* const row = words_ + (copy_ + offsets.at[i] * copies_);
      atomicAdd(row + at.place[i] * copies_, 1U);
    }
  }

  // Threads begin with different copies, in different banks.
  template <class Carrier>
  __device__ __forceinline__ void commit(const sample_task<Carrier>& task) {
    for (std::uint32_t place = threadIdx.x; place < task.values; place += blockDim.x) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = 0; i < copies_; ++i) sum += words_[place * copies_ + ((i + copy_) & (copies_ - 1))];
      if (sum != 0) atomicAdd(task.rows + output_place(task, place), static_cast<unsigned long long>(sum));
    }
  }

 private:
  std::uint32_t* words_;
  std::uint32_t copies_;
  std::uint32_t copy_;
};

// Whether all groups of a converged warp are in one place.
__device__ __forceinline__ bool all_equal(const group_places& at) {
  const std::uint32_t first = __shfl_sync(0xffffffffU, at.place[0], 0);
  std::uint32_t different = 0;
#pragma unroll
  for (unsigned i = 0; i < group; ++i) different |= at.place[i] ^ first;
  return __all_sync(0xffffffffU, different == 0) != 0;
}

constexpr std::uint32_t packed_step = 0x1000;
constexpr unsigned warp = 32;

// The groups of a warp, all in one place: with one channel this is one addition.
template <class Counters>
__device__ __forceinline__ void add_for_warp(Counters& counters, std::uint32_t place, const channel_offsets& offsets,
                                             std::uint32_t channels) {
  if (channels == 1) return counters.add(place, warp * group);
#pragma unroll
  for (unsigned i = 0; i < group; ++i) counters.add(place + offsets.at[i], warp);
}

// The groups of a converged warp. Where additions of equal bins wait for each other, a warp with only one bin adds
// once.
template <class Counters>
__device__ __forceinline__ void add_warp(Counters& counters, const group_places& at, const channel_offsets& offsets,
                                         std::uint32_t channels) {
  if (all_equal(at)) {
    if (threadIdx.x % warp == 0) add_for_warp(counters, at.place[0], offsets, channels);
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < group; ++i) counters.add(at.place[i] + offsets.at[i]);
}

// With Passes, only places of the pass are counted.
template <class Carrier, bool Passes>
class packed_counters {
 public:
  static constexpr std::uint32_t most_between_barriers = 0xffff - (packed_step - 1);

  __device__ __forceinline__ packed_counters(std::uint32_t* words, const sample_task<Carrier>& task)
      : words_(words), task_(task) {}

  // The addition that reaches a multiple of the step moves one step to the row. So a counter is less than a step if no
  // thread is about to do this, as at a barrier, and cannot overflow before so many more samples have been added.
  __device__ __forceinline__ void add(std::uint32_t place, std::uint32_t count = 1) {
    const std::uint32_t counter = Passes ? place - task_.first_value : place;
    if (Passes && counter >= task_.pass_values) return;
    const unsigned shift = (counter & 1U) * 16;
    const std::uint32_t before = atomicAdd(words_ + counter / 2, count << shift) >> shift & 0xffffU;
    if ((before & (packed_step - 1)) + count < packed_step) return;
    atomicSub(words_ + counter / 2, packed_step << shift);
    atomicAdd(task_.rows + output_place(task_, place), static_cast<unsigned long long>(packed_step));
  }
  __device__ __forceinline__ void add_converged(const group_places& at, const channel_offsets& offsets) {
    add_warp(*this, at, offsets, task_.samples.channels);
  }

  __device__ __forceinline__ void commit(const sample_task<Carrier>& task) {
    for (std::uint32_t counter = threadIdx.x; counter < task.pass_values; counter += blockDim.x) {
      const std::uint32_t sum = words_[counter / 2] >> ((counter & 1U) * 16) & 0xffffU;
      if (sum == 0) continue;
      const std::uint32_t place = task.first_value + counter;
      atomicAdd(task.rows + output_place(task, place), static_cast<unsigned long long>(sum));
    }
  }

 private:
  std::uint32_t* words_;
  const sample_task<Carrier>& task_;
};

template <class Carrier>
class global_counters {
 public:
  static constexpr std::uint32_t most_between_barriers = 0;

  explicit __device__ __forceinline__ global_counters(const sample_task<Carrier>& task) : task_(task) {}

  __device__ __forceinline__ void add(std::uint32_t place, unsigned count = 1) {
    atomicAdd(task_.rows + output_place(task_, place), static_cast<unsigned long long>(count));
  }
  __device__ __forceinline__ void add_converged(const group_places& at, const channel_offsets& offsets) {
    add_warp(*this, at, offsets, task_.samples.channels);
  }

 private:
  const sample_task<Carrier>& task_;
};

// Waits for the block before more than most_between_barriers samples are added in rounds of `Samples` since the last
// barrier. All threads of the block call it before each round.
template <class Counters, std::uint32_t Samples>
__device__ __forceinline__ void wait_for_block(std::uint64_t round) {
  if constexpr (Counters::most_between_barriers != 0) {
    constexpr std::uint32_t rounds = Counters::most_between_barriers / Samples;
    static_assert(rounds > 0);
    if (round % rounds == 0) __syncthreads();
  }
}

// Whole rounds, in which all threads of the block take part, then the groups that remain, then both ends.
template <class Kind, class Counters>
__device__ __forceinline__ void count_all(const sample_task<typename Kind::carrier>& task,
                                          const table_pair<typename Kind::carrier>& tables, Counters& counters) {
  const element_source& in = task.samples;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  std::uint64_t number = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  channel_offsets offsets = offsets_from(task, first_channel(in, number));
  constexpr std::uint32_t samples_of_round = block_threads * Kind::flight * group;
  for (std::uint64_t round = in.groups / (threads * Kind::flight); round != 0; --round) {
    groups_in_flight<Kind> loaded;
    loaded.load(task, number, threads);
    wait_for_block<Counters, samples_of_round>(round);  // while the loads are in flight
#pragma unroll
    for (unsigned k = 0; k < Kind::flight; ++k) {
      follow_channel<Kind>(task, number, offsets);
      counters.add_converged(loaded.places(task, tables, k, first_of(in, number)), offsets);
      number += threads;
    }
  }
  const auto some = [&](const raw_group<Kind::words>& raw, std::uint64_t first, const channel_offsets& from,
                        unsigned present) {
    const group_places at = places_of<Kind>(task, tables, raw, first);
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if (i < present) counters.add(at.place[i] + from.at[i]);
    }
  };
  wait_for_block<Counters, samples_of_round>(0);  // fewer samples than those of a round are left, and both ends
  for (; number < in.groups; number += threads) {
    raw_group<Kind::words> raw[1];
    load_groups<Kind::fixed_size>(in, number, 0, raw);
    follow_channel<Kind>(task, number, offsets);
    some(raw[0], first_of(in, number), offsets, group);
  }
  for_ends<Kind>(task, some);
}

template <class Kind>
__global__ void __launch_bounds__(block_threads, 1)
    count_shared(const __grid_constant__ sample_task<typename Kind::carrier> task) {
  table_pair<typename Kind::carrier> tables;
  std::uint32_t* const words = begin_block<Kind>(task, tables, std::size_t{task.values} * task.tuning.copies);
  shared_counters counters(words, task.tuning.copies);
  count_all<Kind>(task, tables, counters);
  __syncthreads();
  counters.commit(task);
}

template <class Kind, bool Passes>
__global__ void __launch_bounds__(block_threads, 1)
    count_packed(const __grid_constant__ sample_task<typename Kind::carrier> task) {
  table_pair<typename Kind::carrier> tables;
  std::uint32_t* const words = begin_block<Kind>(task, tables, (task.pass_values + 1) / 2);
  packed_counters<typename Kind::carrier, Passes> counters(words, task);
  count_all<Kind>(task, tables, counters);
  __syncthreads();
  counters.commit(task);
}

template <class Kind>
__global__ void __launch_bounds__(block_threads, 1)
    count_global(const __grid_constant__ sample_task<typename Kind::carrier> task) {
  global_counters counters(task);
  count_all<Kind>(task, task.x.tables, counters);
}

template <class Carrier>
using count_kernel = void (*)(sample_task<Carrier>);

template <class Carrier, int Type, bool Guided, bool Joint = false>
count_kernel<Carrier> kernel_at(const sample_tuning& tuning) {
  using kind = kernel_kind<Carrier, Type, Guided, Joint>;
  using general = kernel_kind<Carrier, -1, Guided>;
  switch (tuning.where) {
    case placement::shared:
      return count_shared<kind>;
    case placement::packed:
      return tuning.passes == 1 ? count_packed<kind, false> : count_packed<general, true>;
    default:
      return count_global<general>;
  }
}

template <class Carrier>
count_kernel<Carrier> kernel_for(const sample_task<Carrier>& task) {
  constexpr int frequent = static_cast<int>(sizeof(Carrier) == 8          ? sample_type{}
                                            : std::is_integral_v<Carrier> ? sample_type::int32
                                                                          : sample_type::float32);
  const bool guided = task.x.tables.guide != nullptr;
  if constexpr (sizeof(Carrier) == 4) {
    if (is_frequent_pair(task, static_cast<sample_type>(frequent)))
      return kernel_at<Carrier, frequent, false, true>(task.tuning);
    if (is_frequent(task, static_cast<sample_type>(frequent)))
      return guided ? kernel_at<Carrier, frequent, true>(task.tuning)
                    : kernel_at<Carrier, frequent, false>(task.tuning);
  }
  return guided ? kernel_at<Carrier, -1, true>(task.tuning) : kernel_at<Carrier, -1, false>(task.tuning);
}

}  // namespace

template <class Carrier>
cudaError_t launch_count(const sample_task<Carrier>& task, const launch_device& device, cudaStream_t stream) {
  auto* const kernel = kernel_for(task);
  const std::size_t bytes =
      counter_bytes(task.tuning, task.values, false) + (task.tables_in_shared ? table_bytes(task.x) : 0);
  cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (code != cudaSuccess) return code;
  const kernels::launch_shape shape{
      .blocks = blocks_for(task.samples, device), .threads = block_threads, .shared_bytes = bytes};
  if (task.tuning.passes == 1) return kernels::queue(kernel, shape, stream, task);
  sample_task<Carrier> pass = task;
  for (std::uint32_t first = 0; first < task.values && code == cudaSuccess; first += task.pass_values) {
    pass.first_value = first;
    pass.pass_values = std::min(task.pass_values, task.values - first);
    code = kernels::queue(kernel, shape, stream, pass);
  }
  return code;
}

template cudaError_t launch_count(const sample_task<std::uint32_t>&, const launch_device&, cudaStream_t);
template cudaError_t launch_count(const sample_task<float>&, const launch_device&, cudaStream_t);
template cudaError_t launch_count(const sample_task<std::uint64_t>&, const launch_device&, cudaStream_t);
template cudaError_t launch_count(const sample_task<double>&, const launch_device&, cudaStream_t);

}  // namespace gpuhist::gpu::cuda::samples
