#include "gpu/cuda/frames/frame_batch.hpp"

#include "gpu/cuda/deflate/checksum.hpp"
#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/error.hpp"

#include <algorithm>

namespace gpuhist::gpu::cuda::frames {

using namespace zstd;  // its phases serve gzip, too

namespace {

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

// Frames of zstd take what they need of what members leave.
std::uint64_t sequences_of(const frame_job& job) {
  return job.sequences > 0 ? job.sequences : frame_decoder::sequences_for(job.text_room, job.blocks.size());
}

std::uint64_t literals_of(const frame_job& job) {
  return job.sequences > 0 ? deflate::member_room::most_literals(job.text_room) : job.text_room;
}

// And what aligns those of blocks and members.
std::uint64_t literal_room(const frame_decoder::limits& limits) {
  constexpr std::uint64_t alignment = deflate::member_room::literal_alignment;  // and of zstd blocks
  return std::min<std::uint64_t>(limits.text_bytes + alignment * limits.blocks, ~std::uint32_t{0});
}

}  // namespace

// A segment of a long text; more parts than a device executes at once save no time.
std::uint32_t frame_batch::symbol_room(const frame_decoder::limits& limits) {
  constexpr std::uint64_t most = std::uint64_t{512} * part_segment::symbols_of_part;
  const std::uint64_t room = std::min(most, limits.text_bytes / 32);
  return room < part_segment::min_symbols ? 0 : static_cast<std::uint32_t>(room);
}

frame_batch::frame_batch(runtime& api, const frame_decoder::limits& limits)
    : api_(api),
      limits_(limits),
      frames_(api, limits.frames * sizeof(encoded_frame)),
      blocks_(api, limits.blocks * sizeof(encoded_block)),
      groups_(api, limits.slices * sizeof(group_range)),
      cuts_(api, limits.slices * sizeof(std::uint32_t)),
      last_bytes_(api, limits.slices * sizeof(std::uint32_t)),
      results_(api, limits.frames * sizeof(decoded_frame)),
      totals_(api, limits.slices * row_bytes),
      class_table_(api, sizeof(units::class_table)),
      strings_(api, sizeof(units::searched_strings)),
      extent_pieces_(api, (limits.frames + std::size_t{1}) * sizeof(std::uint32_t)),
      extent_rows_(api, (limits.frames + std::size_t{1}) * sizeof(std::uint32_t)),
      used_at_first_(api, 2 * sizeof(std::uint64_t)),
      hasher_(api, limits.text_bytes),
      begun_(api),
      compressed_(api, limits.compressed_bytes + limits.slices * quad_bytes),
      device_frames_(api, limits.frames * sizeof(encoded_frame)),
      device_blocks_(api, limits.blocks * sizeof(encoded_block)),
      device_groups_(api, limits.slices * sizeof(group_range)),
      device_cuts_(api, limits.slices * sizeof(std::uint32_t)),
      places_of_cuts_(api, limits.slices * sizeof(std::uint32_t)),
      slice_extents_(api, limits.frames * sizeof(extent)),
      slice_ends_(api, limits.slices * sizeof(std::uint32_t)),
      device_last_bytes_(api, limits.slices * sizeof(std::uint32_t)),
      codes_(api, limits.blocks * sizeof(block_codes)),
      decoded_(api, limits.blocks * sizeof(decoded_block)),
      literals_(api, literal_room(limits)),
      sequences_(api, limits.sequences * sizeof(sequence_entry)),
      portions_(api, limits.blocks * sizeof(deflate::portion_block)),
      text_(api, limits.text_bytes),
      device_results_(api, limits.frames * sizeof(decoded_frame)),
      used_(api, 2 * sizeof(std::uint64_t)),
      symbols_(api, std::size_t{symbol_room(limits)} * sizeof(std::int32_t)),
      progress_(api, sizeof(part_progress)),
      extents_(api, limits.frames * sizeof(extent)),
      rows_(api, limits.frames * row_bytes),
      device_totals_(api, limits.slices * row_bytes),
      device_class_table_(api, sizeof(units::class_table)),
      device_strings_(api, sizeof(units::searched_strings)),
      tile_pieces_(api, (units::tiles_in(static_cast<std::uint32_t>(limits.text_bytes)) + 1) * sizeof(std::uint32_t)),
      device_extent_pieces_(api, (limits.frames + std::size_t{1}) * sizeof(std::uint32_t)),
      tile_rows_(api, (units::tiles_in(static_cast<std::uint32_t>(limits.text_bytes)) + 1) * sizeof(std::uint32_t)),
      device_extent_rows_(api, (limits.frames + std::size_t{1}) * sizeof(std::uint32_t)) {
  jobs_.reserve(limits.slices);
  places_.reserve(limits.slices);
  in_parts_.reserve(max_frames_in_parts);
  hashed_.reserve(max_frames_in_parts);
  clear();
}

void frame_batch::prepare(const stream& on) {
  clear_memory(text_.as<void>(), limits_.text_bytes, on);
  clear_memory(literals_.as<void>(), literal_room(limits_), on);
}

bool frame_batch::has_room_for(const frame_job& job) const {
  const std::size_t cuts = job.slices() - 1;
  return job.steps == nullptr && job.slices() <= limits_.slices - slices_used_ &&
         job.compressed_bytes() <= limits_.compressed_bytes - compressed_used_ &&
         literals_used_ + literals_of(job) <= limits_.text_bytes &&
         job.frames.size() + cuts <= limits_.frames - frames_used_ - cuts_used() &&
         job.blocks.size() <= limits_.blocks - blocks_used_ && sequences_of(job) <= limits_.sequences - sequences_used_;
}

void frame_batch::add(frame_job& job) noexcept {
  const place at{.compressed = compressed_used_,
                 .text = text_used_,
                 .frame = frames_used_,
                 .block = blocks_used_,
                 .slice = slices_used_};
  for (const encoded_frame& each : job.frames) {
    encoded_frame& to = frames_.as<encoded_frame>()[frames_used_++];
    to = each;
    to.text_at += at.text;
    to.first_block += at.block;
    if (job.sequences > 0) {
      deflate::place_member(to, std::span<std::uint64_t, 2>(used_at_first_.as<std::uint64_t>(), 2));
      ++members_used_;
      portions_used_ += to.portions;
    }
    longest_text_ = std::max(longest_text_, to.text_room);
  }
  for (const encoded_block& each : job.blocks) {
    encoded_block& to = blocks_.as<encoded_block>()[blocks_used_++];
    to = each;
    to.at += static_cast<std::uint32_t>(at.compressed);
    to.frame += at.frame;
  }
  group_range& group = groups_.as<group_range>()[jobs_.size()];
  group = {};
  if (job.cuts != nullptr) {
    group.unit = job.cuts->unit;
    std::ranges::copy(job.cuts->after, cuts_.as<std::uint32_t>() + cuts_used());
    is_divided_ = true;
    has_lines_ = has_lines_ || group.unit == cut_unit::lines;
  }
  slices_used_ += static_cast<std::uint32_t>(job.slices());
  group.frame_end = frames_used_;
  group.slice_end = slices_used_;
  compressed_used_ = std::min(limits_.compressed_bytes, rounded(at.compressed + job.compressed_bytes(), quad_bytes));
  text_used_ += job.text_room;
  literals_used_ += literals_of(job);
  sequences_used_ += sequences_of(job);
  classes_ = job.units;
  jobs_.push_back(&job);
  places_.push_back(at);
}

// Rows are written when the sequences have been executed, over the sequences, and those that are returned over the
// literals: both have as much memory as the text.
std::uint32_t frame_batch::row_room() const {
  const std::uint64_t room = std::min(limits_.sequences * sizeof(sequence_entry), literal_room(limits_));
  return static_cast<std::uint32_t>(room / classes()->bytes_of_row());
}

bool frame_batch::selects_rows() const { return classes() != nullptr && classes()->selects_rows(); }

frame_launch frame_batch::launch(int multiprocessors) const {
  frame_launch made = {.batch = {.compressed = compressed_.as<std::uint32_t>(),
                                 .frames = device_frames_.as<encoded_frame>(),
                                 .blocks = device_blocks_.as<encoded_block>(),
                                 .frame_count = frames_used_,
                                 .member_count = members_used_,
                                 .portion_count = portions_used_,
                                 .text_room = static_cast<std::uint32_t>(text_used_),
                                 .block_count = blocks_used_,
                                 .literal_room = static_cast<std::uint32_t>(literal_room(limits_)),
                                 .sequence_room = static_cast<std::uint32_t>(limits_.sequences),
                                 .codes = codes_.as<block_codes>(),
                                 .decoded = decoded_.as<decoded_block>(),
                                 .literals = literals_.as<std::uint8_t>(),
                                 .sequences = sequences_.as<sequence_entry>(),
                                 .text = text_.as<std::uint8_t>(),
                                 .results = device_results_.as<decoded_frame>(),
                                 .used = used_.as<std::uint64_t>(),
                                 .portions = portions_.as<deflate::portion_block>(),
                                 .symbols = symbols_.as<std::int32_t>(),
                                 .symbol_room = symbol_room(limits_),
                                 .progress = progress_.as<part_progress>()},
                       .in_parts = in_parts_,
                       .extents = extents_.as<extent>(),
                       .rows = rows_.as<std::uint32_t>(),
                       .totals = device_totals_.as<std::uint32_t>(),
                       .division = {},
                       .multiprocessors = multiprocessors};
  set_division(made);
  if (classes() == nullptr) return made;
  made.units = {.text = made.batch.text,
                .extents = made.extents,
                .extent_count = frames_used_,
                .text_room = made.batch.text_room,
                .classes = device_class_table_.as<std::uint32_t>(),
                .counters = classes()->counters,
                .delimiter = std::to_integer<std::uint8_t>(classes()->delimiter),
                .tile_pieces = tile_pieces_.as<std::uint32_t>(),
                .extent_pieces = device_extent_pieces_.as<std::uint32_t>(),
                .rows = sequences_.as<std::uint32_t>(),
                .row_room = row_room(),
                .selection = {},
                .strings = classes()->strings ? device_strings_.as<units::searched_strings>() : nullptr,
                .edge_bytes = classes()->edge_bytes(),
                .multiprocessors = multiprocessors};
  if (selects_rows()) {
    made.units.selection = {.condition = classes()->condition,
                            .tile_rows = tile_rows_.as<std::uint32_t>(),
                            .extent_rows = device_extent_rows_.as<std::uint32_t>(),
                            .rows = literals_.as<std::uint32_t>()};
  }
  return made;
}

// Lines are searched before units are measured, so both use the same scratch memory.
void frame_batch::set_division(frame_launch& to) const {
  to.division = {.groups = device_groups_.as<group_range>(),
                 .group_count = static_cast<std::uint32_t>(jobs_.size()),
                 .slice_count = slices_used_,
                 .cuts = is_divided_ ? device_cuts_.as<std::uint32_t>() : nullptr,
                 .has_lines = has_lines_,
                 .lines = {.text = to.batch.text,
                           .extents = to.extents,
                           .extent_count = frames_used_,
                           .text_room = to.batch.text_room,
                           .tile_pieces = tile_pieces_.as<std::uint32_t>(),
                           .extent_pieces = device_extent_pieces_.as<std::uint32_t>(),
                           .multiprocessors = to.multiprocessors},
                 .places = places_of_cuts_.as<std::uint32_t>(),
                 .extents = slice_extents_.as<extent>(),
                 .slice_ends = slice_ends_.as<std::uint32_t>(),
                 .last_bytes = device_last_bytes_.as<std::uint32_t>()};
}

// Before the frames are copied to the device.
void frame_batch::divide_long_frames() noexcept {
  if (longest_text_ * max_frames_in_parts < text_used_) return;
  for (std::uint32_t i = 0; i < frames_used_; ++i) {
    encoded_frame& frame = frames_.as<encoded_frame>()[i];
    if (!is_faster_in_parts(frame, text_used_, symbol_room(limits_))) continue;
    frame.is_in_parts = 1;
    in_parts_.push_back(part_segment::of(frame, i));
    if (frame.has_checksum == 0) continue;
    hashed_.push_back({.index = i, .checksum = frame.checksum});
    frame.has_checksum = 0;
  }
}

void frame_batch::hash_texts() {
  if (hashed_.empty()) return;
  begun_.wait();
  for (hashed_frame& each : hashed_) {
    const encoded_frame& frame = frames_.as<encoded_frame>()[each.index];
    const text_hasher::hashed_text text{.result = device_results_.as<decoded_frame>() + each.index,
                                        .text = text_.as<std::uint8_t>() + frame.text_at};
    each.hash = static_cast<std::uint32_t>(hasher_.hash(text, frame.text_room));
  }
}

void frame_batch::enqueue(const stream& on, int multiprocessors) {
  divide_long_frames();
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    std::byte* to = compressed_.as<std::byte>() + places_[i].compressed;
    for (const std::span<const std::byte> piece : jobs_[i]->pieces) {
      copy_to_device(to, piece.data(), piece.size(), on);
      to += piece.size();
    }
  }
  copy_to_device(device_frames_.as<void>(), frames_.as<void>(), frames_used_ * sizeof(encoded_frame), on);
  copy_to_device(device_blocks_.as<void>(), blocks_.as<void>(), blocks_used_ * sizeof(encoded_block), on);
  copy_to_device(device_groups_.as<void>(), groups_.as<void>(), jobs_.size() * sizeof(group_range), on);
  copy_to_device(device_cuts_.as<void>(), cuts_.as<void>(), cuts_used() * sizeof(std::uint32_t), on);
  copy_to_device(used_.as<void>(), used_at_first_.as<void>(), 2 * sizeof(std::uint64_t), on);
  clear_memory(rows_.as<void>(), (frames_used_ + cuts_used()) * row_bytes, on);
  if (classes() != nullptr) {
    *class_table_.as<units::class_table>() = classes()->table();
    copy_to_device(device_class_table_.as<void>(), class_table_.as<void>(), sizeof(units::class_table), on);
    if (classes()->strings) {
      *strings_.as<units::searched_strings>() = *classes()->strings;
      copy_to_device(device_strings_.as<void>(), strings_.as<void>(), sizeof(units::searched_strings), on);
    }
  }
  if (!hashed_.empty()) {
    clear_memory(device_results_.as<void>(), frames_used_ * sizeof(decoded_frame), on);
    begun_.record(on);
  }
  check(api_, api_.decode_frames(launch(multiprocessors), on.get()),
        "starting the kernels of the zstd decoder (cudaLaunchKernelExC)");
  copy_to_host(results_.as<void>(), device_results_.as<void>(), frames_used_ * sizeof(decoded_frame), on);
  copy_to_host(totals_.as<void>(), device_totals_.as<void>(), slices_used_ * row_bytes, on);
  if (is_divided_) {
    copy_to_host(last_bytes_.as<void>(), device_last_bytes_.as<void>(), slices_used_ * sizeof(std::uint32_t), on);
  }
  if (classes() == nullptr) return;
  const std::size_t bytes = (frames_used_ + std::size_t{1}) * sizeof(std::uint32_t);
  copy_to_host(extent_pieces_.as<void>(), device_extent_pieces_.as<void>(), bytes, on);
  if (selects_rows()) copy_to_host(extent_rows_.as<void>(), device_extent_rows_.as<void>(), bytes, on);
}

bool frame_batch::take_row_memory(std::size_t index, bool waits) noexcept {
  frame_job& job = *jobs_[index];
  const bool taken = job.take_row_memory(job, job.unit_pieces * job.units->bytes_of_row(), waits);
  if (waits) job.decoded = taken;
  return taken;
}

void frame_batch::enqueue_rows(std::size_t job, const stream& on) {
  const frame_job& to = *jobs_[job];
  const std::size_t row = to.units->bytes_of_row();
  const std::byte* from = (selects_rows() ? literals_ : sequences_).as<std::byte>() + first_row_of(job) * row;
  std::uint64_t rest = to.unit_pieces * row;
  for (const std::span<std::byte> part : to.unit_rows) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(rest, part.size()));
    copy_to_host(part.data(), from, bytes, on);
    from += bytes;
    rest -= bytes;
  }
}

void frame_batch::write_results(const partition& counted) noexcept {
  for (const hashed_frame& each : hashed_) {
    decoded_frame& result = results_.as<decoded_frame>()[each.index];
    if (result.is == verdict::decoded && each.hash != each.checksum) result.is = verdict::checksum;
  }
  for (std::uint32_t i = 0; members_used_ > 0 && i < frames_used_; ++i) compare_crc32(i);
  for (std::size_t i = 0; i < jobs_.size(); ++i) write_result(i, counted);
}

void frame_batch::compare_crc32(std::uint32_t index) noexcept {
  const encoded_frame& frame = frames_.as<encoded_frame>()[index];
  decoded_frame& result = results_.as<decoded_frame>()[index];
  if (deflate::is_member(frame) && result.is == verdict::decoded && !deflate::has_stated_crc32(frame, result)) {
    result.is = verdict::checksum;
  }
}

// Before each frame, and in a last element of all.
const std::uint32_t* frame_batch::returned_rows() const {
  return (selects_rows() ? extent_rows_ : extent_pieces_).as<std::uint32_t>();
}

std::uint32_t frame_batch::first_row_of(std::size_t job) const { return returned_rows()[places_[job].frame]; }

std::uint32_t frame_batch::end_of(std::size_t job) const { return groups_.as<group_range>()[job].frame_end; }

void frame_batch::write_result(std::size_t job, const partition& counted) const noexcept {
  frame_job& to = *jobs_[job];
  const std::span frames(results_.as<decoded_frame>() + places_[job].frame, end_of(job) - places_[job].frame);
  to.decoded = std::ranges::all_of(frames, [](const decoded_frame& each) { return each.is == verdict::decoded; });
  to.text_bytes = 0;
  to.unit_pieces = 0;
  if (!to.decoded) return;
  for (const decoded_frame& each : frames) to.text_bytes += each.text_bytes;
  if (to.units != nullptr) {
    const auto* const pieces = extent_pieces_.as<std::uint32_t>();
    to.decoded = pieces[end_of(job)] <= row_room();
    to.unit_pieces = to.decoded ? returned_rows()[end_of(job)] - first_row_of(job)
                                : pieces[end_of(job)] - pieces[places_[job].frame];
    if (!to.decoded) return;
  }
  const value_runs runs(counted);
  for (std::size_t i = 0; i < to.slices(); ++i) {
    const std::size_t slice = places_[job].slice + i;
    runs.fold(totals_.as<std::uint32_t>() + slice * byte_values, counted.classes, to.rows.data() + i * counted.classes);
    if (to.cuts != nullptr) to.last_bytes[i] = static_cast<std::uint8_t>(last_bytes_.as<std::uint32_t>()[slice]);
  }
}

void frame_batch::clear() noexcept {
  jobs_.clear();
  places_.clear();
  compressed_used_ = 0;
  text_used_ = 0;
  literals_used_ = 0;
  sequences_used_ = 0;
  members_used_ = 0;
  portions_used_ = 0;
  std::fill_n(used_at_first_.as<std::uint64_t>(), 2, std::uint64_t{0});
  longest_text_ = 0;
  in_parts_.clear();
  hashed_.clear();
  frames_used_ = 0;
  blocks_used_ = 0;
  slices_used_ = 0;
  is_divided_ = false;
  has_lines_ = false;
}

void frame_batch::copy_to_device(void* to, const void* from, std::size_t bytes, const stream& on) {
  if (bytes == 0) return;
  const device_copy copy{.to = to, .from = from, .bytes = bytes};
  check(api_, api_.copy_to_device({&copy, 1}, on.get()), "copying compressed frames to the device (cudaMemcpyAsync)");
}

void frame_batch::copy_to_host(void* to, const void* from, std::size_t bytes, const stream& on) {
  if (bytes == 0) return;
  check(api_, api_.copy_to_host(to, from, bytes, on.get()),
        "copying the counts or the text of frames to the host (cudaMemcpyAsync)");
}

void frame_batch::clear_memory(void* memory, std::size_t bytes, const stream& on) {
  if (bytes == 0) return;
  check(api_, api_.clear(memory, bytes, on.get()), "clearing memory of the zstd decoder (cudaMemsetAsync)");
}

}  // namespace gpuhist::gpu::cuda::frames
