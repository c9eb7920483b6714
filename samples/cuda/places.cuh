// From groups of samples to places of counters: the number of the channel times the size of a row, plus the slot.
#pragma once

#include "samples/cuda/loader.cuh"
#include "samples/cuda/task.hpp"
#include "samples/quick_binning.hpp"

#include <cuda_runtime.h>
#include <cstdint>
#include <type_traits>

namespace gpuhist::gpu::cuda::samples {

/// What a kernel is compiled for. Kernels with a fixed Type are for the most frequent histograms: adjacent, aligned
/// samples of this type, 1, 2 or 4 channels; if Joint, of two arrays whose groups begin at the same sample. For the
/// others, these are branches in the kernel.
template <class Carrier_, int Type, bool Guided, bool Joint = false>
struct kernel_kind {
  static_assert(!Joint || (Type >= 0 && !Guided));
  using carrier = Carrier_;
  using key = gpu::samples::key_of_carrier<carrier>;
  static constexpr bool guided = Guided;
  static constexpr bool frequent = Type >= 0;
  static constexpr bool joint = Joint;
  static constexpr unsigned words = sizeof(carrier);  ///< of a group of samples
  /// Groups of an array in flight per thread: 64 bytes, or 32 of each of two arrays.
  static constexpr unsigned flight = (Joint ? 8 : 16) / sizeof(carrier);
  static constexpr unsigned fixed_size = Type < 0 ? 0 : sizeof(carrier);

  __device__ __forceinline__ static std::uint32_t type(const element_source& in) {
    return Type < 0 ? in.type : static_cast<std::uint32_t>(Type);
  }
};

template <class Carrier>
using table_pair = gpu::samples::bin_tables<gpu::samples::key_of_carrier<Carrier>>;

/// The quick binning of an axis, with what the kind implies.
template <class Kind>
__device__ __forceinline__ quick_binning<typename Kind::carrier> quick_of(quick_binning<typename Kind::carrier> quick) {
  if constexpr (Kind::frequent) quick.is_unsigned = false;  // of float32 and int32
  return quick;
}

/// The slots of four samples, by the binning of their axis. The look-up of samples near a threshold is rare, and
/// outside the common path.
template <class Carrier>
__device__ __forceinline__ void assign_quick(const binning<Carrier>& axis, const quick_binning<Carrier>& quick,
                                             const Carrier (&values)[group], std::uint32_t (&slots)[group]) {
  bool near = false;
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    const auto at = gpu::samples::quick_position_of(quick, values[i]);
    slots[i] = at.slot;
    near |= gpu::samples::is_near(quick, at);
  }
  if (!near) return;
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    const auto at = gpu::samples::quick_position_of(quick, values[i]);
    if (gpu::samples::is_near(quick, at)) slots[i] = gpu::samples::quick_checked(axis, values[i], at);
  }
}

/// The slots of four samples by the guide. Most cells have no threshold, or one: longer searches are outside the common
/// path.
template <class Carrier>
__device__ __forceinline__ void assign_guided(const sample_task<Carrier>& task, const quick_binning<Carrier>& quick,
                                              const table_pair<Carrier>& tables, const Carrier (&values)[group],
                                              std::uint32_t (&slots)[group]) {
  if (quick.usable) {
#pragma unroll
    for (unsigned i = 0; i < group; ++i) slots[i] = gpu::samples::quick_position_of(quick, values[i]).slot;
  } else {
#pragma unroll
    for (unsigned i = 0; i < group; ++i)
      slots[i] = gpu::samples::nearest(gpu::samples::estimate(task.x, values[i])).slot();
  }
  bool longer = false;
  std::uint32_t packed[group];
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    // without `quick`, NaN has a cell after the last one
    packed[i] = gpu::samples::is_nan(values[i]) ? 0 : tables.guide[slots[i]];
  }
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    const auto entry = gpu::samples::guide_entry::of(packed[i]);
    slots[i] = entry.before;
    longer |= entry.inside > 1;
    if (entry.inside == 1 && !(gpu::samples::key_of(values[i]) < tables.thresholds[entry.before])) ++slots[i];
  }
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    if (gpu::samples::is_nan(values[i])) slots[i] = task.x.bins + 2;
  }
  if (!longer) return;
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    const auto entry = gpu::samples::guide_entry::of(packed[i]);
    if (entry.inside <= 1 || gpu::samples::is_nan(values[i])) continue;
    const bool many = entry.inside == gpu::samples::guide_entry::many;
    slots[i] = gpu::samples::search(tables.thresholds, entry.before, many ? task.x.limit : entry.before + entry.inside,
                                    gpu::samples::key_of(values[i]));
  }
}

struct group_places {
  std::uint32_t place[group];  ///< in the row of a channel
  unsigned inside;             ///< bit i: sample i is in a bin
};

/// What is added to the places of a group: the rows of the channels before that of each sample.
struct channel_offsets {
  std::uint32_t at[group];
};

template <class Carrier>
__device__ __forceinline__ channel_offsets offsets_from(const sample_task<Carrier>& task, unsigned channel) {
  channel_offsets made{};
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    made.at[i] = channel * task.row;
    channel = channel + 1 == task.samples.channels ? 0 : channel + 1;
  }
  return made;
}

/// The channel of the first sample of a group. Groups of four begin at the same channel, except with three channels.
__device__ __forceinline__ unsigned first_channel(const element_source& in, std::uint64_t number) {
  if (in.channels == 3) return static_cast<unsigned>((number + in.head) % 3);
  return in.head & (in.channels - 1);
}

/// Sets the offsets of a group, if they are not those of all groups.
template <class Kind>
__device__ __forceinline__ void follow_channel(const sample_task<typename Kind::carrier>& task, std::uint64_t number,
                                               channel_offsets& offsets) {
  if constexpr (!Kind::frequent) {
    if (task.samples.channels == 3) offsets = offsets_from(task, first_channel(task.samples, number));
  }
}

struct group_slots {
  std::uint32_t slot[group];
};

/// The slots of the second axis for the group whose first sample is number `index`. Not inlined: joint histograms are
/// not the common case, and the registers of the others are few.
template <class Carrier>
__device__ __noinline__ group_slots y_slots(const sample_task<Carrier>& task, std::uint64_t index) {
  const element_source& in = task.y_samples;
  const std::uint64_t remaining = in.count - index;
  const bool whole = in.wide && index >= in.head && (index - in.head) % group == 0 && remaining >= group;
  raw_group<sizeof(Carrier)> raw[1];
  if (whole) {
    load_groups<0>(in, (index - in.head) / group, 0, raw);
  } else {
    raw[0] = gather<sizeof(Carrier)>(in, index, remaining < group ? static_cast<unsigned>(remaining) : group);
  }
  Carrier values[group];
  convert(in.type, raw[0], values);
  group_slots made{};
#pragma unroll
  for (unsigned i = 0; i < group; ++i) made.slot[i] = gpu::samples::quick_slot(task.y, task.y_quick, values[i]);
  return made;
}

/// Makes the slots of a group to places in a joint histogram.
template <class Carrier>
__device__ __forceinline__ void join(const sample_task<Carrier>& task, const group_slots& y, group_places& places) {
#pragma unroll
  for (unsigned i = 0; i < group; ++i) {
    std::uint32_t& place = places.place[i];
    place = gpu::samples::joint_place(task.x.bins, place, task.y.bins, y.slot[i]);
    if (place >= task.values - 2) places.inside &= ~(1U << i);
  }
}

/// The slots of a group of the first axis.
template <class Kind>
__device__ __forceinline__ group_places x_slots(const sample_task<typename Kind::carrier>& task,
                                                const table_pair<typename Kind::carrier>& tables,
                                                const raw_group<Kind::words>& raw) {
  group_places made{};
  typename Kind::carrier values[group];
  convert(Kind::type(task.samples), raw, values);
  if constexpr (Kind::guided) {
    assign_guided(task, quick_of<Kind>(task.quick), tables, values, made.place);
  } else {
    assign_quick(task.x, quick_of<Kind>(task.quick), values, made.place);
  }
#pragma unroll
  for (unsigned i = 0; i < group; ++i) made.inside |= (made.place[i] - 1 < task.x.bins ? 1U : 0U) << i;
  return made;
}

/// The places of a group whose first sample is number `index`. In a joint histogram, loads those of the second axis.
template <class Kind>
__device__ __forceinline__ group_places places_of(const sample_task<typename Kind::carrier>& task,
                                                  const table_pair<typename Kind::carrier>& tables,
                                                  const raw_group<Kind::words>& raw, std::uint64_t index) {
  group_places made = x_slots<Kind>(task, tables, raw);
  if constexpr (!Kind::frequent || Kind::joint) {
    if (task.y_samples.data != nullptr) join(task, y_slots(task, index), made);
  }
  return made;
}

/// Groups in flight: of the samples, and of those of the second axis if Kind::joint.
template <class Kind>
struct groups_in_flight {
  raw_group<Kind::words> x[Kind::flight];
  raw_group<Kind::words> y[Kind::joint ? Kind::flight : 1];

  /// As load_groups().
  __device__ __forceinline__ void load(const sample_task<typename Kind::carrier>& task, std::uint64_t number,
                                       std::uint64_t step) {
    load_groups<Kind::fixed_size>(task.samples, number, step, x);
    if constexpr (Kind::joint) load_groups<Kind::fixed_size>(task.y_samples, number, step, y);
  }

  /// The places of group k, whose first sample is number `index`.
  __device__ __forceinline__ group_places places(const sample_task<typename Kind::carrier>& task,
                                                 const table_pair<typename Kind::carrier>& tables, unsigned k,
                                                 std::uint64_t index) const {
    if constexpr (Kind::joint) {
      group_places made = x_slots<Kind>(task, tables, x[k]);
      typename Kind::carrier values[group];
      convert(Kind::type(task.y_samples), y[k], values);
      group_slots slots{};
      assign_quick(task.y, quick_of<Kind>(task.y_quick), values, slots.slot);
      join(task, slots, made);
      return made;
    } else {
      return places_of<Kind>(task, tables, x[k], index);
    }
  }
};

/// The number of the first sample of a group.
__device__ __forceinline__ std::uint64_t first_of(const element_source& in, std::uint64_t number) {
  return in.head + number * group;
}

/// The place of a counter in the output.
template <class Carrier>
__device__ __forceinline__ std::uint32_t output_place(const sample_task<Carrier>& task, std::uint32_t place) {
  if (task.y_samples.data != nullptr) return place;
  const std::uint32_t channel = task.samples.channels == 1 ? 0 : place / task.row;
  return channel * task.row + gpu::samples::place_of(place - channel * task.row, task.x.bins);
}

/// Copies the tables of a guided axis to shared memory at `memory`, and sets `memory` to its end. The caller
/// synchronizes the block.
template <class Carrier>
__device__ __forceinline__ table_pair<Carrier> share_tables(const binning<Carrier>& in, char*& memory) {
  auto* const thresholds = reinterpret_cast<typename binning<Carrier>::key*>(memory);
  auto* const guide = reinterpret_cast<std::uint32_t*>(thresholds + (in.limit + 1) / 2 * 2);
  const unsigned entries = static_cast<unsigned>(in.steps) + 2;
  for (unsigned i = threadIdx.x; i < in.limit; i += blockDim.x) thresholds[i] = in.tables.thresholds[i];
  for (unsigned i = threadIdx.x; i < entries; i += blockDim.x) guide[i] = in.tables.guide[i];
  memory = reinterpret_cast<char*>(guide + (entries + 1) / 2 * 2);
  return {thresholds, guide};
}

extern __shared__ __align__(16) char block_memory[];

/// The tables come first in shared memory, then the counters, which are set to zero. Ends with a barrier.
template <class Kind>
__device__ __forceinline__ std::uint32_t* begin_block(const sample_task<typename Kind::carrier>& task,
                                                      table_pair<typename Kind::carrier>& tables, std::size_t words) {
  char* memory = block_memory;
  tables = task.x.tables;
  if (task.tables_in_shared) tables = share_tables(task.x, memory);
  auto* const counters = reinterpret_cast<std::uint32_t*>(memory);
  for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) counters[i] = 0;
  __syncthreads();
  return counters;
}

/// Calls `some(group, number of its first sample, offsets, samples)` for the samples before the first group and after
/// the last whole one: up to three at each end, by one thread each.
template <class Kind, class Some>
__device__ __forceinline__ void for_ends(const sample_task<typename Kind::carrier>& task, const Some& some) {
  const element_source& in = task.samples;
  if (blockIdx.x != 0 || threadIdx.x >= 2) return;
  const bool tail = threadIdx.x == 1;
  const std::uint64_t first = tail ? first_of(in, in.groups) : 0;
  const auto present = static_cast<unsigned>(tail ? in.count - first : in.head);
  if (present == 0) return;
  const channel_offsets offsets = offsets_from(task, static_cast<unsigned>(first % in.channels));
  some(gather<Kind::words>(in, first, present), first, offsets, present);
}

/// Blocks that are resident together; fewer if there are not enough samples.
inline unsigned blocks_for(const element_source& in, const launch_device& device) {
  const std::uint64_t useful = in.groups / block_threads + 1;
  const auto resident = static_cast<std::uint64_t>(device.multiprocessors);
  return static_cast<unsigned>(useful < resident ? useful : resident);
}

}  // namespace gpuhist::gpu::cuda::samples
