// gpuhist-bench segments: what it costs an engine to keep the counts of many short stretches of a chunk apart, as where
// many small files share it.
#pragma once

namespace gpuhist::bench {

/// Measures the host engine and, where there is a device, the CUDA engine; prints a table to standard output. Throws
/// std::runtime_error for an engine that fails or counts wrongly.
void measure_segments();

}  // namespace gpuhist::bench
