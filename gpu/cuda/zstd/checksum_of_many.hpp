// The checksums of many frames: four threads for each frame, one for each accumulator, and eight frames for each warp.
#pragma once

#include "gpu/cuda/zstd/checksum.hpp"

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>
#endif

namespace gpuhist::gpu::cuda::zstd {

inline constexpr unsigned words_of_pass = 16;  ///< rounds that the loop is unrolled for

/// The words of one accumulator, copied to shared memory long before they are used: a round takes less than 20 cycles,
/// and memory 800. Each thread copies and reads only its own words.
///
///     passes   | being copied ..... | next | read now | read before: its place is for the next copy
///
/// `Copies` has copy(to, from): copies a word some time later; end_group(): the copies since the last call are a group;
/// wait<n>(): until at most the n youngest groups are not copied.
template <unsigned Threads, class Copies>
class staged_words {
 public:
  static constexpr unsigned passes = 8;

  struct memory {
    std::uint64_t words[passes][words_of_pass][Threads];
  };

  /// `thread`: of those that share the memory.
  GPUHIST_HOST_DEVICE staged_words(memory& staged, unsigned thread, const Copies& copies, const std::uint8_t* text,
                                   std::uint32_t stripes, unsigned which)
      : staged_(staged), thread_(thread), copies_(copies), from_(text + std::size_t{8} * which), left_(stripes) {
    for (unsigned i = 0; i + 1 < passes; ++i) copy_pass(i);
  }

  GPUHIST_HOST_DEVICE void take(std::uint64_t (&to)[words_of_pass]) {
    wait_for_pass();
    for (unsigned i = 0; i < words_of_pass; ++i) to[i] = staged_.words[pass_][i][thread_];
    pass_ = (pass_ + 1) % passes;
  }

  /// For the last words, after all whole passes.
  GPUHIST_HOST_DEVICE std::uint64_t take_one() {
    if (taken_ == 0) wait_for_pass();
    return staged_.words[pass_][taken_++][thread_];
  }

 private:
  GPUHIST_HOST_DEVICE void wait_for_pass() {
    copy_pass((pass_ + passes - 1) % passes);
    copies_.template wait<passes - 1>();
  }

  GPUHIST_HOST_DEVICE void copy_pass(unsigned to) {
    if (left_ >= words_of_pass) {
      for (unsigned i = 0; i < words_of_pass; ++i) copy_word(to, i);
      left_ -= words_of_pass;
    } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (unsigned i = 0; i < left_; ++i) copy_word(to, i);
      left_ = 0;
    }
    copies_.end_group();
    from_ += words_of_pass * xxh64::stripe_bytes;
  }

  GPUHIST_HOST_DEVICE void copy_word(unsigned to, unsigned index) {
    copies_.copy(&staged_.words[to][index][thread_], from_ + index * xxh64::stripe_bytes);
  }

  memory& staged_;
  const unsigned thread_;
  Copies copies_;
  const std::uint8_t* from_;
  std::uint32_t left_;  // stripes that are not copied yet
  unsigned pass_ = 0;   // where the next words are
  unsigned taken_ = 0;  // of the last, incomplete pass
};

#if defined(__CUDACC__)
/// Copies to shared memory that do not pass through registers (compute capability 8.0 and higher).
struct asynchronous_copies {
  __device__ static void copy(std::uint64_t* to, const std::uint8_t* from) {
    __pipeline_memcpy_async(to, from, sizeof(*to));
  }
  __device__ static void end_group() { __pipeline_commit(); }
  template <unsigned Left>
  __device__ static void wait() {
    __pipeline_wait_prior(Left);
  }
};
#endif

/// An accumulator after all whole stripes of a text, one by one. `words` has its words. The products are made one pass
/// earlier: in the same pass the compiler would make each with the instruction that adds it, which depends on the round
/// before.
template <class Words>
GPUHIST_HOST_DEVICE std::uint64_t accumulate(Words& words, std::uint32_t stripes, unsigned which) {
  std::uint64_t mixed = xxh64::begin(which);
  if (stripes >= words_of_pass) {
    std::uint64_t products[words_of_pass];
    words.take(products);
    for (std::uint64_t& each : products) each *= xxh64::prime2;
    for (; stripes >= 2 * words_of_pass; stripes -= words_of_pass) {
      std::uint64_t next[words_of_pass];
      words.take(next);
      for (const std::uint64_t product : products) mixed = xxh64::next(mixed, product);
      for (unsigned i = 0; i < words_of_pass; ++i) products[i] = next[i] * xxh64::prime2;
    }
    for (const std::uint64_t product : products) mixed = xxh64::next(mixed, product);
    stripes -= words_of_pass;
  }
  for (; stripes > 0; --stripes) mixed = xxh64::next(mixed, words.take_one() * xxh64::prime2);
  return xxh64::end(mixed);
}

}  // namespace gpuhist::gpu::cuda::zstd
