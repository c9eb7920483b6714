#include "pipeline/flow/decoding/device_decoding.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

// std::ranges::copy() copies byte by byte (libstdc++ 12).
void copy_bytes(std::byte* to, std::span<const std::byte> from) { std::memcpy(to, from.data(), from.size()); }

void copy_memory_of(std::deque<block>& blocks) {
  for (block& each : blocks) {
    const std::shared_ptr<std::byte[]> copy(new std::byte[each.bytes.size()]);
    std::copy_n(each.bytes.data(), each.bytes.size(), copy.get());
    each.bytes = {copy.get(), each.bytes.size()};
    each.memory = {copy, copy.get()};
  }
}

}  // namespace

// Whether the text of groups is needed in order, although devices decode them at the same time.
bool compressed_inputs::device_decoding::keeps_order() const { return windows_ != nullptr || device_.measures_units(); }

// False: the host must decode the group, for which it has a context then. Text that is needed in order may have to wait
// for the groups before it, and they may be waiting for a context: such a group waits for them first. A group that
// waits for earlier ones releases its slots, because they may be waiting for slots.
async::task<bool> compressed_inputs::device_decoding::try_decode() {
  const bool counted = windows_ != nullptr ? co_await divide_on_device() : co_await count_on_device();
  if (counted) {
    task_.staged.reset();
    co_return true;
  }
  std::deque<block> blocks = task_.staged->take_blocks();
  if (keeps_order() || !task_.may_request_context.is_set()) {
    for (const block& each : blocks) note_copied(each.bytes.size());
    copy_memory_of(blocks);
  }
  blocks.insert(blocks.end(), std::make_move_iterator(task_.staged_blocks.begin()),
                std::make_move_iterator(task_.staged_blocks.end()));
  task_.staged_blocks = std::move(blocks);
  task_.staged.reset();
  if (keeps_order()) {
    task_.input.end_collecting(task_);
    if (task_.previous) co_await task_.previous->ended.wait();
    co_await task_.text.wait_for_turn();
    task_.context = co_await inputs_.contexts_.acquire_reserved();
  } else {
    co_await inputs_.acquire_context(task_);
  }
  co_return false;
}

async::task<bool> compressed_inputs::device_decoding::count_on_device() {
  collected reached = co_await stage();
  if (reached == collected::step) {
    if (const auto steps = co_await device_.begin_steps(*task_.staged)) {
      co_await count_in_steps(*steps);
      co_return true;
    }
    reached = co_await stage();
  }
  if (reached != collected::whole) co_return false;
  task_.input.end_collecting(task_);
  task_.input.end_holding(task_);
  if (has_notice() || has_missed_end()) co_return false;
  std::optional<decoded_group> text = co_await device_.decode(*task_.staged);
  if (!text || !try_add(text->text_bytes)) co_return false;
  inputs_.note_reached(task_, task_.start.compressed_bytes + task_.staged->size());
  if (!text->unit_rows.empty()) co_await observe_units(*text);
  add_decoded(*text);
  co_return true;
}

// Whatever the device does not decode, the host decodes again from the begin of the frame.
async::task<> compressed_inputs::device_decoding::count_in_steps(stepped_group& steps) {
  task_.input.end_collecting(task_);
  async::event ended;
  gpu::frame_job job;
  device_.decode_steps(job, steps, [&](const std::exception_ptr&) {
    steps.note_job_ended();
    ended.set();
  });
  bool is_whole = false;
  std::exception_ptr error;
  try {
    is_whole = co_await append_to(steps);
  } catch (...) {
    error = std::current_exception();
  }
  if (!steps.is_complete() || error) steps.give_up();
  co_await ended.wait();
  if (error) std::rethrow_exception(error);
  is_whole = merge_ended(steps) && is_whole;
  const std::uint64_t reached = task_.start.compressed_bytes + steps.reached();
  inputs_.note_reached(task_, reached);
  if (job.decoded && is_whole) {
    ++notes_.frames;
    co_return co_await task_.text.end_frame(nullptr);
  }
  task_.end.failure = always(left_at(reached));
  task_.end.is_to_be_repeated = !stop_.stop_requested();
}

// False: the group is not one whole frame, or cannot be decoded here.
async::task<bool> compressed_inputs::device_decoding::append_to(stepped_group& steps) {
  for (;;) {
    if (!steps.advance()) co_return false;
    block next = co_await task_.blocks.take();
    if (next.end) co_return !next.error && !stop_.stop_requested() && steps.end();
    if ((next.lost && !may_stage_lost()) || steps.is_complete() || stop_.stop_requested()) co_return false;
    while (!next.bytes.empty()) {
      if (steps.has_job_ended() || !merge_ended(steps)) co_return false;
      const std::size_t appended = co_await task_.staged->append(next, copy_bytes);
      next.bytes = next.bytes.subspan(appended);
      if (next.bytes.empty()) break;
      if (appended > 0) next.lent = nullptr;       // its memory has more than the rest
      if (!steps.may_end_step()) co_return false;  // no slot will be free
      co_await steps.wait();
    }
    inputs_.note_reached(task_, task_.start.compressed_bytes + steps.reached());
  }
}

// False: the input has too much text.
bool compressed_inputs::device_decoding::merge_ended(stepped_group& steps) {
  while (const auto step = steps.take_ended()) {
    if (!merge_step(*step)) return false;
  }
  return true;
}

// False: the input has too much text.
bool compressed_inputs::device_decoding::merge_step(const gpu::frame_step& step) {
  device_.note_text(step.text_bytes);
  if (!try_add(step.text_bytes)) return false;
  const auto bytes = static_cast<std::uint32_t>(step.text_bytes);  // a step has less than 4 GiB
  if (bytes > 0) inputs_.counted_.merge_decoded({.owner = task_.text.owner(), .extent = {0, bytes}}, step.row);
  task_.text.add(bytes);
  return true;
}

// Where panes end depends on all text before, so the text is decoded twice: first only its size or its lines are
// measured; once those of all groups before it are known, the panes are planned and counted. Many groups do that at the
// same time; their panes are merged in order. docs/tuning.md has the alternatives.
async::task<bool> compressed_inputs::device_decoding::divide_on_device() {
  if (co_await stage() != collected::whole) co_return false;
  task_.input.end_collecting(task_);
  task_.input.end_holding(task_);
  const std::optional<std::uint32_t> units = co_await measure_text();
  if (!units) co_return false;
  if (task_.previous) co_await task_.previous->panes_known.wait();
  const gpu::text_cuts cuts = plan_panes(*units);
  task_.panes_known.set();
  device_frames::counting how;
  how.cuts = &cuts;
  const std::optional<decoded_group> text = co_await device_.decode(*task_.staged, how);
  if (!text) co_return false;
  if (task_.previous) co_await task_.previous->ended.wait();
  if (task_.input.damaged) co_return true;  // an earlier group ends the input
  task_.input.text_so_far += text->text_bytes;
  inputs_.note_reached(task_, task_.start.compressed_bytes + task_.staged->size());
  task_.staged.reset();
  co_await add_panes(*text, cuts);
  co_return true;
}

// Bytes or lines of the text, as windows are measured. Nothing: the device does not decode it. The sizes that frames
// state are not verified, so they are not used if the input continues after a damaged frame.
async::task<std::optional<std::uint32_t>> compressed_inputs::device_decoding::measure_text() const {
  const bool in_lines = windows_->shape().unit == pane_unit::lines;
  device_frames::list(*task_.staged);
  const encoded_frames* const frames = task_.staged->frames();
  if (frames == nullptr || has_notice()) co_return std::nullopt;
  if (!in_lines && !options_.skip_damage && frames->stated_text) {
    if (*frames->stated_text > std::numeric_limits<std::uint32_t>::max()) co_return std::nullopt;
    co_return static_cast<std::uint32_t>(*frames->stated_text);
  }
  device_frames::counting how;
  how.measures_only = true;
  const std::optional<decoded_group> text = co_await device_.decode(*task_.staged, how);
  if (!text) co_return std::nullopt;
  co_return static_cast<std::uint32_t>(in_lines ? counts_.lines_in(text->rows) : text->text_bytes);
}

// The next groups continue where the panes of this one end. After groups that the host has decoded, and has cut, the
// plan starts again.
gpu::text_cuts compressed_inputs::device_decoding::plan_panes(std::uint32_t units) {
  compressed_input& input = task_.input;
  const window_shape& shape = windows_->shape();
  if (!input.panes) input.panes.emplace(shape.pane, windows_->missing_in_pane(input.id));
  gpu::text_cuts cuts;
  if (shape.unit == pane_unit::lines) cuts.unit = gpu::cuda::zstd::cut_unit::lines;
  cuts.after = input.panes->next(units);
  return cuts;
}

async::task<> compressed_inputs::device_decoding::add_panes(const decoded_group& text, const gpu::text_cuts& cuts) {
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
  task_.text.set_frame(0);
  std::vector<pane_slice> panes;
  windows_->divide_slices(slices, task_.text.owner(), panes);
  std::vector<segment> segments;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    segments.push_back({.owner = task_.text.owner(),
                        .extent = {0, static_cast<std::uint32_t>(slices[i].bytes)},
                        .pane = panes[i].pane});
  }
  task_.text.add(text.text_bytes);
  co_await inputs_.counted_.merge_panes(segments, std::span(text.rows).first(segments.size() * columns));
}

// About the end of the input, which only the decoders of the host have.
bool compressed_inputs::device_decoding::has_notice() const {
  device_frames::list(*task_.staged);
  const encoded_frames* const frames = task_.staged->frames();
  return task_.ends_input && frames != nullptr && frames->lacks_end_marker;
}

// The divider has found other ends than those of the list, so the groups after this one have other numbers of frames.
// The host will decode the input again.
bool compressed_inputs::device_decoding::has_missed_end() const {
  const encoded_frames* const frames = task_.staged->frames();
  return task_.has_guesses && frames != nullptr && task_.start.frames + frames->frames.size() != task_.frames_at_end;
}

// Adds text to that of the input if the input may have so much. Several groups may add at the same time.
bool compressed_inputs::device_decoding::try_add(std::uint64_t bytes) const {
  const std::uint64_t of_all = task_.input.text_so_far += bytes;
  const std::uint64_t after = task_.text_before ? *task_.text_before + task_.text.bytes() + bytes : of_all;
  if (after <= options_.max_text) return true;
  task_.input.text_so_far -= bytes;
  return false;
}

// Collects the bytes of the group: all, or some if the group is not whole or there is no memory for the rest, or until
// a first step can be made of them.
async::task<compressed_inputs::device_decoding::collected> compressed_inputs::device_decoding::stage() {
  async::first_failure failed;
  async::task_group helpers(failed);
  collected reached = collected::some;
  try {
    reached = co_await collect(helpers);
  } catch (...) {
    failed.note(std::current_exception());
  }
  co_await helpers.ended();
  failed.rethrow();
  co_return reached;
}

async::task<compressed_inputs::device_decoding::collected> compressed_inputs::device_decoding::collect(
    async::task_group& helpers) {
  for (;;) {
    block next = co_await task_.blocks.take();
    if (next.end) {
      const bool is_whole = !next.error && !stop_.stop_requested() && task_.staged->size() > 0;
      co_return is_whole ? collected::whole : collected::some;
    }
    const std::size_t staged = next.lost && !may_stage_lost() ? 0 : co_await append(next, helpers);
    if (staged == next.bytes.size()) {
      if (device_.has_step(*task_.staged)) co_return collected::step;
      continue;
    }
    next.bytes = next.bytes.subspan(staged);
    task_.staged_blocks.push_back(std::move(next));
    co_return collected::some;
  }
}

// Members are listed farther than the splitter of the host looks for them. A stream may have no end, and none of it
// would be counted before.
bool compressed_inputs::device_decoding::may_stage_lost() const {
  return task_.staged->begins_member() && std::holds_alternative<io::file_source>(*task_.input.source);
}

// Several threads copy the bytes of a long group, which others may wait for. One thread copies 5 GB/s (docs/tuning.md).
async::task<std::size_t> compressed_inputs::device_decoding::append(const block& next, async::task_group& helpers) {
  constexpr std::uint64_t long_group = std::uint64_t{2} << 20U;
  constexpr std::size_t long_copy = std::size_t{64} << 10U;
  async::executor& pool = inputs_.executors_.pool;
  const bool is_long = task_.staged->size() >= long_group;
  if (is_long && device_.wants_more_slots()) {
    const auto grow = [](device_frames& device) -> async::task<> {
      device.grow_slots();
      co_return;
    };
    helpers.spawn(pool, grow(device_));
  }
  const auto copy = [&](std::byte* to, std::span<const std::byte> from) {
    if (!is_long || from.size() < long_copy) {
      copy_bytes(to, from);
      return;
    }
    const auto copy_later = [](std::byte* there, std::span<const std::byte> bytes, block) -> async::task<> {
      copy_bytes(there, bytes);
      co_return;
    };
    helpers.spawn(pool, copy_later(to, from, next));
  };
  co_return co_await task_.staged->append(next, copy);
}

void compressed_inputs::device_decoding::add_decoded(const decoded_group& text) {
  const auto bytes = static_cast<std::uint32_t>(text.text_bytes);  // a device decodes less than 4 GiB at once
  task_.text.set_frame(0);
  if (bytes > 0) {
    inputs_.counted_.merge_decoded({.owner = task_.text.owner(), .extent = {0, bytes}}, text.rows);
  }
  notes_.frames += text.frames;
  task_.text.add(bytes);
}

// Until the group ends. No group begins if all groups have copied much.
void compressed_inputs::device_decoding::note_copied(std::uint64_t bytes) {
  task_.copied_bytes += bytes;
  inputs_.copied_bytes_ += bytes;
}

// Releases the memory of the group and of its rows. A group that must wait for those before it copies its rows first:
// they may need the memory.
async::task<> compressed_inputs::device_decoding::observe_units(decoded_group& text) {
  text_taps& taps = *options_.text_to;
  const gpu::cuda::units::piece_classes& classes = *taps.piece_classes();
  task_.staged.reset();
  std::vector<std::vector<std::uint32_t>> copied;
  for (const std::span<const std::uint32_t> rows : text.unit_rows) {
    std::size_t taken = 0;
    if (copied.empty()) {
      const gpu::cuda::units::piece_rows pieces(rows, classes);
      taken = co_await taps.observe(task_.text.owner(), pieces, 0);
      if (taken == pieces.size()) continue;
    }
    note_copied(rows.size_bytes());
    copied.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(taken * classes.words_of_row()), rows.end());
  }
  text.unit_rows.clear();
  text.unit_memory.reset();
  if (copied.empty()) co_return;
  co_await taps.wait_for_turn(task_.text.owner());
  for (const std::vector<std::uint32_t>& rows : copied) {
    co_await taps.observe(task_.text.owner(), {rows, classes}, 0);
  }
}

}  // namespace gpuhist::pipeline
