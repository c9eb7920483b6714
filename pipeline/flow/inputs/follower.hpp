// Follows files that grow (--follow): reads what comes to them, through rotation and truncation, until it is told to
// stop. One coroutine for all files; it sleeps until the system says that one of them changed (inotify), and looks by
// itself now and then, because not every file system says so.
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "io/followed_file.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

class follower {
 public:
  /// Told what people should know: a file that is waited for, was truncated, or vanished. On the executor.
  using remark = std::function<void(const std::string&)>;

  /// `largest`: bytes of a place at the most.
  follower(cutter& cut, rolling_counts& counts, stage_clock& clock, async::event_loop& loop, std::uint32_t largest,
           remark tell, std::stop_token stop);

  /// Follows all of them until a stop is requested; what they held by then is counted. On the executor.
  async::task<> follow(std::vector<std::pair<input_id, std::string>> inputs);

 private:
  struct followed {
    input_id input = 0;
    io::followed_file file;
    bool has_end = false;        // it is to stop: what is written from now on is not read
    bool over = false;           // it failed, and is left
    bool begun = false;          // its first bytes were seen
    int watched = -1;            // the descriptor that is watched
    bool looked = false;         // at its name; from here on arrivals are compared
    int folder_watch = -1;       // the watch of the folder that the name is in
    std::uint64_t arrivals = 0;  // files that got the name, as the system says ...
    std::uint64_t seen = 0;      // ... and as was seen
  };

  void set_ends();
  void set_end(followed& of);
  void note_unread(followed& of);
  async::task<bool> take_some(followed& of);
  std::size_t read_into(followed& of, std::span<std::byte> room);
  async::task<> something_changed();
  void note(followed& of, io::name_change what);
  void fail(followed& of);
  void watch_folder(followed& of);
  void watch(followed& of);
  int watch_path(const std::string& path, std::uint32_t what);
  void read_changes();
  void note_arrival(int folder_watch, std::string_view name);
  void note_missed(followed& of);

  cutter& cut_;
  rolling_counts& counts_;
  stage_clock& clock_;
  std::uint32_t largest_;
  remark tell_;
  std::stop_token stop_;
  std::vector<followed> files_;
  std::optional<boost::asio::posix::stream_descriptor> changes_;  // inotify; nothing where it is refused
  std::shared_ptr<boost::asio::steady_timer> timer_;
  std::shared_ptr<async::deferred_call> wake_;  // cancels it
};

}  // namespace gpuhist::pipeline
