#include "pipeline/flow/inputs/observed_files.hpp"

#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/text_track.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t max_open = 2;  // the second file keeps the threads busy at the end of the first
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

}  // namespace

struct observed_files::open_file {
  const input_id input;
  const std::shared_ptr<const io::file_source> source;
  std::deque<stretch_pointer> running{};  // the oldest first
  std::uint64_t text_bytes = 0;           // of stretches that are retired
  std::atomic<bool> has_ended = false;    // its end was found, or a stretch failed
  std::atomic<bool> has_failed = false;   // a stretch failed
};

struct observed_files::stretch {
  open_file& file;
  const std::uint64_t begin;
  const std::uint64_t end;  // unlimited: of the file
  decode_contexts::lease context;
  text_track text;
  group_end result{};
  async::event ended{};
};

observed_files::observed_files(const settings& options, decode_contexts& contexts, text_taps& taps,
                               rolling_counts& counts, stage_clock& clock, async::executor& pool,
                               async::first_failure& failures, std::stop_token stop)
    : options_(options),
      contexts_(contexts),
      taps_(taps),
      counts_(counts),
      clock_(clock),
      pool_(pool),
      stop_(std::move(stop)),
      failures_(failures),
      open_(max_open),
      reading_(failures) {}

async::task<> observed_files::add(input_id input, std::shared_ptr<const io::file_source> source) {
  async::semaphore::permit permit = co_await open_.acquire();
  reading_.spawn(pool_, read(input, std::move(source), std::move(permit)));
}

// Holds the permit until the end.
async::task<> observed_files::read(input_id input, std::shared_ptr<const io::file_source> source,
                                   async::semaphore::permit) {
  open_file file{.input = input, .source = std::move(source)};
  std::exception_ptr error;
  try {
    co_await begin_stretches(file);
  } catch (...) {
    error = std::current_exception();
  }
  while (!file.running.empty()) co_await retire_oldest(file);
  const bool is_whole = !error && !file.has_failed && file.has_ended;
  try {
    co_await taps_.end(input, is_whole ? input_observer::ending::whole : input_observer::ending::early);
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  end(file, error);
}

// Stretches begin in order. A stretch that waits for those before it can do so: they have contexts.
async::task<> observed_files::begin_stretches(open_file& file) {
  const std::size_t max_stretches = taps_.max_groups(contexts_.size());
  const std::uint64_t size = file.source->size_hint();
  for (std::uint64_t begin = 0; begin != unlimited;) {
    while (file.running.size() >= max_stretches) co_await retire_oldest(file);
    const std::uint64_t end = end_of_stretch(begin, size);
    decode_contexts::lease context = co_await contexts_.acquire();
    if (file.has_ended || stop_.stop_requested()) co_return;
    const text_track text({.counts = counts_, .taps = &taps_}, {.input = file.input});
    const auto next = std::make_shared<stretch>(file, begin, end, std::move(context), text);
    file.running.push_back(next);
    try {
      spawn(next);
    } catch (...) {
      file.running.pop_back();
      throw;
    }
    begin = end;
  }
}

std::uint64_t observed_files::end_of_stretch(std::uint64_t begin, std::uint64_t size) const {
  const std::uint64_t bytes = options_.stretch_bytes;
  return bytes > 0 && size >= begin + 2 * bytes ? begin + bytes : unlimited;
}

// A group that was opened in the counts is always closed there, also after an exception.
void observed_files::spawn(const stretch_pointer& next) {
  async::task<> reading = read_stretch(next);
  next->text.open_group(0);
  try {
    next->text.begin_group();
    async::spawn(pool_, std::move(reading),
                 [this, next](const std::exception_ptr& error) noexcept { end_stretch(*next, error); });
  } catch (...) {
    end_stretch(*next, std::current_exception());
    throw;
  }
}

async::task<> observed_files::read_stretch(stretch_pointer task) {
  std::exception_ptr error;
  try {
    co_await read_text(*task);
  } catch (...) {
    error = std::current_exception();
  }
  try {
    co_await task->text.end_group(!error && !task->result.failure);
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
}

// A reservation is held until its bytes are written, so a slow consumer slows down the reading.
async::task<> observed_files::read_text(stretch& task) {
  const piece_in_flight counted(clock_);
  cutter& cut = task.context->cut;
  std::uint64_t offset = task.begin;
  while (offset < task.end) {
    if (stop_.stop_requested()) {
      task.result.failure = [offset](std::uint64_t) { return left_at(offset); };
      co_return;
    }
    task.context->choose_chunking(clock_);
    held_reservation reserved(cut,
                              co_await cut.reserve(std::min<std::uint64_t>(options_.read_bytes, task.end - offset)));
    std::size_t read = 0;
    {
      const busy_time busy(clock_);
      read = task.file.source->read_at(reserved.bytes(), offset);
    }
    const bool is_short = read < reserved.bytes().size();
    co_await task.text.take(std::move(reserved), read);
    clock_.bytes += read;
    offset += read;
    if (is_short && !stop_.stop_requested()) {
      // stretches were planned by the size that the file had before
      if (task.end != unlimited) throw io::truncated_file(task.file.source->size_hint(), offset, offset);
      task.file.has_ended = true;
      co_return;
    }
  }
}

// The stretch ends even if something fails here or before: the coroutine of the file waits for its end.
void observed_files::end_stretch(stretch& task, const std::exception_ptr& error) noexcept {
  if (error) {
    try {
      task.result.failure = [failure = failure_of_input(error, task.begin, failures_)](std::uint64_t) {
        return failure;
      };
    } catch (...) {
      failures_.note(std::current_exception());
    }
  }
  if (error || task.result.failure) task.file.has_ended = task.file.has_failed = true;
  try {
    task.text.close_group(task.result);
  } catch (...) {
    failures_.note(std::current_exception());
  }
  task.context.release();
  task.ended.set();
}

async::task<> observed_files::retire_oldest(open_file& file) {
  co_await file.running.front()->ended.wait();
  file.text_bytes += file.running.front()->text.bytes();
  file.running.pop_front();
}

// After the failure of a stretch, which is that of the input, only the offset is left to be set.
void observed_files::end(const open_file& file, const std::exception_ptr& error) {
  file.source->leave_offset_at(file.text_bytes);
  if (file.has_failed) {
    if (error && !is_of_input(error)) failures_.note(error);
    return;
  }
  if (error) return counts_.fail(file.input, file.text_bytes, failure_of_input(error, file.text_bytes, failures_));
  if (!file.has_ended) return counts_.fail(file.input, file.text_bytes, left_at(file.text_bytes));
  counts_.finish(file.input, file.text_bytes);
}

}  // namespace gpuhist::pipeline
