// lane_private with tunings that differ from the shipped one in one or two values, for comparison in one run of the
// benchmark.
#include "bench/kernels/catalogue.hpp"
#include "gpu/cuda/span/lane_private_span.cuh"

#include <array>

namespace gpuhist::bench::kernels {
namespace {

using namespace gpu::cuda::kernels;

using gpu::cuda::kernel_tuning;
using gpu::cuda::tile_walk;
using enum gpu::cuda::tile_walk;

std::size_t ticket_bytes(bins, int) { return sizeof(unsigned); }

template <kernel_tuning Tuning>
constexpr strategy variant(std::string_view name) {
  strategy made;
  made.name = name;
  made.counts_letters = false;  // letters differ only in the commit: this saves compile time
  made.overview = "threads x blocks per multiprocessor, copies, loads in flight, walk";
  if constexpr (Tuning.walk == ticket) made.scratch_bytes = ticket_bytes;
  made.launch = launch_span<bins::bytes, Tuning>;
  return made;
}

constexpr kernel_tuning tuned(unsigned threads, unsigned blocks, unsigned copies, unsigned loads, tile_walk walk) {
  return {.threads = threads, .copies = copies, .loads = loads, .blocks_per_multiprocessor = blocks, .walk = walk};
}

constexpr std::array variants{
    variant<tuned(1024, 2, 32, 1, interleaved)>("1024x2/32c/1l/interleaved"),
    variant<tuned(1024, 2, 32, 2, interleaved)>("1024x2/32c/2l/interleaved"),
    variant<tuned(1024, 2, 32, 2, contiguous)>("1024x2/32c/2l/contiguous"),
    variant<tuned(1024, 2, 32, 2, ticket)>("1024x2/32c/2l/ticket"),
    variant<tuned(1024, 1, 32, 4, interleaved)>("1024x1/32c/4l/interleaved"),
    variant<tuned(512, 4, 32, 2, interleaved)>("512x4/32c/2l/interleaved"),
    variant<tuned(1024, 2, 64, 1, interleaved)>("1024x2/64c/1l/interleaved"),
    variant<tuned(1024, 2, 64, 2, interleaved)>("1024x2/64c/2l/interleaved"),
    variant<tuned(1024, 2, 64, 2, contiguous)>("1024x2/64c/2l/contiguous"),
    variant<tuned(1024, 2, 64, 2, ticket)>("1024x2/64c/2l/ticket"),
    variant<tuned(1024, 2, 64, 1, ticket)>("1024x2/64c/1l/ticket"),
    variant<tuned(1024, 1, 64, 4, interleaved)>("1024x1/64c/4l/interleaved"),
    variant<tuned(512, 3, 64, 2, interleaved)>("512x3/64c/2l/interleaved"),
    variant<tuned(512, 2, 64, 4, interleaved)>("512x2/64c/4l/interleaved"),
};

}  // namespace

std::span<const strategy> lane_private_variants() { return variants; }

}  // namespace gpuhist::bench::kernels
