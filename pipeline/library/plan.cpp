#include "pipeline/library/plan.hpp"

#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "gpu/row_layout.hpp"
#include "pipeline/counts/windows/rolling_windows.hpp"
#include "pipeline/flow/inputs/source_bytes.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/library/default_memory_limit.hpp"
#include "pipeline/library/resolve.hpp"
#include "pipeline/library/resolve_measuring.hpp"
#include "pipeline/library/resolve_watch.hpp"
#include "pipeline/library/resolve_windows.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::size_t max_sized_inputs = 4096;  // for more inputs, asking for their sizes costs more than it saves
constexpr std::uint64_t copy_bytes = 8 * mib;   // of one copy, which keep the link busy: docs/tuning.md

// If every core decompresses and counts its text itself, chunks of this size stay in its caches: docs/tuning.md.
constexpr std::uint32_t busy_chunk_bytes = 256 * kib;

// Memory of the process without its buffers: code, libraries, stacks, tables of a decoder. Measured: 10 to 20 MiB.
constexpr std::uint64_t process_allowance = 24 * mib;

// A quarter of the memory limit is reserved for the windows of decoders (the text that they refer back to). Of 1 GiB,
// that is enough for four windows of 64 MiB, or for 32 of zstd's level 19.
constexpr std::uint64_t share_for_windows = 4;

constexpr std::uint64_t device_allowance = 144 * mib;  // memory of the host for the context of each device: measured

io::path_filter resolve_filter(const config::options& typed) {
  io::path_filter made;
  for (const std::string& each : typed.include) made.include.emplace_back(each);
  for (const std::string& each : typed.exclude) made.exclude.emplace_back(each);
  return made;
}

void refuse_without(bool is_given, const config::options& typed, std::string_view option, std::string_view needs) {
  if (is_given) throw config::usage_error(typed.where(option) + ": requires " + std::string(needs));
}

void resolve_inputs(const config::options& typed, plan& planned) {
  planned.inputs = typed.inputs;
  planned.list = typed.files_from;
  if (planned.inputs.empty() && !planned.list) planned.inputs.emplace_back("-");
  if (typed.null) planned.list_end = '\0';
  refuse_without(typed.null && !planned.list, typed, "--null", "--files-from");
  if (planned.list == "-" && std::ranges::find(planned.inputs, "-") != planned.inputs.end()) {
    throw config::usage_error(typed.where("--files-from") +
                              ": standard input cannot be an input ('-') and the list of inputs; give one of them");
  }
  if (typed.recursive) {
    planned.trees = {.filter = resolve_filter(typed), .follow_links = typed.follow_symlinks};
    return;
  }
  refuse_without(!typed.include.empty(), typed, "--include", "--recursive");
  refuse_without(!typed.exclude.empty(), typed, "--exclude", "--recursive");
  refuse_without(typed.follow_symlinks, typed, "--follow-symlinks", "--recursive");
}

std::string resolve_engine(const config::options& typed) {
  try {
    return std::string(gpu::canonical_engine(typed.engine));
  } catch (const std::invalid_argument&) {
    unknown_name(typed.where("--engine"), typed.engine, gpu::engine_names());
  }
}

// Host slots stay in a core's L2 cache between reading and counting. Device slots are large enough for the rate of the
// link. Chunks are committed in sequence, so many threads need larger ones. docs/tuning.md has the measurements.
std::uint32_t default_chunk_bytes(const config::options& typed, const plan& so_far) {
  constexpr unsigned many_threads = 8;
  std::uint64_t bytes = so_far.forecast.cuda ? copy_bytes : so_far.threads >= many_threads ? 2 * mib : 256 * kib;
  if (typed.snapshot_every) {
    if (const auto* every = std::get_if<std::uint64_t>(&*typed.snapshot_every)) {
      bytes = std::min(bytes, std::max(*every, 4 * kib));  // a snapshot is taken between two chunks
    }
  }
  return static_cast<std::uint32_t>(bytes);
}

// For each thread, one slot that is filled, one that is counted, and two ahead.
std::uint32_t host_slots(const plan& so_far) { return std::max(8U, 4 * so_far.threads); }

std::uint32_t default_slots(const plan& so_far) {
  const gpu::engine_forecast& ahead = so_far.forecast;
  // every reading thread fills one slot while every lane copies or counts two
  if (ahead.cuda) return so_far.threads + 2 * ahead.lanes + 4;
  if (!ahead.shared) return host_slots(so_far);
  // for every lane two copies in flight, and the slots that the host counts meanwhile, which are committed after them
  const auto chunks_of_a_copy = static_cast<std::uint32_t>(copy_bytes / so_far.buffers.chunk_bytes);
  return 2 * host_slots(so_far) + 2 * ahead.lanes * std::clamp(chunks_of_a_copy, 1U, 32U);
}

gpu::row_layout layout_of(const plan& planned) { return {planned.partition, planned.pairs}; }

std::uint64_t ring_bytes(const plan& planned) {
  return ring_shape{.slots = planned.buffers.slots,
                    .chunk_bytes = planned.buffers.chunk_bytes,
                    .max_extents = planned.buffers.max_extents,
                    .row_columns = static_cast<std::uint32_t>(layout_of(planned).columns())}
      .mapped_bytes();
}

std::uint64_t pair_bytes(const plan& planned) { return layout_of(planned).pair_columns() * sizeof(std::uint64_t); }

// Pairs of the panes of a window, and of panes that are merged but not in a window yet.
std::uint64_t bytes_of_window_pairs(const plan& planned) {
  return planned.windows ? (planned.windows->window_panes + rolling_windows::max_panes_merged) * pair_bytes(planned)
                         : 0;
}

// Memory of the names on the command line and of unfinished inputs. There are at most as many unfinished inputs as
// segments in the slots. Finished inputs are spilled to a file (finished_inputs).
std::uint64_t bytes_of_inputs(const config::options& typed, const plan& planned) {
  constexpr std::uint64_t finished_bytes = 2 * mib;
  const buffer_plan& buffers = planned.buffers;
  const std::uint64_t input_bytes = 512 + 2 * pair_bytes(planned);  // verified and unverified
  std::uint64_t named = 0;
  for (const std::string& each : typed.inputs) named += 2 * sizeof(std::string) + each.size();
  const bool many = typed.inputs.size() > 1 || typed.recursive || typed.files_from;
  return named + (many ? finished_bytes + std::uint64_t{buffers.slots} * buffers.max_extents * input_bytes : 0);
}

std::uint64_t read_ahead_bytes(const buffer_plan& buffers) {
  return std::uint64_t{buffers.block_bytes} * (buffers.blocks * buffers.open_inputs + buffers.extra_blocks);
}

// Every decoder holds the slot that it fills, and so does the reader of plain text. With fewer slots than these, all of
// them could wait for a slot forever. One more input is open than there are decoders, so that its first blocks have
// been read when a decoder becomes free.
void plan_decoders(const config::options& typed, plan& planned) {
  constexpr std::uint32_t blocks_ahead = 16;  // per decoder: frames of up to 4 MiB have been read when they are decoded
  constexpr std::uint32_t max_extra_blocks = 256;
  constexpr std::uint64_t share_of_memory = 8;
  constexpr std::uint64_t window_share_of_decoder = 4 * mib;  // a quarter is its own, the rest is lent to others
  buffer_plan& buffers = planned.buffers;
  const std::uint64_t max_decoders = buffers.memory_limit / share_for_windows / window_share_of_decoder;
  // windows (--window) need the text in the order of its stream
  buffers.decoders = planned.windows ? 1 : std::min(planned.threads, buffers.slots - 1);
  buffers.decoders = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(max_decoders, 1, buffers.decoders));
  buffers.open_inputs = buffers.decoders + 1;
  buffers.block_bytes = static_cast<std::uint32_t>(256 * kib);
  buffers.blocks = 4;
  const std::uint64_t extra = std::min<std::uint64_t>(std::uint64_t{blocks_ahead} * buffers.decoders, max_extra_blocks);
  const std::uint64_t allowed = buffers.memory_limit / share_of_memory / buffers.block_bytes;
  buffers.extra_blocks = static_cast<std::uint32_t>(std::min(extra, allowed));
  // a damaged frame is skipped as a group of its own, so that the undamaged frames before and after it are counted
  buffers.group_bytes = typed.skip_damage ? 1 : static_cast<std::uint32_t>(64 * kib);
}

// The default number of slots is reduced until the buffers, the windows of decoders and the memory of CUDA fit into the
// limit. A number given by --slots is not reduced. A limit is refused only if the buffers themselves exceed it.
void fit_into(std::uint64_t limit, const config::options& typed, plan& planned) {
  buffer_plan& buffers = planned.buffers;
  const std::uint64_t fixed = process_allowance + read_ahead_bytes(buffers) + bytes_of_window_pairs(planned);
  const std::uint64_t of_cuda = planned.forecast.devices.size() * device_allowance;
  const auto needed = [&] { return fixed + ring_bytes(planned) + bytes_of_inputs(typed, planned); };
  const std::uint64_t of_windows = limit / share_for_windows;
  const std::uint32_t fewest = std::min(buffers.slots, buffers.decoders + 1);
  while (needed() + of_cuda + of_windows > limit && !typed.slots && buffers.slots > fewest) --buffers.slots;
  while (needed() + of_cuda > limit && !typed.slots && buffers.slots > 2) --buffers.slots;
  if (needed() > limit) {
    throw config::usage_error(typed.where("--memory-limit") + ": " + std::to_string(buffers.slots) + " slots of " +
                              config::format_size(buffers.chunk_bytes) + " and the other buffers need " +
                              config::format_size(needed()) + ", more than the limit of " + config::format_size(limit) +
                              "; give fewer --slots, a smaller --chunk-size or a higher --memory-limit");
  }
  buffers.window_limit = limit - needed();
}

gpu::engine_forecast forecast(const config::options& typed, const plan& so_far) {
  if (so_far.engine == "host" && (!so_far.devices.empty() || so_far.all_devices)) {
    throw config::usage_error(typed.where("--devices") +
                              ": --engine host counts on no device; give --engine cuda (or auto), or no --devices");
  }
  return gpu::forecast_engine(so_far.engine, {.counted = so_far.partition,
                                              .run = {},
                                              .streams = so_far.streams,
                                              .devices = so_far.devices,
                                              .all_devices = so_far.all_devices});
}

void check_followed(const config::options& typed) {
  if (typed.recursive || typed.files_from) {
    throw config::usage_error(typed.where("--follow") + ": follows named files; leave out " +
                              typed.where(typed.recursive ? "--recursive" : "--files-from"));
  }
  if (typed.inputs.empty() || std::ranges::find(typed.inputs, "-") != typed.inputs.end()) {
    throw config::usage_error(typed.where("--follow") +
                              ": needs names of files; a stream is read until it ends in any case");
  }
}

// A segment for every 4 KiB, the size of small files. Short panes need more, up to 1024, which limits their rows. Rows
// with pairs have up to 4 KiB more, so there are fewer.
std::uint32_t max_extents(const plan& so_far) {
  constexpr std::uint32_t lower_bound = 16;
  const std::uint32_t upper_bound = so_far.pairs ? 128 : 1024;
  const std::uint32_t chunk = so_far.buffers.chunk_bytes;
  std::uint64_t wanted = chunk / ((so_far.pairs ? 16 : 4) * kib);
  if (so_far.windows && so_far.windows->min_pane_bytes() > 0) {
    wanted = std::max(wanted, chunk / so_far.windows->min_pane_bytes() + lower_bound);
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, lower_bound, upper_bound));
}

// With --pass-through, standard output carries the data, and the report goes elsewhere: by default to standard error.
std::string resolve_report_of_filter(const config::options& typed) {
  if (typed.follow) {
    throw config::usage_error(typed.where("--pass-through") +
                              ": cannot be combined with --follow; write tail -F FILE | gpuhist --pass-through");
  }
  if (!typed.output) return "/dev/stderr";
  for (const std::string_view taken : {"fd:1", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    if (*typed.output != taken) continue;
    throw config::usage_error(typed.where("--output") + ": " + *typed.output +
                              " is the output of --pass-through; give a file, fd:2 or another descriptor");
  }
  return *typed.output;
}

void size_buffers(const config::options& typed, plan& planned) {
  buffer_plan& buffers = planned.buffers;
  buffers.chunk_bytes =
      typed.chunk_size ? static_cast<std::uint32_t>(*typed.chunk_size) : default_chunk_bytes(typed, planned);
  buffers.busy_chunk_bytes = busy_chunk_bytes;
  buffers.copy_bytes = static_cast<std::uint32_t>(std::max<std::uint64_t>(copy_bytes, buffers.chunk_bytes));
  buffers.slots = typed.slots.value_or(default_slots(planned));
  buffers.memory_limit = typed.memory_limit ? *typed.memory_limit : default_memory_limit();
  buffers.max_extents = max_extents(planned);
  plan_decoders(typed, planned);
  buffers.pipe_bytes = mib;
  fit_into(buffers.memory_limit, typed, planned);
  buffers.decoders = std::min(buffers.decoders, buffers.slots - 1);  // fit_into may have reduced the slots
  // most of the slots for a device are never used if no device is woken
  buffers.populated_slots = planned.forecast.shared ? 0 : buffers.slots;
}

}  // namespace

plan make_plan(const config::options& typed) {
  plan planned;
  resolve_inputs(typed, planned);
  planned.label = typed.label;
  planned.forced_format = resolve_input_format(typed);
  planned.dictionary = resolve_dictionary(typed);
  planned.max_output = typed.max_output;
  planned.skip_damage = typed.skip_damage;
  planned.follow = typed.follow;
  if (typed.follow) check_followed(typed);
  planned.passes_through = typed.pass_through;
  const std::vector<config::scheme> schemes = resolve_schemes(typed);
  planned.measuring = resolve_measuring(typed);
  planned.watched = resolve_watch(typed, schemes, planned.measuring);
  const bool by_byte = typed.byte_counts || !planned.measuring.asked.empty() || planned.watched.needs_byte_counts();
  planned.partition = by_byte ? gpu::partition::identity() : coarsest_partition(schemes);
  planned.pairs = resolve_pairs(typed, schemes);
  for (const config::scheme& each : schemes) {
    planned.schemes.push_back(view_through(each, planned.partition, planned.pairs));
  }
  planned.engine = resolve_engine(typed);
  planned.kernel = resolve_kernel(typed, planned.engine, planned.partition);
  planned.threads = resolve_threads(typed);
  planned.streams = typed.streams.value_or(0);
  planned.devices = typed.devices;
  planned.all_devices = typed.all_devices;
  planned.forecast = forecast(typed, planned);
  const bool all_are_named = !planned.trees && !planned.list && !planned.follow;
  if (planned.forecast.shared && all_are_named && planned.inputs.size() <= max_sized_inputs) {
    planned.source_bytes = source_bytes_of(planned.inputs);
  }
  planned.format = resolve_report_format(typed);
  planned.output = typed.output;
  planned.windows = resolve_windows(typed, *planned.format);
  if (typed.pass_through != config::pass_through_mode::nothing) planned.output = resolve_report_of_filter(typed);
  if (typed.pass_through == config::pass_through_mode::text) planned.in_order_for = "--pass-through=text";
  if (planned.windows) planned.in_order_for = "--window";
  planned.output_name = planned.output ? "the output " + printable(*planned.output) : "standard output";
  planned.manner = resolve_writing(typed, *planned.format);
  planned.snapshot_every = typed.snapshot_every;
  planned.snapshot_by_signal = is_live(typed, *planned.format);
  planned.byte_counts = typed.byte_counts;
  planned.count_unverified = typed.count_unverified;
  planned.stats = typed.stats;
  planned.ignore_case = typed.ignore_case;
  planned.totals_only = typed.totals_only;
  planned.progress = typed.progress;
  planned.quiet = typed.quiet;
  size_buffers(typed, planned);
  return planned;
}

void refuse_new_output_as_input(const plan& planned) {
  if (!planned.output || (planned.manner != writing::live && planned.manner != writing::append)) return;
  std::error_code ignored;
  if (fs::exists(*planned.output, ignored) || names_descriptor(*planned.output)) return;
  const fs::path output = fs::absolute(*planned.output, ignored).lexically_normal();
  const auto is_output = [&](const std::string& input) {
    return input != "-" && fs::absolute(input, ignored).lexically_normal() == output;
  };
  if (std::ranges::none_of(planned.inputs, is_output) && !(planned.list && is_output(*planned.list))) return;
  throw config::usage_error(printable(*planned.output) +
                            ": is an input and the output, and there is no such file; give " +
                            "another --output, or leave it out of the inputs");
}

report make_report(const plan& planned, report::kind kind, run_counts counts) {
  report made;
  static_cast<run_counts&>(made) = std::move(counts);
  made.type = kind;
  made.schemes = planned.schemes;
  made.byte_counts = planned.byte_counts;
  made.measuring = planned.measuring;
  made.ignore_case = planned.ignore_case;
  made.totals_only = planned.totals_only;
  return made;
}

}  // namespace gpuhist::pipeline
