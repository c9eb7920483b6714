#include "command/repack/repack.hpp"

#include "async/event_loop.hpp"
#include "async/task_group.hpp"
#include "async/worker_pool.hpp"
#include "command/repack/repack_text.hpp"
#include "command/repack/repack_verification.hpp"
#include "io/zstd/zstd_compressor.hpp"
#include "io/zstd/zstd_seek_table.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

using clock = std::chrono::steady_clock;

// For each thread, one frame that is compressed and one that is read, waits or is written.
constexpr std::size_t frames_per_thread = 2;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Compressors that are used again. A new one is made if all others are in use.
class compressor_pool {
 public:
  explicit compressor_pool(int level) : level_(level) {}

  std::size_t compress(std::span<const std::byte> text, std::span<std::byte> out, const std::stop_token& stop) {
    std::unique_ptr<io::zstd_compressor> compressor = take();
    if (!compressor) compressor = std::make_unique<io::zstd_compressor>(level_);
    const std::size_t size = compressor->compress(text, out, stop);
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(compressor));
    return size;
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

// A frame in flight. It belongs to the reading coroutine, except while a thread of the pool compresses it.
struct frame_in_flight final : async::work_item {
  frame_in_flight(compressor_pool& pool_of_compressors, std::stop_token stop_of_run, std::size_t max_text)
      : compressors(pool_of_compressors),
        stop(std::move(stop_of_run)),
        text(std::make_unique_for_overwrite<std::byte[]>(max_text)),
        packed(std::make_unique_for_overwrite<std::byte[]>(io::zstd_compressor::bound(max_text))),
        packed_room(io::zstd_compressor::bound(max_text)) {}

  void run() noexcept override {
    try {
      packed_bytes = compressors.compress({text.get(), text_bytes}, {packed.get(), packed_room}, stop);
    } catch (...) {
      error = std::current_exception();
    }
    compressed.notify();
  }

  compressor_pool& compressors;
  const std::stop_token stop;
  std::unique_ptr<std::byte[]> text;
  std::unique_ptr<std::byte[]> packed;
  std::size_t packed_room;
  std::size_t text_bytes = 0;
  std::size_t packed_bytes = 0;
  std::exception_ptr error = nullptr;
  async::wakeup compressed;
};

struct end_of_reading {
  repack_text& text;
  ~end_of_reading() { text.close(); }
};

// One run. The calling thread runs the event loop that reads streams. A thread of its own reads the text and writes
// frames; the pool decodes ahead, compresses and verifies. If the system permits no further thread, one of the pool
// reads and writes.
class repacker {
 public:
  repacker(const repack_plan& planned, const repack_hooks& hooks);
  repacker(const repacker&) = delete;
  repacker& operator=(const repacker&) = delete;
  ~repacker() = default;

  repacked run();

 private:
  async::task<> repack();
  async::task<> pack();
  [[nodiscard]] std::size_t frames_in_flight() const { return frames_per_thread * plan_.threads; }
  void begin(frame_in_flight& frame);
  async::task<> finish_oldest();
  void write_table();
  async::task<> verify_written();

  const repack_plan& plan_;
  const repack_hooks& hooks_;
  report::destination out_;
  pipeline::feed_notes notes_;
  compressor_pool compressors_;
  std::vector<io::seekable_frame> frames_;  // frames that were written
  std::vector<std::byte> table_;
  repacked result_;
  std::stop_source stop_;
  async::first_failure failures_;  // the first one stops the compression of other frames
  async::event_loop loop_;
  std::deque<frame_in_flight> ring_;  // used in turn; the oldest is at finished_ % size
  std::uint64_t begun_ = 0;           // frames whose compression was started
  std::uint64_t finished_ = 0;        // frames whose compression was waited for
  async::worker_pool pool_;           // destroyed before the members that its threads use
  repack_text text_;
  std::optional<async::loop_thread> own_;  // destroyed before what its task uses
  std::stop_callback<std::function<void()>> stop_of_caller_;
  std::shared_ptr<void> attached_;  // what repack_hooks::attach has returned
  bool has_ended_ = false;
};

repacker::repacker(const repack_plan& planned, const repack_hooks& hooks)
    : plan_(planned),
      hooks_(hooks),
      out_(planned.output, planned.replace ? report::writing::whole : report::writing::once),
      compressors_(planned.level),
      failures_(stop_),
      pool_(planned.threads),
      text_(planned, pool_, loop_, notes_, stop_.get_token()),
      stop_of_caller_(hooks.stop, [this] { stop_.request_stop(); }),
      attached_(hooks.attach ? hooks.attach(loop_) : nullptr) {
  try {
    own_.emplace();
  } catch (const std::system_error&) {
    own_.reset();
  }
}

repacked repacker::run() {
  const auto began = clock::now();
  async::posted_call end(loop_, [this] { has_ended_ = true; });
  async::executor& reader = own_ ? static_cast<async::executor&>(own_->loop()) : pool_;
  async::spawn(reader, repack(), [this, &end](const std::exception_ptr& error) noexcept {
    failures_.note(error);
    end.post();
  });
  loop_.run_until([this] { return has_ended_ && !loop_.has_tasks(); });
  pool_.join();
  if (!hooks_.stop.stop_requested()) failures_.rethrow();
  result_.input_bytes = notes_.read.bytes;
  result_.threads = pool_.size();
  result_.notices = text_.notices();
  result_.seconds = std::chrono::duration<double>(clock::now() - began).count();
  return result_;
}

async::task<> repacker::repack() {
  const end_of_reading end{text_};
  std::exception_ptr error;
  try {
    co_await pack();
  } catch (...) {
    error = std::current_exception();
    failures_.note(error);
  }
  while (finished_ < begun_) {  // the buffers of these frames are in use
    co_await ring_[finished_ % frames_in_flight()].compressed.wait();
    ++finished_;
  }
  if (error) std::rethrow_exception(error);
  if (stop_.stop_requested()) co_return;
  if (hooks_.before_verification) hooks_.before_verification(out_.pending_path());
  co_await verify_written();
  if (stop_.stop_requested()) co_return;
  out_.commit();
  result_.complete = true;
}

// An archive without text has one frame without text.
async::task<> repacker::pack() {
  const std::size_t max_frames = frames_in_flight();
  while (!stop_.stop_requested()) {
    if (begun_ - finished_ == max_frames) co_await finish_oldest();
    if (ring_.size() < max_frames) ring_.emplace_back(compressors_, stop_.get_token(), plan_.frame_bytes);
    frame_in_flight& frame = ring_[begun_ % max_frames];
    frame.text_bytes = text_.read({frame.text.get(), plan_.frame_bytes});
    if (frame.text_bytes == 0 && begun_ > 0) break;
    begin(frame);
    if (frame.text_bytes < plan_.frame_bytes) break;
  }
  while (finished_ < begun_ && !stop_.stop_requested()) co_await finish_oldest();
  if (!stop_.stop_requested()) write_table();
}

void repacker::begin(frame_in_flight& frame) {
  ++begun_;
  result_.text_bytes += frame.text_bytes;
  pool_.post(frame);
}

async::task<> repacker::finish_oldest() {
  if (frames_.size() == io::max_seekable_frames) {
    throw std::runtime_error("there are more frames than the " + std::to_string(io::max_seekable_frames) +
                             " of a seek table; give a larger --frame-size");
  }
  frame_in_flight& frame = ring_[finished_ % frames_in_flight()];
  co_await frame.compressed.wait();
  ++finished_;
  if (frame.error) std::rethrow_exception(frame.error);
  if (stop_.stop_requested()) co_return;  // the frame may be incomplete
  const std::span<const std::byte> packed(frame.packed.get(), frame.packed_bytes);
  out_.write(as_text(packed));
  result_.output_bytes += packed.size();
  frames_.push_back({.compressed_bytes = static_cast<std::uint32_t>(packed.size()),
                     .text_bytes = static_cast<std::uint32_t>(frame.text_bytes),
                     .checksum = io::zstd_checksum_of(packed)});
}

void repacker::write_table() {
  table_ = io::zstd_seek_table(frames_);
  out_.write(as_text(table_));
  result_.output_bytes += table_.size();
  result_.frames = frames_.size();
}

async::task<> repacker::verify_written() {
  for (frame_in_flight& each : ring_) {  // the ring is not cleared: a thread may not have left run() of a frame yet
    each.text.reset();
    each.packed.reset();
  }
  const repack_verification expected{.file = out_.pending_path(),
                                     .frames = frames_,
                                     .table = table_,
                                     .tasks = plan_.threads,
                                     .frame_bytes = io::zstd_compressor::bound(plan_.frame_bytes)};
  try {
    co_await verify(expected, loop_, pool_, stop_.get_token());
  } catch (const std::exception& e) {
    throw std::runtime_error(report::printable(plan_.output) + ": " + report::printable(e.what()) +
                             "; the output was not kept");
  }
}

}  // namespace

repacked repack(const repack_plan& planned, const repack_hooks& hooks) { return repacker(planned, hooks).run(); }

}  // namespace gpuhist::command
