// Where reports go: standard output, an inherited descriptor, a device or FIFO (written in place), or a regular file
// that appears whole (temporary name beside it, fsync, rename, mode kept), is appended to, or is a live stream.
#pragma once

#include "io/descriptor.hpp"
#include "io/destination_error.hpp"
#include "io/open_descriptors.hpp"
#include "io/output_files.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/temporary_file.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace gpuhist::pipeline {

using io::destination_error;

/// Whether `where` is written in place because it names a descriptor: "fd:3", /dev/stdout, or a link to one, whatever
/// file that has open. Throws destination_error where links are a loop.
bool names_descriptor(const std::string& where);

/// How texts that are written one by one come to be in a regular file.
enum class writing {
  whole,      ///< all of them appear together, at commit(); until then the old file stays
  once,       ///< so, too, but where there is a file already, that is an error
  live,       ///< in place, behind one another in a file that the first one makes empty: it can be tailed
  append,     ///< in place, each as one after what was there: others that append so wait for each other
  replacing,  ///< each appears alone, in place of the one before
};

class destination {
 public:
  /// `where`: nothing for standard output, "fd:N", or a path. What is no regular file is written in place, however it
  /// is to be written. `given`: the descriptors that can be meant. Nothing of an old file is lost before the first
  /// write(). Throws destination_error; config::usage_error where nothing can be replaced.
  destination(const std::optional<std::string>& where, writing how, const io::open_descriptors& given = {});
  destination(const destination&) = delete;
  destination& operator=(const destination&) = delete;
  ~destination();  ///< without commit(): a temporary file is removed, the old file stays as it was

  /// Writes all of it (short writes and EINTR handled). What does not fit behind a file is cut off again, so that the
  /// file ends as it did before. Throws destination_error.
  void write(std::string_view text);

  /// The same of a text that `pieces` hands on bit by bit, through the sink that it is given: written in large blocks.
  /// Also throws what `pieces` throws; that text is cut off then.
  void write(const std::function<void(const text_sink&)>& pieces);

  /// The same, or false at once where another process holds the lock of the file; `pieces` is not called then.
  [[nodiscard]] bool try_write(const std::function<void(const text_sink&)>& pieces);

  /// Whether try_write() may give false.
  [[nodiscard]] bool has_lock() const { return lock_command_.has_value(); }

  /// Throws the destination_error of a file that others keep locked for too long.
  [[noreturn]] void fail_locked() const;

  /// Everything was written: makes the file appear; reports errors that only close or fsync see. Throws
  /// destination_error.
  void commit();

  /// No complete line stands before what will be written next: neither from before nor from an earlier write(). Of a
  /// file that is appended to it is certain only within write(), which keeps others from appending.
  [[nodiscard]] bool is_fresh() const { return fresh_; }
  /// Where a regular file is until commit(), to be read again before; empty for what is written in place.
  [[nodiscard]] const std::filesystem::path& pending_path() const { return temporary_.path(); }
  /// The regular files that are written, as they are at any time. Never null.
  [[nodiscard]] std::shared_ptr<const io::output_files> files() const { return files_; }

  [[nodiscard]] bool is_terminal() const;
  [[nodiscard]] std::optional<unsigned> terminal_width() const;

 private:
  void open_in_place(const std::filesystem::path& path, bool regular);
  void open_temporary();
  void prepare();
  void make_empty();
  void note_output() const;
  void write_record(const std::function<void(const text_sink&)>& pieces);
  void write_all(std::string_view text, std::uint64_t& written);
  void cut_off(std::uint64_t size_before, std::uint64_t written);
  void appear();

  std::string name_;  // for messages
  writing how_;
  bool fresh_ = true;
  bool holds_old_text_ = false;      // which goes with the first write
  std::optional<int> lock_command_;  // of fcntl, for a file that others append to as well
  std::optional<std::chrono::steady_clock::time_point> lock_wait_ends_;  // after a stop signal, for all records
  io::descriptor fd_;
  io::descriptor readable_;           // of an inherited file that is appended to; else fd_ is read
  std::filesystem::path final_path_;  // empty: written in place
  temporary_file temporary_;
  std::shared_ptr<io::output_files> files_ = std::make_shared<io::output_files>();
};

}  // namespace gpuhist::pipeline
