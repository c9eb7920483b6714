#include "batch/line_spool.hpp"

#include "io/checksum.hpp"
#include "io/failure.hpp"
#include "io/file_access.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuhist::batch {
namespace {

constexpr std::size_t extent_bytes = std::size_t{1} << 20U;
constexpr std::size_t max_held = std::size_t{32} << 20U;

[[noreturn]] void refuse_damage(const std::filesystem::path& path) {
  throw std::runtime_error(report::printable(path.string()) +
                           ": is damaged: lines of an input differ from those that were recorded; remove the state of "
                           "the job (.gpuhist-batch), or this part, and run it again");
}

}  // namespace

std::uint64_t line_extents::end() const {
  std::uint64_t last = 0;
  for (const extent& each : all) last = std::max(last, each.offset + each.bytes);
  return last;
}

line_spool::line_spool(std::filesystem::path path, std::uint64_t end) : path_(std::move(path)), end_(end) {
  constexpr mode_t permissions = 0666;
  if (end_ == 0) ::unlink(path_.c_str());
  file_ = io::descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, permissions));
  struct stat found{};
  if (!file_ || ::fstat(file_.get(), &found) != 0) fail();
  if (static_cast<std::uint64_t>(found.st_size) < end_) refuse_damage(path_);
  if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) fail();
  // a new file is found after a power failure only if its folder was synced, which not every file system can
  static_cast<void>(io::synchronize_folder(path_.parent_path()));
}

void line_spool::append(std::uint64_t input, std::string_view lines) {
  open_lines& to = open_[input];
  to.text += lines;
  held_ += lines.size();
  if (to.text.size() >= extent_bytes) move_to_tail(to);
  while (held_ > max_held) move_largest_to_tail();
}

line_extents line_spool::take(std::uint64_t input) {
  const auto found = open_.find(input);
  if (found == open_.end()) return {};
  move_to_tail(found->second);
  line_extents taken = std::move(found->second.written);
  open_.erase(found);
  return taken;
}

void line_spool::move_to_tail(open_lines& from) {
  if (from.text.empty()) return;
  from.written.all.push_back({.offset = end_ + tail_.size(), .bytes = from.text.size()});
  from.written.checksum = io::checksum_of(from.text, from.written.checksum);
  held_ -= from.text.size();
  tail_ += from.text;
  from.text.clear();
  if (tail_.size() >= extent_bytes) write();
}

void line_spool::move_largest_to_tail() {
  const auto by_size = [](const auto& a, const auto& b) { return a.second.text.size() < b.second.text.size(); };
  move_to_tail(std::ranges::max_element(open_, by_size)->second);
}

void line_spool::write() {
  if (tail_.empty()) return;
  if (!io::append_at(file_.get(), tail_, end_)) fail();
  end_ += tail_.size();
  tail_.clear();
  is_dirty_ = true;
}

void line_spool::synchronize() {
  write();
  if (!std::exchange(is_dirty_, false)) return;
  if (!io::synchronize_data(file_.get())) fail();
}

void line_spool::fail() const {
  throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(path_.string()));
}

line_reader::line_reader(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
  if (!file_)
    throw std::system_error(errno, std::system_category(), "cannot read " + report::printable(path_.string()));
}

// Fewer bytes at the end of the file.
std::string line_reader::read(const line_extents::extent& from) const {
  struct stat found{};
  if (::fstat(file_.get(), &found) != 0) found.st_size = 0;
  const auto size = static_cast<std::uint64_t>(found.st_size);
  std::string bytes(std::min(from.bytes, size - std::min(size, from.offset)), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        ::pread(file_.get(), bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(from.offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw std::system_error(errno, std::system_category(), "cannot read " + report::printable(path_.string()));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

bool line_reader::is_intact(const line_extents& lines) const {
  std::uint64_t checksum = 0;
  for (const line_extents::extent& each : lines.all) checksum = io::checksum_of(read(each), checksum);
  return checksum == lines.checksum;
}

void line_reader::copy(const line_extents& lines, const report::text_sink& out) const {
  std::uint64_t checksum = 0;
  for (const line_extents::extent& each : lines.all) {
    const std::string text = read(each);
    checksum = io::checksum_of(text, checksum);
    out(text);
  }
  if (checksum != lines.checksum) refuse_damage(path_);
}

}  // namespace gpuhist::batch
