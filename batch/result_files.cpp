#include "batch/result_files.hpp"

#include "batch/manifest.hpp"
#include "config/usage_error.hpp"
#include "io/checksum.hpp"
#include "io/file_access.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/output/destination.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::batch {
namespace {

namespace fs = std::filesystem;

constexpr const char* name_of_job = "job";

// What counts mean, without the shard: the results of all divisions are the same.
std::string hash_of(const job_identity& job) { return io::hash_text(job.manifest + job.counts.dump()); }

std::string cause_of(const struct stat& found) {
  return S_ISREG(found.st_mode) ? "exists, and is not a result of this job as it was written" : "is not a regular file";
}

[[noreturn]] void refuse_foreign(const fs::path& file, const std::string& cause) {
  throw config::usage_error(report::printable(file.string()) + ": " + cause +
                            "; it is not replaced: move it, or give another --output-dir");
}

io::descriptor open_folder_of_results(const fs::path& folder) {
  io::descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened) return opened;
  throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(folder.string()));
}

}  // namespace

result_files::result_files(job_folder folder) : folder_(std::move(folder)), recorded_(read(folder_)) {
  for (const char* const each : names_of_results) static_cast<void>(existing(each));
}

// The list is read after the files: a result is recorded before it gets its name, perhaps by another run at this
// moment.
void result_files::refuse_files_of_user(const job_folder& folder) {
  std::vector<std::pair<const char*, struct stat>> found;
  for (const char* const each : names_of_results) {
    struct stat state{};
    if (::lstat((folder.path() / each).c_str(), &state) == 0) found.emplace_back(each, state);
  }
  const std::vector<recorded_result> recorded = read(folder);
  for (const auto& [name, state] : found) {
    const bool is_recorded = std::ranges::find(recorded, name, &recorded_result::name) != recorded.end();
    if (!is_recorded) refuse_foreign(folder.path() / name, cause_of(state));
  }
}

void result_files::refuse_other_job(const job_identity& job) const {
  const auto is_other = [hash = hash_of(job)](const recorded_result& each) {
    return each.name == name_of_job && each.hash != hash;
  };
  if (std::ranges::none_of(recorded_, is_other)) return;
  throw config::usage_error(report::printable(folder_.path().string()) +
                            ": has the results of a job with another manifest or other options; they are not "
                            "replaced: give another --output-dir, or remove them and " +
                            report::printable(folder_.results_file().string()));
}

void result_files::set_job(const job_identity& job) {
  std::erase_if(recorded_, [](const recorded_result& each) { return each.name == name_of_job; });
  recorded_.push_back({.hash = hash_of(job), .name = name_of_job});
}

// Lines as those of sha256sum, with size and time after the name.
std::vector<result_files::recorded_result> result_files::read(const job_folder& folder) {
  std::vector<recorded_result> made;
  io::require_regular(folder.results_file());
  if (!fs::exists(folder.results_file())) return made;
  report::bounded_lines lines(folder.results_file());
  for (std::string line; lines.next(line);) {
    std::istringstream fields(line);
    recorded_result each;
    if (!(fields >> each.hash >> each.name)) continue;
    fields >> each.size >> each.modified;
    made.push_back(std::move(each));
  }
  return made;
}

// A file is read only if its time is not that of the result: it was copied, or it was changed.
std::optional<result_files::recorded_result> result_files::existing(const std::string& name) const {
  const fs::path file = folder_.path() / name;
  struct stat found{};
  if (::lstat(file.c_str(), &found) != 0) return std::nullopt;
  if (!S_ISREG(found.st_mode)) refuse_foreign(file, cause_of(found));
  const io::file_state now = io::state_of(found);
  const auto has_state = [&](const recorded_result& each) {
    return each.name == name && each.size == now.bytes && each.modified == now.modified;
  };
  if (const auto known = std::ranges::find_if(recorded_, has_state); known != recorded_.end()) return *known;
  const std::optional<io::file_state> content = io::state_of(file.string(), io::fingerprinted::all);
  if (!content) refuse_foreign(file, "cannot be read: " + std::system_category().message(errno));
  const bool is_known = std::ranges::any_of(
      recorded_, [&](const recorded_result& each) { return each.name == name && each.hash == content->fingerprint; });
  if (!is_known) refuse_foreign(file, cause_of(found));
  return recorded_result{
      .hash = content->fingerprint, .name = name, .size = content->bytes, .modified = content->modified};
}

void result_files::write(const std::string& name, const std::function<void(const report::text_sink&)>& pieces) {
  const fs::path file = folder_.path() / name;
  const std::optional<recorded_result> old = existing(name);
  report::destination to(open_folder_of_results(folder_.path()), file,
                         old ? report::writing::whole : report::writing::once);
  io::running_hash hash;
  to.write([&](const report::text_sink& out) {
    pieces([&](std::string_view piece) {
      hash.add(piece);
      out(piece);
    });
  });
  const io::file_state written = io::state_of(to.synchronize_text());
  // of the results of killed runs that did not get their names, nothing is left
  std::erase_if(recorded_, [&](const recorded_result& each) { return each.name == name; });
  if (old) recorded_.push_back(*old);
  recorded_.push_back({.hash = hash.text(), .name = name, .size = written.bytes, .modified = written.modified});
  record();
  static_cast<void>(existing(name));
  to.commit();
}

void result_files::record() const {
  report::destination to(folder_.results_file().string(), report::writing::whole);
  to.write([&](const report::text_sink& out) {
    for (const auto& [content, name, size, modified] : recorded_) {
      out(content + "  " + name + "  " + std::to_string(size) + "  " + std::to_string(modified) + "\n");
    }
  });
  to.commit();
}

}  // namespace gpuhist::batch
