// Which outputs are complete in the folder, and what is in their way.
#include "command/filter/output_folder.hpp"
#include "config/usage_error.hpp"
#include "report/formats/report.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <ranges>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

using file_identity = std::pair<dev_t, ino_t>;

// The files that are read, and what they are, for messages.
std::map<file_identity, std::string> read_by(const pipeline::looked_up_inputs& found,
                                             const std::vector<named_file>& others) {
  std::map<file_identity, std::string> made;
  struct stat now{};
  for (const pipeline::listed_input& each : found.inputs) {
    if (::stat(each.name.c_str(), &now) == 0) made.try_emplace({now.st_dev, now.st_ino}, "is an input");
  }
  for (const named_file& each : others) {
    if (::stat(each.path.c_str(), &now) == 0)
      made.try_emplace({now.st_dev, now.st_ino}, "is the same file as " + each.option + ", which is read");
  }
  return made;
}

// Decides for outputs whose file exists.
class existing_files {
 public:
  existing_files(const fs::path& folder, const pipeline::looked_up_inputs& found, const earlier_outputs& earlier,
                 const existing_outputs& existing)
      : folder_(folder), found_(found), earlier_(earlier), existing_(existing) {}

  /// The line of the output if it is complete, else null. Throws if it may not be written.
  [[nodiscard]] const earlier_output* find(planned_output& output) {
    const fs::path path = folder_ / output.name;
    struct stat now{};
    if (::lstat(path.c_str(), &now) != 0) return nullptr;  // a link could lead to a file outside the folder
    if (!S_ISREG(now.st_mode)) refuse(path, "is not a regular file; remove it, or give another folder");
    refuse_what_is_read(path, now);
    output.replaced = io::state_of(now);
    if (existing_.are_resumed) return resumed(output, path, now);
    if (!existing_.are_replaced) {
      refuse(path, "exists; give --resume to skip what is complete, --force to replace the files, or another folder");
    }
    return nullptr;
  }

 private:
  [[noreturn]] void refuse(const fs::path& path, const std::string& cause) const {
    throw config::usage_error(existing_.named_by + ": " + report::printable(path.string()) + " " + cause);
  }

  // Files are looked up only if there is an output.
  void refuse_what_is_read(const fs::path& path, const struct stat& now) {
    if (read_.empty()) read_ = read_by(found_, existing_.read);
    const auto found = read_.find({now.st_dev, now.st_ino});
    if (found != read_.end()) refuse(path, "would be an output, and " + found->second + "; give another folder");
  }

  [[nodiscard]] const earlier_output* resumed(const planned_output& output, const fs::path& path,
                                              const struct stat& now) const {
    const earlier_output* const line = line_of(output.name, io::state_of(now));
    const bool has_same_options = line != nullptr && line->has_same_options;
    if (has_same_options && line->input != output.input_state) return nullptr;
    const bool lacks_text = line != nullptr && line->lacks_damaged_text && !existing_.may_lack_text;
    if (has_same_options && !lacks_text) return line;
    if (existing_.are_replaced) return nullptr;
    if (line == nullptr) {
      refuse(path, std::string("exists, and is not as a line of ") + record_name +
                       " describes it; give --force to replace it, or another folder");
    }
    if (has_same_options) {
      refuse(path, "lacks the damaged text of its input; give --skip-damage, or --force to filter it again");
    }
    refuse(path, "was filtered with other options (" + std::string(record_name) +
                     " has them); give the same options, --force to filter it again, or another folder");
  }

  // The last line that describes the file as it is. A line after it is of an output that did not get its name.
  [[nodiscard]] const earlier_output* line_of(const std::string& name, const io::file_state& now) const {
    const auto lines = earlier_.find(name);
    if (lines == earlier_.end()) return nullptr;
    for (const earlier_output& each : std::views::reverse(lines->second)) {
      if (each.output == now) return &each;
    }
    return nullptr;
  }

  const fs::path& folder_;
  const pipeline::looked_up_inputs& found_;
  const earlier_outputs& earlier_;
  const existing_outputs& existing_;
  std::map<file_identity, std::string> read_;
};

}  // namespace

folder_work outputs_to_write(const fs::path& folder, std::vector<planned_output> all,
                             const pipeline::looked_up_inputs& found, const earlier_outputs& earlier,
                             const existing_outputs& existing) {
  existing_files files(folder, found, earlier, existing);
  folder_work made;
  for (planned_output& each : all) {
    if (const earlier_output* const line = files.find(each)) {
      ++made.complete;
      if (line->lacks_damaged_text) ++made.lacking_text;
    } else {
      made.outputs.push_back(std::move(each));
    }
  }
  return made;
}

namespace {

// Of a filesystem that has no locks, nothing is locked.
void lock(const io::descriptor& file, int how, const std::string& in_use) {
  if (::flock(file.get(), how | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw std::runtime_error(in_use + "; wait for its end, or give another folder");
}

}  // namespace

folder_lock::folder_lock(const fs::path& folder, config::shard_choice shard) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw io::destination_error(error, "cannot create the folder " + report::printable(folder.string()));
  folder_ = io::descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_ && errno == ENOTDIR) {
    throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(folder.string()));
  }
  if (!folder_) return;  // it may be written but not read
  const std::string name = report::printable(folder.string());
  lock(folder_, shard.count == 0 ? LOCK_EX : LOCK_SH, "another gpuhist filter writes to " + name);
  if (shard.count == 0) return;
  constexpr mode_t readable = 0666;
  list_ = io::descriptor(::openat(folder_.get(), record_name_of(shard).c_str(),
                                  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, readable));
  if (list_) lock(list_, LOCK_EX, "another gpuhist filter writes this shard to " + name);
}

}  // namespace gpuhist::command
