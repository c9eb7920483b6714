// gpuhist-bench segments: the rate of an engine for chunks with many short segments, as many small files in one chunk.
#pragma once

namespace gpuhist::bench {

/// Measures the host engine and, if there is a device, the CUDA engine. Prints a table to standard output. Throws
/// std::runtime_error if an engine fails or counts wrongly.
void measure_segments();

}  // namespace gpuhist::bench
