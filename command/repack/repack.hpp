// `gpuhist repack`: cuts the text of all inputs into frames, compresses them in parallel, writes them in order,
// verifies the written file, and then gives it its name.
#pragma once

#include "async/event_loop.hpp"
#include "config/options.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/open_descriptors.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::command {

/// Every name of the command line resolved, every size decided.
struct repack_plan {
  std::vector<std::string> inputs;            ///< paths; "-" is standard input; never empty
  io::open_descriptors descriptors;           ///< descriptors that inputs may name
  const io::format* forced_format = nullptr;  ///< null: by content
  io::decoder_limits decoding;
  std::string output;
  bool replace = false;         ///< replace an existing file; otherwise it is an error
  int level = 3;                ///< compression level of zstd
  std::size_t frame_bytes = 0;  ///< text of a frame
  unsigned threads = 1;         ///< threads that decode ahead, compress and verify; as many as the memory limit allows
};

/// Additional behaviour of a run.
struct repack_hooks {
  std::stop_token stop{};  ///< ends the run, and the output is removed
  std::function<std::shared_ptr<void>(async::event_loop&)> attach = nullptr;  ///< as run_hooks::attach

  /// Called with the path of the file after everything was written and before it is verified. On a thread of the run.
  std::function<void(const std::filesystem::path&)> before_verification = nullptr;
};

/// The result of a run.
struct repacked {
  std::uint64_t input_bytes = 0;  ///< bytes read, compressed or not
  std::uint64_t text_bytes = 0;
  std::uint64_t output_bytes = 0;  ///< including the seek table
  std::uint64_t frames = 0;
  double seconds = 0;
  unsigned threads = 0;                ///< threads that worked: fewer than planned if the system refused to start some
  bool complete = false;               ///< the output exists
  std::vector<std::string> notices{};  ///< about inputs, each with the name of its input
};

/// Throws config::usage_error if the output is not given, is not a regular file or exists already, if sizes exceed the
/// memory limit, and for unknown names.
repack_plan make_repack_plan(const config::options& typed);

/// Blocks until the run has ended. Throws destination_error, and std::runtime_error that names the input that is
/// damaged or cannot be read, or the output if its verification fails. In each case there is no output.
repacked repack(const repack_plan& planned, const repack_hooks& hooks = {});

}  // namespace gpuhist::command
