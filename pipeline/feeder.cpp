#include "pipeline/feeder.hpp"

#include "config/size.hpp"
#include "io/zstd_decoder.hpp"
#include "pipeline/input_failure.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
namespace {

// Ends the reading ahead of a decoder.
struct end_of_reading {
  block_reader& blocks;
  const asio::any_io_executor& streams;
  const std::shared_ptr<io::source>& source;

  ~end_of_reading() {
    blocks.give_up();
    if (!std::holds_alternative<io::stream_source>(*source)) return;
    asio::post(streams, [kept = source] { std::get<io::stream_source>(*kept).cancel(); });
  }
};

}  // namespace

feeder::feeder(const plan& what, const executors& where, cutter& cut, rolling_counts& counts, feed_notes& notes,
               std::stop_token stop)
    : plan_(what),
      where_(where),
      cutter_(cut),
      counts_(counts),
      notes_(notes),
      stop_(stop),
      files_({.range_bytes = what.buffers.chunk_bytes, .in_flight = what.threads + std::size_t{4}}, cut, counts,
             notes.read, where.pool, std::move(stop)) {}

asio::awaitable<void> feeder::feed_all() {
  std::exception_ptr error;
  try {
    for (input_id input = 0; input < plan_.inputs.size(); ++input) {
      if (stop_.stop_requested()) {
        counts_.fail(input, 0, not_read());
      } else {
        co_await feed(input);
      }
    }
  } catch (...) {
    error = std::current_exception();
  }
  co_await files_.drain();  // in any case: what is in flight is still to be submitted
  cutter_.flush();
  if (error) std::rethrow_exception(error);
}

asio::awaitable<void> feeder::feed(input_id input) {
  const std::string& name = plan_.inputs[input];
  if (name == "-") co_await files_.drain();  // only then is the offset of a redirected file where the next one begins
  try {
    auto source = std::make_shared<io::source>(io::open_source(name, where_.streams, plan_.buffers.pipe_bytes));
    const std::stop_callback cancel_on_stop(stop_, [streams = where_.streams, weak = std::weak_ptr(source)] {
      asio::post(streams, [weak] {
        const auto still_open = weak.lock();
        if (auto* stream = std::get_if<io::stream_source>(still_open.get())) stream->cancel();
      });
    });
    const bool is_file = std::holds_alternative<io::file_source>(*source);
    auto head = co_await asio::co_spawn(is_file ? where_.pool : where_.streams, head_of(*source), asio::use_awaitable);
    if (head.empty() && stop_.stop_requested()) co_return counts_.fail(input, 0, not_read());
    const io::format& format = io::settle_format(name, head, plan_.forced_format);
    counts_.set_format(input, format.name);
    const bool is_raw = format.name == "raw";
    note_manner(*source, is_raw);
    if (is_raw && is_file) {
      co_await files_.add(input, std::shared_ptr<const io::file_source>(source, &std::get<io::file_source>(*source)));
      co_return;
    }
    co_await files_.drain();  // what is in flight holds slots
    if (is_raw) {
      co_await asio::co_spawn(where_.streams, feed_stream(input, source, std::move(head)), asio::use_awaitable);
    } else {
      co_await feed_decoded(input, source, std::move(head));
    }
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
  notes_.add_manner(how);
}

// The first bytes, for finding the format: of a stream no more than decide it. Fewer where there are no more (or after
// a stop).
asio::awaitable<feeder::bytes> feeder::head_of(io::source& source) {
  bytes head(io::detection_bytes);
  if (const auto* file = std::get_if<io::file_source>(&source)) {
    head.resize(file->read_at(head, 0));
    co_return head;
  }
  auto& stream = std::get<io::stream_source>(source);
  std::size_t have = 0;
  while (have < head.size() && io::is_undecided(std::span(head).first(have))) {
    const auto read = stream.read_some(std::span(head).subspan(have));
    if (read == 0U) break;
    if (read) {
      have += *read;
    } else if (!co_await stream.readable()) {
      break;
    }
  }
  notes_.read.bytes += have;
  head.resize(have);
  co_return head;
}

asio::awaitable<void> feeder::feed_stream(input_id input, shared_source source, bytes head) {
  co_await put(input, head);
  co_await read_stream(input, std::get<io::stream_source>(*source));
}

asio::awaitable<void> feeder::put(input_id input, std::span<const std::byte> text) {
  while (!text.empty()) {
    const place where = co_await cutter_.reserve(text.size());
    std::copy_n(text.begin(), where.bytes.size(), where.bytes.begin());
    cutter_.commit(where, where.bytes.size(), input, 0);
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
        cutter_.commit(where, 0, input, 0);
        throw;
      }
      cutter_.commit(where, read.value_or(0), input, 0);
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

asio::awaitable<void> feeder::feed_decoded(input_id input, shared_source source, bytes head) {
  const bool is_stream = std::holds_alternative<io::stream_source>(*source);
  const auto& executor = is_stream ? where_.streams : where_.pool;
  const auto blocks = std::make_shared<block_reader>(
      block_reader::settings{.block_bytes = plan_.buffers.block_bytes, .blocks = plan_.buffers.blocks}, *source,
      notes_.read, executor, stop_);
  if (!is_stream) head.clear();  // files are read again from their start
  const auto fill = [](std::shared_ptr<block_reader> reader, shared_source, bytes first) -> asio::awaitable<void> {
    co_await reader->fill(std::move(first));
  };
  asio::co_spawn(executor, fill(blocks, source, std::move(head)), asio::detached);
  // whatever happens from here on, nobody may be left waiting for a block or for the stream
  const end_of_reading end{.blocks = *blocks, .streams = where_.streams, .source = source};

  const auto decoder = io::make_zstd_decoder({.window_bytes = plan_.buffers.window_limit});
  decoding task{.input = input, .decoder = *decoder, .frame = ++last_frame_};
  const std::string error = co_await decode(task, *blocks);
  counts_.set_compressed_bytes(input, decoder->consumed_total());
  if (error.empty()) {
    counts_.finish(input, task.fed);
  } else {
    counts_.fail(input, task.fed, error);
  }
  if (auto* file = std::get_if<io::file_source>(source.get())) file->leave_offset_at(decoder->consumed_total());
}

// Returns what went wrong, or nothing.
asio::awaitable<std::string> feeder::decode(decoding& task, block_reader& blocks) {
  for (;;) {
    block next;
    {
      const stopwatch waiting(notes_.decompress.waiting_nanoseconds);
      next = co_await blocks.next();
    }
    if (stop_.stop_requested()) co_return left_at(task.decoder.consumed_total());  // an open frame stays unverified
    if (next.error || next.end) {
      std::string error = next.error ? failure_text(next.error) : task.decoder.missing_at_end(0);
      if (!error.empty()) conclude(task, false);
      co_return error;
    }
    std::string error = co_await decode_block(task, next.bytes());
    if (!error.empty()) co_return error;
    blocks.give_back(next);
    counts_.set_compressed_bytes(task.input, task.decoder.consumed_total());
  }
}

asio::awaitable<std::string> feeder::decode_block(decoding& task, std::span<const std::byte> in) {
  while (!stop_.stop_requested()) {
    const place where = co_await cutter_.reserve(plan_.buffers.chunk_bytes);
    const io::fill_result got = fill(task, in, where);
    in = in.subspan(got.consumed);
    task.frame_bytes += got.produced;
    task.fed += got.produced;
    notes_.decompress.bytes += got.produced;
    cutter_.commit(where, got.produced, task.input, task.frame);
    if (got.status == io::fill_status::needs_input) break;
    if (got.status == io::fill_status::output_full) continue;
    conclude(task, got.status == io::fill_status::frame_verified);
    if (got.status == io::fill_status::failed) co_return task.decoder.fault(0);
  }
  co_return std::string{};
}

// A place that is not filled because of an exception is given back: its slot could never be sealed.
io::fill_result feeder::fill(decoding& task, std::span<const std::byte> in, const place& where) {
  try {
    const stopwatch busy(notes_.decompress.busy_nanoseconds);
    return task.decoder.fill(in, where.bytes);
  } catch (...) {
    cutter_.commit(where, 0, task.input, task.frame);
    throw;
  }
}

void feeder::conclude(decoding& task, bool verified) {
  if (verified) ++notes_.frames;
  const bool in_place = verified && cutter_.verified_in_place(task.frame, task.frame_bytes);
  if (!in_place && task.frame_bytes > 0) counts_.conclude(task.frame, task.input, task.frame_bytes, verified);
  task.frame = ++last_frame_;
  task.frame_bytes = 0;
}

}  // namespace gpuhist::pipeline
