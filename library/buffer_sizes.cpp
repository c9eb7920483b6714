#include "library/counting_plan.hpp"

#include "config/option_table.hpp"
#include "config/size.hpp"
#include "gpu/engines.hpp"
#include "gpu/row_layout.hpp"
#include "io/decoder.hpp"
#include "library/default_memory_limit.hpp"
#include "pipeline/counts/windows/rolling_windows.hpp"
#include "pipeline/flow/ring.hpp"
#include "report/units/unit_meter.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace gpuhist::library {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

// If every core decompresses and counts its text itself, chunks of this size stay in its caches: docs/tuning.md.
constexpr std::uint32_t busy_chunk_bytes = 256 * kib;

// Memory of the process without its buffers: code, libraries, stacks, tables of a decoder. Measured: 10 to 20 MiB.
constexpr std::uint64_t process_allowance = 24 * mib;

// A quarter of the memory limit is reserved for the windows of decoders (the text that they refer back to). Of 1 GiB,
// that is enough for four windows of 64 MiB, or for 32 of zstd's level 19.
constexpr std::uint64_t share_for_windows = 4;

constexpr std::uint64_t share_of_rows = 8;             // memory for rows of units, of that for compressed bytes
constexpr std::uint64_t device_allowance = 144 * mib;  // memory of the host for the context of each device: measured

// Half of a core's L2 cache, if the memory limit leaves room for many, or for those of --slots.
std::uint64_t cached_chunk_bytes(const file_options& options, std::uint64_t memory_limit) {
  constexpr std::uint64_t chunks_of_limit = 1024;
  constexpr std::uint64_t share_of_slots = 4;
  const std::uint64_t chunks = std::max(chunks_of_limit, share_of_slots * options.slots);
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or negative: unknown
  const std::uint64_t half = static_cast<std::uint64_t>(std::max(cache, 0L)) / 2;
  return std::clamp(std::bit_floor(std::min(half, memory_limit / chunks)), 256 * kib, mib);
}

// Host slots stay in a core's L2 cache between reading and counting. Chunks are committed in sequence, so many threads
// need larger ones. Device slots stay in a core's L2 cache while they are read, too; several of them make one copy.
// docs/tuning.md has the measurements.
std::uint32_t default_chunk_bytes(const file_options& options, const counting_plan& so_far) {
  constexpr unsigned many_threads = 8;
  const bool is_large = so_far.forecast.cuda || so_far.threads >= many_threads;
  std::uint64_t bytes = is_large ? 2 * mib : cached_chunk_bytes(options, so_far.buffers.memory_limit);
  if (options.snapshot_every) {
    if (const auto* every = std::get_if<std::uint64_t>(&*options.snapshot_every)) {
      bytes = std::min(bytes, std::max(*every, 4 * kib));  // a snapshot is taken between two chunks
    }
  }
  return static_cast<std::uint32_t>(bytes);
}

// Of one copy to a device. Larger ones keep the link busier, and need more slots: beside counting cores, a slot should
// still be in the cache when it is filled again. docs/tuning.md has the measurements.
std::uint64_t copy_bytes(const counting_plan& so_far) { return so_far.forecast.cuda ? 16 * mib : 8 * mib; }

// For each thread, one slot that is filled, one that is counted, and two ahead.
std::uint32_t host_slots(const counting_plan& so_far) { return std::max(8U, 4 * so_far.threads); }

std::uint32_t default_slots(const counting_plan& so_far) {
  const gpu::engine_forecast& ahead = so_far.forecast;
  if (!ahead.cuda && !ahead.shared) return host_slots(so_far);
  const auto chunks_of_a_copy =
      std::clamp(static_cast<std::uint32_t>(copy_bytes(so_far) / so_far.buffers.chunk_bytes), 1U, 32U);
  // every reading thread fills one slot, one waits for each of them, and every lane has a copy in flight
  if (ahead.cuda) return 2 * so_far.readers + ahead.lanes * chunks_of_a_copy;
  // for every lane two copies in flight, and the slots that the host counts meanwhile, which are committed after them
  return 2 * host_slots(so_far) + 2 * ahead.lanes * chunks_of_a_copy;
}

gpu::row_layout layout_of(const counting_plan& planned) { return {planned.partition, planned.pairs}; }

std::uint64_t ring_bytes(const counting_plan& planned) {
  return pipeline::ring_shape{.slots = planned.buffers.slots,
                              .chunk_bytes = planned.buffers.chunk_bytes,
                              .max_extents = planned.buffers.max_extents,
                              .row_columns = static_cast<std::uint32_t>(layout_of(planned).columns())}
      .mapped_bytes();
}

std::uint64_t pair_bytes(const counting_plan& planned) {
  return layout_of(planned).pair_columns() * sizeof(std::uint64_t);
}

// Pairs of the panes of a window, and of panes that are merged but not in a window yet.
std::uint64_t bytes_of_window_pairs(const counting_plan& planned) {
  if (!planned.windows) return 0;
  return (planned.windows->window_panes + pipeline::rolling_windows::max_panes_merged) * pair_bytes(planned);
}

// Memory of the names on the command line and of unfinished inputs. There are at most as many unfinished inputs as
// segments in the slots. Finished inputs are spilled to a file (finished_inputs).
std::uint64_t bytes_of_inputs(const file_options& options, const counting_plan& planned) {
  constexpr std::uint64_t finished_bytes = 2 * mib;
  const pipeline::buffer_plan& buffers = planned.buffers;
  const std::uint64_t input_bytes = 512 + 2 * pair_bytes(planned);  // verified and unverified
  std::uint64_t named = 0;
  for (const std::string& each : options.inputs) named += 2 * sizeof(std::string) + each.size();
  const bool many = options.inputs.size() > 1 || options.trees || options.list;
  return named + (many ? finished_bytes + std::uint64_t{buffers.slots} * buffers.max_extents * input_bytes : 0);
}

std::uint64_t read_ahead_bytes(const pipeline::buffer_plan& buffers) {
  constexpr std::uint64_t bytes_of_staged = 16 * kib;  // besides the slots
  const std::uint64_t open = std::max(buffers.open_inputs, buffers.open_on_device);
  return std::uint64_t{buffers.block_bytes} * (buffers.blocks * open + buffers.extra_blocks) +
         buffers.staged_inputs * bytes_of_staged;
}

// Every decoder holds the slot that it fills, and so does the reader of plain text. With fewer slots than these, all of
// them could wait for a slot forever. One more input is open than there are decoders, so that its first blocks have
// been read when a decoder becomes free.
void plan_decoders(const file_options& options, counting_plan& planned) {
  constexpr std::uint32_t blocks_ahead = 16;  // per decoder: frames of up to 4 MiB have been read when they are decoded
  constexpr std::uint32_t max_extra_blocks = 256;
  constexpr std::uint64_t share_of_memory = 8;
  constexpr std::uint64_t window_share_of_decoder = 4 * mib;  // a quarter is its own, the rest is lent to others
  pipeline::buffer_plan& buffers = planned.buffers;
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
  buffers.group_bytes = options.skip_damage ? 1 : static_cast<std::uint32_t>(64 * kib);
}

// A filter that drops damaged units holds the text of each frame until it is verified.
void plan_held_text(counting_plan& planned) {
  if (!planned.units || !planned.units->filter || !planned.units->filter->drops_unverified) return;
  constexpr std::uint64_t share_of_memory = 16;
  pipeline::buffer_plan& buffers = planned.buffers;
  buffers.held_bytes =
      std::clamp<std::uint64_t>(buffers.memory_limit / share_of_memory / buffers.decoders, 64 * kib, 8 * mib);
}

// Readers of units hold what they find until the text before has been read, and the text of a unit that is not
// complete.
void plan_units(counting_plan& planned) {
  if (!planned.units || !planned.units->shape.divides_text()) return;
  constexpr std::uint64_t share_of_memory = 8;
  constexpr std::uint64_t max_held = 128 * mib;
  constexpr std::uint64_t share_for_open_units = 4;
  const pipeline::buffer_plan& buffers = planned.buffers;
  report::units::unit_plan made = *planned.units;
  made.held_bytes = std::min(buffers.memory_limit / share_of_memory, max_held);
  if (made.lines) {
    made.lines->groups_in_memory = std::clamp<std::uint64_t>(buffers.memory_limit / share_of_memory, 4 * mib, 64 * mib);
  }
  if (made.duplicates) {
    made.duplicates->in_memory = std::clamp<std::uint64_t>(buffers.memory_limit / share_of_memory, 4 * mib, 64 * mib);
  }
  if (made.filter) {
    made.filter->in_memory =
        std::clamp<std::uint64_t>(buffers.memory_limit / share_for_open_units / buffers.decoders, 256 * kib, 16 * mib);
  }
  planned.units = std::make_shared<const report::units::unit_plan>(std::move(made));
}

// Of the memory limit. It is taken from the slots, and from the windows of decoders beyond their quarter, so that no
// limit is refused for it.
std::uint64_t held_by_units(const counting_plan& planned) {
  if (!planned.units || !planned.units->shape.divides_text()) return 0;
  const report::units::unit_plan& units = *planned.units;
  return units.held_bytes + (units.lines ? units.lines->groups_in_memory : 0) +
         (units.duplicates ? 2 * units.duplicates->in_memory : 0);
}

// Rows are there for a short time: from when a group was decoded until they are evaluated.
std::uint64_t bytes_for_rows(const pipeline::buffer_plan& buffers) {
  if (buffers.row_slot_bytes == 0) return 0;
  return std::uint64_t{buffers.device_slots} * buffers.device_slot_bytes / share_of_rows;
}

// Inputs that are open at once, if many are.
constexpr std::uint32_t least_open_on_device = 96;

// Descriptors of files, of those that the process may have: the others are for its libraries and their devices.
std::uint32_t free_descriptors() {
  constexpr ::rlim_t others = 256;
  constexpr ::rlim_t plenty = 1U << 20U;
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::uint32_t>(std::min(limit.rlim_cur - std::min(limit.rlim_cur, others), plenty));
}

// The default number of slots is reduced until the buffers, the windows of decoders and the memory of CUDA fit into the
// limit, then the memory for compressed bytes that devices decode. A number given by --slots is not reduced. A limit is
// refused only if the buffers themselves exceed it.
void fit_into(std::uint64_t limit, const file_options& options, counting_plan& planned) {
  constexpr std::uint64_t window_of_long_archives = 176 * mib;  // one of 128 MiB, which the host decodes, and others
  pipeline::buffer_plan& buffers = planned.buffers;
  const bool may_reduce = options.slots == 0;
  // a buffer grows by doubling
  const std::uint64_t held = 2 * std::uint64_t{buffers.held_bytes} * buffers.decoders;
  const std::uint64_t fixed = process_allowance + bytes_of_window_pairs(planned) + held;
  const std::uint64_t of_cuda = planned.forecast.devices.size() * device_allowance;
  const auto of_device = [&] {
    return std::uint64_t{buffers.device_slots} * buffers.device_slot_bytes + bytes_for_rows(buffers);
  };
  const auto within_limit = [&] { return of_device() - std::min(of_device(), buffers.beyond_limit); };
  const auto needed = [&] {
    return fixed + read_ahead_bytes(buffers) + within_limit() + ring_bytes(planned) + bytes_of_inputs(options, planned);
  };
  const std::uint64_t of_windows = limit / share_for_windows;
  const std::uint32_t fewest = std::min(buffers.slots, buffers.decoders + 1);
  while (needed() + of_cuda > limit && buffers.open_on_device > least_open_on_device) --buffers.open_on_device;
  const std::uint64_t of_units = held_by_units(planned);
  // where a device decodes, the host needs less memory for windows, and plain text all slots to keep the link busy
  const bool spares_windows = buffers.device_slots == 0;
  while (spares_windows && needed() + of_units + of_cuda + of_windows > limit && may_reduce && buffers.slots > fewest) {
    --buffers.slots;
  }
  while (needed() + of_cuda > limit && may_reduce && buffers.slots > 2) --buffers.slots;
  // if both host and device may count, plain text needs no more slots than on the host alone
  const std::uint32_t enough = planned.forecast.shared && may_reduce ? host_slots(planned) : buffers.slots;
  while (needed() + window_of_long_archives > limit && buffers.device_slots > 0 && buffers.slots > enough) {
    --buffers.slots;
  }
  while (needed() + window_of_long_archives > limit && within_limit() > 0) --buffers.device_slots;
  if (buffers.device_slots == 0) buffers.staged_inputs = 0;
  buffers.beyond_limit = std::min(buffers.beyond_limit, of_device());
  if (buffers.row_slot_bytes > 0) {
    buffers.row_slots = static_cast<std::uint32_t>(bytes_for_rows(buffers) / buffers.row_slot_bytes);
  }
  if (needed() > limit) {
    throw config::option_error("memory-limit",
                               std::to_string(buffers.slots) + " slots of " + config::format_size(buffers.chunk_bytes) +
                                   " and the other buffers need " + config::format_size(needed()) +
                                   ", more than the limit of " + config::format_size(limit) + "; give " +
                                   (planned.is_fed ? "" : "fewer --slots, a smaller --chunk-size or ") +
                                   "a higher --memory-limit");
  }
  const std::uint64_t rest = limit - needed();
  buffers.window_limit = rest <= of_windows ? rest : std::max(of_windows, rest - std::min(rest, of_units));
}

// A segment for every 4 KiB, the size of small files. Short panes need more, up to 1024, which limits their rows. Rows
// with pairs have up to 4 KiB more, so there are fewer.
std::uint32_t max_extents(const counting_plan& so_far) {
  constexpr std::uint32_t lower_bound = 16;
  const std::uint32_t upper_bound = so_far.pairs ? 128 : 1024;
  const std::uint32_t chunk = so_far.buffers.chunk_bytes;
  std::uint64_t wanted = chunk / ((so_far.pairs ? 16 : 4) * kib);
  const std::uint64_t min_pane = so_far.windows ? so_far.windows->min_pane_bytes() : 0;
  if (min_pane > 0) wanted = std::max(wanted, chunk / min_pane + lower_bound);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, lower_bound, upper_bound));
}

// Beside lanes, fewer threads read than there are: a lane or the main thread that waits for a core lets the link wait.
// docs/tuning.md has the measurements. Without lanes, threads that do not read count.
unsigned default_readers(const counting_plan& so_far) {
  constexpr unsigned others = 2;
  return so_far.forecast.cuda && so_far.threads > 2 * others ? so_far.threads - others : so_far.threads;
}

// Whether all units can be measured by a device.
bool measures_on_device(const counting_plan& planned) {
  if (!planned.units || !planned.units->shape.divides_text()) return true;
  return report::units::unit_meter(*planned.units, planned.partition, planned.measuring.baseline.get()).pieces() !=
         nullptr;
}

// Windows of bytes or lines can be cut by a device, unless they are so short that their rows would take longer than
// their text. Text that was cut is not decoded again, as --max-output may require.
bool cuts_windows_on_device(const counting_plan& planned) {
  constexpr std::uint64_t min_bytes = 16 * kib;
  constexpr std::uint64_t min_lines = 128;
  if (!planned.windows) return true;
  const pipeline::window_shape& shape = *planned.windows;
  const std::uint64_t shortest = shape.unit == pipeline::pane_unit::lines ? min_lines : min_bytes;
  return shape.unit != pipeline::pane_unit::milliseconds && shape.pane >= shortest && !planned.units &&
         !planned.max_output;
}

// Pairs, most filters, --utf8 and passed-through text need the text on the host. Many inputs are open at once if there
// is memory for them: a frame is decoded in order, so one device needs many frames.
void plan_device_decoding(const file_options& file, counting_plan& planned) {
  constexpr std::uint64_t max_bytes = 4096 * mib;
  constexpr std::uint64_t share_of_memory = 2;
  constexpr std::uint64_t row_slot_bytes = 256 * kib;
  constexpr std::uint32_t most_open = 384;
  constexpr std::uint32_t most_staged = 1024;
  constexpr std::uint32_t share_of_descriptors = 2;  // a program may have several runs
  const counting_options& options = file.counting;
  pipeline::buffer_plan& buffers = planned.buffers;
  const std::uint32_t slot_bytes = buffers.block_bytes;  // so that blocks are exchanged for slots, not copied
  planned.decodes_on_device = options.device_decode != device_decoding::off &&
                              (planned.forecast.cuda || planned.forecast.shared) && cuts_windows_on_device(planned) &&
                              !planned.pairs && !planned.dictionary && !planned.passes_through && !planned.follow &&
                              !planned.validates_utf8 && measures_on_device(planned);
  if (!planned.decodes_on_device) return;
  buffers.min_device_bytes = options.device_decode == device_decoding::on ? 0 : 64 * kib;
  buffers.device_slot_bytes = slot_bytes;
  buffers.more_device_slots = static_cast<std::uint32_t>(64 * mib / slot_bytes);
  if (planned.units && planned.units->shape.divides_text()) {
    buffers.row_slot_bytes = static_cast<std::uint32_t>(row_slot_bytes);
    buffers.more_row_slots = static_cast<std::uint32_t>(8 * mib / row_slot_bytes);
  }
  buffers.device_group_bytes = file.skip_damage ? 1 : static_cast<std::uint32_t>(mib);  // as group_bytes
  std::uint64_t of_device = std::min(max_bytes, buffers.memory_limit / share_of_memory);
  buffers.beyond_limit = options.memory_limit > 0 ? 0 : std::min(default_device_memory(), max_bytes - of_device);
  of_device += buffers.beyond_limit;
  if (buffers.row_slot_bytes > 0) of_device = of_device * share_of_rows / (share_of_rows + 1);
  buffers.device_slots = static_cast<std::uint32_t>(of_device / slot_bytes);
  const std::uint64_t open = buffers.memory_limit / (std::uint64_t{4} * buffers.blocks * buffers.block_bytes);
  if (!planned.windows && open >= least_open_on_device) {
    buffers.open_on_device = static_cast<std::uint32_t>(std::min<std::uint64_t>(open, most_open));
    const std::uint32_t descriptors = free_descriptors();
    const std::uint32_t left = descriptors - std::min(descriptors, buffers.open_on_device);
    // what is rejected while units are measured is copied to memory
    const bool may_copy = planned.units && planned.units->shape.divides_text();
    if (!may_copy) buffers.staged_inputs = std::min(most_staged, left / share_of_descriptors);
  }
}

// Everything is sized by the limit, in the order in which one size depends on another.
void size_within(std::uint64_t limit, const file_options& options, counting_plan& planned) {
  pipeline::buffer_plan& buffers = planned.buffers;
  buffers.memory_limit = limit;
  buffers.chunk_bytes = options.chunk_size > 0 ? options.chunk_size : default_chunk_bytes(options, planned);
  buffers.busy_chunk_bytes = busy_chunk_bytes;
  buffers.copy_bytes = static_cast<std::uint32_t>(std::max<std::uint64_t>(copy_bytes(planned), buffers.chunk_bytes));
  planned.readers = default_readers(planned);
  buffers.slots = options.slots > 0 ? options.slots : default_slots(planned);
  buffers.max_extents = max_extents(planned);
  buffers.pipe_bytes = mib;
  plan_decoders(options, planned);
  plan_held_text(planned);
  plan_units(planned);
  plan_device_decoding(options, planned);
  fit_into(limit, options, planned);
  // fit_into may have reduced the slots
  buffers.decoders = std::min(buffers.decoders, buffers.slots - 1);
}

// For messages: with a higher limit chunks and buffers grow to what they have without one.
io::memory_besides_windows besides_windows(const file_options& options, counting_plan planned) {
  constexpr std::uint64_t plenty = std::uint64_t{1} << 50U;
  constexpr std::uint64_t own_window = 8 * mib;  // of a decoder, at most (decode_contexts)
  size_within(plenty, options, planned);
  const pipeline::buffer_plan& made = planned.buffers;
  const std::uint64_t of_devices = std::uint64_t{made.device_slots} * made.device_slot_bytes + bytes_for_rows(made);
  const std::uint64_t of_windows = made.window_limit - (made.decoders + 1) * own_window;
  return {.bytes = plenty - of_windows - of_devices, .of_devices = of_devices};
}

}  // namespace

void size_buffers(const file_options& options, counting_plan& planned) {
  planned.buffers.besides_windows = besides_windows(options, planned);
  size_within(memory_limit_of(options.counting), options, planned);
}

}  // namespace gpuhist::library
