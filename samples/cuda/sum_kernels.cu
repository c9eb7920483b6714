// Kernels that add weights. Sums are integers: a weight is multiplied by a power of two, the same for all, and rounded.
// Integer additions give the same result in any order, so a run has the same bits as the next one.
//
//     largest |weight| < 2^e, samples <= 2^b:   scale 2^(62 - e - b), so the sum of all is less than 2^62
//
// Shared memory has no fast addition of 64 bits. A sum has two words there; the addition to the lower one returns it
// before the addition, from which its carry follows, and a zero is not added to the upper one.
#include "gpu/cuda/kernels/launch.cuh"
#include "samples/cuda/places.cuh"

namespace gpuhist::gpu::cuda::samples {
namespace {

constexpr std::uint32_t plus_infinity = 1;
constexpr std::uint32_t minus_infinity = 2;

struct weight_scale {
  double factor;
  double limit;  // weights with a larger magnitude have flags instead
  int exponent;  // of the factor
  bool integers;
};

// The exponent e for which a magnitude is less than 2^e; -1022 or more.
__device__ __forceinline__ int exponent_above(double magnitude) {
  return static_cast<int>(static_cast<unsigned long long>(__double_as_longlong(magnitude)) >> 52U & 0x7ffU) - 1022;
}

__device__ __forceinline__ weight_scale scale_of(const weight_task& in) {
  const bool integers = static_cast<weight_type>(in.weights.type) == weight_type::int32;
  const double limit = in.limit > 0 ? in.limit : __longlong_as_double(static_cast<long long>(*in.largest));
  const int exponent = min(62 - exponent_above(limit) - static_cast<int>(in.count_bits), 1023);
  return {.factor = scalbn(1.0, exponent), .limit = limit, .exponent = integers ? 0 : exponent, .integers = integers};
}

// Weight `index` of a group, as a double. Exact.
__device__ __forceinline__ double weight_of(std::uint32_t type, const raw_group<8>& in, unsigned index) {
  switch (static_cast<weight_type>(type)) {
    case weight_type::float32:
      return static_cast<double>(__uint_as_float(in.words[index]));
    case weight_type::float64:
      return __longlong_as_double(static_cast<long long>(word_pair(in, index)));
    default:
      return static_cast<double>(static_cast<std::int32_t>(in.words[index]));
  }
}

// The weights of group `number` of the samples.
__device__ __forceinline__ raw_group<8> load_weights(const weight_task& in, const element_source& samples,
                                                     std::uint64_t number) {
  const element_source& weights = in.weights;
  if (in.grouped) return load_wide<8>(weights.data + std::uint64_t{weights.head} * weights.size, weights.size, number);
  const std::uint64_t first = first_of(samples, number);
  if (!in.by_frame) return gather<8>(weights, first, group);
  raw_group<8> made{};
  for (unsigned i = 0; i < group; ++i) put(made, i, weights.size, load_bytes(weights, (first + i) / samples.channels));
  return made;
}

__device__ __noinline__ raw_group<8> load_few_weights(const weight_task& in, const element_source& samples,
                                                      std::uint64_t first, unsigned present) {
  raw_group<8> made{};
  for (unsigned i = 0; i < present; ++i) {
    const std::uint64_t index = in.by_frame ? (first + i) / samples.channels : first + i;
    put(made, i, in.weights.size, load_bytes(in.weights, index));
  }
  return made;
}

// Where the sums of a block are.
struct sum_words {
  std::uint32_t* low;  // null: in global memory
  std::uint32_t* high;
  unsigned long long* global;
  std::uint32_t copies;
  std::uint32_t copy;

  // Adds values[i] to places[i]. All lower words are added before the first carry is needed: each addition takes long
  // to return the word.
  __device__ __forceinline__ void add(const std::uint32_t (&places)[group], const long long (&values)[group],
                                      unsigned present) const {
    std::uint32_t before[group];
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if (i < present) before[i] = atomicAdd(low + copy + places[i] * copies, static_cast<std::uint32_t>(values[i]));
    }
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if (i >= present) continue;
      const std::uint32_t carry = before[i] + static_cast<std::uint32_t>(values[i]) < before[i] ? 1 : 0;
      const std::uint32_t upper = static_cast<std::uint32_t>(values[i] >> 32) + carry;
      if (upper != 0) atomicAdd(high + copy + places[i] * copies, upper);
    }
  }

  __device__ __forceinline__ void add_global(const std::uint32_t (&places)[group], const long long (&values)[group],
                                             unsigned present) const {
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if (i < present) atomicAdd(global + places[i], static_cast<unsigned long long>(values[i]));
    }
  }
};

__device__ __noinline__ void flag(const weight_task& in, std::uint32_t place, double weight) {
  std::uint32_t bits = plus_infinity | minus_infinity;  // NaN, or above the limit of the caller
  if (isinf(weight)) bits = weight > 0 ? plus_infinity : minus_infinity;
  atomicOr(in.flags + place / 16, bits << (2 * (place % 16)));
}

// The integer that represents a weight in a bin; 1 outside, where samples are counted.
__device__ __forceinline__ long long scaled(const weight_task& in, const weight_scale& scale, std::uint32_t place,
                                            bool inside, double weight) {
  if (!inside) return 1;
  if (scale.integers) return static_cast<long long>(weight);
  if (fabs(weight) <= scale.limit) return __double2ll_rn(weight * scale.factor);
  flag(in, place, weight);
  return 0;
}

template <class Carrier>
__device__ __forceinline__ void commit(const sample_task<Carrier>& task, const sum_words& sums) {
  for (std::uint32_t place = threadIdx.x; place < task.values; place += blockDim.x) {
    unsigned long long sum = 0;
    for (std::uint32_t i = 0; i < sums.copies; ++i) {
      const std::uint32_t at = place * sums.copies + ((i + sums.copy) & (sums.copies - 1));
      sum += sums.low[at] + (static_cast<unsigned long long>(sums.high[at]) << 32U);
    }
    if (sum != 0) atomicAdd(sums.global + place, sum);
  }
}

template <class Kind>
__global__ void __launch_bounds__(block_threads, 1)
    sum_weights(const __grid_constant__ sample_task<typename Kind::carrier> task,
                const __grid_constant__ weight_task in) {
  using carrier = typename Kind::carrier;
  const bool shared = task.tuning.where == placement::shared;
  const std::size_t words = shared ? std::size_t{task.values} * task.tuning.copies : 0;
  table_pair<carrier> tables;
  std::uint32_t* const low = begin_block<Kind>(task, tables, 2 * words);
  const sum_words sums{.low = shared ? low : nullptr,
                       .high = low + words,
                       .global = in.sums,
                       .copies = task.tuning.copies,
                       .copy = threadIdx.x & (task.tuning.copies - 1)};
  const weight_scale scale = scale_of(in);
  const std::uint32_t weights_type =
      Kind::frequent ? static_cast<std::uint32_t>(weight_type::float32) : in.weights.type;
  const auto add = [&](const raw_group<Kind::words>& raw, const raw_group<8>& weights, std::uint64_t first,
                       const channel_offsets& offsets, unsigned present) {
    group_places at = places_of<Kind>(task, tables, raw, first);
    long long values[group];
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      at.place[i] += offsets.at[i];
      if (i < present)
        values[i] = scaled(in, scale, at.place[i], (at.inside >> i & 1U) != 0, weight_of(weights_type, weights, i));
    }
    if (shared) {
      sums.add(at.place, values, present);
    } else {
      sums.add_global(at.place, values, present);
    }
  };
  channel_offsets offsets = offsets_from(task, first_channel(task.samples, 0));
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  std::uint64_t number = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const auto weights_at = [&](std::uint64_t group_number) {
    if constexpr (Kind::frequent) {
      return load_wide<8>(in.weights.data + std::uint64_t{in.weights.head} * 4, 4, group_number);
    } else {
      return load_weights(in, task.samples, group_number);
    }
  };
  if constexpr (Kind::frequent) {
    for (; number + threads < task.samples.groups; number += 2 * threads) {
      raw_group<Kind::words> raw[2];
      load_groups<Kind::fixed_size>(task.samples, number, threads, raw);
      const raw_group<8> weights[2] = {weights_at(number), weights_at(number + threads)};
#pragma unroll
      for (unsigned k = 0; k < 2; ++k)
        add(raw[k], weights[k], first_of(task.samples, number + k * threads), offsets, group);
    }
  }
  for (; number < task.samples.groups; number += threads) {
    raw_group<Kind::words> raw[1];
    load_groups<Kind::fixed_size>(task.samples, number, 0, raw);
    follow_channel<Kind>(task, number, offsets);
    add(raw[0], weights_at(number), first_of(task.samples, number), offsets, group);
  }
  for_ends<Kind>(task, [&](const auto& raw, std::uint64_t first, const channel_offsets& from, unsigned present) {
    add(raw, load_few_weights(in, task.samples, first, present), first, from, present);
  });
  if (!shared) return;
  __syncthreads();
  commit(task, sums);
}

// The largest magnitudes seen by a thread, as bits, which have the order of the numbers.
struct largest_weight {
  std::uint32_t single = 0;
  std::uint64_t twice = 0;

  __device__ __forceinline__ void consider(std::uint32_t type, const raw_group<8>& in) {
    if (static_cast<weight_type>(type) == weight_type::float32) {
#pragma unroll
      for (unsigned i = 0; i < group; ++i) {
        const std::uint32_t bits = in.words[i] & 0x7fffffffU;
        if (bits < 0x7f800000U) single = max(single, bits);
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < group; ++i) {
        const std::uint64_t bits = word_pair(in, i) & ~gpu::samples::sign64;
        if (bits < 0x7ff0000000000000U && bits > twice) twice = bits;
      }
    }
  }
  [[nodiscard]] __device__ __forceinline__ double value() const {
    return fmax(static_cast<double>(__uint_as_float(single)), __longlong_as_double(static_cast<long long>(twice)));
  }
};

// The largest finite |weight|, before the sums are made.
__global__ void __launch_bounds__(block_threads, 1) find_largest(const __grid_constant__ weight_task in) {
  constexpr unsigned flight = 4;
  largest_weight found;
  const element_source& from = in.weights;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  std::uint64_t number = thread;
  for (; number + (flight - 1) * threads < from.groups; number += flight * threads) {
    raw_group<8> weights[flight];
    load_groups<0>(from, number, threads, weights);
#pragma unroll
    for (unsigned k = 0; k < flight; ++k) found.consider(from.type, weights[k]);
  }
  for (; number < from.groups; number += threads) {
    raw_group<8> weights[1];
    load_groups<0>(from, number, 0, weights);
    found.consider(from.type, weights[0]);
  }
  if (thread < from.head) found.consider(from.type, gather<8>(from, thread, 1));
  const std::uint64_t tail = first_of(from, from.groups) + thread;
  if (tail < from.count) found.consider(from.type, gather<8>(from, tail, 1));
  double largest = found.value();
  for (unsigned distance = 16; distance > 0; distance /= 2)
    largest = fmax(largest, __shfl_xor_sync(0xffffffffU, largest, static_cast<int>(distance)));
  if (threadIdx.x % 32 == 0 && largest > 0)
    atomicMax(in.largest, static_cast<unsigned long long>(__double_as_longlong(largest)));
}

template <class Carrier>
__global__ void __launch_bounds__(256)
    add_sums(const __grid_constant__ sample_task<Carrier> task, const __grid_constant__ weight_task in) {
  const std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= task.values) return;
  const std::uint32_t output = output_place(task, place);
  const std::uint32_t bins = task.y_samples.data != nullptr ? task.values - 2 : task.x.bins;
  auto sum = static_cast<double>(static_cast<long long>(in.sums[place]));
  if (output % task.row < bins) {
    sum = scalbn(sum, -scale_of(in).exponent);
    const std::uint32_t flags = in.flags[place / 16] >> (2 * (place % 16)) & 3U;
    if ((flags & plus_infinity) != 0) sum += INFINITY;
    if ((flags & minus_infinity) != 0) sum -= INFINITY;
  }
  in.rows[output] += sum;
}

template <class Carrier>
using sum_kernel = void (*)(sample_task<Carrier>, weight_task);

template <class Carrier>
sum_kernel<Carrier> kernel_for(const sample_task<Carrier>& task, const weight_task& weights) {
  if constexpr (std::is_same_v<Carrier, float>) {
    const bool singles = weights.grouped && static_cast<weight_type>(weights.weights.type) == weight_type::float32;
    if (singles && is_frequent(task, sample_type::float32) && task.x.tables.guide == nullptr)
      return sum_weights<kernel_kind<float, static_cast<int>(sample_type::float32), false>>;
  }
  return task.x.tables.guide != nullptr ? sum_weights<kernel_kind<Carrier, -1, true>>
                                        : sum_weights<kernel_kind<Carrier, -1, false>>;
}

bool needs_largest(const weight_task& in) {
  return in.limit == 0 && static_cast<weight_type>(in.weights.type) != weight_type::int32;
}

}  // namespace

template <class Carrier>
cudaError_t launch_sum(const sample_task<Carrier>& task, const weight_task& weights, const launch_device& device,
                       cudaStream_t stream) {
  auto* const kernel = kernel_for(task, weights);
  const std::size_t bytes =
      counter_bytes(task.tuning, task.values, true) + (task.tables_in_shared ? table_bytes(task.x) : 0);
  cudaError_t code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (code == cudaSuccess && needs_largest(weights)) {
    const unsigned blocks = blocks_for(weights.weights, device);
    code = kernels::queue(find_largest, {.blocks = blocks, .threads = block_threads}, stream, weights);
  }
  if (code == cudaSuccess) {
    const unsigned blocks = blocks_for(task.samples, device);
    code = kernels::queue(kernel, {.blocks = blocks, .threads = block_threads, .shared_bytes = bytes}, stream, task,
                          weights);
  }
  if (code != cudaSuccess) return code;
  constexpr unsigned threads = 256;
  return kernels::queue(add_sums<Carrier>, {.blocks = (task.values + threads - 1) / threads, .threads = threads},
                        stream, task, weights);
}

template cudaError_t launch_sum(const sample_task<std::uint32_t>&, const weight_task&, const launch_device&,
                                cudaStream_t);
template cudaError_t launch_sum(const sample_task<float>&, const weight_task&, const launch_device&, cudaStream_t);
template cudaError_t launch_sum(const sample_task<std::uint64_t>&, const weight_task&, const launch_device&,
                                cudaStream_t);
template cudaError_t launch_sum(const sample_task<double>&, const weight_task&, const launch_device&, cudaStream_t);

}  // namespace gpuhist::gpu::cuda::samples
