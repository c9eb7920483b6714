// The checksums of few frames: a team for each. Its threads load the words and multiply them, one batch ahead, so that
// nothing but the chain of instructions is left.
//
//     batches of the text        | in shared memory: products | in registers: being loaded | ...
//     all threads                  advance the accumulators     load two words at a time, and multiply them afterwards
//
// Where the device permits it, phase 7 runs at the same time as phase 6 and follows it through the text.
#pragma once

#include "gpu/cuda/zstd/checksum.hpp"
#include "gpu/cuda/zstd/encoded.hpp"

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace gpuhist::gpu::cuda::zstd {

struct alignas(16) word_pair {
  std::uint64_t words[2];
};

/// Memory that a team shares.
struct hash_memory {
  static constexpr unsigned batch = 64;  ///< stripes, whose rounds take longer than a load

  word_pair products[2][xxh64::accumulators][batch / 2];  ///< of two batches, by accumulator
};

/// The accumulators of one text. `Team` has 1 to 32 threads of one warp. `Text` has wait_for(bytes): until so much of
/// the text is written.
template <class Team, class Text>
class text_accumulators {
 public:
  static constexpr unsigned batch = hash_memory::batch;
  /// If there are more threads than accumulators, several have the same one: they would wait for each other otherwise.
  static constexpr unsigned of_thread = Team::size < xxh64::accumulators ? xxh64::accumulators / Team::size : 1;

  /// `text` is aligned to 16 bytes.
  GPUHIST_HOST_DEVICE text_accumulators(const Team& team, hash_memory& memory, Text& written, const std::uint8_t* text,
                                        std::uint32_t stripes)
      : team_(team), memory_(memory), written_(written), text_(text), stripes_(stripes) {}

  /// Adds all whole stripes. All threads of the team call it.
  GPUHIST_HOST_DEVICE void add_stripes() {
    for (unsigned k = 0; k < of_thread; ++k) mixed_[k] = xxh64::begin(accumulator(k));
    if (stripes_ > 0) {
      load(0);
      store(0);
    }
    team_.sync();
    unsigned half = 0;
    for (std::uint32_t first = 0; first < stripes_; first += batch, half = 1 - half) {
      const bool has_next = stripes_ - first > batch;
      if (has_next) load(first + batch);
      advance(half, has_next ? batch : stripes_ - first);
      if (has_next) store(1 - half);
      team_.sync();
    }
  }

  /// The accumulator that sum(k) is.
  GPUHIST_HOST_DEVICE unsigned accumulator(unsigned k) const {
    return (team_.rank() + k * Team::size) % xxh64::accumulators;
  }
  GPUHIST_HOST_DEVICE std::uint64_t sum(unsigned k) const { return xxh64::end(mixed_[k]); }

 private:
  static constexpr unsigned pairs_of_thread = 2 * batch / Team::size;  // of a batch

  // Pairs of a batch: neighbouring threads have neighbouring ones.
  GPUHIST_HOST_DEVICE unsigned pair(unsigned i) const { return i * Team::size + team_.rank(); }

  GPUHIST_HOST_DEVICE void load(std::uint32_t first) {
    const std::uint32_t count = stripes_ - first < batch ? stripes_ - first : batch;
    const std::uint32_t begin = first * static_cast<std::uint32_t>(xxh64::stripe_bytes);
    written_.wait_for(begin + count * static_cast<std::uint32_t>(xxh64::stripe_bytes));
    for (unsigned i = 0; i < pairs_of_thread; ++i) {
      const bool has_text = pair(i) / 2 < count;
      loaded_[i] = has_text ? xxh64::load<word_pair>(text_ + begin + sizeof(word_pair) * pair(i)) : word_pair{};
    }
  }

  // Multiplies what was loaded.
  GPUHIST_HOST_DEVICE void store(unsigned half) {
    for (unsigned i = 0; i < pairs_of_thread; ++i) {
      const unsigned stripe = pair(i) / 2;
      for (unsigned k = 0; k < 2; ++k) {
        memory_.products[half][pair(i) % 2 * 2 + k][stripe / 2].words[stripe % 2] = loaded_[i].words[k] * xxh64::prime2;
      }
    }
  }

  GPUHIST_HOST_DEVICE void advance(unsigned half, std::uint32_t stripes) {
    for (unsigned k = 0; k < of_thread; ++k) {
      const word_pair* const products = memory_.products[half][accumulator(k)];
      std::uint64_t mixed = mixed_[k];
      if (stripes == batch) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (unsigned i = 0; i < batch / 2; ++i) {
          const word_pair both = products[i];
          for (const std::uint64_t product : both.words) mixed = xxh64::next(mixed, product);
        }
      } else {
        for (unsigned i = 0; i < stripes; ++i) {
          mixed = xxh64::next(mixed, products[i / 2].words[i % 2]);
        }
      }
      mixed_[k] = mixed;
    }
  }

  const Team& team_;
  hash_memory& memory_;
  Text& written_;
  const std::uint8_t* const text_;
  const std::uint32_t stripes_;
  word_pair loaded_[pairs_of_thread];
  std::uint64_t mixed_[of_thread];
};

/// A text that is written.
struct complete_text {
  GPUHIST_HOST_DEVICE explicit complete_text(const decoded_frame&) {}
  GPUHIST_HOST_DEVICE void wait_for(std::uint32_t) const {}
};

#if defined(__CUDACC__)
/// The text of a frame, which phase 6 publishes.
class growing_text {
 public:
  __device__ explicit growing_text(decoded_frame& frame) : written_(frame.written) {}

  /// All blocks of threads of phase 6 run or have ended, so it makes progress.
  __device__ void wait_for(std::uint32_t bytes) {
    while (seen_ < bytes) {
      seen_ = written_.load(::cuda::memory_order_acquire);
      if (seen_ < bytes) __nanosleep(500);
    }
  }

 private:
  ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> written_;
  std::uint32_t seen_ = 0;
};
#endif

}  // namespace gpuhist::gpu::cuda::zstd
