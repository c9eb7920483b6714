#include "pipeline/flow/inputs/small_files.hpp"

#include "io/archive/archive_format.hpp"
#include "pipeline/counts/input_failure.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

namespace gpuhist::pipeline {

small_files::small_files(const settings& how, decode_contexts& contexts, rolling_counts& counts, feed_notes& notes,
                         async::executor& pool, async::first_failure& failures, std::stop_token stop)
    : how_(how),
      contexts_(contexts),
      counts_(counts),
      notes_(notes),
      pool_(pool),
      stop_(std::move(stop)),
      reading_(failures) {}

async::task<> small_files::add(std::vector<numbered_input> batch) {
  decode_contexts::lease with = co_await contexts_.acquire();
  reading_.spawn(pool_, read_all(std::move(batch), std::move(with)));
  notes_.read.max_in_flight = std::max<std::uint64_t>(notes_.read.max_in_flight, reading_.size());
}

std::vector<numbered_input> small_files::take_left() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(left_, {});
}

void small_files::leave(numbered_input& one) {
  const std::scoped_lock lock(mutex_);
  left_.push_back(std::move(one));
}

async::task<> small_files::read_all(std::vector<numbered_input> batch, decode_contexts::lease with) {
  for (numbered_input& one : batch) {
    if (stop_.stop_requested()) {
      counts_.fail(one.input, 0, not_read());
    } else {
      co_await read_one(one, with->cut);
    }
  }
}

async::task<> small_files::read_one(numbered_input& one, cutter& into) {
  bool is_left = false;
  try {
    const io::file_source file = io::open_regular(one.what.name, one.what.follow_links);
    is_left = file.size_hint() > how_.max_bytes || !co_await read_text(one, file, into);
  } catch (const io::input_error&) {
    counts_.fail(one.input, 0, failure_from(std::current_exception()));
  }
  if (is_left) {
    leave(one);
  } else {
    ++files_read_;
  }
}

// To its end, wherever that is by now. False where it is compressed: none of it was taken then.
async::task<bool> small_files::read_text(const numbered_input& one, const io::file_source& from, cutter& into) {
  constexpr std::uint64_t unknown_bytes = 4096;  // where the size says nothing, as in /proc
  const text_owner owner{.input = one.input};
  std::uint64_t offset = 0;
  std::array<std::byte, io::archive_head_bytes> head{};
  for (;;) {
    const std::uint64_t size = from.size_hint();
    // a byte more than there should be: that it stays empty shows the end
    held_reservation where(into, co_await into.reserve(offset < size ? size - offset + 1 : unknown_bytes));
    std::size_t filled = 0;
    bool is_taken = true;
    std::exception_ptr error;
    try {
      const stopwatch busy(notes_.read.busy_nanoseconds);
      filled = from.read_at(where.bytes(), offset);
      if (offset == 0) {
        std::span<const std::byte> first = where.bytes().first(filled);
        // at the end of a slot there may be too little room to tell the format by
        if (filled == where.bytes().size() && filled < head.size())
          first = std::span(head).first(from.read_at(head, 0));
        is_taken = is_plain(one, first);
      }
    } catch (const io::input_error&) {
      error = std::current_exception();
    }
    if (error || !is_taken) filled = 0;
    where.commit(filled, owner);
    notes_.read.bytes += filled;
    offset += filled;
    if (error) counts_.fail(one.input, offset, failure_from(error));
    if (error || !is_taken) co_return is_taken;
    if (filled < where.bytes().size()) break;
    if (stop_.stop_requested()) {
      counts_.fail(one.input, offset, left_at(offset));
      co_return true;
    }
  }
  counts_.finish(one.input, offset);
  co_return true;
}

bool small_files::is_plain(const numbered_input& one, std::span<const std::byte> head) {
  const auto first = [&](std::size_t bytes) { return head.first(std::min(head.size(), bytes)); };
  const io::format& format = io::settle_format(one.what.name, first(io::zlib_head_bytes), how_.forced_format);
  counts_.set_format(one.input, format.name);
  if (format.name != "raw") return false;
  return how_.forced_format != nullptr || io::detect_archive(first(io::archive_head_bytes)) == io::archive_kind::none;
}

}  // namespace gpuhist::pipeline
