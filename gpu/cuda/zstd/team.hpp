// Threads that work on one block or frame together. The phases of the decoder are written for any number of threads: a
// loop is divided by rank and size, and sync() separates its results from the next loop. On the host a team is one
// thread, so that the same code runs under the sanitizers and the fuzzers.
#pragma once

#include "gpu/host_device.hpp"

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace gpuhist::gpu::cuda::zstd {

// NOLINTBEGIN(readability-convert-member-functions-to-static): as the members of the other teams
/// The team of the host.
struct lone_thread {
  static constexpr unsigned size = 1;

  GPUHIST_HOST_DEVICE unsigned rank() const { return 0; }
  GPUHIST_HOST_DEVICE void sync() const {}
  /// The number of threads for which it is true; sync() is included. The same for any().
  GPUHIST_HOST_DEVICE unsigned count(bool is) const { return is ? 1 : 0; }
  GPUHIST_HOST_DEVICE bool any(bool is) const { return is; }
  /// The value of the thread whose rank is lower by `distance`; unspecified if there is none. Of the thread `rank`.
  GPUHIST_HOST_DEVICE std::uint32_t from_lower(std::uint32_t value, unsigned) const { return value; }
  GPUHIST_HOST_DEVICE std::uint32_t value_of(std::uint32_t value, unsigned) const { return value; }
  /// The lowest rank for which it is true; `size`: for none.
  GPUHIST_HOST_DEVICE unsigned first(bool is) const { return is ? 0 : 1; }
  /// The bits that are set in a thread of the warp.
  GPUHIST_HOST_DEVICE std::uint32_t bits_of_warp(std::uint32_t bits) const { return bits; }
  GPUHIST_HOST_DEVICE void set_bits(std::uint32_t& word, std::uint32_t bits) const { word |= bits; }
  /// After sync(): a kernel that reads this value also sees what the team wrote before.
  GPUHIST_HOST_DEVICE void publish(std::uint32_t& to, std::uint32_t value) const { to = value; }
  /// Counters of several teams: a number for each call; until a counter has reached a value; and after what the team
  /// has written, which teams that wait for it then can read. Returns the new value to thread 0.
  GPUHIST_HOST_DEVICE std::uint32_t next(std::uint32_t& counter) const { return counter++; }
  GPUHIST_HOST_DEVICE void wait_for(const std::uint32_t&, std::uint32_t) const {}
  GPUHIST_HOST_DEVICE std::uint32_t add_one(std::uint32_t& counter) const { return ++counter; }
};
// NOLINTEND(readability-convert-member-functions-to-static)

#if defined(__CUDACC__)
/// A warp of a block of threads.
struct warp_team {
  static constexpr unsigned size = 32;

  __device__ unsigned rank() const { return threadIdx.x % 32; }
  __device__ void sync() const { __syncwarp(); }
  __device__ std::uint32_t from_lower(std::uint32_t value, unsigned distance) const {
    return __shfl_up_sync(all, value, distance);
  }
  __device__ std::uint32_t value_of(std::uint32_t value, unsigned rank) const { return __shfl_sync(all, value, rank); }
  __device__ unsigned first(bool is) const {
    const std::uint32_t threads = __ballot_sync(all, is ? 1 : 0);
    return threads == 0 ? size : static_cast<unsigned>(__ffs(static_cast<int>(threads))) - 1;
  }

 private:
  static constexpr std::uint32_t all = 0xffffffffU;
};

/// All threads of a block. `Followed`: another kernel runs at the same time and reads what is published.
template <unsigned Threads, bool Followed = false>
struct block_team {
  static constexpr unsigned size = Threads;

  __device__ unsigned rank() const { return threadIdx.x; }
  __device__ void sync() const { __syncthreads(); }
  __device__ unsigned count(bool is) const { return static_cast<unsigned>(__syncthreads_count(is ? 1 : 0)); }
  __device__ bool any(bool is) const { return __syncthreads_or(is ? 1 : 0) != 0; }
  __device__ std::uint32_t bits_of_warp(std::uint32_t bits) const { return __reduce_or_sync(0xffffffffU, bits); }
  __device__ void set_bits(std::uint32_t& word, std::uint32_t bits) const { atomicOr(&word, bits); }
  __device__ void publish(std::uint32_t& to, std::uint32_t value) const {
    if (!Followed || rank() != 0) return;
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>(to).store(value, ::cuda::memory_order_release);
  }
};

/// All threads of a block, and counters of several blocks.
template <unsigned Threads>
struct counting_team : block_team<Threads, true> {
  using counter_reference = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;

  __device__ std::uint32_t next(std::uint32_t& counter) const {
    __shared__ std::uint32_t taken;
    if (this->rank() == 0) taken = counter_reference(counter).fetch_add(1, ::cuda::memory_order_relaxed);
    this->sync();
    return taken;
  }
  __device__ void wait_for(std::uint32_t& counter, std::uint32_t value) const {
    if (this->rank() == 0) {
      while (counter_reference(counter).load(::cuda::memory_order_acquire) < value) {
      }
    }
    this->sync();
  }
  __device__ std::uint32_t add_one(std::uint32_t& counter) const {
    this->sync();
    return this->rank() == 0 ? counter_reference(counter).fetch_add(1, ::cuda::memory_order_acq_rel) + 1 : 0;
  }
  /// A lower value, which another team may publish later, changes nothing.
  __device__ void publish(std::uint32_t& to, std::uint32_t value) const {
    if (this->rank() == 0) counter_reference(to).fetch_max(value, ::cuda::memory_order_release);
  }
};
#endif

}  // namespace gpuhist::gpu::cuda::zstd
