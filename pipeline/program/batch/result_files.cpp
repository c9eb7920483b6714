#include "pipeline/program/batch/result_files.hpp"

#include "config/usage_error.hpp"
#include "io/own_files.hpp"
#include "pipeline/program/batch/checksum.hpp"
#include "pipeline/program/batch/manifest.hpp"
#include "pipeline/program/bounded_lines.hpp"
#include "pipeline/report/output/destination.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_foreign(const fs::path& file, const std::string& cause) {
  throw config::usage_error(printable(file.string()) + ": " + cause +
                            "; it is not replaced: move it, or give another --output-dir");
}

io::descriptor open_folder_of_results(const fs::path& folder) {
  io::descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened) return opened;
  throw destination_error(errno, std::system_category(), "cannot write " + printable(folder.string()));
}

}  // namespace

result_files::result_files(job_folder folder) : folder_(std::move(folder)) {
  read();
  for (const char* const each : names_of_results) static_cast<void>(hash_of_existing(each));
}

// Lines as those of sha256sum.
void result_files::read() {
  io::require_regular(folder_.results_file());
  if (!fs::exists(folder_.results_file())) return;
  bounded_lines lines(folder_.results_file());
  for (std::string line; lines.next(line);) {
    const std::size_t gap = line.find("  ");
    if (gap != std::string::npos) recorded_.push_back({.hash = line.substr(0, gap), .name = line.substr(gap + 2)});
  }
}

std::optional<std::string> result_files::hash_of_existing(const std::string& name) const {
  const fs::path file = folder_.path() / name;
  struct stat found{};
  if (::lstat(file.c_str(), &found) != 0) return std::nullopt;
  if (!S_ISREG(found.st_mode)) refuse_foreign(file, "is not a regular file");
  const std::optional<file_facts> facts = facts_of(file.string(), config::fingerprint_kind::full);
  if (!facts) refuse_foreign(file, "cannot be read: " + std::system_category().message(errno));
  const bool is_known = std::ranges::any_of(
      recorded_, [&](const recorded_result& each) { return each.name == name && each.hash == facts->fingerprint; });
  if (!is_known) refuse_foreign(file, "exists, and is not a result of this job as it was written");
  return facts->fingerprint;
}

void result_files::write(const std::string& name, const std::function<void(const text_sink&)>& pieces) {
  const fs::path file = folder_.path() / name;
  const std::optional<std::string> old = hash_of_existing(name);
  destination to(open_folder_of_results(folder_.path()), file, old ? writing::whole : writing::once);
  running_hash hash;
  to.write([&](const text_sink& out) {
    pieces([&](std::string_view piece) {
      hash.add(piece);
      out(piece);
    });
  });
  // of the results of killed runs that did not get their names, nothing is left
  std::erase_if(recorded_, [&](const recorded_result& each) { return each.name == name && each.hash != old; });
  recorded_.push_back({.hash = hash.text(), .name = name});
  record();
  static_cast<void>(hash_of_existing(name));
  to.commit();
}

void result_files::record() const {
  destination to(folder_.results_file().string(), writing::whole);
  to.write([&](const text_sink& out) {
    for (const recorded_result& each : recorded_) out(each.hash + "  " + each.name + "\n");
  });
  to.commit();
}

}  // namespace gpuhist::pipeline
