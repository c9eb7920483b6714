#include "pipeline/flow/inputs/follower.hpp"

#include "io/format.hpp"
#include "pipeline/counts/input_failure.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr auto look_anyway = std::chrono::seconds(1);            // although nothing was said
constexpr auto look_unwatched = std::chrono::milliseconds(100);  // where nothing ever will be

constexpr std::uint32_t names = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr std::uint32_t content = IN_MODIFY | IN_ATTRIB;

constexpr std::string_view lost_notices =
    "--follow: the system dropped notices of changes: what was written to files that were replaced since may not be "
    "counted";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

follower::follower(cutter& cut, rolling_counts& counts, stage_clock& clock, async::event_loop& loop,
                   std::uint32_t largest, remark tell, std::stop_token stop)
    : cut_(cut),
      counts_(counts),
      clock_(clock),
      largest_(largest),
      tell_(std::move(tell)),
      stop_(std::move(stop)),
      timer_(std::make_shared<boost::asio::steady_timer>(loop.context())),
      wake_(std::make_shared<async::deferred_call>(loop, [timer = timer_] { timer->cancel(); })) {
  const int made = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (made < 0) return;
  boost::system::error_code error;
  changes_.emplace(loop.context());
  changes_->assign(made, error);
  if (error) {  // as without inotify
    ::close(made);
    changes_.reset();
  }
}

async::task<> follower::follow(std::vector<std::pair<input_id, std::string>> inputs) {
  for (auto& [input, name] : inputs) files_.push_back({.input = input, .file = io::followed_file(std::move(name))});
  const std::stop_callback wake_on_stop(stop_, [wake = wake_]() noexcept { wake->post(); });
  for (bool first = true;; first = false) {
    for (followed& each : files_) watch_folder(each);
    read_changes();
    const bool stopping = stop_.stop_requested();
    if (stopping) set_ends();
    bool more = false;
    for (followed& each : files_) {
      if (!each.over && co_await take_some(each)) more = true;
      if (first && !each.over && each.file.current() < 0)
        tell_(each.file.path() + ": no such file yet: waiting for it");
    }
    if (std::ranges::all_of(files_, &followed::over) || (stopping && !more)) break;
    if (!more && !stop_.stop_requested()) co_await something_changed();
  }
  for (followed& each : files_) {
    if (each.over) continue;
    note_unread(each);
    counts_.finish(each.input, each.file.position());
  }
}

void follower::set_ends() {
  for (followed& each : files_) {
    if (each.over || each.has_end) continue;
    try {
      set_end(each);
    } catch (const io::input_error&) {
      fail(each);
    }
  }
}

// What was written by now is still counted, and no more: a writer may never rest. That takes a last look: a file may
// have got the name since the one before.
void follower::set_end(followed& of) {
  note(of, of.file.look());
  of.file.set_end();
  of.has_end = true;
}

// Of what was there when it was to stop.
void follower::note_unread(followed& of) {
  if (of.has_end && of.file.pending() > 0) note(of, io::name_change::truncated);
}

// No more than a slot at once: between two looks at a name it may be given to one new file, but not to two. False where
// there was nothing.
async::task<bool> follower::take_some(followed& of) {
  try {
    if (!of.has_end) {
      note(of, of.file.look());
      watch(of);
    }
    const std::uint64_t left = of.file.pending();
    if (left == 0) co_return false;
    held_reservation where(cut_, co_await cut_.reserve(std::min<std::uint64_t>(left, largest_)));
    const std::size_t read = read_into(of, where.bytes());
    where.commit(read, {.input = of.input});
    clock_.bytes += read;
    co_await async::yield();  // signals and timers have their turn
    co_return read > 0;
  } catch (const io::input_error&) {
    fail(of);
    co_return false;
  }
}

std::size_t follower::read_into(followed& of, std::span<std::byte> room) {
  const stopwatch busy(clock_.busy_nanoseconds);
  const std::size_t read = of.file.read_some(room);
  if (read == 0 || std::exchange(of.begun, true)) return read;
  const io::format& format = io::detect(room.first(std::min(read, io::detection_bytes)));
  if (format.name == "raw") return read;
  throw io::input_error("is " + std::string(format.name) + ": --follow counts text as it is written", 0,
                        failure_kind::refused);
}

async::task<> follower::something_changed() {
  const stopwatch waiting(clock_.waiting_nanoseconds);
  timer_->expires_after(changes_ ? std::chrono::milliseconds(look_anyway) : look_unwatched);
  if (!changes_) {
    co_await async::expiry_of(*timer_);
    co_return;
  }
  co_await async::either_wait(*timer_, *changes_);
}

// Which file changed does not matter, for all are looked at; but a file that had its name for so short a time that no
// look found it is known from here only.
void follower::read_changes() {
  if (!changes_) return;
  alignas(inotify_event) std::array<char, 16384> events;
  ssize_t got = 0;
  while ((got = ::read(changes_->native_handle(), events.data(), events.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof event);
      const char* const name = events.data() + at + sizeof event;
      if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && event.len > 0) note_arrival(event.wd, name);
      if ((event.mask & IN_Q_OVERFLOW) != 0) tell_(std::string(lost_notices));
      at += sizeof event + event.len;
    }
  }
}

void follower::note_arrival(int folder_watch, std::string_view name) {
  for (followed& each : files_) {
    const std::string_view path = each.file.path();
    if (each.folder_watch == folder_watch && path.substr(path.find_last_of('/') + 1) == name) ++each.arrivals;
  }
}

// After a look, with the notices from before it. Counting begins with a look during which nothing arrived: what it
// found may have been noticed before it, or not.
void follower::note_missed(followed& of) {
  if (!of.looked) {
    of.arrivals = of.seen = 0;
    read_changes();
    of.looked = of.arrivals == 0;
    return;
  }
  if (of.arrivals <= of.seen) return;
  tell_(of.file.path() + ": was replaced " + std::to_string(of.arrivals - of.seen) +
        " more times than could be seen: what was written to files that had the name in between may not be counted");
  of.seen = of.arrivals;
}

void follower::note(followed& of, io::name_change what) {
  if (what == io::name_change::appeared || what == io::name_change::replaced) ++of.seen;
  note_missed(of);
  if (what == io::name_change::vanished) tell_(of.file.path() + ": is gone: waiting for it to come back");
  if (what == io::name_change::truncated) {
    tell_(of.file.path() + ": was truncated after " + std::to_string(of.file.position()) +
          " bytes were counted: what may have been written between that and the truncation is not known");
  }
}

void follower::fail(followed& of) {
  counts_.fail(of.input, of.file.position(), failure_from(std::current_exception()));
  of.over = true;
}

// Before each look, so that what arrives after it is noticed also where the folder is made, or replaced, only now. The
// same watch where it is the same folder.
void follower::watch_folder(followed& of) {
  if (!changes_ || of.over || of.has_end) return;
  const int now = watch_path(folder_of(of.file.path()), names);
  if (now != std::exchange(of.folder_watch, now)) of.looked = false;
}

void follower::watch(followed& of) {
  if (!changes_ || of.file.current() == of.watched) return;
  of.watched = of.file.current();
  if (of.watched >= 0) watch_path("/proc/self/fd/" + std::to_string(of.watched), content);
}

// Best effort: without a watch the file is still looked at once a second.
int follower::watch_path(const std::string& path, std::uint32_t what) {
  return ::inotify_add_watch(changes_->native_handle(), path.c_str(), what | IN_MASK_ADD);
}

}  // namespace gpuhist::pipeline
