#include "batch/job_journal.hpp"

#include "batch/job_folder.hpp"
#include "config/size.hpp"
#include "io/checksum.hpp"
#include "io/failure.hpp"
#include "io/file_access.hpp"
#include "pipeline/counts/packed_numbers.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuhist::batch {

namespace {

constexpr std::size_t record_head_bytes = sizeof(std::uint32_t) + sizeof(std::uint64_t);  // length and checksum
constexpr std::uint32_t longest_record = std::uint32_t{64} << 20U;

// Sequential reading with a buffer, for files of any size.
class record_input {
 public:
  explicit record_input(int file) : file_(file) {}

  // The next bytes; nothing at the end of the file.
  std::optional<std::string_view> take(std::size_t size) {
    while (available() < size) {
      if (!fill()) return std::nullopt;
    }
    const std::string_view found(buffer_.data() + used_, size);
    used_ += size;
    return found;
  }

  std::optional<std::string_view> take_line(std::size_t longest) {
    for (;;) {
      const std::size_t end = buffer_.find('\n', used_);
      if (end != std::string::npos) {
        const std::string_view line(buffer_.data() + used_, end - used_);
        used_ = end + 1;
        return line;
      }
      if (available() > longest || !fill()) return std::nullopt;
    }
  }

 private:
  [[nodiscard]] std::size_t available() const { return buffer_.size() - used_; }

  bool fill() {
    constexpr std::size_t block = std::size_t{1} << 20U;
    buffer_.erase(0, used_);
    used_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(had + block);
    ssize_t got = 0;
    do got = ::read(file_, buffer_.data() + had, block);
    while (got < 0 && errno == EINTR);
    if (got < 0) throw std::system_error(errno, std::system_category(), "cannot read the state of the job");
    buffer_.resize(had + static_cast<std::size_t>(got));
    return got > 0;
  }

  int file_;
  std::string buffer_;
  std::size_t used_ = 0;
};

constexpr std::size_t longest_header = std::size_t{1} << 20U;

}  // namespace

std::string header_in(int file) { return std::string(record_input(file).take_line(longest_header).value_or("")); }

journal_content read_journal(int file, const std::filesystem::path& path,
                             const std::function<void(const std::string&)>& begin,
                             const std::function<void(std::string_view)>& use) {
  record_input from(file);
  journal_content made;
  if (const auto line = from.take_line(longest_header)) made.header = *line;
  begin(made.header);
  const std::uint64_t seed = io::checksum_of(made.header);
  made.end = made.header.size() + 1;
  while (const auto frame = from.take(record_head_bytes)) {
    const std::uint32_t size = fixed_in<std::uint32_t>(*frame).value();
    const std::uint64_t checksum = fixed_in<std::uint64_t>(frame->substr(sizeof size)).value();
    if (size > longest_record) break;
    const auto record = from.take(size);
    if (!record || io::checksum_of(*record, seed + made.records) != checksum) break;
    try {
      use(*record);
    } catch (const pipeline::unpack_error& damage) {
      throw std::runtime_error(report::printable(path.string()) + ": is damaged: record " +
                               std::to_string(made.records + 1) + ": " + damage.what() +
                               "; remove this file, and run the job or the shard again");
    }
    made.end += record_head_bytes + size;
    ++made.records;
  }
  return made;
}

job_journal::job_journal(std::filesystem::path path, const job_identity& job,
                         const std::function<void(std::string_view)>& use)
    : path_(std::move(path)), synchronized_(std::chrono::steady_clock::now()) {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) create(header_of(job));
  file_ = io::descriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!file_) fail();
  // Besides the lock of the folder: if a network file system takes the locks of this run away, it refuses its writes.
  if (!lock_whole(file_.get(), F_OFD_SETLKW)) fail();
  read(job, use);
}

void job_journal::create(const std::string& header) const {
  report::destination made(path_.string(), report::writing::whole);
  made.write(header + "\n");
  made.commit();
}

void job_journal::read(const job_identity& job, const std::function<void(std::string_view)>& use) {
  const auto check = [&](const std::string& found) { refuse_other_job(path_.string(), found, job); };
  journal_content content = read_journal(file_.get(), path_, check, use);
  header_ = std::move(content.header);
  seed_ = io::checksum_of(header_);
  end_ = content.end;
  records_ = content.records;
  if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) fail();
}

std::uint64_t job_journal::bytes_of_record(std::string_view record) { return record_head_bytes + record.size(); }

void job_journal::append(std::string_view record) {
  if (record.size() > longest_record) {
    throw std::runtime_error(report::printable(path_.string()) + ": what is recorded of an input has " +
                             config::format_size(record.size()) +
                             ", more than 64 MiB besides groups; count this input with gpuhist without a job");
  }
  const auto size = static_cast<std::uint32_t>(record.size());
  const std::uint64_t checksum = io::checksum_of(record, seed_ + records_);
  std::string framed(record_head_bytes, '\0');
  std::memcpy(framed.data(), &size, sizeof size);
  std::memcpy(framed.data() + sizeof size, &checksum, sizeof checksum);
  held_ += framed;
  held_ += record;
  ++records_;
}

void job_journal::write() {
  if (held_.empty()) return;
  if (!io::append_at(file_.get(), held_, end_)) fail();
  end_ += held_.size();
  held_.clear();
  if (std::chrono::steady_clock::now() - synchronized_ > synchronized_every) synchronize();
}

void job_journal::synchronize() {
  write();
  if (!io::synchronize_data(file_.get())) fail();
  synchronized_ = std::chrono::steady_clock::now();
}

void job_journal::fail() const {
  throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(path_.string()));
}

}  // namespace gpuhist::batch
