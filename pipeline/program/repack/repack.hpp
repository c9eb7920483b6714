// `gpuhist repack` as a flow: the text of all inputs, cut into frames, compressed side by side, written in order, read
// again, and only then given its name.
#pragma once

#include "config/options.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/open_descriptors.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Every name of the command line resolved, every size decided.
struct repack_plan {
  std::vector<std::string> inputs;            ///< paths; "-" is standard input; never empty
  io::open_descriptors descriptors;           ///< that inputs may name
  const io::format* forced_format = nullptr;  ///< null: by content
  io::decoder_limits decoding;
  std::string output;
  bool replace = false;         ///< a file that is there; otherwise it is an error
  int level = 3;                ///< of zstd
  std::size_t frame_bytes = 0;  ///< of text
  unsigned threads = 1;         ///< that decode, compress and verify; as many as the memory limit allows
};

/// What the run is to do besides.
struct repack_hooks {
  bool watch_signals = false;  ///< SIGINT, SIGTERM and SIGHUP end the run, and nothing is left of the output

  /// Everything is written, to the file that is about to be verified. On a thread of the pool.
  std::function<void(const std::filesystem::path&)> before_verification = nullptr;
};

struct repacked {
  std::uint64_t input_bytes = 0;  ///< as they were read
  std::uint64_t text_bytes = 0;
  std::uint64_t output_bytes = 0;  ///< the seek table included
  std::uint64_t frames = 0;
  double seconds = 0;
  unsigned threads = 0;   ///< that worked: fewer than planned where the system refused some
  bool complete = false;  ///< the output is there
  int signal = 0;         ///< that ended the run; 0: none
};

/// Throws config::usage_error: an output that is missing, not a regular file or there already, sizes that do not fit
/// the memory limit, unknown names.
repack_plan make_repack_plan(const config::options& typed);

/// Blocks until all is done. Throws destination_error, and std::runtime_error with the name of the input that is
/// damaged or cannot be read, or of an output that does not hold what was written; then there is no output.
repacked repack(const repack_plan& what, const repack_hooks& hooks = {});

}  // namespace gpuhist::pipeline
