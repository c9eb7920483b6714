#include "pipeline/feeder.hpp"

#include "config/size.hpp"
#include "pipeline/input_failure.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
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
archive_limits limits_of_archives(const plan& what) {
  constexpr std::uint64_t usual_window = std::uint64_t{8} << 20U;
  constexpr std::uint64_t share_of_memory = 4;
  const buffer_plan& buffers = what.buffers;
  const std::uint64_t window = std::min(usual_window, buffers.window_limit / (share_of_memory * buffers.decoders));
  const std::uint64_t of_a_member = std::uint64_t{8} * sizeof(std::uint64_t) * what.partition.classes + 512;
  return {.most_text = what.max_output.value_or(std::numeric_limits<std::uint64_t>::max()),
          .most_members = static_cast<std::int64_t>(buffers.memory_limit / 2 / of_a_member),
          .inner_decoder = {.window_bytes = window, .granted_bytes = window, .dictionary = what.dictionary}};
}

asio::awaitable<std::exception_ptr> failure_of(asio::awaitable<void> of) {
  try {
    co_await std::move(of);
  } catch (...) {
    co_return std::current_exception();
  }
  co_return nullptr;
}

}  // namespace

feeder::feeder(const plan& what, const executors& where, ring& slots, collector& counted, rolling_counts& counts,
               feed_notes& notes, follower::remark tell, std::stop_token stop)
    : plan_(what),
      where_(where),
      cutter_(slots, counted),
      counts_(counts),
      notes_(notes),
      tell_(std::move(tell)),
      stop_(stop),
      files_({.range_bytes = what.buffers.chunk_bytes, .in_flight = what.threads + std::size_t{4}}, cutter_, counts,
             notes.read, where.pool, stop),
      contexts_(what.buffers.decoders, what.buffers.window_limit, what.dictionary, slots, counted, where.pool),
      compressed_({.block_bytes = what.buffers.block_bytes,
                   .own_blocks = what.buffers.blocks,
                   .extra_blocks = what.buffers.extra_blocks,
                   .open_inputs = what.buffers.open_inputs,
                   .busy_chunk_bytes = what.buffers.busy_chunk_bytes,
                   .threads = what.threads,
                   .group_bytes = what.buffers.group_bytes,
                   .most_text = what.max_output.value_or(std::numeric_limits<std::uint64_t>::max()),
                   .skip_damage = what.skip_damage},
                  {.pool = where.pool, .streams = where.streams}, contexts_, counts, notes, stop),
      archives_({.limits = limits_of_archives(what),
                 .block_bytes = what.buffers.block_bytes,
                 .own_blocks = what.buffers.blocks},
                {.pool = where.pool, .streams = where.streams}, contexts_, counts, notes, stop),
      small_({.most_bytes = small_bytes, .forced_format = what.forced_format}, contexts_, counts, notes, where.pool,
             stop),
      list_(what, where.streams, std::move(stop)),
      heads_(what, {.pool = where.pool, .streams = where.streams}, contexts_, notes) {}

asio::awaitable<void> feeder::follow_all() {
  std::vector<std::pair<input_id, std::string>> inputs;
  for (const std::string& name : plan_.inputs) {
    inputs.emplace_back(counts_.open_input(name), name);
    counts_.set_format(inputs.back().first, "raw");
  }
  add_manner(notes_.reading, "followed, straight into the slots");
  follower follows(cutter_, counts_, notes_.read, where_.streams, plan_.buffers.chunk_bytes, tell_, stop_);
  co_await asio::co_spawn(where_.streams, follows.follow(std::move(inputs)), asio::use_awaitable);
  flush();
}

asio::awaitable<void> feeder::feed_all() {
  if (plan_.follow) co_return co_await follow_all();
  std::exception_ptr error;
  try {
    for (;;) {
      std::vector<listed_input> batch = co_await list_.next(batch_inputs);
      if (batch.empty()) break;
      co_await feed_batch(std::move(batch));
      co_await feed_left();
    }
    co_await small_.drain();
    co_await feed_left();
  } catch (...) {
    error = std::current_exception();
  }
  fail_left();
  // in any case: what is in flight is still to be submitted
  try {
    co_await drain();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  if (small_.files_read() > 0) add_manner(notes_.reading, small_manner, small_.files_read());
  flush();
  if (error) std::rethrow_exception(error);
}

// All of them in any case: what is in flight is still to be submitted.
asio::awaitable<void> feeder::drain() {
  const std::exception_ptr small = co_await failure_of(small_.drain());
  co_await files_.drain();
  const std::exception_ptr archives = co_await failure_of(archives_.drain());
  const std::exception_ptr compressed = co_await failure_of(compressed_.drain());
  for (const std::exception_ptr& each : {small, archives, compressed}) {
    if (each) std::rethrow_exception(each);
  }
}

input_id feeder::open(const listed_input& what) {
  return counts_.open_input(what.name == "-" ? plan_.label : what.name);
}

// Numbers them in their order, whoever reads them when.
asio::awaitable<void> feeder::feed_batch(std::vector<listed_input> batch) {
  // a single one is read by all threads, in ranges; windows need the text of all in its order
  const bool many = batch.size() > 1 && !plan_.windows;
  std::vector<numbered_input> small;
  for (listed_input& each : batch) {
    numbered_input one{.input = open(each), .what = std::move(each)};
    if (!one.what.error.empty()) {
      counts_.fail(one.input, 0, one.what.error);
    } else if (stop_.stop_requested()) {
      counts_.fail(one.input, 0, not_read());
    } else if (many && is_small(one.what)) {
      small.push_back(std::move(one));
    } else {
      // what stands before standard input is not to wait for its end
      if (one.what.name == "-" && !small.empty()) co_await small_.add(std::exchange(small, {}));
      co_await feed(std::move(one));
      if (plan_.windows) co_await drain();
    }
  }
  if (!small.empty()) co_await small_.add(std::move(small));
}

// What small_files did not take.
asio::awaitable<void> feeder::feed_left() {
  for (numbered_input& each : small_.take_left()) {
    if (stop_.stop_requested()) {
      counts_.fail(each.input, 0, not_read());
    } else {
      co_await feed(std::move(each));
    }
  }
}

void feeder::fail_left() {
  if (!stop_.stop_requested()) return;
  for (const listed_input& each : list_.left()) counts_.fail(open(each), 0, each.error);
}

std::vector<cut_mark> feeder::flush() {
  std::vector<cut_mark> marks{cutter_.flush()};
  contexts_.flush(marks);
  return marks;
}

io::source feeder::open_source(const listed_input& what) const {
  if (what.in_tree) return io::open_regular(what.name, what.follow_links);
  return io::open_source(what.name, where_.streams, plan_.buffers.pipe_bytes);
}

asio::awaitable<void> feeder::feed(numbered_input one) {
  const input_id input = one.input;
  const std::string& name = one.what.name;
  if (name == "-") co_await drain();  // only then is the offset of a redirected file where the next one begins
  try {
    auto source = std::make_shared<io::source>(open_source(one.what));
    const std::stop_callback cancel_on_stop(stop_, [streams = where_.streams, weak = std::weak_ptr(source)] {
      asio::post(streams, [weak] {
        const auto still_open = weak.lock();
        if (auto* stream = std::get_if<io::stream_source>(still_open.get())) stream->cancel();
      });
    });
    const bool is_file = std::holds_alternative<io::file_source>(*source);
    auto head = co_await heads_.first_bytes(*source);
    if (head.empty() && stop_.stop_requested()) co_return counts_.fail(input, 0, not_read());
    const auto forced_archive = heads_.forced_archive();
    const io::format& format =
        forced_archive ? io::settle_format({}, head, nullptr) : io::settle_format(name, head, plan_.forced_format);
    counts_.set_format(input, format.name);
    const bool has_members = co_await heads_.is_archive(name, *source, head, format);
    if (has_members) {
      note_manner(*source, true);
      std::string shown_as = name == "-" ? plan_.label : name;
      co_await archives_.add(input, std::move(shown_as), std::move(source), std::move(head), forced_archive);
      if (!is_file || name == "-") co_await archives_.drain();
      co_return;
    }
    const bool is_raw = format.name == "raw";
    note_manner(*source, is_raw);
    if (is_raw && is_file) {
      co_await files_.add(input, std::shared_ptr<const io::file_source>(source, &std::get<io::file_source>(*source)));
      co_return;
    }
    if (!is_raw) {
      co_await compressed_.add(input, std::move(source), std::move(head), format);
      if (!is_file || name == "-") co_await compressed_.drain();
      co_return;
    }
    co_await asio::co_spawn(where_.streams, feed_stream(input, source, std::move(head)), asio::use_awaitable);
  } catch (const io::input_error&) {
    counts_.fail(input, 0, failure_text(std::current_exception()));
  } catch (const std::bad_alloc&) {
    counts_.fail(input, 0, "not enough memory to decode it");
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
  } else if (stream == nullptr) {
    how += " in ranges of " + config::format_size(plan_.buffers.chunk_bytes) + " by " + std::to_string(plan_.threads) +
           (plan_.threads == 1 ? " thread" : " threads");
    notes_.files_in_parallel = true;
  } else {
    how += ", straight into the slots";
  }
  add_manner(notes_.reading, how);
}

asio::awaitable<void> feeder::feed_stream(input_id input, shared_source source, bytes head) {
  co_await put(input, head);
  co_await read_stream(input, std::get<io::stream_source>(*source));
}

asio::awaitable<void> feeder::put(input_id input, std::span<const std::byte> text) {
  while (!text.empty()) {
    const place where = co_await cutter_.reserve(text.size());
    std::copy_n(text.begin(), where.bytes.size(), where.bytes.begin());
    cutter_.commit(where, where.bytes.size(), {.input = input});
    text = text.subspan(where.bytes.size());
  }
}

// Reads straight into the slot. No place is held while waiting, so that a snapshot can have what came so far.
asio::awaitable<void> feeder::read_stream(input_id input, io::stream_source& stream) {
  try {
    for (;;) {
      const place where = co_await cutter_.reserve(plan_.buffers.chunk_bytes);
      std::optional<std::size_t> read;
      try {
        const stopwatch busy(notes_.read.busy_nanoseconds);
        read = stream.read_some(where.bytes);
      } catch (...) {
        cutter_.commit(where, 0, {.input = input});
        throw;
      }
      cutter_.commit(where, read.value_or(0), {.input = input});
      notes_.read.bytes += read.value_or(0);
      if (read == 0U) co_return counts_.finish(input, stream.position());
      if (stop_.stop_requested()) break;
      if (read) {
        // a stream that always has something must not keep signals and timers from their turn on this thread
        co_await asio::post(where_.streams, asio::use_awaitable);
        continue;
      }
      const stopwatch waiting(notes_.read.waiting_nanoseconds);
      if (!co_await stream.readable()) break;
    }
    counts_.fail(input, stream.position(), left_at(stream.position()));
  } catch (const io::input_error&) {
    counts_.fail(input, stream.position(), failure_text(std::current_exception()));
  }
}

}  // namespace gpuhist::pipeline
