// Kernels that add weights. Sums are integers: a weight is multiplied by a power of two, the same for all, and rounded.
// Integer additions give the same result in any order, so a run has the same bits as the next one.
//
//     largest |weight| < 2^e, samples <= 2^b:   scale 2^(62 - e - b), so the sum of all is less than 2^62
//
// Shared memory has no fast addition of 64 bits. A sum has two words there; the addition to the lower one returns it
// before the addition, from which its carry follows, and a zero is not added to the upper one.
#include "gpu/cuda/kernels/launch.cuh"
#include "gpu/cuda/samples/places.cuh"

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
  unsigned shift;
  std::uint32_t copy;

  __device__ __forceinline__ void add(std::uint32_t place, long long value) const {
    if (low == nullptr) {
      atomicAdd(global + place, static_cast<unsigned long long>(value));
      return;
    }
    const std::uint32_t at = (place << shift) + copy;
    const auto lower = static_cast<std::uint32_t>(value);
    const std::uint32_t before = atomicAdd(low + at, lower);
    const std::uint32_t carry = before + lower < before ? 1 : 0;
    const std::uint32_t upper = static_cast<std::uint32_t>(value >> 32) + carry;
    if (upper != 0) atomicAdd(high + at, upper);
  }
};

__device__ __noinline__ void flag(const weight_task& in, std::uint32_t place, double weight) {
  std::uint32_t bits = plus_infinity | minus_infinity;  // NaN, or above the limit of the caller
  if (isinf(weight)) bits = weight > 0 ? plus_infinity : minus_infinity;
  atomicOr(in.flags + place / 16, bits << (2 * (place % 16)));
}

template <class Carrier>
__device__ __forceinline__ void add_weight(const weight_task& in, const weight_scale& scale, const sum_words& sums,
                                           std::uint32_t place, bool inside, double weight) {
  if (!inside) return sums.add(place, 1);
  if (scale.integers) return sums.add(place, static_cast<long long>(weight));
  if (!(fabs(weight) <= scale.limit)) return flag(in, place, weight);
  sums.add(place, __double2ll_rn(weight * scale.factor));
}

template <class Carrier>
__device__ __forceinline__ void commit(const sample_task<Carrier>& task, const sum_words& sums) {
  const std::uint32_t copies = 1U << sums.shift;
  for (std::uint32_t place = threadIdx.x; place < task.values; place += blockDim.x) {
    unsigned long long sum = 0;
    for (std::uint32_t i = 0; i < copies; ++i) {
      const std::uint32_t at = (place << sums.shift) + ((i + sums.copy) & (copies - 1));
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
                       .shift = task.copies_shift,
                       .copy = threadIdx.x & (task.tuning.copies - 1)};
  const weight_scale scale = scale_of(in);
  const auto add = [&](const raw_group<Kind::words>& raw, const raw_group<8>& weights, std::uint64_t first,
                       const channel_offsets& offsets, unsigned present) {
    const group_places at = places_of<Kind>(task, tables, raw, first);
#pragma unroll
    for (unsigned i = 0; i < group; ++i) {
      if (i < present)
        add_weight<carrier>(in, scale, sums, at.place[i] + offsets.at[i], (at.inside >> i & 1U) != 0,
                            weight_of(in.weights.type, weights, i));
    }
  };
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  channel_offsets offsets = offsets_from(task, first_channel(task.samples, 0));
  for (std::uint64_t number = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; number < task.samples.groups;
       number += threads) {
    raw_group<Kind::words> raw[1];
    load_groups<Kind::fixed_size>(task.samples, number, 0, raw);
    follow_channel<Kind>(task, number, offsets);
    const raw_group<8> weights = load_weights(in, task.samples, number);
    add(raw[0], weights, first_of(task.samples, number), offsets, group);
  }
  for_ends<Kind>(task, [&](const auto& raw, std::uint64_t first, const channel_offsets& from, unsigned present) {
    add(raw, load_few_weights(in, task.samples, first, present), first, from, present);
  });
  if (!shared) return;
  __syncthreads();
  commit(task, sums);
}

// The largest finite |weight|: doubles that are not negative have the order of their bits.
__global__ void __launch_bounds__(block_threads, 1) find_largest(const __grid_constant__ weight_task in) {
  double largest = 0;
  const auto consider = [&](double weight) {
    const double magnitude = fabs(weight);
    if (magnitude > largest && magnitude <= 0x1.fffffffffffffp1023) largest = magnitude;
  };
  const element_source& from = in.weights;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
#pragma unroll 4
  for (std::uint64_t number = thread; number < from.groups; number += threads) {
    raw_group<8> weights[1];
    load_groups<0>(from, number, 0, weights);
#pragma unroll
    for (unsigned i = 0; i < group; ++i) consider(weight_of(from.type, weights[0], i));
  }
  if (thread < from.head) consider(weight_of(from.type, gather<8>(from, thread, 1), 0));
  const std::uint64_t tail = first_of(from, from.groups) + thread;
  if (tail < from.count) consider(weight_of(from.type, gather<8>(from, tail, 1), 0));
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
sum_kernel<Carrier> kernel_for(const sample_task<Carrier>& task) {
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
  auto* const kernel = kernel_for(task);
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
