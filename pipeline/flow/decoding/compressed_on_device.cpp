// Groups of compressed_inputs that a device decodes.
#include "pipeline/flow/decoding/compressed_group.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace gpuhist::pipeline {
namespace {

void copy_memory_of(std::deque<block>& blocks) {
  for (block& each : blocks) {
    const std::shared_ptr<std::byte[]> copy(new std::byte[each.bytes.size()]);
    std::ranges::copy(each.bytes, copy.get());
    each.bytes = {copy.get(), each.bytes.size()};
    each.memory = {copy, copy.get()};
  }
}

}  // namespace

// Whether the text of groups is needed in order, although devices decode them at the same time.
bool compressed_inputs::keeps_order() const { return options_.windows != nullptr || options_.device->measures_units(); }

// False: the host must decode the group, for which it has a context then. Text that is needed in order may have to wait
// for the groups before it, and they may be waiting for a context: such a group waits for them first. A group that
// waits for earlier ones releases its slots, because they may be waiting for slots.
async::task<bool> compressed_inputs::decode_on_device(group& task) {
  const bool counted = options_.windows != nullptr ? co_await divide_on_device(task) : co_await count_on_device(task);
  if (counted) {
    task.staged.reset();
    co_return true;
  }
  std::deque<block> blocks = task.staged->take_blocks();
  if (keeps_order() || !task.may_request_context.is_set()) {
    for (const block& each : blocks) note_copied(task, each.bytes.size());
    copy_memory_of(blocks);
  }
  blocks.insert(blocks.end(), std::make_move_iterator(task.staged_blocks.begin()),
                std::make_move_iterator(task.staged_blocks.end()));
  task.staged_blocks = std::move(blocks);
  task.staged.reset();
  if (keeps_order()) {
    task.input.end_collecting(task);
    if (task.previous) co_await task.previous->ended.wait();
    if (options_.text_to != nullptr) co_await options_.text_to->wait_for_turn(task.text.owner());
    task.context = co_await contexts_.acquire_reserved();
  } else {
    co_await acquire_context(task);
  }
  co_return false;
}

async::task<bool> compressed_inputs::count_on_device(group& task) {
  if (!co_await stage(task)) co_return false;
  task.input.end_collecting(task);
  task.input.end_holding(task);
  std::optional<decoded_group> text = co_await options_.device->decode(*task.staged);
  if (!text || !try_add(task, text->text_bytes)) co_return false;
  note_reached(task, task.start.compressed_bytes + task.staged->size());
  if (!text->unit_rows.empty()) co_await observe_units(task, *text);
  add_decoded(task, *text);
  co_return true;
}

// Where panes end depends on all text before, so the text is decoded twice: first only its size or its lines are
// measured; once those of all groups before it are known, the panes are planned and counted. Many groups do that at the
// same time; their panes are merged in order. docs/tuning.md has the alternatives.
async::task<bool> compressed_inputs::divide_on_device(group& task) {
  if (!co_await stage(task)) co_return false;
  task.input.end_collecting(task);
  task.input.end_holding(task);
  const std::optional<std::uint32_t> units = co_await measure_text(task);
  if (!units) co_return false;
  if (task.previous) co_await task.previous->panes_known.wait();
  const gpu::text_cuts cuts = plan_panes(task.input, *units);
  task.panes_known.set();
  device_frames::counting how;
  how.cuts = &cuts;
  const std::optional<decoded_group> text = co_await options_.device->decode(*task.staged, how);
  if (!text) co_return false;
  if (task.previous) co_await task.previous->ended.wait();
  if (task.input.damaged) co_return true;  // an earlier group ends the input
  task.input.text_so_far += text->text_bytes;
  note_reached(task, task.start.compressed_bytes + task.staged->size());
  task.staged.reset();
  co_await add_panes(task, *text, cuts);
  co_return true;
}

// Bytes or lines of the text, as windows are measured. Nothing: the device does not decode it. The sizes that frames
// state are not verified, so they are not used if the input continues after a damaged frame.
async::task<std::optional<std::uint32_t>> compressed_inputs::measure_text(group& task) const {
  const bool in_lines = options_.windows->shape().unit == pane_unit::lines;
  options_.device->list(*task.staged);
  const encoded_frames* const frames = task.staged->frames();
  if (frames == nullptr) co_return std::nullopt;
  if (!in_lines && !options_.skip_damage && frames->stated_text) {
    if (*frames->stated_text > std::numeric_limits<std::uint32_t>::max()) co_return std::nullopt;
    co_return static_cast<std::uint32_t>(*frames->stated_text);
  }
  device_frames::counting how;
  how.measures_only = true;
  const std::optional<decoded_group> text = co_await options_.device->decode(*task.staged, how);
  if (!text) co_return std::nullopt;
  co_return static_cast<std::uint32_t>(in_lines ? counts_.lines_in(text->rows) : text->text_bytes);
}

// The next groups continue where the panes of this one end. After groups that the host has decoded, and has cut, the
// plan starts again.
gpu::text_cuts compressed_inputs::plan_panes(compressed_input& input, std::uint32_t units) const {
  const window_shape& shape = options_.windows->shape();
  if (!input.panes) input.panes.emplace(shape.pane, options_.windows->missing_in_pane(input.id));
  gpu::text_cuts cuts;
  if (shape.unit == pane_unit::lines) cuts.unit = gpu::cuda::zstd::cut_unit::lines;
  cuts.after = input.panes->next(units);
  return cuts;
}

async::task<> compressed_inputs::add_panes(group& task, const decoded_group& text, const gpu::text_cuts& cuts) {
  const std::size_t columns = text.rows.size() / text.last_bytes.size();
  std::vector<planned_slice> slices;
  for (std::size_t i = 0; i < text.last_bytes.size(); ++i) {
    const std::span row(text.rows.data() + i * columns, columns);
    const std::uint64_t bytes = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
    const std::uint64_t lines = counts_.lines_in(row);
    const std::uint64_t units = cuts.unit == gpu::cuda::zstd::cut_unit::lines ? lines : bytes;
    slices.push_back({.bytes = bytes, .units = units, .ends_line = text.last_bytes[i] == '\n'});
  }
  if (!slices.empty() && slices.back().bytes == 0) slices.pop_back();
  notes_.frames += text.frames;
  if (slices.empty()) co_return;
  task.text.set_frame(0);
  std::vector<pane_slice> panes;
  options_.windows->divide_slices(slices, task.text.owner(), panes);
  std::vector<segment> segments;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    segments.push_back({.owner = task.text.owner(),
                        .extent = {0, static_cast<std::uint32_t>(slices[i].bytes)},
                        .pane = panes[i].pane});
  }
  task.text.add(text.text_bytes);
  co_await counted_.merge_panes(segments, std::span(text.rows).first(segments.size() * columns));
}

// Adds text to that of the input if the input may have so much. Several groups may add at the same time.
bool compressed_inputs::try_add(group& task, std::uint64_t bytes) const {
  const std::uint64_t of_all = task.input.text_so_far += bytes;
  if ((task.text_before ? *task.text_before + bytes : of_all) <= options_.max_text) return true;
  task.input.text_so_far -= bytes;
  return false;
}

// Collects the bytes of the group. False: the group is not whole, or there is no memory for all of it.
async::task<bool> compressed_inputs::stage(group& task) {
  for (;;) {
    block next = co_await task.blocks.take();
    if (next.end) co_return !next.error && !stop_.stop_requested() && task.staged->size() > 0;
    const std::size_t staged = next.lost ? 0 : co_await task.staged->append(next.bytes);
    if (staged == next.bytes.size()) continue;
    next.bytes = next.bytes.subspan(staged);
    task.staged_blocks.push_back(std::move(next));
    co_return false;
  }
}

void compressed_inputs::add_decoded(group& task, const decoded_group& text) {
  const auto bytes = static_cast<std::uint32_t>(text.text_bytes);  // a device decodes less than 4 GiB at once
  task.text.set_frame(0);
  if (bytes > 0) {
    counted_.merge_decoded({.owner = task.text.owner(), .extent = {0, bytes}}, text.rows);
  }
  notes_.frames += text.frames;
  task.text.add(bytes);
}

// Until the group ends. No group begins if all groups have copied much.
void compressed_inputs::note_copied(group& task, std::uint64_t bytes) {
  task.copied_bytes += bytes;
  copied_bytes_ += bytes;
}

bool compressed_inputs::has_copied_much() const {
  constexpr std::uint64_t share_of_slots = 4;
  const device_frames* const device = options_.device;
  return device != nullptr &&
         copied_bytes_ >= std::uint64_t{device->max_slots()} * device->slot_bytes() / share_of_slots &&
         copied_bytes_ > 0;
}

// Releases the memory of the group and of its rows. A group that must wait for those before it copies its rows first:
// they may need the memory.
async::task<> compressed_inputs::observe_units(group& task, decoded_group& text) {
  task.staged.reset();
  std::vector<std::vector<std::uint32_t>> copied;
  for (const std::span<const std::uint32_t> rows : text.unit_rows) {
    using gpu::cuda::units::piece_rows;
    const gpu::cuda::units::piece_classes& classes = *options_.text_to->piece_classes();
    std::size_t taken = 0;
    if (copied.empty()) {
      const piece_rows pieces(rows, classes);
      taken = co_await options_.text_to->observe(task.text.owner(), pieces, 0);
      if (taken == pieces.size()) continue;
    }
    note_copied(task, rows.size_bytes());
    copied.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(taken * classes.words_of_row()), rows.end());
  }
  text.unit_rows.clear();
  text.unit_memory.reset();
  if (copied.empty()) co_return;
  co_await options_.text_to->wait_for_turn(task.text.owner());
  for (const std::vector<std::uint32_t>& rows : copied) {
    co_await options_.text_to->observe(task.text.owner(), {rows, *options_.text_to->piece_classes()}, 0);
  }
}

}  // namespace gpuhist::pipeline
