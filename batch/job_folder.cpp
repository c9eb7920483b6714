#include "batch/job_folder.hpp"

#include "batch/job_journal.hpp"
#include "batch/result_files.hpp"
#include "config/usage_error.hpp"
#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/file_access.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::batch {

namespace {

namespace fs = std::filesystem;

std::string name_of_shard(config::shard_choice shard) {
  return std::to_string(shard.number) + "-of-" + std::to_string(shard.count);
}

std::string lines_name_of(lines_of which) { return which == lines_of::units ? "units" : "windows"; }

[[noreturn]] void cannot_write(const fs::path& path) {
  throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(path.string()));
}

// Results that a killed run has left under temporary names.
std::vector<fs::path> leftovers_in(const fs::path& folder) {
  std::vector<fs::path> made;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!io::is_temporary_name(name)) continue;
    const bool is_result = std::ranges::find(names_of_results, io::name_of_replaced(name)) != names_of_results.end();
    if (is_result) made.push_back(at->path());
  }
  return made;
}

// The folders that must be created for a path, the last one first.
std::vector<fs::path> missing_folders(fs::path path) {
  std::vector<fs::path> made;
  std::error_code ignored;
  for (; path.has_relative_path() && !fs::exists(path, ignored); path = path.parent_path()) made.push_back(path);
  return made;
}

// The names of new folders survive a power failure, as those of files do.
void create_folder(const fs::path& path) {
  const std::vector<fs::path> missing = missing_folders(path);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw io::destination_error(error, "cannot create the folder " + report::printable(path.string()));
  for (const fs::path& each : missing) {
    if (!io::synchronize_folder(io::folder_of(each))) cannot_write(each);
  }
}

}  // namespace

job_folder::job_folder(fs::path path, config::shard_choice shard)
    : path_(std::move(path)), shard_(shard), state_(path_ / ".gpuhist-batch") {
  if (shard_.count > 0) state_ /= name_of_shard(shard_);
}

fs::path job_folder::manifest_file() const { return path_ / ".gpuhist-batch" / "manifest.jsonl"; }

fs::path job_folder::lines_file(lines_of which) const { return state_ / lines_name_of(which); }

fs::path job_folder::lines_of_result(const fs::path& result, lines_of which) {
  return result.string() + "." + lines_name_of(which);
}

std::shared_ptr<const io::output_files> job_folder::own_files() const {
  auto made = std::make_shared<io::output_files>();
  struct stat found{};
  for (const fs::path& each : {path_ / ".gpuhist-batch", state_, path_ / "parts"}) {
    if (::stat(each.c_str(), &found) == 0) made->add_folder(found);
  }
  std::vector<fs::path> results = leftovers_in(path_);
  for (const char* const each : names_of_results) results.push_back(path_ / each);
  for (const fs::path& each : results) {
    if (::stat(each.c_str(), &found) == 0) made->add(found);
  }
  return made;
}

void job_folder::require_own() const {
  for (const fs::path& each : {path_ / ".gpuhist-batch", state_, path_ / "parts"}) io::require_folder(each);
  for (const fs::path& each : {manifest_file(), results_file(), lock_file(), journal_file(), runs_file(),
                               lines_file(lines_of::units), lines_file(lines_of::windows)}) {
    io::require_regular(each);
  }
}

void job_folder::create() const {
  require_own();
  create_folder(state_);
  if (shard_.count > 0) create_folder(path_ / "parts");
}

// Shards that start together write the same manifest: the first one appears.
void job_folder::keep_manifest(const std::string& text) const {
  std::error_code ignored;
  if (!fs::exists(manifest_file(), ignored)) {
    try {
      report::destination to(manifest_file().string(), report::writing::once);
      to.write(text);
      return to.commit();
    } catch (const io::destination_error& failed) {
      if (failed.code() != std::errc::file_exists) throw;
    }
  }
  if (text_of_manifest_file(manifest_file().string()) == text) return;
  throw std::runtime_error(report::printable(path_.string()) +
                           ": this folder has another manifest than --manifest; give another --output-dir");
}

// A link of an earlier run that did not publish its state may be to another file.
void job_folder::publish_lines(const fs::path& result, lines_of which) const {
  std::error_code error;
  if (!fs::exists(lines_file(which), error)) return;
  const fs::path to = lines_of_result(result, which);
  const fs::path temporary = state_ / (lines_name_of(which) + ".published");
  fs::remove(temporary, error);
  if (::link(lines_file(which).c_str(), temporary.c_str()) != 0 || ::rename(temporary.c_str(), to.c_str()) != 0) {
    cannot_write(to);
  }
}

fs::path job_folder::shard_result_file() const { return path_ / "parts" / name_of_shard(shard_); }

void job_folder::refuse_other_shard_result(const job_identity& job) const {
  const io::descriptor file(::open(shard_result_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file && errno == ENOENT) return;
  if (!file)
    throw std::system_error(errno, std::system_category(),
                            "cannot read " + report::printable(shard_result_file().string()));
  refuse_other_job(shard_result_file().string(), header_in(file.get()), job);
}

void job_folder::publish() const {
  const fs::path result = shard_result_file();
  std::error_code ignored;
  if (!fs::exists(result, ignored)) {
    publish_lines(result, lines_of::units);
    publish_lines(result, lines_of::windows);
  }
  if (::link(journal_file().c_str(), result.c_str()) != 0 && errno != EEXIST) cannot_write(result);
  if (!io::synchronize_folder(result.parent_path())) cannot_write(result);
}

std::vector<fs::path> job_folder::shard_results() const {
  std::vector<fs::path> found;
  const fs::path folder = path_ / "parts";
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path extension = at->path().extension();
    io::require_regular(at->path());
    if (extension != ".units" && extension != ".windows") found.push_back(at->path());
  }
  const bool is_absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_absent) {
    throw std::system_error(error, "cannot read the folder " + report::printable(folder.string()));
  }
  std::ranges::sort(found);
  return found;
}

namespace {

std::string owner_text() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "process " + std::to_string(::getpid()) + " on " + host.data();
}

std::string owner_in(int file) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

[[noreturn]] void fail(const char* action, const std::filesystem::path& file) {
  throw io::destination_error(errno, std::system_category(), action + report::printable(file.string()));
}

}  // namespace

bool lock_whole(int file, int command) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  int result = 0;
  do result = ::fcntl(file, command, &whole);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

job_lock::job_lock(const std::filesystem::path& file, const std::function<void(const std::string&)>& wait)
    : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666)) {
  if (!file_) fail("cannot write ", file);
  if (!lock_whole(file_.get(), F_OFD_SETLK)) {
    if (errno != EAGAIN && errno != EACCES) fail("cannot lock ", file);
    const std::string other = report::printable(file.parent_path().parent_path().string()) +
                              ": another run writes to this folder: " + report::printable(owner_in(file_.get()));
    if (!wait) throw std::runtime_error(other + "; wait for its end, or end it");
    wait(other + "; waiting for its end");
    if (!lock_whole(file_.get(), F_OFD_SETLKW)) fail("cannot lock ", file);
  }
  const std::string owner = owner_text();
  const bool is_written = ::ftruncate(file_.get(), 0) == 0 &&
                          ::pwrite(file_.get(), owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
  if (!is_written) fail("cannot write ", file);
}

namespace {

// The variables of a task: its number, the first number, and the count of tasks.
struct task_variables {
  const char* number;
  const char* first;  // null: numbers begin with 0
  const char* count;
};

constexpr task_variables array_task{
    .number = "SLURM_ARRAY_TASK_ID", .first = "SLURM_ARRAY_TASK_MIN", .count = "SLURM_ARRAY_TASK_COUNT"};
constexpr task_variables step_task{.number = "SLURM_PROCID", .first = nullptr, .count = "SLURM_NTASKS"};
constexpr task_variables mpi_task{.number = "OMPI_COMM_WORLD_RANK", .first = nullptr, .count = "OMPI_COMM_WORLD_SIZE"};

std::optional<unsigned> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view all(text);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size()) return std::nullopt;
  return value;
}

std::optional<config::shard_choice> shard_in(const task_variables& names,
                                             const std::function<const char*(const char*)>& variable) {
  const std::optional<unsigned> number = number_in(variable(names.number));
  const std::optional<unsigned> count = number_in(variable(names.count));
  const unsigned first = names.first == nullptr ? 0 : number_in(variable(names.first)).value_or(0);
  if (!number || !count || *number < first || *number - first >= *count) return std::nullopt;
  return config::shard_choice{.number = *number - first + 1, .count = *count};
}

}  // namespace

config::shard_choice resolve_shard(const config::shard_choice& typed,
                                   const std::function<const char*(const char*)>& variable) {
  if (typed.count != 0) return typed;
  const auto of_array = shard_in(array_task, variable);
  const auto of_step = shard_in(step_task, variable);
  // an array of steps with several tasks: one shard for each task of the whole
  if (of_array && of_step && of_step->count > 1) {
    return {.number = (of_array->number - 1) * of_step->count + of_step->number,
            .count = of_array->count * of_step->count};
  }
  for (const auto& each : {of_array, of_step, shard_in(mpi_task, variable)}) {
    if (each) return *each;
  }
  throw config::usage_error(
      "--shard auto: neither Slurm nor MPI has set the number of this task (SLURM_ARRAY_TASK_ID and _COUNT, "
      "SLURM_PROCID "
      "and SLURM_NTASKS, OMPI_COMM_WORLD_RANK and _SIZE); give --shard I/N");
}

}  // namespace gpuhist::batch
