// The immutable plan of a run: every name and size resolved. The run reads no options, no environment and no global.
#pragma once

#include "config/options.hpp"
#include "gpu/engines.hpp"
#include "gpu/tally.hpp"
#include "io/format.hpp"
#include "io/open_descriptors.hpp"
#include "io/output_files.hpp"
#include "io/tree_walk.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "pipeline/counts/windows/window_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Sizes of the ring and of what is read ahead. All in bytes unless said otherwise.
struct buffer_plan {
  std::uint32_t chunk_bytes = 0;       ///< the text a slot holds
  std::uint32_t busy_chunk_bytes = 0;  ///< of it, what is used while all cores decompress and count
  std::uint32_t slots = 0;             ///< how many there are
  std::uint32_t populated_slots = 0;   ///< that have their pages from the start
  std::uint32_t copy_bytes = 0;        ///< bytes that cross to a device at once at the most
  std::uint32_t max_extents = 0;       ///< segments of a chunk at the most
  std::uint32_t block_bytes = 0;       ///< compressed bytes are read ahead in blocks of this size
  std::uint32_t blocks = 0;            ///< how many of them, of every compressed input that is open
  std::uint32_t extra_blocks = 0;      ///< and how many more, of all inputs of several frames together
  std::uint32_t open_inputs = 0;       ///< compressed inputs that are open at once at the most
  std::uint32_t decoders = 0;          ///< that work at once at the most
  std::uint32_t group_bytes = 0;       ///< compressed bytes that are worth a decoder of their own
  std::uint64_t memory_limit = 0;      ///< of the whole process
  std::uint64_t window_limit = 0;      ///< what is left of the memory limit for a decoder's window
  std::size_t pipe_bytes = 0;          ///< the capacity that pipes are enlarged to
};

struct run_plan {
  std::vector<std::string> inputs;                  ///< paths; "-" is standard input
  std::optional<std::string> list;                  ///< of more inputs: a path, "-" is standard input
  std::optional<io::walk_settings> trees;           ///< how directories are walked; nothing: they are errors
  io::open_descriptors descriptors;                 ///< that inputs may name
  std::shared_ptr<const io::output_files> outputs;  ///< which are no inputs; null: none
  std::string output_name;                          ///< of the output, in messages
  std::string label;                                ///< the name of standard input in results
  const io::format* forced_format = nullptr;        ///< null: by content
  std::shared_ptr<const io::zstd_dictionary> dictionary;
  std::optional<std::uint64_t> max_output;  ///< bytes of text of a compressed input
  config::pass_through_mode passes_through =
      config::pass_through_mode::nothing;  ///< to standard output, beside being counted
  char list_end = '\n';                    ///< what names in the list end in
  bool skip_damage = false;
  bool follow = false;  ///< inputs are files that grow
  bool all_devices = false;
  gpu::partition partition;                   ///< what is counted
  std::string engine;                         ///< "auto", "cuda", "host"
  unsigned threads = 1;                       ///< that read, decompress and, with the host engine, count
  unsigned streams = 0;                       ///< CUDA lanes a device; 0: the engine's default
  std::vector<unsigned> devices;              ///< CUDA devices by number; empty: the engine's choice, or all
  std::string kernel;                         ///< by name; of `auto`, that of the host; empty: the best
  gpu::engine_forecast forecast;              ///< what the engine will be, found out once a run
  std::optional<std::uint64_t> source_bytes;  ///< of all inputs, compressed or not, where all are regular files
  buffer_plan buffers;
  std::optional<config::snapshot_interval> snapshot_every;
  std::optional<window_shape> windows;  ///< nothing: none are wanted
  std::string_view in_order_for{};      ///< the option for which frames are decoded one after the other; empty: none
  bool snapshot_by_signal = false;      ///< SIGUSR1 asks for one, beside the line of status: the output is a live one
  bool count_unverified = false;
  bool stats = false;
};

}  // namespace gpuhist::pipeline
