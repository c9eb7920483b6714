// gpuhist-bench decompress: the rate at which the tasks of the pipeline decompress archives without counting, by number
// of threads. The rate of the command with counting is compared with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::bench {

struct decompress_options {
  std::vector<std::filesystem::path> files;  ///< archives; empty: one of synthetic log text in frames of 8 MiB
  std::vector<unsigned> threads;             ///< numbers of threads; empty: 1, 2, 4 ... up to the number of cores
  unsigned rounds = 5;                       ///< of each number of threads, in turn; the fastest is reported
};

/// The archives that are decompressed.
struct decompress_load {
  std::size_t files = 0;
  std::size_t tasks = 0;  ///< each has whole frames, which are decoded in sequence
  std::uint64_t compressed_bytes = 0;
  std::uint64_t text_bytes = 0;
};

struct decompress_rate {
  unsigned threads = 0;
  double seconds = 0;  ///< of the fastest round
};

struct decompress_result {
  decompress_load load;
  std::vector<decompress_rate> rates;  ///< in the order of decompress_options::threads
};

/// Reads all files into memory and splits them into tasks as the pipeline does. Threads take the tasks in order. Each
/// thread has one decoder and one buffer of 256 KiB, which it overwrites. Throws std::runtime_error with the name of a
/// file that cannot be read, is not compressed, or is damaged.
decompress_result measure_decompress(const decompress_options& options);

/// One line for the load, then one row per number of threads: GB/s of text, and the ratio to the rate of the first row.
std::string decompress_table(const decompress_result& result);

/// The rows for programs: one JSON object per line, or CSV with a heading.
std::string decompress_json_rows(const decompress_result& result);
std::string decompress_csv(const decompress_result& result);

}  // namespace gpuhist::bench
