#include "pipeline/flow/inputs/small_files.hpp"

#include "io/archive/archive_format.hpp"
#include "io/byte_entropy.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/text_track.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

small_files::small_files(const settings& options, decode_contexts& contexts, rolling_counts& counts, feed_notes& notes,
                         async::executor& pool, async::first_failure& failures, std::stop_token stop)
    : options_(options),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      pool_(pool),
      stop_(std::move(stop)),
      reading_(failures) {}

async::task<> small_files::add(std::vector<numbered_input> batch) {
  decode_contexts::lease context = co_await contexts_.acquire();
  reading_.spawn(pool_, read_all(std::move(batch), std::move(context)));
  notes_.read.max_in_flight = std::max<std::uint64_t>(notes_.read.max_in_flight, reading_.size());
}

std::vector<numbered_input> small_files::take_deferred() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(deferred_, {});
}

void small_files::defer(numbered_input& entry) {
  const std::scoped_lock lock(mutex_);
  deferred_.push_back(std::move(entry));
}

async::task<> small_files::read_all(std::vector<numbered_input> batch, decode_contexts::lease context) {
  for (numbered_input& entry : batch) {
    if (stop_.stop_requested()) {
      counts_.fail(entry.input, 0, not_read());
    } else {
      co_await read_one(entry, context->cut);
    }
  }
}

async::task<> small_files::read_one(numbered_input& entry, cutter& cut) {
  bool is_deferred = false;
  try {
    const io::file_source file = io::open_regular(entry.listed.name, entry.listed.follow_links);
    is_deferred = file.size_hint() > options_.max_bytes || !co_await read_text(entry, file, cut);
  } catch (const io::input_error&) {
    counts_.fail(entry.input, 0, failure_from(std::current_exception()));
  }
  if (is_deferred) {
    defer(entry);
  } else {
    ++files_read_;
  }
}

// Reads the file to its end, whatever its size was before. Returns false if it is compressed or an archive; then none
// of its bytes are counted.
async::task<bool> small_files::read_text(const numbered_input& entry, const io::file_source& file, cutter& cut) {
  constexpr std::uint64_t unknown_bytes = 4096;  // for files without a usable size, as in /proc
  text_track text({.counts = counts_}, {.input = entry.input});
  std::vector<std::byte> head;
  for (;;) {
    const std::uint64_t size = file.size_hint();
    // one byte more than expected: if it stays empty, the file has ended
    const std::uint64_t offset = text.bytes();
    held_reservation target(cut, co_await cut.reserve(offset < size ? size - offset + 1 : unknown_bytes));
    std::size_t filled = 0;
    bool is_text = true;
    std::exception_ptr error;
    try {
      const busy_time busy(notes_.read);
      filled = file.read_at(target.bytes(), offset);
      if (offset == 0) {
        std::span<const std::byte> first = target.bytes().first(filled);
        // the rest of a slot may be too small for format detection
        if (filled == target.bytes().size() && filled < io::sampled_bytes) {
          head.resize(io::sampled_bytes);
          first = std::span(head).first(file.read_at(head, 0));
        }
        is_text = is_plain(entry, first);
      }
    } catch (const io::input_error&) {
      error = std::current_exception();
    }
    if (error || !is_text) filled = 0;
    text.commit(target, filled);
    notes_.read.bytes += filled;
    if (error) text.fail(failure_from(error));
    if (error || !is_text) co_return is_text;
    if (filled < target.bytes().size()) break;
    if (stop_.stop_requested()) {
      text.fail(left_at(text.bytes()));
      co_return true;
    }
  }
  text.finish();
  co_return true;
}

bool small_files::is_plain(const numbered_input& entry, std::span<const std::byte> head) {
  const io::identity as = io::identify(entry.listed.name, head, options_.forced_format, options_.rules);
  counts_.set_format(entry.input, as.format.name);
  if (as.notice) counts_.note(entry.input, *as.notice);
  return as.format.is_plain && as.archive.value_or(io::detect_archive(head)) == io::archive_kind::none;
}

}  // namespace gpuhist::pipeline
