#include "pipeline/flow/feeder.hpp"

#include "config/size.hpp"
#include "config/text.hpp"
#include "io/http/url.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/decoding/stream_cancel.hpp"
#include "pipeline/flow/text_divider.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t batch_inputs = 32;  // per task: enough to be worth waking a thread
constexpr unsigned max_openers = 8;
constexpr std::uint64_t max_queued = 32;                          // files for them
constexpr std::uint64_t small_bytes = std::uint64_t{256} * 1024;  // several threads read a larger file
constexpr std::string_view small_manner = "small files whole, several at once";

// Files whose name is that of an archive are not read by small_files, which would open them twice.
bool is_small(const listed_input& listed) {
  return listed.regular && listed.size <= small_bytes && !listed.counted && io::promised_by(listed.name) == nullptr &&
         io::promised_archive(listed.name).kind == io::archive_kind::none;
}

// Counting that takes a tenth of the time of decoding zstd, or more (docs/tuning.md).
bool is_slow_to_count(const run_plan& plan) {
  constexpr unsigned many_classes = 32;
  return plan.pairs.has_value() || plan.partition.classes > many_classes;
}

// Of files whose text is observed. Windows divide text in order.
std::uint64_t stretch_bytes_of(const run_plan& plan, const text_taps& taps) {
  constexpr std::uint64_t bytes = std::uint64_t{4} << 20U;
  return plan.threads > 1 && !plan.windows && taps.takes_groups() ? bytes : 0;
}

// Groups whose text is needed in order, while devices decode them at the same time, need a context in reserve: one
// more, if there is a slot for its cutter.
bool has_slot_for_reserve(const buffer_plan& buffers) { return buffers.slots > buffers.decoders + 1; }
bool needs_order(const run_plan& plan, const text_taps& taps) { return taps.is_used() || plan.windows; }
bool decodes_on_device(const run_plan& plan, const text_taps& taps) {
  return plan.decodes_on_device &&
         (!needs_order(plan, taps) || plan.buffers.decoders > 1 || has_slot_for_reserve(plan.buffers));
}
decode_contexts::sizes contexts_of(const run_plan& plan, const text_taps& taps) {
  const bool has_reserve = decodes_on_device(plan, taps) && needs_order(plan, taps);
  const bool is_one_more = has_reserve && has_slot_for_reserve(plan.buffers);
  return {.number = plan.buffers.decoders + (is_one_more ? 1U : 0U),
          .reserved = has_reserve ? 1U : 0U,
          .window_bytes = plan.buffers.window_limit,
          .besides = plan.buffers.besides_windows};
}

spill_folder folder_of_held_text(const run_plan& plan) {
  return {.path = plan.spilled_to.path, .content = "frames that are not verified"};
}

// Only beside the lanes of a device, which free slots without the pool, fewer threads read plain files than there are.
bool is_beside_lanes(const run_plan& plan) { return plan.readers < plan.threads; }

// Each decoder of a member has a small window besides. Members that wait for a verdict may take a quarter of all
// memory.
archive_limits limits_of_archives(const run_plan& plan, member_windows& windows, text_taps* text_to) {
  constexpr std::uint64_t small_window = std::uint64_t{256} << 10U;
  constexpr std::uint64_t share_of_memory = 4;
  const buffer_plan& buffers = plan.buffers;
  io::memory_besides_windows besides = buffers.besides_windows;
  besides.share = member_windows::share;
  return {.max_text = plan.max_output.value_or(std::numeric_limits<std::uint64_t>::max()),
          .max_waiting = buffers.memory_limit / share_of_memory / bytes_of_waiting_member,
          .rules = rules_of(plan),
          .inner_decoder = {.window_bytes = windows.largest(),
                            .granted_bytes = std::min(small_window, windows.largest() / buffers.decoders),
                            .dictionary = plan.dictionary,
                            .besides = besides},
          .windows = &windows,
          .threads = plan.threads,
          .text_to = text_to};
}

// Throws failures that the input does not cause. `text_bytes`: those that were committed.
void note_failure(input_id input, const std::exception_ptr& error, rolling_counts& counts,
                  std::uint64_t text_bytes = 0) {
  if (!error) return;
  if (!is_of_input(error)) std::rethrow_exception(error);
  counts.fail(input, text_bytes, failure_from(error));
}

// Memory for what is read ahead of objects on servers.
std::uint64_t ahead_bytes_of(const run_plan& plan) {
  constexpr std::uint64_t least = std::uint64_t{16} << 20U;
  constexpr std::uint64_t most = std::uint64_t{128} << 20U;
  constexpr std::uint64_t share_of_memory = 8;
  return std::clamp(plan.buffers.memory_limit / share_of_memory, least, most);
}

bool names_directory(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(name, ignored);
}

async::task<std::exception_ptr> failure_of(async::task<> task) {
  try {
    co_await std::move(task);
  } catch (...) {
    co_return std::current_exception();
  }
  co_return nullptr;
}

}  // namespace

feeder::feeder(const run_plan& plan, const executors& executors, ring& slots, collector& counted,
               rolling_counts& counts, feed_notes& notes, async::first_failure& failures, follower::remark notify,
               const outlets& outlets, gpu::engine& engine, std::stop_token stop)
    : plan_(plan),
      executors_(executors),
      divider_(counts.windows() != nullptr ? std::make_unique<window_divider>(counts) : nullptr),
      cutter_(slots, counted, divider_.get()),
      counts_(counts),
      notes_(notes),
      failures_(failures),
      notify_(std::move(notify)),
      sink_(outlets.sink),
      taps_({.sink = passes_through(pass_through_options::content::text) ? sink_ : nullptr,
             .observer = outlets.observer,
             .validates_utf8 = plan.validates_utf8,
             .held = {.in_memory = plan.buffers.held_bytes, .spilled_to = folder_of_held_text(plan)}},
            executors.streams, counts, failures),
      stop_(stop),
      remote_({.ahead_bytes = ahead_bytes_of(plan), .stop = stop}),
      files_({.range_bytes = plan.buffers.chunk_bytes,
              .in_flight = is_beside_lanes(plan) ? plan.buffers.slots : plan.threads + std::size_t{4},
              .readers = plan.readers,
              .keeps_threads = is_beside_lanes(plan)},
             cutter_, counts, notes.read, executors.pool, failures, stop),
      contexts_(contexts_of(plan, taps_), plan.dictionary,
                {.chunk_bytes = plan.buffers.busy_chunk_bytes,
                 .is_slow = is_slow_to_count(plan) || taps_.is_observed(),
                 .threads = plan.threads},
                notes.decompress, slots, counted, divider_.get()),
      device_(decodes_on_device(plan, taps_)
                  ? std::make_unique<device_frames>(
                        engine, device_frames::settings{.slots = {.slot_bytes = plan.buffers.device_slot_bytes,
                                                                  .max_slots = plan.buffers.device_slots,
                                                                  .more_slots = plan.buffers.more_device_slots},
                                                        .rows = {.slot_bytes = plan.buffers.row_slot_bytes,
                                                                 .max_slots = plan.buffers.row_slots,
                                                                 .more_slots = plan.buffers.more_row_slots},
                                                        .host_shares = plan.forecast.shared && !plan.windows,
                                                        .stop = stop,
                                                        .takes_all = plan.buffers.min_device_bytes == 0,
                                                        .in_order = plan.windows.has_value(),
                                                        .group_bytes = plan.buffers.device_group_bytes,
                                                        .units = taps_.piece_classes()})
                  : nullptr),
      compressed_({.block_bytes = plan.buffers.block_bytes,
                   .own_blocks = plan.buffers.blocks,
                   .extra_blocks = plan.buffers.extra_blocks,
                   .open_inputs = plan.buffers.open_inputs,
                   .open_on_device = plan.buffers.open_on_device,
                   .staged_inputs = plan.buffers.staged_inputs,
                   .threads = plan.threads,
                   .group_bytes = plan.buffers.group_bytes,
                   .max_text = plan.max_output.value_or(std::numeric_limits<std::uint64_t>::max()),
                   .skip_damage = plan.skip_damage,
                   .text_to = taps_.is_used() ? &taps_ : nullptr,
                   .windows = divider_.get(),
                   .device = device_.get(),
                   .min_device_bytes = plan.buffers.min_device_bytes,
                   .in_order_for = plan.in_order_for},
                  {.pool = executors.pool, .streams = executors.streams}, contexts_, counted, counts, notes, failures,
                  stop),
      member_windows_(plan.buffers.window_limit),
      archives_({.limits = limits_of_archives(plan, member_windows_, taps_.is_used() ? &taps_ : nullptr),
                 .block_bytes = plan.buffers.block_bytes,
                 .own_blocks = plan.buffers.blocks},
                {.pool = executors.pool, .streams = executors.streams}, contexts_, counts, notes, failures, stop),
      small_({.max_bytes = small_bytes, .forced_format = plan.forced_format, .rules = rules_of(plan)}, contexts_,
             counts, notes, executors.pool, failures, stop),
      observed_({.read_bytes = plan.buffers.chunk_bytes, .stretch_bytes = stretch_bytes_of(plan, taps_)}, contexts_,
                taps_, counts, notes.read, executors.pool, failures, stop),
      list_(plan, executors.streams, std::move(stop)),
      heads_(plan, executors.streams, contexts_, notes),
      queue_room_(max_queued),
      opening_(failures) {}

async::task<> feeder::follow_all() {
  std::vector<std::string> names;
  std::vector<std::string> roots;
  for (const std::string& name : plan_.inputs) {
    if (io::http::is_remote(name)) {
      counts_.fail(counts_.open_input(io::http::shown_url(name)), 0,
                   {.kind = io::failure_kind::refused, .text = "URLs are not followed; leave --follow out"});
    } else {
      (plan_.trees && names_directory(name) ? roots : names).push_back(name);
    }
  }
  if (!roots.empty()) {
    io::walk_settings settings = *plan_.trees;
    settings.outputs = plan_.outputs;
    followed_trees_.emplace(std::move(roots), settings, notify_);
  }
  notes_.add_reading("followed, straight into the slots");
  // not on the thread that writes snapshots: a stalled reader of snapshots must not stop reading
  async::loop_thread own;
  follower follows(cutter_, {.counts = counts_, .taps = taps_.is_used() ? &taps_ : nullptr}, notes_.read, own.loop(),
                   plan_.buffers.chunk_bytes, notify_, stop_);
  co_await async::run_on(own.loop(), follows.follow(std::move(names), followed_trees_ ? &*followed_trees_ : nullptr));
  flush();
}

async::task<> feeder::feed_all() {
  if (plan_.follow) co_return co_await follow_all();
  std::exception_ptr error;
  try {
    co_await feed_listed();
  } catch (...) {
    error = std::current_exception();
  }
  failures_.note(error);
  // in any case: work in flight must still be submitted. These waits need no memory
  co_await opening_.ended();
  co_await small_.drain();
  static_cast<void>(co_await files_.all_read());
  static_cast<void>(co_await archives_.drain());
  co_await compressed_.drain();
  co_await observed_.drain();
  co_await taps_.settle();
  if (error) std::rethrow_exception(error);
}

async::task<> feeder::feed_listed() {
  for (;;) {
    std::vector<listed_input> batch = co_await list_.next(batch_inputs);
    if (batch.empty()) break;
    co_await feed_batch(std::move(batch));
    co_await feed_remaining();
  }
  co_await opening_.ended();
  co_await small_.drain();
  co_await feed_remaining();
  fail_remaining();
  co_await drain();
  if (small_.files_read() > 0) notes_.add_reading(small_manner, small_.files_read());
  note_traffic();
  flush();
}

async::task<> feeder::drain() {
  co_await small_.drain();
  co_await files_.drain();
  static_cast<void>(co_await archives_.drain());
  co_await compressed_.drain();
  co_await observed_.drain();
}

input_id feeder::open(const listed_input& listed) {
  if (listed.counted) return counts_.open_input(*listed.counted);
  return counts_.open_input(listed.name == "-" ? plan_.label : io::http::shown_url(listed.name));
}

// To open a compressed file and to decode its first bytes takes longer than the rest of feeding it, and there may be
// very many (docs/tuning.md). So threads of the pool do all of that. Inputs that a single coroutine must feed, because
// they are fed in turn or to objects that only this one uses, are kept for it: fewer than are queued.
async::task<> feeder::queue_file(numbered_input next) {
  co_await feed_opened_files();
  async::semaphore::permit room = co_await queue_room_.acquire();
  {
    const std::scoped_lock lock(queue_mutex_);
    queued_.push_back({.file = std::move(next), .room = std::move(room)});
    // to wake a thread for each file takes longer than all else here
    if (openers_ == max_openers || queued_.size() <= openers_) co_return;
    ++openers_;
  }
  try {
    opening_.spawn(executors_.pool, open_queued());
  } catch (...) {
    const std::scoped_lock lock(queue_mutex_);
    --openers_;
    throw;
  }
}

// Nothing: the caller is an opener no more.
std::optional<feeder::queued_file> feeder::next_queued() {
  const std::scoped_lock lock(queue_mutex_);
  if (queued_.empty()) {
    --openers_;
    return std::nullopt;
  }
  std::optional<queued_file> next(std::move(queued_.front()));
  queued_.pop_front();
  return next;
}

async::task<> feeder::open_queued() {
  while (std::optional<queued_file> next = next_queued()) {
    try {
      co_await open_and_feed(std::move(next->file), std::move(next->room));
    } catch (...) {
      failures_.note(std::current_exception());  // requests a stop: the rest of the queue is not read
    }
  }
}

async::task<> feeder::open_and_feed(numbered_input file, async::semaphore::permit room) {
  if (stop_.stop_requested()) co_return counts_.fail(file.input, 0, not_read());
  opened_input opened{.next = std::move(file)};
  co_await open_input(opened);
  room.release();
  const bool has_members = opened.archive.kind != io::archive_kind::none;
  const bool is_file =
      opened.found && std::holds_alternative<io::file_source>(*opened.source);  // it may have no offsets
  if (opened.found && !opened.error && (has_members || opened.found->format.is_plain || !is_file)) {
    const std::scoped_lock lock(queue_mutex_);
    opened_.push_back(std::move(opened));
  } else {
    co_await feed_opened(opened);
  }
}

// Inputs are numbered in the order of the list; they may be read in another order.
async::task<> feeder::feed_batch(std::vector<listed_input> batch) {
  // all threads read a single file, in ranges; windows, forwarding and observers need the text in order
  const bool many = batch.size() > 1 && !plan_.windows && sink_ == nullptr && !taps_.is_used();
  std::vector<numbered_input> small;
  for (const listed_input& each : batch) {
    if (many && !each.in_tree && io::http::is_remote(each.name)) remote_.expect(each.name);
  }
  for (listed_input& each : batch) {
    numbered_input next{.input = open(each), .listed = std::move(each)};
    if (!next.listed.error.is_none()) {
      counts_.fail(next.input, 0, next.listed.error);
    } else if (stop_.stop_requested()) {
      counts_.fail(next.input, 0, not_read());
    } else if (many && is_small(next.listed)) {
      small.push_back(std::move(next));
    } else if (many && (next.listed.regular || io::http::is_url(next.listed.name))) {
      co_await queue_file(std::move(next));
    } else {
      // inputs before a stream must not wait for its end
      if (!next.listed.regular && !small.empty()) co_await small_.add(std::exchange(small, {}));
      co_await opening_.ended();
      co_await feed_remaining();
      co_await feed(std::move(next));
      if (plan_.windows) co_await drain();
    }
  }
  if (!small.empty()) co_await small_.add(std::move(small));
}

// Feeds the files that the openers opened and did not feed.
async::task<> feeder::feed_opened_files() {
  std::vector<opened_input> opened;
  {
    const std::scoped_lock lock(queue_mutex_);
    opened.swap(opened_);
  }
  for (opened_input& each : opened) {
    opened_input file = std::move(each);  // the others stay open
    if (stop_.stop_requested()) {
      counts_.fail(file.next.input, 0, not_read());
    } else {
      co_await feed_opened(file);
    }
  }
}

// Feeds them, and the files that small_files did not read.
async::task<> feeder::feed_remaining() {
  co_await feed_opened_files();
  for (numbered_input& each : small_.take_deferred()) {
    if (stop_.stop_requested()) {
      counts_.fail(each.input, 0, not_read());
    } else {
      co_await feed(std::move(each));
    }
  }
}

void feeder::fail_remaining() {
  if (!stop_.stop_requested()) return;
  for (const listed_input& each : list_.unreached()) counts_.fail(open(each), 0, each.error);
}

std::vector<cut_mark> feeder::flush() {
  std::vector<cut_mark> marks{cutter_.flush()};
  contexts_.flush(marks);
  return marks;
}

// With --pass-through=raw files are opened as streams, which are read and forwarded once and in order.
io::source feeder::open_source(const listed_input& listed) {
  if (!listed.in_tree && io::http::is_remote(listed.name)) {
    if (plan_.is_counted) {
      throw io::input_error(
          "is not counted with --resume, because it has no state of a file with which a later run can compare; leave "
          "--resume out",
          0, io::failure_kind::refused);
    }
    return remote_.open(listed.name, executors_.streams.context().get_executor(),
                        passes_through(pass_through_options::content::input));
  }
  io::source opened = listed.in_tree ? io::source(io::open_regular(listed.name, listed.follow_links))
                                     : io::open_source(listed.name, executors_.streams.context().get_executor(),
                                                       plan_.buffers.pipe_bytes);
  if (sink_ == nullptr) return opened;
  auto* const file = std::get_if<io::file_source>(&opened);
  if (file != nullptr && sink_->feeds(file->native_handle())) {
    throw io::input_error("is also " + name_of_sink(plan_) + ": reading it would never end", 0, failure_kind::refused);
  }
  if (plan_.passes_through == pass_through_options::content::text) return opened;
  if (file != nullptr) {
    return io::source(std::in_place_type<io::stream_source>, executors_.streams.context().get_executor(),
                      std::move(*file).release(), std::size_t{0});
  }
  return opened;
}

async::task<> feeder::feed(numbered_input next) {
  if (next.listed.name == "-") co_await drain();  // until then, the offset of a redirected file may still change
  opened_input opened{.next = std::move(next)};
  co_await open_input(opened);
  co_await feed_opened(opened);
}

// Throws nothing that concerns the input.
async::task<> feeder::open_input(opened_input& to) {
  const std::string& name = to.next.listed.name;
  try {
    to.source = std::make_shared<io::source>(open_source(to.next.listed));
    const std::stop_callback cancel_on_stop(
        stop_, [cancel = make_stream_cancel(executors_.streams, to.source)]() noexcept { cancel->post(); });
    if (passes_through(pass_through_options::content::input)) {
      std::get<io::stream_source>(*to.source).pass_through_to(*sink_);
    }
    to.head = co_await heads_.first_bytes(*to.source);
    if (to.head.empty() && stop_.stop_requested()) co_return;
    to.found.emplace(io::identify(name, to.head, plan_.forced_format, rules_of(plan_)));
    to.archive = co_await heads_.find_archive(name, *to.source, to.head, *to.found);
    if (to.archive.encoding != io::text_encoding::utf8) {
      const io::format& encoded = io::encoded_format(to.archive.encoding, &to.found->format);
      to.found.emplace(io::identity{.format = encoded, .notice = to.found->notice, .archive = to.found->archive});
    }
  } catch (...) {
    to.error = std::current_exception();
  }
}

async::task<> feeder::feed_opened(opened_input& from) {
  const input_id input = from.next.input;
  const shared_source source = from.source;
  if (source == nullptr) co_return note_failure(input, from.error, counts_);
  const std::stop_callback cancel_on_stop(
      stop_, [cancel = make_stream_cancel(executors_.streams, source)]() noexcept { cancel->post(); });
  note_failure(input, co_await failure_of(count(from)), counts_);
  if (passes_through(pass_through_options::content::input)) {
    co_await async::run_on(executors_.streams, pass_through_rest(input, source));
  }
}

std::vector<skipped_names> feeder::skipped() const {
  std::vector<skipped_names> all = list_.skipped();
  for (const skipped_names& each : archives_.skipped()) add_skipped(all, each);
  for (const skipped_names& each : followed_trees_ ? followed_trees_->skipped() : std::vector<skipped_names>()) {
    add_skipped(all, each);
  }
  return all;
}

// For streams and forwarded inputs, completes when all bytes were read.
async::task<> feeder::count(opened_input& from) {
  const input_id input = from.next.input;
  const listed_input& listed = from.next.listed;
  const std::string& name = listed.name;
  const shared_source& source = from.source;
  bytes& head = from.head;
  const input_prefix* const counted = listed.counted.get();
  const bool is_file = std::holds_alternative<io::file_source>(*source);
  const bool in_turn = !is_file || name == "-" || sink_ != nullptr || taps_.in_turn();
  if (!from.found) {
    if (from.error) std::rethrow_exception(from.error);
    co_return counts_.fail(input, 0, not_read());
  }
  const io::identity& found = *from.found;
  const io::format& format = found.format;
  if (found.notice) counts_.note(input, *found.notice);
  if (counted != nullptr && format.name != counted->counted.format) {
    throw io::input_error("is not the file of which an earlier run counted the beginning: its format differs", 0,
                          failure_kind::refused);
  }
  counts_.set_format(input, format.name);
  if (from.error) std::rethrow_exception(from.error);
  const io::settled_archive& archive = from.archive;
  if (archive.notice) counts_.note(input, *archive.notice);
  if (in_turn) co_await opening_.ended();  // this coroutine feeds alone then, and can drain
  const bool has_members = archive.kind != io::archive_kind::none;
  if (has_members && !plan_.archives_refused.empty()) {
    throw io::input_error(plan_.archives_refused, 0, failure_kind::refused);
  }
  const bool is_raw = !has_members && format.is_plain;
  note_manner(*source, is_raw);
  if (has_members) {
    std::string shown_as = name == "-" ? plan_.label : name;
    co_await archives_.add(input, std::move(shown_as), source, std::move(head), found.archive);
    if (in_turn) static_cast<void>(co_await archives_.drain());
  } else if (!is_raw) {
    co_await compressed_.add(input, source, std::move(head), format, counted, listed.stored_end);
    if (in_turn) co_await compressed_.drain();
  } else if (!is_file) {
    co_await async::run_on(executors_.streams, feed_stream(input, source, std::move(head)));
    co_await taps_.end(input, input_observer::ending::early);  // unless it has ended
  } else if (taps_.is_used()) {
    co_await observed_.add(input, std::shared_ptr<const io::file_source>(source, &std::get<io::file_source>(*source)));
    if (in_turn || plan_.windows) co_await observed_.drain();
  } else {
    co_await files_.add(input, std::shared_ptr<const io::file_source>(source, &std::get<io::file_source>(*source)),
                        {counted != nullptr ? counted->stored_bytes() : 0, listed.stored_end});
  }
}

// For the statistics.
void feeder::note_traffic() {
  const io::http::traffic of = remote_.measured();
  if (of.objects == 0) return;
  notes_.add_reading(config::number_of(of.requests, "HTTP request") + ", " + std::to_string(of.retries) +
                         " of them repeated, " + std::to_string(of.bytes) + " bytes received",
                     of.objects);
}

// For the statistics: the manner in which the input is read.
void feeder::note_manner(const io::source& source, bool is_raw) {
  const auto* stream = std::get_if<io::stream_source>(&source);
  const auto* file = std::get_if<io::file_source>(&source);
  std::string manner = file != nullptr && file->is_remote() ? "HTTP" : "pread";
  if (stream != nullptr) {
    manner = stream->kind();
    if (const std::size_t capacity = stream->pipe_capacity()) manner += " of " + config::format_size(capacity);
  }
  if (!is_raw) {
    manner += stream == nullptr ? " in blocks of " : ", blocks of ";
    manner += config::format_size(plan_.buffers.block_bytes) + " read ahead, " + std::to_string(plan_.buffers.blocks) +
              " of them";
    ++notes_.compressed_inputs;
  } else if (stream == nullptr && taps_.is_used()) {
    const std::uint64_t stretch_bytes = stretch_bytes_of(plan_, taps_);
    notes_.files_in_parallel = stretch_bytes > 0;
    manner += stretch_bytes > 0 ? " in parts of " + config::format_size(stretch_bytes) : " in order";
    manner += ", straight into the slots";
  } else if (stream == nullptr) {
    manner += " in ranges of " + config::format_size(plan_.buffers.chunk_bytes) + " by " +
              config::number_of(plan_.readers, "thread");
    notes_.files_in_parallel = true;
  } else {
    manner += ", straight into the slots";
  }
  if (sink_ != nullptr) manner += stream != nullptr && stream->tees() ? ", forwarded by tee" : ", forwarded by write";
  notes_.add_reading(manner);
}

async::task<> feeder::feed_stream(input_id input, shared_source source, bytes head) {
  auto& stream = std::get<io::stream_source>(*source);
  text_track text({.counts = counts_, .taps = taps_.is_used() ? &taps_ : nullptr, .is_written = true},
                  {.input = input});
  try {
    co_await text.put(cutter_, head);  // first: a consumer that sees bytes may ask for their counts
    if (taps_.forwards_all()) {        // the head was read before the format was known
      co_await sink_->write(head);
      stream.pass_through_to(*sink_);
    }
    co_await read_stream(text, stream);
  } catch (...) {
    note_failure(input, std::current_exception(), counts_, text.bytes());
  }
}

// With --pass-through=raw: reads and forwards the rest of an input whose decoding has ended early.
async::task<> feeder::pass_through_rest(input_id input, shared_source source) {
  constexpr std::size_t step = std::size_t{64} << 10U;
  auto& stream = std::get<io::stream_source>(*source);
  bytes buffer(step);
  stream.resume();  // its decoder may have stopped it
  try {
    while (!stop_.stop_requested()) {
      const std::optional<std::size_t> read = stream.read_some(buffer);
      if (read == 0U) break;
      notes_.read.bytes += read.value_or(0);
      if (read) {
        co_await async::yield();
      } else if (!co_await stream.readable()) {
        break;
      }
    }
  } catch (const io::input_error&) {
    counts_.fail(input, 0, failure_from(std::current_exception()));
  }
}

// Reads directly into the slot. No reservation is held while waiting, so that a snapshot can contain all bytes so far.
async::task<> feeder::read_stream(text_track& text, io::stream_source& stream) {
  for (;;) {
    std::optional<std::size_t> read;
    {
      held_reservation reserved(cutter_, co_await cutter_.reserve(plan_.buffers.chunk_bytes));
      {
        const busy_time busy(notes_.read);
        read = stream.read_some(reserved.bytes());
      }
      co_await text.take(std::move(reserved), read.value_or(0));
    }
    notes_.read.bytes += read.value_or(0);
    if (read == 0U) {
      co_await taps_.end(text.owner().input, input_observer::ending::whole);
      co_return text.finish();
    }
    if (stop_.stop_requested()) break;
    if (read) {
      // signals and timers of this thread must be handled although the stream always has bytes
      co_await async::yield();
      continue;
    }
    text.note_idle();
    const stopwatch waiting(notes_.read.waiting_nanoseconds);
    if (!co_await stream.readable()) break;
  }
  text.fail(left_at(text.bytes()));
}

}  // namespace gpuhist::pipeline
