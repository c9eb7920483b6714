// Follows files that grow (--follow), through rotation and truncation, until a stop is requested. One coroutine reads
// all files. It sleeps until inotify reports a change. It also checks the files at intervals, because not every file
// system reports changes.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "io/followed_file.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/inputs/followed_trees.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"
#include "pipeline/flow/text_track.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

class follower {
 public:
  /// Receives messages for the user: gpuhist waits for a file, or a file was truncated or removed. Called on the event
  /// loop.
  using remark = std::function<void(const std::string&)>;

  /// `max_reservation`: maximum size of one reservation, in bytes. `report` receives the messages.
  follower(cutter& cut, const text_track::destination& counted, stage_clock& clock, async::event_loop& loop,
           std::uint32_t max_reservation, remark report, std::stop_token stop);

  /// Follows files by their names, and those in trees, until a stop is requested. Bytes that were written before the
  /// stop are counted. `trees`: null: none; borrowed. On the event loop.
  async::task<> follow(std::vector<std::string> names, followed_trees* trees);

 private:
  // In the order in which they are found.
  struct followed {
    text_track text;
    io::followed_file reader;
    bool is_in_tree = false;       // it ends when the name has no file any more
    bool is_finished = false;      // it has ended before the run
    bool has_end = false;          // a stop was requested: bytes written later are not read
    bool has_failed = false;       // it is not read any more
    bool format_checked = false;   // its first bytes were read
    std::uint64_t source = 0;      // io::followed_file::source() of the last text
    int watched = -1;              // the descriptor that is watched
    bool is_baseline_set = false;  // arrivals and seen are compared
    int folder_watch = -1;         // the watch of the folder that contains the name
    std::uint64_t arrivals = 0;    // files that received the name, according to inotify
    std::uint64_t seen = 0;        // files that received the name and were found by a check
  };

  void set_ends();
  void set_end(followed& file);
  void note_unread(followed& file);
  async::task<bool> take_some(followed& file);
  std::size_t read_into(followed& file, std::span<std::byte> room);
  async::task<> wait_for_change();
  void note(followed& file, io::name_change change);
  void add(std::string name, bool is_in_tree);
  void look_at_trees();
  [[nodiscard]] io::copied_text copies(const std::string& path) const;
  async::task<bool> take_all();
  async::task<> end_vanished();
  async::task<> end(followed& file);
  static void fail(followed& file);
  void watch_folder(followed& file);
  void watch(followed& file);
  int watch_path(const std::string& path, std::uint32_t events);
  void read_changes();
  void note_arrival(int folder_watch, std::string_view name);
  void note_missed(followed& file);

  cutter& cut_;
  const text_track::destination counted_;
  stage_clock& clock_;
  std::uint32_t max_reservation_;
  remark report_;
  std::stop_token stop_;
  std::list<followed> files_;
  followed_trees* trees_ = nullptr;
  std::set<std::string, std::less<>> names_;                      // that are followed
  bool has_last_look_ = false;                                    // after the stop was requested
  bool names_have_changed_ = false;                               // since the trees were looked at
  std::optional<boost::asio::posix::stream_descriptor> changes_;  // inotify; nothing if it is not available
  std::shared_ptr<boost::asio::steady_timer> timer_;
  std::shared_ptr<async::deferred_call> wake_up_;  // cancels timer_
};

}  // namespace gpuhist::pipeline
