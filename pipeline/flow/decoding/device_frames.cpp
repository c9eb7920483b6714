#include "pipeline/flow/decoding/device_frames.hpp"

#include "gpu/engines.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::uint64_t usual_ratio = 6;  // of text to compressed bytes

// Nothing: there is no whole header.
std::optional<io::zstd_frame_header> header_at(std::span<const std::byte> begin) {
  const io::zstd_header_result parsed = io::parse_zstd_header(begin);
  return parsed.status == io::header_status::complete ? std::optional(parsed.header) : std::nullopt;
}

// The rows that a device has written.
std::vector<std::span<const std::uint32_t>> rows_in(const gpu::frame_job& job) {
  std::vector<std::span<const std::uint32_t>> all;
  if (job.units == nullptr) return all;
  std::uint64_t rest = job.unit_pieces * job.units->bytes_of_row();
  for (const std::span<std::byte> part : job.unit_rows) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(rest, part.size()));
    if (bytes == 0) break;
    all.emplace_back(reinterpret_cast<const std::uint32_t*>(part.data()), bytes / sizeof(std::uint32_t));
    rest -= bytes;
  }
  return all;
}

}  // namespace

staged_group::staged_group(device_frames& owner, std::shared_ptr<staging_slot> first, permits with, bool waits)
    : owner_(owner), permits_(std::move(with)), waits_(waits) {
  slots_.push_back({.slot = std::move(first)});
}

async::task<std::size_t> staged_group::append(block next, const copy_function& copy) {
  const std::uint64_t before = size_;
  if (size_ == 0) begins_member_ = pipeline::begins_member(next.bytes);
  if (next.lost && !lost_at_) lost_at_ = size_;
  const bool takes_over = is_to_be_exchanged(next);
  while (!next.bytes.empty()) {
    const std::size_t used = slots_.back().bytes;
    if (used == owner_.slot_bytes() || (takes_over && used > 0)) {
      if (!may_have_more_slots()) break;
      std::shared_ptr<staging_slot> more = co_await next_slot();
      if (!more) break;
      slots_.push_back({.slot = std::move(more), .begin = size_});
      continue;
    }
    const std::size_t fit = std::min(owner_.slot_bytes() - used, next.bytes.size());
    if (takes_over) {
      next.lent->bytes = slots_.back().slot->exchange(next.lent->bytes);
    } else {
      copy(slots_.back().slot->memory() + used, next.bytes.first(fit));
    }
    next.bytes = next.bytes.subspan(fit);
    slots_.back().bytes += fit;
    size_ += fit;
  }
  co_return static_cast<std::size_t>(size_ - before);
}

// A block that fits behind the bytes of the last slot that the group may have is copied.
bool staged_group::is_to_be_exchanged(const block& next) const {
  const std::size_t bytes = next.bytes.size();
  if (next.lent == nullptr || !next.lent->is_locked || bytes < owner_.slot_bytes() / 2) return false;
  const std::size_t used = slots_.back().bytes;
  return used == 0 || used + bytes > owner_.slot_bytes() || slots_.size() < allowed_slots();
}

std::vector<std::span<const std::byte>> staged_group::pieces() const { return pieces_of(0, size_).pieces; }

// The slot with the byte at `offset`, or the last one.
std::vector<staged_group::filled_slot>::const_iterator staged_group::slot_of(std::uint64_t offset) const {
  return std::ranges::upper_bound(slots_, offset, {}, &filled_slot::begin) - 1;
}

staged_group::located_pieces staged_group::pieces_of(std::uint64_t from, std::uint64_t to) const {
  if (from >= to) return {};
  auto slot = slot_of(from);
  located_pieces found{.begin = slot->begin, .pieces = {}};
  for (; slot != slots_.end() && slot->begin < to; ++slot) {
    if (slot->bytes > 0) found.pieces.emplace_back(slot->slot->memory(), slot->bytes);
  }
  return found;
}

io::byte_access staged_group::access() const {
  return {.size = size_, .copy = [this](std::uint64_t at, std::span<std::byte> to) { copy(at, to); }};
}

void staged_group::copy(std::uint64_t at, std::span<std::byte> to) const {
  for (auto slot = slot_of(at); !to.empty(); ++slot) {
    const auto skipped = static_cast<std::size_t>(at - slot->begin);
    const std::size_t bytes = std::min(slot->bytes - skipped, to.size());
    std::copy_n(slot->slot->memory() + skipped, bytes, to.begin());
    to = to.subspan(bytes);
    at += bytes;
  }
}

void staged_group::release_to(std::uint64_t offset) { slots_.erase(slots_.begin(), slot_of(offset)); }

std::size_t staged_group::allowed_slots() const {
  if (permits_.has_steps) return std::max(owner_.max_slots_of_steps(), owner_.max_slots_of_group());
  if (permits_.is_longest) return owner_.max_slots_of_long_group();
  return permits_.is_long ? std::max(owner_.max_slots_of_group(), owner_.max_slots_of_long_group() / 2) : share_;
}

bool staged_group::may_have_more_slots() {
  while (slots_.size() >= allowed_slots() && !permits_.is_longest && !permits_.has_steps) {
    async::semaphore::permit& next = permits_.is_long ? permits_.is_longest : permits_.is_long;
    next = owner_.long_.try_acquire(device_frames::units_of_long_group);
    if (!next) return false;
  }
  return slots_.size() < allowed_slots();
}

// Null: none is free, and the group does not wait for one.
async::task<std::shared_ptr<staging_slot>> staged_group::next_slot() {
  if (waits_) co_return co_await owner_.slots_.acquire();
  co_return owner_.slots_.try_acquire();
}

std::deque<block> staged_group::take_blocks() {
  std::deque<block> blocks;
  for (const filled_slot& each : slots_) {
    if (each.bytes == 0) continue;
    std::byte* const bytes = each.slot->memory();
    const bool is_lost = lost_at_ && *lost_at_ < each.begin + each.bytes;
    blocks.push_back({.memory = {each.slot, bytes}, .bytes = {bytes, each.bytes}, .lost = is_lost});
  }
  slots_.clear();
  size_ = 0;
  return blocks;
}

device_frames::device_frames(gpu::engine& engine, const settings& with)
    : engine_(engine),
      settings_(with),
      slots_(with.slots),
      rows_(with.rows),
      incomplete_(std::uint64_t{units_of_group} * (with.in_order ? 1 : max_incomplete)) {}

// The decoder of an engine that wakes devices may be there later.
bool device_frames::start() {
  const std::scoped_lock lock(mutex_);
  if (decoder_ != nullptr) return true;
  if (!note_.empty()) return false;
  try {
    if (max_slots() > 0 && (!measures_units() || settings_.rows.max_slots > 0)) return try_start();
    note_ = "frames are decoded on the host: the memory limit leaves no memory for " +
            std::string(max_slots() > 0 ? "rows of units" : "their compressed bytes");
  } catch (const gpu::engine_error& error) {
    note_ = "frames are decoded on the host: " + std::string(error.what());
  } catch (const std::bad_alloc&) {
    note_ = "frames are decoded on the host: not enough memory for compressed bytes and rows of units";
  } catch (const std::system_error& error) {
    note_ = "frames are decoded on the host: no thread could be started: " + std::string(error.what());
  }
  return false;
}

bool device_frames::try_start() {
  gpu::frame_decoder* const made = engine_.decoder();
  if (made == nullptr) return false;
  if (measures_units()) rows_.start(engine_);
  slots_.start(engine_);
  decoder_ = made;
  return true;
}

void device_frames::lock_pages_of(block_pool& blocks) {
  if (blocks.block_bytes() == slot_bytes()) blocks.lock_pages(engine_);
}

// The first failure is the cause of later ones.
void device_frames::note_failure(const std::exception_ptr& why) noexcept {
  has_failed_ = true;
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    const std::scoped_lock lock(mutex_);
    try {
      if (note_.empty()) note_ = "frames are decoded on the host: " + std::string(error.what());
    } catch (const std::bad_alloc&) {
      return;  // the note is only for statistics
    }
  } catch (...) {
    return;
  }
}

std::string device_frames::note() const {
  const std::scoped_lock lock(mutex_);
  return note_;
}

async::task<std::optional<staged_group>> device_frames::begin_group(std::span<const std::byte> begin, bool waits,
                                                                    bool may_have_steps, std::uint64_t bytes_left) {
  const std::optional<io::zstd_frame_header> header = header_at(begin);
  const std::uint64_t stated = header ? header->content_bytes.value_or(0) : 0;
  const bool is_too_long = may_exceed(max_slots_of_long_group(), stated);
  bool has_steps = may_have_steps && header && are_steps_possible(header);
  if ((is_too_long && !has_steps) || are_units_too_short()) co_return std::nullopt;
  const bool is_member = begins_member(begin);  // it may be as long as the input
  const bool may_be_long = is_member && may_have_steps && are_steps_possible(header);
  const std::uint64_t expected = has_steps ? stated : may_be_long ? usual_ratio * bytes_left : 0;
  const bool is_for_device = !settings_.host_shares || (expected > 0 && co_await await_device(expected));
  is_needed_ = true;
  if (!start()) co_return std::nullopt;
  has_steps = has_steps && stepped_group::can_decode(header, decoder_->max_job());
  if (is_too_long && !has_steps) co_return std::nullopt;
  staged_group::permits permits;
  if (may_exceed(max_slots_of_group(), stated)) {
    const bool is_longest = may_exceed(max_slots_of_long_group() / 2, stated);
    auto& permit = has_steps ? permits.has_steps : is_longest ? permits.is_longest : permits.is_long;
    const std::uint64_t units = has_steps ? 1 : is_longest ? units_of_longest_group : units_of_long_group;
    permit = long_.try_acquire(units);
    if (!permit && is_for_device) permit = co_await long_.acquire(units);
    if (!permit) co_return std::nullopt;
  }
  if ((measures_units() || settings_.in_order) && has_failed_)
    co_return std::nullopt;  // all contexts decode, not only the one in reserve
  const std::uint32_t units = settings_.in_order ? units_of_group : units_of(bytes_left);
  permits.incomplete = incomplete_.try_acquire(units);
  waits = waits || (is_for_device && settings_.host_shares);
  if (!permits.incomplete && waits) permits.incomplete = co_await incomplete_.acquire(units);
  if (!permits.incomplete) co_return std::nullopt;
  std::shared_ptr<staging_slot> slot = slots_.try_acquire();
  if (!slot && (waits || is_for_device)) slot = co_await slots_.acquire();
  if (!slot) co_return std::nullopt;
  staged_group begun(*this, std::move(slot), std::move(permits), waits);
  begun.share_ = slots_of_units(units);
  begun.may_have_steps_ = has_steps || (may_be_long && stepped_group::can_decode(header, decoder_->max_job()));
  co_return begun;
}

// As far as that is known before a device is awake.
bool device_frames::are_steps_possible(const std::optional<io::zstd_frame_header>& header) const {
  constexpr std::uint64_t least_bytes = std::uint64_t{8} << 20U;  // with less a device is slower than the host
  constexpr std::size_t least_slots = 16;                         // some of them may be used half only
  return (!header || is_supported(*header)) && !has_failed_ && max_slots_of_steps() >= least_slots &&
         (step_bytes() >= least_bytes || settings_.takes_all);
}

// Where host and device share the work: whether a device decodes the frame much sooner than the host. It is awake then,
// unless it cannot be woken, or the run stops.
async::task<bool> device_frames::await_device(std::uint64_t text_bytes) {
  const auto awake = std::make_shared<async::event>();  // the run may end before the device is awake
  if (!engine_.await_decoder(text_bytes, [awake] { awake->set(); })) co_return false;
  const std::stop_callback end(settings_.stop, [awake]() noexcept { awake->set(); });
  co_await awake->wait();
  co_return true;
}

// A group would have so many rows that a device saves no time.
bool device_frames::are_units_too_short() const {
  return measures_units() && expected_row_bytes(usual_ratio * group_bytes()) > rows_.share_of_group();
}

// Collecting the bytes of a frame that hardly fits into the slots of its group would be wasted work.
bool device_frames::may_exceed(std::size_t slots, std::uint64_t text_bytes) const {
  return !settings_.takes_all && text_bytes > usual_ratio * slots * slot_bytes();
}

bool device_frames::fits(const staged_group& group, std::size_t cuts) const {
  const gpu::frame_decoder::limits most = decoder_->max_job();
  const encoded_frames& frames = *group.frames();
  return group.size() <= most.compressed_bytes && frames.text_room <= most.text_bytes &&
         frames.frames.size() + cuts <= most.frames && frames.blocks.size() <= most.blocks && cuts < most.slices &&
         frames.sequences <= most.sequences;
}

void device_frames::list(staged_group& group) {
  if (group.is_listed_) return;
  group.frames_ = list_frames(group.access());
  group.is_listed_ = true;
  group.complete();
}

async::task<std::optional<decoded_group>> device_frames::decode(staged_group& group, counting how) {
  list(group);
  const encoded_frames* const frames = group.frames();
  const std::size_t cuts = how.cuts == nullptr ? 0 : how.cuts->after.size();
  if (frames == nullptr || !fits(group, cuts)) co_return std::nullopt;
  decoded_group result{.text_bytes = 0, .frames = frames->frames.size()};
  result.rows.resize((cuts + 1) * engine_.layout().columns());
  if (how.cuts != nullptr) result.last_bytes.resize(cuts + 1);
  if (frames->frames.empty()) co_return result;
  async::event completed;
  std::exception_ptr failure;
  gpu::frame_job job{.pieces = group.pieces(),
                     .frames = frames->frames,
                     .blocks = frames->blocks,
                     .text_room = frames->text_room,
                     .sequences = frames->sequences,
                     .cuts = how.cuts,
                     .rows = result.rows,
                     .last_bytes = result.last_bytes,
                     .units = settings_.units,
                     .take_row_memory = [&](gpu::frame_job& decoded, std::uint64_t bytes,
                                            bool waits) { return take_row_memory(decoded, bytes, waits, result); },
                     .measures_only = how.measures_only,
                     .on_complete =
                         [&](gpu::frame_job&, std::exception_ptr error) {
                           failure = std::move(error);
                           completed.set();
                         }};
  note_begin();
  if (job.units != nullptr) rows_.expect(++submitted_ * expected_row_bytes(job.text_room));
  decoder_->submit(job);
  co_await completed.wait();
  if (job.units != nullptr) --submitted_;
  if (failure) {
    note_failure(failure);
    if (result.unit_memory) result.unit_memory->lose();
    co_return std::nullopt;
  }
  if (job.units != nullptr) note_pieces(job);
  if (!job.decoded) co_return std::nullopt;
  result.text_bytes = job.text_bytes;
  text_bytes_ += job.text_bytes;
  result.unit_rows = rows_in(job);
  co_return result;
}

// Four steps have their share of the slots: two on the device, one that is queued, and one that is being collected.
std::uint64_t device_frames::step_bytes() const {
  constexpr std::uint64_t most = std::uint64_t{64} << 20U;
  return std::min<std::uint64_t>(most, max_slots_of_steps() * slot_bytes() / 4);
}

// The first steps of a frame that is known to be long have fewer bytes. The group ends with the frame.
bool device_frames::has_step(const staged_group& group) const {
  if (!group.may_have_steps_) return false;
  const std::uint64_t first = step_bytes() / (group.permits_.has_steps ? stepped_group::share_of_first : 1);
  return group.size() >= std::max<std::uint64_t>(first, group_bytes());
}

async::task<std::unique_ptr<stepped_group>> device_frames::begin_steps(staged_group& group) {
  group.may_have_steps_ = false;
  async::semaphore::permit& permit = group.permits_.has_steps;
  if (!permit) permit = long_.try_acquire();
  if (!permit && !settings_.host_shares) permit = co_await long_.acquire();
  if (!permit) co_return nullptr;
  const gpu::frame_decoder::limits limits = decoder_->max_job();
  auto begun = stepped_group::begin(group, {.step_bytes = std::min(step_bytes(), limits.compressed_bytes / 2),
                                            .columns = engine_.layout().columns(),
                                            .limits = limits});
  if (!begun) permit.release();
  group.permits_.is_long.release();
  group.permits_.is_longest.release();
  group.waits_ = group.waits_ || begun;
  co_return begun;
}

void device_frames::decode_steps(gpu::frame_job& job, stepped_group& group,
                                 std::function<void(std::exception_ptr)> on_complete) {
  job = {.frames = {&group.frame(), 1}, .steps = &group};
  job.on_complete = [this, ended = std::move(on_complete)](gpu::frame_job&, std::exception_ptr error) {
    if (error) note_failure(error);
    ended(std::move(error));
  };
  note_begin();
  decoder_->submit(job);
}

std::uint64_t device_frames::expected_row_bytes(std::uint64_t text_bytes) const {
  return text_bytes / bytes_of_piece_ * settings_.units->bytes_of_row();
}

void device_frames::note_begin() {
  std::chrono::steady_clock::time_point none{};
  if (began_.load() == none) began_.compare_exchange_strong(none, std::chrono::steady_clock::now());
}

double device_frames::text_per_second() const {
  if (text_bytes_ == 0) return 0;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_.load();
  return static_cast<double>(text_bytes_) / elapsed.count();
}

// On a thread of the decoder. Groups that have memory do not wait for other groups: they evaluate the rows, or copy
// them first.
bool device_frames::take_row_memory(gpu::frame_job& job, std::uint64_t bytes, bool waits, decoded_group& to) noexcept {
  if (bytes > rows_.share_of_group()) return false;
  try {
    std::optional<row_memory::lease> taken = rows_.take(bytes, waits);
    if (!taken) return false;
    job.unit_rows = taken->slots();
    to.unit_memory.emplace(std::move(*taken));
    return true;
  } catch (const std::bad_alloc&) {
    return false;  // the host decodes the group
  }
}

// The expected length of the pieces of the next groups decreases at once, and increases gradually. If they are expected
// to be too short, no group is decoded here, so that is final.
void device_frames::note_pieces(const gpu::frame_job& job) {
  if (job.unit_pieces == 0) return;
  const std::uint64_t found = std::max<std::uint64_t>(1, job.text_bytes / job.unit_pieces);
  const std::uint64_t expected = bytes_of_piece_;
  bytes_of_piece_ = found < expected ? found : expected + (found - expected) / 4;
}

}  // namespace gpuhist::pipeline
