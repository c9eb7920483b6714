// The plan of a run: every name and size is resolved. The run reads no options, environment variables or globals.
#pragma once

#include "gpu/engines.hpp"
#include "gpu/tally.hpp"
#include "gpuhist/files.hpp"
#include "io/format.hpp"
#include "io/open_descriptors.hpp"
#include "io/output_files.hpp"
#include "io/tree_walk.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "pipeline/counts/spilled_bytes.hpp"
#include "pipeline/counts/windows/panes.hpp"
#include "pipeline/flow/inputs/listed_input.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Sizes of the ring and of the buffers for reading ahead.
struct buffer_plan {
  std::uint32_t chunk_bytes = 0;         ///< bytes of text per slot
  std::uint32_t busy_chunk_bytes = 0;    ///< bytes of a chunk that is counted where it is decoded
  std::uint32_t slots = 0;               ///< number of slots
  std::uint32_t copy_bytes = 0;          ///< most bytes per copy to a device
  std::uint32_t max_extents = 0;         ///< most segments per chunk
  std::uint32_t block_bytes = 0;         ///< size of the blocks in which compressed bytes are read ahead
  std::uint32_t blocks = 0;              ///< number of blocks per open compressed input
  std::uint32_t extra_blocks = 0;        ///< number of further blocks, shared by inputs of several frames
  std::uint32_t open_inputs = 0;         ///< most compressed inputs that are open at once
  std::uint32_t open_on_device = 0;      ///< the same, once a device decodes; fewer than open_inputs: as many
  std::uint32_t staged_inputs = 0;       ///< besides: whose bytes were all collected for a device
  std::uint32_t decoders = 0;            ///< most decoders that work at once
  std::uint32_t group_bytes = 0;         ///< fewest compressed bytes for a decoder of their own
  std::uint32_t device_slot_bytes = 0;   ///< of page-locked memory for compressed bytes that a device decodes
  std::uint32_t device_slots = 0;        ///< number of these slots
  std::uint32_t more_device_slots = 0;   ///< that are allocated together
  std::uint32_t row_slot_bytes = 0;      ///< of page-locked memory for rows of units that a device measures
  std::uint32_t row_slots = 0;           ///< number of these slots
  std::uint32_t more_row_slots = 1;      ///< that are allocated together
  std::uint32_t device_group_bytes = 0;  ///< fewest compressed bytes that a device gets at once
  std::uint64_t min_device_bytes = 0;    ///< fewest bytes of a file that a device decodes
  std::uint64_t memory_limit = 0;        ///< bytes of the whole process
  std::uint64_t beyond_limit = 0;        ///< in addition, for slots and rows of devices
  std::uint64_t window_limit = 0;        ///< bytes of the memory limit for the windows of decoders
  io::memory_besides_windows besides_windows{};
  std::size_t pipe_bytes = 0;  ///< capacity to which pipes are enlarged
  std::size_t held_bytes = 0;  ///< of text without a verdict that a decoder holds in memory; more are spilled
};

struct run_plan {
  std::vector<std::string> inputs;                      ///< paths; "-" is standard input
  std::optional<std::string> list;                      ///< path of a list of more inputs; "-" is standard input
  std::optional<io::walk_settings> trees;               ///< how directories are walked; nothing: directories are errors
  std::shared_ptr<const looked_up_inputs> looked_up{};  ///< replaces the three above; null: they are looked up in time
  /// Whether an input of this name is left out, because it was counted earlier. Called by one thread at a time. Empty:
  /// none is left out.
  std::function<bool(const std::string& name)> is_counted{};
  std::string archives_refused{};                   ///< why an archive with members is an error; empty: it is none
  io::open_descriptors descriptors;                 ///< descriptors that inputs may name
  std::shared_ptr<const io::output_files> outputs;  ///< files that are not read as inputs; null: none
  std::string output_name;                          ///< of the output, in messages
  std::string label;                                ///< the name of standard input in results
  const io::format* forced_format = nullptr;        ///< null: recognized by content
  std::shared_ptr<const io::zstd_dictionary> dictionary;
  std::optional<std::uint64_t> max_output;                      ///< most bytes of text of a compressed input
  std::optional<pass_through_options::content> passes_through;  ///< what is forwarded
  int pass_through_descriptor = 1;                              ///< where to: a descriptor of the caller
  char list_end = '\n';                                         ///< terminates names in the list
  spill_folder spilled_to;                                      ///< for reports of finished inputs
  bool is_fed = false;         ///< a program feeds the inputs, which have fewer options than files; for messages
  bool standard_input = true;  ///< "-" in the list may be read
  bool skip_damage = false;
  bool strict_names = false;     ///< content that is not what the name promises is refused
  bool fail_on_unknown = false;  ///< what looks compressed in no known format is refused
  io::text_encoding encoding = io::text_encoding::by_mark;
  bool decodes_on_device = false;  ///< devices of the engine decode zstd frames
  bool follow = false;             ///< inputs are files that grow
  bool all_devices = false;
  gpu::partition partition;                   ///< the classes to be counted
  std::optional<gpu::partition> pairs;        ///< the classes of pairs to be counted; nothing: no pairs
  std::string engine;                         ///< "auto", "cuda", "host"
  unsigned threads = 1;                       ///< threads that read, decompress and, with the host engine, count
  unsigned readers = 1;                       ///< of these threads, how many read large plain files at once
  std::uint64_t device_memory = 0;            ///< bytes for decoding on each device; 0: the engine's default
  unsigned streams = 0;                       ///< CUDA lanes per device; 0: the engine's default
  std::vector<unsigned> devices;              ///< CUDA devices by number; empty: the engine's choice, or all
  std::string kernel;                         ///< by name; with `auto`, the host's kernel; empty: the best
  gpu::engine_forecast forecast;              ///< the engine that will count, determined once per run
  std::optional<std::uint64_t> source_bytes;  ///< of all inputs as they are stored, about; nothing: not known
  buffer_plan buffers;
  decltype(file_options::snapshot_every) snapshot_every;
  std::optional<window_shape> windows;  ///< nothing: no windows
  std::string_view in_order_for{};      ///< the option that requires decoding frames in sequence; empty: none
  bool snapshot_on_request = false;     ///< a status request also gives a snapshot: the output is a stream of results
  bool count_unverified = false;
  bool stats = false;
  bool validates_utf8 = false;  ///< the text of every input is validated as UTF-8
  /// No thread outlives the run: it waits for a device that is still being woken (gpu::engine_request::joins_waker).
  bool joins_waker = false;
};

inline io::content_rules rules_of(const run_plan& plan) {
  return {.strict_names = plan.strict_names,
          .fail_on_unknown = plan.fail_on_unknown,
          .skip_damage = plan.skip_damage,
          .encoding = plan.encoding};
}

/// Where --pass-through writes: "standard output", or "descriptor 5" of the caller.
inline std::string name_of_sink(const run_plan& plan) {
  constexpr int standard_output = 1;
  if (plan.pass_through_descriptor == standard_output) return "standard output";
  return "descriptor " + std::to_string(plan.pass_through_descriptor);
}

}  // namespace gpuhist::pipeline
