// The number of runs and of buffers of a measurement: arithmetic that needs no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::bench {

/// The middle value; for an even number of values, the mean of the two middle values. Precondition: not empty.
double median(std::vector<double> values);

/// The number of buffers of `size` bytes that are used in turn, so that none is in a cache of `cache_bytes` when it is
/// used again: at least two buffers and eight times the cache, limited by `available` memory; 0 if no buffer fits.
std::size_t buffers_in_turn(std::uint64_t size, std::uint64_t cache_bytes, std::uint64_t available);

/// The distance between consecutive buffers of `size` bytes: `size` rounded up to the alignment of cudaMalloc.
std::uint64_t buffer_stride(std::uint64_t size);

/// The number of runs of `seconds_of_one` that fit into `budget` seconds: at least one, at most `requested`.
unsigned repetitions_within(double budget, double seconds_of_one, unsigned requested);

/// Whether an entrant with `repetitions` runs in `rounds` rounds takes part in this round. Its runs are spread evenly.
bool takes_part(unsigned round, unsigned repetitions, unsigned rounds);

}  // namespace gpuhist::bench
