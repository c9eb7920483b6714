// How often what is measured, in which buffers: arithmetic that needs no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::bench {

/// The middle one, of an even number the mean of the two. At least one.
double median(std::vector<double> of);

/// How many buffers of `size` bytes are gone through in turn, so that none is in a cache of `cache_bytes` when its turn
/// comes again: eight caches full and two buffers or more, less where `available` memory ends; 0 where not one fits.
std::size_t buffers_in_turn(std::uint64_t size, std::uint64_t cache_bytes, std::uint64_t available);

/// Where a buffer of `size` bytes ends and the next begins: the alignment that cudaMalloc gives.
std::uint64_t buffer_stride(std::uint64_t size);

/// How many runs of `seconds_of_one` are taken of `wanted`: as many as fit into `budget` seconds, at least one.
unsigned repetitions_within(double budget, double seconds_of_one, unsigned wanted);

/// Whether one who takes `repetitions` of `rounds` takes part in this round: they are spread evenly.
bool takes_part(unsigned round, unsigned repetitions, unsigned rounds);

}  // namespace gpuhist::bench
