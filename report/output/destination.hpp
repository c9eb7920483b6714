// The destination of reports: standard output, an inherited descriptor, a device or FIFO (written in place), or a
// regular file. A regular file appears as a whole (temporary name in its folder, fsync, rename, mode kept), is appended
// to, or is a live stream.
#pragma once

#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/open_descriptors.hpp"
#include "io/output_files.hpp"
#include "report/formats/report.hpp"
#include "report/output/temporary_file.hpp"
#include "report/output/terminal.hpp"

#include <fcntl.h>
#include <sys/stat.h>

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

namespace gpuhist::report {

using io::destination_error;
/// Whether a name is that of a descriptor, which is written in place: "fd:3", /dev/stdout, or a link to one. Throws
/// destination_error if links form a loop.
bool names_descriptor(const std::string& name);

/// The mode of writing texts to a regular file.
enum class writing {
  whole,      ///< all texts appear together, at commit(); until then the old file stays
  once,       ///< as `whole`, but an existing file is an error
  live,       ///< in place, in sequence; the first text empties the file: it can be followed with `tail -f`
  append,     ///< in place, each text as one record at the end of the file, which is locked meanwhile
  replacing,  ///< each text replaces the one before
};

class destination {
 public:
  /// `name`: nothing for standard output, "fd:N", or a path. In any mode, a destination that is not a regular file is
  /// written in place. `inherited`: the descriptors that may be named. An old file is unchanged until the first
  /// write(). Throws destination_error; config::usage_error for writing::replacing without a regular file.
  destination(const std::optional<std::string>& name, writing mode, const io::open_descriptors& inherited = {});

  /// `path`: a regular file in the open folder `folder`; no link is followed. With writing::whole, once and append.
  /// Throws destination_error.
  destination(io::descriptor folder, const std::filesystem::path& path, writing mode);
  destination(const destination&) = delete;
  destination& operator=(const destination&) = delete;
  ~destination();  ///< without commit(): a temporary file is removed, the old file stays

  /// Writes the whole text. If an append fails, the file is cut to its previous size. Throws destination_error.
  void write(std::string_view text);

  /// As above, for a text that `pieces` passes to a sink piece by piece; it is written in large blocks. Also throws
  /// what `pieces` throws; an appended text is then removed.
  void write(const std::function<void(const text_sink&)>& pieces);

  /// The descriptor of the file, for text that is not written by this object: in sequence, before commit(). Throws
  /// destination_error. Precondition: writing::whole.
  [[nodiscard]] int descriptor();

  /// As write(), but if another process holds the lock of the file, returns false at once without calling `pieces`.
  [[nodiscard]] bool try_write(const std::function<void(const text_sink&)>& pieces);

  /// Whether try_write() may return false.
  [[nodiscard]] bool has_lock() const { return lock_command_.has_value() && !is_locked_; }

  /// Locks a file that is appended to until this object is destroyed. False: another process has the lock.
  [[nodiscard]] bool lock_until_end();

  /// Whether its name is still that of this file: no other process has replaced it. With writing::append.
  [[nodiscard]] bool has_name() const;

  /// Throws the destination_error of a file that another process keeps locked for too long.
  [[noreturn]] void fail_locked() const;

  /// Call it after the last write(), if the state of the file is needed before it appears: fsync. Throws
  /// destination_error.
  [[nodiscard]] struct stat synchronize_text();

  /// Call it after the last write(): makes the file appear, and reports errors of fsync and close. Throws
  /// destination_error.
  void commit();

  /// Whether there is no complete line before the next text, neither from an old file nor from an earlier write(). With
  /// writing::append this is only certain within write(), which holds the lock.
  [[nodiscard]] bool is_fresh() const { return fresh_; }
  /// The path of a regular file until commit(), to be read again; empty for a file that is written in place.
  [[nodiscard]] const std::filesystem::path& pending_path() const { return temporary_.path(); }
  /// The regular files that are currently written. Never null.
  [[nodiscard]] std::shared_ptr<const io::output_files> files() const { return files_; }

  [[nodiscard]] bool is_terminal() const;
  [[nodiscard]] std::optional<terminal_size> terminal() const;

 private:
  void open(const std::filesystem::path& path);
  [[nodiscard]] const char* name_in_folder(const std::filesystem::path& path) const;
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
  writing mode_;
  bool fresh_ = true;
  bool holds_old_text_ = false;      // removed by the first write
  std::optional<int> lock_command_;  // of fcntl, for a file that other processes may append to
  bool is_locked_ = false;           // for all records
  std::optional<std::chrono::steady_clock::time_point> lock_wait_ends_;  // set after a stop signal, for all records
  io::descriptor fd_;
  io::descriptor readable_;           // for an inherited file that is appended to; otherwise fd_ is read
  io::descriptor folder_{AT_FDCWD};   // where names are looked up
  std::filesystem::path final_path_;  // empty: written in place
  temporary_file temporary_;
  std::shared_ptr<io::output_files> files_ = std::make_shared<io::output_files>();
};

}  // namespace gpuhist::report
