#include "pipeline/flow/inputs/follower.hpp"

#include "config/text.hpp"
#include "io/format.hpp"
#include "pipeline/counts/input_report.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

namespace gpuhist::pipeline {
namespace {

constexpr auto watched_interval = std::chrono::seconds(1);           // between checks, without a notification
constexpr auto unwatched_interval = std::chrono::milliseconds(100);  // between checks, without inotify

constexpr std::uint32_t name_events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr std::uint32_t content_events = IN_MODIFY | IN_ATTRIB;

constexpr std::string_view events_dropped =
    "--follow: the kernel dropped change notifications: bytes of files that were replaced in the meantime may "
    "be missing from the counts";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Whether rotation may give it to a copy of the file: app.log.1, app-20261130.log of app.log.
bool is_longer_name(const std::string& path, const std::string& of) {
  const std::size_t begin = of.find_last_of('/') + 1;  // 0 without a slash
  const std::size_t dot = of.find_last_of('.');
  const bool has_suffix = dot != std::string::npos && dot > begin;
  const std::string_view stem = std::string_view(of).substr(0, has_suffix ? dot : of.size());
  return path.size() > of.size() && path.starts_with(stem) && path.find('/', begin) == std::string::npos;
}

}  // namespace

follower::follower(cutter& cut, const text_track::destination& counted, stage_clock& clock, async::event_loop& loop,
                   std::uint32_t max_reservation, remark report, std::stop_token stop)
    : cut_(cut),
      counted_(counted),
      clock_(clock),
      max_reservation_(max_reservation),
      report_(std::move(report)),
      stop_(std::move(stop)),
      timer_(std::make_shared<boost::asio::steady_timer>(loop.context())),
      wake_up_(std::make_shared<async::deferred_call>(loop, [timer = timer_] { timer->cancel(); })) {
  const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) return;
  boost::system::error_code error;
  changes_.emplace(loop.context());
  changes_->assign(descriptor, error);
  if (error) {  // continue without inotify
    ::close(descriptor);
    changes_.reset();
  }
}

async::task<> follower::follow(std::vector<std::string> names, followed_trees* trees) {
  trees_ = trees;
  if (trees_ != nullptr) trees_->compare_with([this](const std::string& path) { return copies(path); });
  for (std::string& name : names) add(std::move(name), false);
  for (const followed& each : files_) each.text.begin_group();  // of all, before the first is read
  const std::stop_callback wake_on_stop(stop_, [wake = wake_up_]() noexcept { wake->post(); });
  for (bool first = true;; first = false) {
    for (followed& each : files_) watch_folder(each);
    read_changes();
    const bool stopping = stop_.stop_requested();
    look_at_trees();
    if (stopping) set_ends();
    const bool more = co_await take_all();
    for (const followed& each : files_) {
      if (first && !each.has_failed && each.reader.current() < 0)
        report_(each.reader.path() + ": no such file yet: waiting for it");
    }
    co_await end_vanished();
    const bool have_all_failed = trees_ == nullptr && std::ranges::all_of(files_, &followed::has_failed);
    if (have_all_failed || (stopping && !more)) break;
    if (!more && !stop_.stop_requested()) co_await wait_for_change();
  }
  for (followed& each : files_) co_await end(each);
}

void follower::add(std::string name, bool is_in_tree) {
  const input_id input = counted_.counts.open_input(name);
  counted_.counts.set_format(input, "raw");
  io::followed_file::is_left_out leaves_out;
  if (trees_ != nullptr) {
    leaves_out = [trees = trees_](const std::string& path, const io::file_key& key) {
      return trees->is_read_elsewhere(path, key);
    };
  }
  files_.push_back({.text = {counted_, {.input = input}},
                    .reader = io::followed_file(std::move(name), std::move(leaves_out)),
                    .is_in_tree = is_in_tree});
  names_.insert(files_.back().reader.path());
}

// After a stop was requested, once more: a file may be new since the last look.
void follower::look_at_trees() {
  if (trees_ == nullptr || has_last_look_) return;
  has_last_look_ = stop_.stop_requested();
  if (!has_last_look_ && !trees_->is_due(followed_trees::clock::now(), names_have_changed_)) return;
  names_have_changed_ = false;
  const std::vector<followed_trees::found_file> found = trees_->look(names_);
  for (const followed_trees::found_file& each : found) {
    add(each.path, true);
    followed& file = files_.back();
    file.has_failed = !each.error.is_none();
    if (file.has_failed) {
      file.text.fail(each.error);
    } else {
      watch_folder(file);
      file.text.begin_group();
    }
  }
}

io::copied_text follower::copies(const std::string& path) const {
  io::copied_text found = io::copied_text::none;
  for (const followed& each : files_) {
    if (!each.has_failed && is_longer_name(path, each.reader.path())) {
      found = std::max(found, each.reader.copy_in(path));
    }
  }
  return found;
}

// Returns whether there was new text.
async::task<bool> follower::take_all() {
  bool more = false;
  for (followed& each : files_) {
    if (!each.has_failed && co_await take_some(each)) more = true;
  }
  co_return more;
}

// A renamed file is read for some minutes more, by its descriptor.
async::task<> follower::end_vanished() {
  for (followed& each : files_) {
    each.is_finished = each.is_in_tree && !each.has_failed && !each.has_end && each.reader.has_disappeared();
    if (!each.is_finished) continue;
    co_await end(each);
    names_.erase(each.reader.path());
  }
  files_.remove_if([](const followed& each) { return each.is_finished; });
}

async::task<> follower::end(followed& file) {
  using ending = input_observer::ending;
  if (!file.has_failed) note_unread(file);
  co_await file.text.end_observing(file.has_failed ? ending::early : ending::whole);
  if (!file.has_failed) file.text.finish();
}

void follower::set_ends() {
  for (followed& each : files_) {
    if (each.has_failed || each.has_end) continue;
    try {
      set_end(each);
    } catch (const io::input_error&) {
      fail(each);
    }
  }
}

// Counts the bytes that were written up to this time, and no more, because a writer may never stop. Checks the name
// once more, because another file may have received it since the last check.
void follower::set_end(followed& file) {
  note(file, file.reader.look());
  file.reader.set_end();
  file.has_end = true;
}

// Reports bytes that were in the file when the stop was requested, and that were not read.
void follower::note_unread(followed& file) {
  if (file.has_end && file.reader.pending() > 0) note(file, io::name_change::truncated);
}

// Reads at most one slot, so that the name is checked often: a second replacement between two checks would be missed.
// Returns false if there were no new bytes.
async::task<bool> follower::take_some(followed& file) {
  try {
    if (!file.has_end) {
      note(file, file.reader.look());
      watch(file);
    }
    const std::uint64_t pending = file.reader.pending();
    if (pending == 0) {
      file.text.note_idle();
      co_return false;
    }
    held_reservation target(cut_, co_await cut_.reserve(std::min<std::uint64_t>(pending, max_reservation_)));
    const std::size_t read = read_into(file, target.bytes());
    // the text of another file does not continue a line
    if (read > 0) {
      const std::uint64_t earlier = std::exchange(file.source, file.reader.source());
      if (earlier != 0 && earlier != file.source) co_await file.text.note_gap();
    }
    co_await file.text.take(std::move(target), read);
    clock_.bytes += read;
    co_await async::yield();  // lets signals and timers run
    co_return read > 0;
  } catch (const io::input_error&) {
    fail(file);
    co_return false;
  }
}

std::size_t follower::read_into(followed& file, std::span<std::byte> room) {
  const busy_time busy(clock_);
  const std::size_t read = file.reader.read_some(room);
  if (read == 0 || std::exchange(file.format_checked, true)) return read;
  const io::format& format = io::detect(room.first(std::min(read, io::detection_bytes)));
  if (format.is_plain) return read;
  throw io::input_error("is " + std::string(format.name) + ": --follow counts only uncompressed text", 0,
                        failure_kind::refused);
}

async::task<> follower::wait_for_change() {
  const stopwatch waiting(clock_.waiting_nanoseconds);
  timer_->expires_after(changes_ ? std::chrono::milliseconds(watched_interval) : unwatched_interval);
  if (!changes_) {
    co_await async::expiry_of(*timer_);
    co_return;
  }
  co_await async::either_wait(*timer_, *changes_);
}

// All files are checked after any event, so it does not matter which one changed. But only the events show files that
// had the name too briefly for a check to find them.
void follower::read_changes() {
  if (!changes_) return;
  alignas(inotify_event) std::array<char, 16384> events;
  ssize_t size = 0;
  while ((size = ::read(changes_->native_handle(), events.data(), events.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, events.data() + at, sizeof event);
      const char* const name = events.data() + at + sizeof event;
      names_have_changed_ = names_have_changed_ || (event.mask & name_events) != 0;
      if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && event.len > 0) note_arrival(event.wd, name);
      if ((event.mask & IN_Q_OVERFLOW) != 0) report_(std::string(events_dropped));
      at += sizeof event + event.len;
    }
  }
}

void follower::note_arrival(int folder_watch, std::string_view name) {
  for (followed& each : files_) {
    const std::string_view path = each.reader.path();
    if (each.folder_watch == folder_watch && path.substr(path.find_last_of('/') + 1) == name) ++each.arrivals;
  }
}

// Called after each check. Compares the arrivals that were notified with the files that were seen. The comparison
// starts with a check during which no file arrived: otherwise it is unknown whether the file that was found is among
// the notified ones.
void follower::note_missed(followed& file) {
  if (!file.is_baseline_set) {
    file.arrivals = file.seen = 0;
    read_changes();
    file.is_baseline_set = file.arrivals == 0;
    return;
  }
  if (file.arrivals <= file.seen) return;
  report_(file.reader.path() + ": was replaced " + config::number_of(file.arrivals - file.seen, "more time") +
          " than gpuhist could read: bytes of the files in between may be missing from the counts");
  file.seen = file.arrivals;
}

void follower::note(followed& file, io::name_change change) {
  if (change == io::name_change::appeared || change == io::name_change::replaced) {
    ++file.seen;
    if (const auto key = file.reader.current_key(); key && trees_ != nullptr) trees_->note(*key);
  }
  note_missed(file);
  if (change == io::name_change::vanished)
    report_(file.reader.path() + ": was removed or renamed: waiting for a new file");
  if (change == io::name_change::truncated) {
    report_(file.reader.path() + ": was truncated after " + config::number_of(file.reader.position(), "byte") +
            (file.reader.position() == 1 ? " was" : " were") +
            " counted: bytes written after these and before the truncation may be missing from the counts");
  }
}

void follower::fail(followed& file) {
  file.text.fail(failure_from(std::current_exception()));
  file.text.note_idle();
  file.has_failed = true;
}

// Called before each check, so that later arrivals are notified even if the folder was just created or replaced. For an
// unchanged folder, inotify returns the same watch.
void follower::watch_folder(followed& file) {
  if (!changes_ || file.has_failed || file.has_end) return;
  const int watch = watch_path(folder_of(file.reader.path()), name_events);
  if (watch != std::exchange(file.folder_watch, watch)) file.is_baseline_set = false;
}

void follower::watch(followed& file) {
  if (!changes_ || file.reader.current() == file.watched) return;
  file.watched = file.reader.current();
  if (file.watched >= 0) watch_path("/proc/self/fd/" + std::to_string(file.watched), content_events);
}

// Best effort: without a watch, the file is still checked once a second.
int follower::watch_path(const std::string& path, std::uint32_t events) {
  return ::inotify_add_watch(changes_->native_handle(), path.c_str(), events | IN_MASK_ADD);
}

}  // namespace gpuhist::pipeline
