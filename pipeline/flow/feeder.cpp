#include "pipeline/flow/feeder.hpp"

#include "config/size.hpp"
#include "pipeline/counts/input_failure.hpp"
#include "pipeline/flow/decoding/stream_cancel.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t batch_inputs = 32;                          // read by one thread: worth waking it for
constexpr std::uint64_t small_bytes = std::uint64_t{256} * 1024;  // larger files are worth several threads each
constexpr std::string_view small_manner = "small files whole, several at once";

// What promises to be an archive would only be opened twice.
bool is_small(const listed_input& what) {
  return what.regular && what.size <= small_bytes && io::promised_by(what.name) == nullptr &&
         io::promised_archive(what.name).kind == io::archive_kind::none;
}

// What decoders within archives may have, which nobody shares with them; and an entry in the result for each member.
archive_limits limits_of_archives(const run_plan& what, io::stream_sink* text_to) {
  constexpr std::uint64_t usual_window = std::uint64_t{8} << 20U;
  constexpr std::uint64_t share_of_memory = 4;
  const buffer_plan& buffers = what.buffers;
  const std::uint64_t window = std::min(usual_window, buffers.window_limit / (share_of_memory * buffers.decoders));
  const std::uint64_t of_a_member =
      std::uint64_t{8} * sizeof(std::uint64_t) * what.partition.classes + archive_limits::bytes_of_name;
  return {.max_text = what.max_output.value_or(std::numeric_limits<std::uint64_t>::max()),
          .max_members = static_cast<std::int64_t>(buffers.memory_limit / 2 / of_a_member),
          .inner_decoder = {.window_bytes = window,
                            .granted_bytes = window,
                            .dictionary = what.dictionary,
                            .largest_bytes = usual_window},
          .text_to = text_to};
}

// Throws what the input is not to blame for.
void note_failure(input_id input, const std::exception_ptr& error, rolling_counts& counts) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error&) {
    counts.fail(input, 0, failure_from(error));
  } catch (const std::bad_alloc&) {
    counts.fail(input, 0, failure_from(error));
  }
}

async::task<std::exception_ptr> failure_of(async::task<> of) {
  try {
    co_await std::move(of);
  } catch (...) {
    co_return std::current_exception();
  }
  co_return nullptr;
}

}  // namespace

feeder::feeder(const run_plan& what, const executors& where, ring& slots, collector& counted, rolling_counts& counts,
               feed_notes& notes, async::first_failure& failures, follower::remark tell,
               io::stream_sink* pass_through_sink, std::stop_token stop)
    : plan_(what),
      where_(where),
      cutter_(slots, counted),
      counts_(counts),
      notes_(notes),
      failures_(failures),
      tell_(std::move(tell)),
      sink_(pass_through_sink),
      stop_(stop),
      files_({.range_bytes = what.buffers.chunk_bytes, .in_flight = what.threads + std::size_t{4}}, cutter_, counts,
             notes.read, where.pool, failures, stop),
      contexts_(what.buffers.decoders, what.buffers.window_limit, what.dictionary, slots, counted),
      compressed_({.block_bytes = what.buffers.block_bytes,
                   .own_blocks = what.buffers.blocks,
                   .extra_blocks = what.buffers.extra_blocks,
                   .open_inputs = what.buffers.open_inputs,
                   .busy_chunk_bytes = what.buffers.busy_chunk_bytes,
                   .threads = what.threads,
                   .group_bytes = what.buffers.group_bytes,
                   .max_text = what.max_output.value_or(std::numeric_limits<std::uint64_t>::max()),
                   .skip_damage = what.skip_damage,
                   .text_to = passes_through(config::pass_through_mode::text) ? pass_through_sink : nullptr,
                   .in_order_for = what.in_order_for},
                  {.pool = where.pool, .streams = where.streams}, contexts_, counts, notes, failures, stop),
      archives_({.limits = limits_of_archives(
                     what, passes_through(config::pass_through_mode::text) ? pass_through_sink : nullptr),
                 .block_bytes = what.buffers.block_bytes,
                 .own_blocks = what.buffers.blocks},
                {.pool = where.pool, .streams = where.streams}, contexts_, counts, notes, failures, stop),
      small_({.max_bytes = small_bytes, .forced_format = what.forced_format}, contexts_, counts, notes, where.pool,
             failures, stop),
      list_(what, where.streams, std::move(stop)),
      heads_(what, {.pool = where.pool, .streams = where.streams}, contexts_, notes) {}

async::task<> feeder::follow_all() {
  std::vector<std::pair<input_id, std::string>> inputs;
  for (const std::string& name : plan_.inputs) {
    inputs.emplace_back(counts_.open_input(name), name);
    counts_.set_format(inputs.back().first, "raw");
  }
  add_manner(notes_.reading, "followed, straight into the slots");
  // not on the thread that writes snapshots: a reader of those that stalls must not stop the following
  async::loop_thread own;
  follower follows(cutter_, counts_, notes_.read, own.loop(), plan_.buffers.chunk_bytes, tell_, stop_);
  co_await async::run_on(own.loop(), follows.follow(std::move(inputs)));
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
  // in any case: what is in flight is still to be submitted. These waits need no memory
  co_await small_.drain();
  static_cast<void>(co_await files_.all_read());
  static_cast<void>(co_await archives_.drain());
  co_await compressed_.drain();
  if (error) std::rethrow_exception(error);
}

async::task<> feeder::feed_listed() {
  for (;;) {
    std::vector<listed_input> batch = co_await list_.next(batch_inputs);
    if (batch.empty()) break;
    co_await feed_batch(std::move(batch));
    co_await feed_left();
  }
  co_await small_.drain();
  co_await feed_left();
  fail_left();
  co_await drain();
  if (small_.files_read() > 0) add_manner(notes_.reading, small_manner, small_.files_read());
  flush();
}

async::task<> feeder::drain() {
  co_await small_.drain();
  co_await files_.drain();
  static_cast<void>(co_await archives_.drain());
  co_await compressed_.drain();
}

input_id feeder::open(const listed_input& what) {
  return counts_.open_input(what.name == "-" ? plan_.label : what.name);
}

// Numbers them in their order, whoever reads them when.
async::task<> feeder::feed_batch(std::vector<listed_input> batch) {
  // a single one is read by all threads, in ranges; windows, and what is handed on, need the text of all in its order
  const bool many = batch.size() > 1 && !plan_.windows && sink_ == nullptr;
  std::vector<numbered_input> small;
  for (listed_input& each : batch) {
    numbered_input one{.input = open(each), .listed = std::move(each)};
    if (!one.listed.error.is_none()) {
      counts_.fail(one.input, 0, one.listed.error);
    } else if (stop_.stop_requested()) {
      counts_.fail(one.input, 0, not_read());
    } else if (many && is_small(one.listed)) {
      small.push_back(std::move(one));
    } else {
      // what stands before standard input is not to wait for its end
      if (one.listed.name == "-" && !small.empty()) co_await small_.add(std::exchange(small, {}));
      co_await feed(std::move(one));
      if (plan_.windows) co_await drain();
    }
  }
  if (!small.empty()) co_await small_.add(std::move(small));
}

// What small_files did not take.
async::task<> feeder::feed_left() {
  for (numbered_input& each : small_.take_deferred()) {
    if (stop_.stop_requested()) {
      counts_.fail(each.input, 0, not_read());
    } else {
      co_await feed(std::move(each));
    }
  }
}

void feeder::fail_left() {
  if (!stop_.stop_requested()) return;
  for (const listed_input& each : list_.unreached()) counts_.fail(open(each), 0, each.error);
}

std::vector<cut_mark> feeder::flush() {
  std::vector<cut_mark> marks{cutter_.flush()};
  contexts_.flush(marks);
  return marks;
}

// What is handed on as it is, is read from its first byte to its last, once and in order: files, too, are streams then.
io::source feeder::open_source(const listed_input& what) const {
  io::source opened =
      what.in_tree ? io::source(io::open_regular(what.name, what.follow_links))
                   : io::open_source(what.name, where_.streams.context().get_executor(), plan_.buffers.pipe_bytes);
  if (sink_ == nullptr) return opened;
  auto* const file = std::get_if<io::file_source>(&opened);
  if (file != nullptr && sink_->feeds(file->native_handle())) {
    throw io::input_error("is standard output as well, and would never end", 0, failure_kind::refused);
  }
  if (plan_.passes_through == config::pass_through_mode::text) return opened;
  if (file != nullptr) {
    return io::source(std::in_place_type<io::stream_source>, where_.streams.context().get_executor(),
                      std::move(*file).release(), std::size_t{0});
  }
  return opened;
}

async::task<> feeder::feed(numbered_input one) {
  const input_id input = one.input;
  const std::string& name = one.listed.name;
  if (name == "-") co_await drain();  // only then is the offset of a redirected file where the next one begins
  shared_source source;
  try {
    source = std::make_shared<io::source>(open_source(one.listed));
  } catch (...) {
    co_return note_failure(input, std::current_exception(), counts_);
  }
  const std::stop_callback cancel_on_stop(
      stop_, [cancel = make_stream_cancel(where_.streams, source)]() noexcept { cancel->post(); });
  const bool is_passed_through = passes_through(config::pass_through_mode::raw);
  if (is_passed_through) std::get<io::stream_source>(*source).pass_through_to(*sink_);
  note_failure(input, co_await failure_of(count(input, name, source)), counts_);
  if (is_passed_through) {
    co_await async::run_on(where_.streams, pass_through_rest(input, std::move(source)));
  }
}

std::vector<skipped_names> feeder::skipped() const {
  std::vector<skipped_names> all = list_.skipped();
  for (const skipped_names& each : archives_.skipped()) add_skipped(all, each);
  return all;
}

// Completes when all of a stream was read, and of what is handed on.
async::task<> feeder::count(input_id input, const std::string& name, const shared_source& source) {
  const bool is_file = std::holds_alternative<io::file_source>(*source);
  const bool in_turn = !is_file || name == "-" || sink_ != nullptr;
  auto head = co_await heads_.first_bytes(*source);
  if (head.empty() && stop_.stop_requested()) co_return counts_.fail(input, 0, not_read());
  const auto forced_archive = heads_.forced_archive();
  const io::format& format =
      forced_archive ? io::settle_format({}, head, nullptr) : io::settle_format(name, head, plan_.forced_format);
  counts_.set_format(input, format.name);
  const bool has_members = co_await heads_.is_archive(name, *source, head, format);
  const bool is_raw = !has_members && format.name == "raw";
  note_manner(*source, is_raw);
  if (has_members) {
    std::string shown_as = name == "-" ? plan_.label : name;
    co_await archives_.add(input, std::move(shown_as), source, std::move(head), forced_archive);
    if (in_turn) static_cast<void>(co_await archives_.drain());
  } else if (!is_raw) {
    co_await compressed_.add(input, source, std::move(head), format);
    if (in_turn) co_await compressed_.drain();
  } else if (!is_file) {
    co_await async::run_on(where_.streams, feed_stream(input, source, std::move(head)));
  } else if (sink_ != nullptr) {
    co_await feed_file_in_order(input, std::get<io::file_source>(*source));
  } else {
    co_await files_.add(input, std::shared_ptr<const io::file_source>(source, &std::get<io::file_source>(*source)));
  }
}

// For the statistics: how the input is read.
void feeder::note_manner(const io::source& source, bool is_raw) {
  const auto* stream = std::get_if<io::stream_source>(&source);
  std::string how = "pread";
  if (stream != nullptr) {
    how = stream->kind();
    if (const std::size_t capacity = stream->pipe_capacity()) how += " of " + config::format_size(capacity);
  }
  if (!is_raw) {
    how += stream == nullptr ? " in blocks of " : ", blocks of ";
    how += config::format_size(plan_.buffers.block_bytes) + " read ahead, " + std::to_string(plan_.buffers.blocks) +
           " of them";
    ++notes_.compressed_inputs;
  } else if (stream == nullptr && sink_ != nullptr) {
    how += " in order, straight into the slots";
  } else if (stream == nullptr) {
    how += " in ranges of " + config::format_size(plan_.buffers.chunk_bytes) + " by " + std::to_string(plan_.threads) +
           (plan_.threads == 1 ? " thread" : " threads");
    notes_.files_in_parallel = true;
  } else {
    how += ", straight into the slots";
  }
  if (sink_ != nullptr) how += stream != nullptr && stream->tees() ? ", handed on by tee" : ", handed on by write";
  add_manner(notes_.reading, how);
}

async::task<> feeder::feed_stream(input_id input, shared_source source, bytes head) {
  auto& stream = std::get<io::stream_source>(*source);
  std::uint64_t committed = 0;
  try {
    if (passes_through(config::pass_through_mode::text)) {  // only now is it known that the bytes are the text
      co_await sink_->write(head);
      stream.pass_through_to(*sink_);
    }
    co_await put(input, head, committed);
    co_await read_stream(input, stream, committed);
  } catch (const io::input_error&) {
    counts_.fail(input, committed, failure_from(std::current_exception()));
  } catch (const std::bad_alloc&) {
    counts_.fail(input, committed, failure_from(std::current_exception()));
  }
}

// What nobody counts, because it cannot be decoded, is the consumer's all the same.
async::task<> feeder::pass_through_rest(input_id input, shared_source source) {
  constexpr std::size_t step = std::size_t{64} << 10U;
  auto& stream = std::get<io::stream_source>(*source);
  bytes passing(step);
  stream.resume();  // whoever decoded it may have given it up
  try {
    while (!stop_.stop_requested()) {
      const std::optional<std::size_t> read = stream.read_some(passing);
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

// The place is held until its bytes are written: a consumer that is slow slows the reading.
async::task<> feeder::feed_file_in_order(input_id input, const io::file_source& file) {
  std::uint64_t offset = 0;
  try {
    while (!stop_.stop_requested()) {
      held_reservation where(cutter_, co_await cutter_.reserve(plan_.buffers.chunk_bytes));
      std::size_t read = 0;
      {
        const stopwatch busy(notes_.read.busy_nanoseconds);
        read = file.read_at(where.bytes(), offset);
      }
      co_await sink_->write(where.bytes().first(read));
      where.commit(read, {.input = input});
      notes_.read.bytes += read;
      offset += read;
      file.leave_offset_at(offset);
      if (read < where.bytes().size() && !stop_.stop_requested()) co_return counts_.finish(input, offset);
    }
    counts_.fail(input, offset, left_at(offset));
  } catch (const io::input_error&) {
    counts_.fail(input, offset, failure_from(std::current_exception()));
  } catch (const std::bad_alloc&) {
    counts_.fail(input, offset, failure_from(std::current_exception()));
  }
}

async::task<> feeder::put(input_id input, std::span<const std::byte> text, std::uint64_t& committed) {
  while (!text.empty()) {
    const reservation where = co_await cutter_.reserve(text.size());
    std::copy_n(text.begin(), where.bytes.size(), where.bytes.begin());
    cutter_.commit(where, where.bytes.size(), {.input = input});
    committed += where.bytes.size();
    text = text.subspan(where.bytes.size());
  }
}

// Reads straight into the slot. No place is held while waiting, so that a snapshot can have what came so far.
async::task<> feeder::read_stream(input_id input, io::stream_source& stream, std::uint64_t& committed) {
  for (;;) {
    std::optional<std::size_t> read;
    {
      held_reservation where(cutter_, co_await cutter_.reserve(plan_.buffers.chunk_bytes));
      {
        const stopwatch busy(notes_.read.busy_nanoseconds);
        read = stream.read_some(where.bytes());
      }
      where.commit(read.value_or(0), {.input = input});
    }
    committed += read.value_or(0);
    notes_.read.bytes += read.value_or(0);
    if (read == 0U) co_return counts_.finish(input, committed);
    if (stop_.stop_requested()) break;
    if (read) {
      // a stream that always has something must not keep signals and timers from their turn on this thread
      co_await async::yield();
      continue;
    }
    const stopwatch waiting(notes_.read.waiting_nanoseconds);
    if (!co_await stream.readable()) break;
  }
  counts_.fail(input, committed, left_at(committed));
}

}  // namespace gpuhist::pipeline
