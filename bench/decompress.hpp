// gpuhist-bench decompress: how fast archives are decompressed by the pipeline's own tasks with nothing else done, by
// number of threads. What the command reaches with counting is held against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::bench {

struct decompress_options {
  std::vector<std::filesystem::path> files;  ///< archives; empty: one of made-up log text in frames of 8 MiB
  std::vector<unsigned> threads;             ///< how many at once; empty: 1, 2, 4 ... up to the cores
  unsigned rounds = 5;                       ///< of every number of threads, in turns; the fastest is taken
};

/// What is decompressed.
struct decompress_load {
  std::size_t files = 0;
  std::size_t tasks = 0;  ///< each of whole frames, decoded one after the other
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

/// Reads all files into memory, splits them into tasks as the pipeline does, and has threads take the tasks in order,
/// each with one decoder and one buffer of 256 KiB that it fills again and again. Throws std::runtime_error with the
/// name of a file that cannot be read, is not compressed, or is damaged.
decompress_result measure_decompress(const decompress_options& options);

/// The load in a line, then a row a number of threads: GB/s of text, and times the rate of the first row.
std::string decompress_table(const decompress_result& result);

/// The rows for programs: a JSON object a line, or CSV with its heading.
std::string decompress_json_rows(const decompress_result& result);
std::string decompress_csv(const decompress_result& result);

}  // namespace gpuhist::bench
