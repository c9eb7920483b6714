#include "pipeline/repacking/repack.hpp"

#include "io/zstd_compressor.hpp"
#include "io/zstd_seek_table.hpp"
#include "pipeline/output/destination.hpp"
#include "pipeline/repacking/repack_text.hpp"
#include "pipeline/repacking/repack_verification.hpp"
#include "pipeline/reports/report.hpp"
#include "pipeline/statistics/stage_clock.hpp"
#include "pipeline/stop_signals.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
using boost::system::error_code;
namespace {

using clock = std::chrono::steady_clock;

// One being compressed and one that is read, waits or is written, a thread.
constexpr std::size_t frames_a_thread = 2;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A frame on its way: of the reading coroutine, but for the time in which it is compressed.
struct frame_in_flight {
  frame_in_flight(const asio::any_io_executor& executor, std::size_t text_bytes)
      : text(std::make_unique_for_overwrite<std::byte[]>(text_bytes)),
        packed(std::make_unique_for_overwrite<std::byte[]>(io::zstd_compressor::bound(text_bytes))),
        packed_room(io::zstd_compressor::bound(text_bytes)),
        done(executor, 1) {}

  std::unique_ptr<std::byte[]> text;
  std::unique_ptr<std::byte[]> packed;
  std::size_t packed_room;
  std::size_t text_bytes = 0;
  std::size_t packed_bytes = 0;
  std::exception_ptr error{};
  asio::experimental::concurrent_channel<void(error_code)> done;
};

// As many compressors as compress at once, made when they are first needed.
class compressor_pool {
 public:
  explicit compressor_pool(int level) : level_(level) {}

  void compress(frame_in_flight& frame, const std::stop_token& stop) {
    std::unique_ptr<io::zstd_compressor> with = take();
    if (!with) with = std::make_unique<io::zstd_compressor>(level_);
    frame.packed_bytes =
        with->compress({frame.text.get(), frame.text_bytes}, {frame.packed.get(), frame.packed_room}, stop);
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(with));
  }

 private:
  std::unique_ptr<io::zstd_compressor> take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return nullptr;
    auto taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }

  const int level_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<io::zstd_compressor>> free_;
};

struct end_of_reading {
  repack_text& text;
  ~end_of_reading() { text.close(); }
};

// One run. The io_context, run by the calling thread, reads streams and watches signals; the pool reads files, decodes,
// compresses, writes and verifies.
class repacker {
 public:
  repacker(const repack_plan& what, const repack_hooks& hooks);
  repacker(const repacker&) = delete;
  repacker& operator=(const repacker&) = delete;
  ~repacker() { pool_.join(); }

  repacked run();

 private:
  asio::awaitable<void> repack();
  asio::awaitable<void> pack();
  void begin(frame_in_flight& frame);
  asio::awaitable<void> finish_oldest();
  void write_table();
  asio::awaitable<void> verify_written();

  const repack_plan& plan_;
  const repack_hooks& hooks_;
  destination out_;
  stage_clock read_;
  compressor_pool compressors_;
  std::vector<io::seekable_frame> frames_;  // that were written
  std::vector<std::byte> table_;
  repacked done_;
  std::exception_ptr error_;
  std::stop_source stop_;
  asio::io_context context_{1};
  asio::thread_pool pool_;
  std::deque<frame_in_flight> ring_;  // used again and again, the oldest at written % size
  std::uint64_t begun_ = 0;
  repack_text text_;
  stop_signals signals_;
};

repacker::repacker(const repack_plan& what, const repack_hooks& hooks)
    : plan_(what),
      hooks_(hooks),
      out_(what.output, what.replace ? writing::whole : writing::once),
      compressors_(what.level),
      pool_(what.threads),
      text_(what, pool_.get_executor(), context_.get_executor(), read_, stop_.get_token()),
      signals_(context_, hooks.watch_signals, stop_) {}

repacked repacker::run() {
  const auto began = clock::now();
  const auto keep_running = asio::make_work_guard(context_);
  asio::co_spawn(pool_, repack(), [this](const std::exception_ptr& error) {
    asio::post(context_, [this, error] {
      error_ = error;
      if (error) stop_.request_stop();  // what is being compressed is of no use any more
      context_.stop();
    });
  });
  context_.run();
  pool_.join();
  done_.signal = signals_.received();
  if (error_ && done_.signal == 0) std::rethrow_exception(error_);
  done_.input_bytes = read_.bytes;
  done_.seconds = std::chrono::duration<double>(clock::now() - began).count();
  return done_;
}

asio::awaitable<void> repacker::repack() {
  const end_of_reading end{text_};
  co_await pack();
  if (stop_.stop_requested()) co_return;
  if (hooks_.before_verification) hooks_.before_verification(out_.pending_path());
  co_await verify_written();
  if (stop_.stop_requested()) co_return;
  out_.commit();
  done_.complete = true;
}

// An archive without text is one frame without text.
asio::awaitable<void> repacker::pack() {
  const std::size_t most = frames_a_thread * plan_.threads;
  while (!stop_.stop_requested()) {
    if (begun_ - frames_.size() == most) co_await finish_oldest();
    if (ring_.size() < most) ring_.emplace_back(pool_.get_executor(), plan_.frame_bytes);
    frame_in_flight& frame = ring_[begun_ % most];
    frame.text_bytes = co_await text_.read({frame.text.get(), plan_.frame_bytes});
    if (frame.text_bytes == 0 && begun_ > 0) break;
    begin(frame);
    if (frame.text_bytes < plan_.frame_bytes) break;
  }
  while (frames_.size() < begun_ && !stop_.stop_requested()) co_await finish_oldest();
  if (!stop_.stop_requested()) write_table();
}

void repacker::begin(frame_in_flight& frame) {
  ++begun_;
  done_.text_bytes += frame.text_bytes;
  asio::post(pool_, [this, &frame] {
    try {
      compressors_.compress(frame, stop_.get_token());
    } catch (...) {
      frame.error = std::current_exception();
    }
    frame.done.try_send(error_code{});
  });
}

asio::awaitable<void> repacker::finish_oldest() {
  if (frames_.size() == io::most_seekable_frames) {
    throw std::runtime_error("there are more frames than the " + std::to_string(io::most_seekable_frames) +
                             " of a seek table; give a larger --frame-size");
  }
  frame_in_flight& frame = ring_[frames_.size() % (frames_a_thread * plan_.threads)];
  co_await frame.done.async_receive(asio::use_awaitable);
  if (frame.error) std::rethrow_exception(frame.error);
  if (stop_.stop_requested()) co_return;  // it may not be whole
  const std::span<const std::byte> packed(frame.packed.get(), frame.packed_bytes);
  out_.write(as_text(packed));
  done_.output_bytes += packed.size();
  frames_.push_back({.compressed_bytes = static_cast<std::uint32_t>(packed.size()),
                     .text_bytes = static_cast<std::uint32_t>(frame.text_bytes),
                     .checksum = io::zstd_checksum_of(packed)});
}

void repacker::write_table() {
  table_ = io::zstd_seek_table(frames_);
  out_.write(as_text(table_));
  done_.output_bytes += table_.size();
  done_.frames = frames_.size();
}

asio::awaitable<void> repacker::verify_written() {
  for (frame_in_flight& each : ring_) {  // not cleared: a compressing task may still be on its way out of a channel
    each.text.reset();
    each.packed.reset();
  }
  const repack_verification what{.file = out_.pending_path(),
                                 .frames = frames_,
                                 .table = table_,
                                 .tasks = plan_.threads,
                                 .frame_bytes = io::zstd_compressor::bound(plan_.frame_bytes)};
  try {
    co_await verify(what, pool_.get_executor(), stop_.get_token());
  } catch (const std::exception& e) {
    throw std::runtime_error(printable(plan_.output) + ": " + printable(e.what()) + "; nothing is kept of it");
  }
}

}  // namespace

repacked repack(const repack_plan& what, const repack_hooks& hooks) { return repacker(what, hooks).run(); }

}  // namespace gpuhist::pipeline
