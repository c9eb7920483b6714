#include "pipeline/program/batch/job_folder.hpp"

#include "io/descriptor.hpp"
#include "pipeline/program/batch/checksum.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

namespace fs = std::filesystem;

std::string name_of_shard(config::shard_choice shard) {
  return std::to_string(shard.number) + "-of-" + std::to_string(shard.count);
}

void create_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw destination_error(error, "cannot create the folder " + printable(path.string()));
}

[[noreturn]] void cannot_publish(const fs::path& path) {
  throw destination_error(errno, std::system_category(), "cannot write " + printable(path.string()));
}

}  // namespace

job_folder::job_folder(fs::path path, config::shard_choice shard)
    : path_(std::move(path)), shard_(shard), state_(path_ / ".gpuhist-batch") {
  if (shard_.count > 0) state_ /= name_of_shard(shard_);
}

fs::path job_folder::manifest_file() const { return path_ / ".gpuhist-batch" / "manifest.jsonl"; }

void job_folder::create() const {
  create_folder(state_);
  if (shard_.count > 0) create_folder(path_ / "parts");
}

void job_folder::keep_manifest(const std::string& text) const {
  std::error_code ignored;
  if (fs::exists(manifest_file(), ignored)) {
    if (read_manifest(manifest_file().string()).identity == hash_text(text)) return;
    throw std::runtime_error(printable(path_.string()) +
                             ": this folder has another manifest than --manifest; give another --output-dir");
  }
  destination to(manifest_file().string(), writing::whole);
  to.write(text);
  to.commit();
}

void job_folder::publish() const {
  const fs::path part = path_ / "parts" / name_of_shard(shard_);
  if (::link(journal_file().c_str(), part.c_str()) != 0 && errno != EEXIST) cannot_publish(part);
  const io::descriptor folder(::open(part.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder && ::fsync(folder.get()) != 0 && errno != EINVAL) cannot_publish(part);
}

std::vector<fs::path> job_folder::parts() const {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(path_ / "parts", error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace gpuhist::pipeline
