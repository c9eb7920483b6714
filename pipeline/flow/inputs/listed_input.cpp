#include "pipeline/flow/inputs/listed_input.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

std::uint64_t rest_of_standard_input(const struct stat& status) {
  const off_t offset = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  return offset >= 0 && offset < status.st_size ? static_cast<std::uint64_t>(status.st_size - offset) : 0;
}

bool is_directory(const std::string& name) {
  struct stat status{};
  return name != "-" && ::stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Up to `most` names in all.
void append_files_of(const std::string& root, const io::walk_settings& settings, std::size_t most,
                     std::vector<std::string>& names) {
  io::tree_walk walk(root, settings);
  while (names.size() < most) {
    std::optional<io::tree_entry> entry = walk.next();
    if (!entry) return;
    if (entry->type == io::tree_entry::kind::file) names.push_back(std::move(entry->path));
  }
}

// Of very many, a sample is looked at.
std::optional<std::uint64_t> expected_bytes_of_files(std::span<const std::string> inputs) {
  constexpr std::size_t max_sized = 4096;
  const std::size_t step = (inputs.size() + max_sized - 1) / max_sized;
  if (step <= 1) return source_bytes_of(inputs);
  constexpr std::size_t prime = 7919;  // the names may alternate: of data and of an index, for example
  std::vector<std::string> sample;
  for (std::size_t i = 0; i + step <= inputs.size(); i += step) sample.push_back(inputs[i + i / step * prime % step]);
  const std::optional<std::uint64_t> bytes = source_bytes_of(sample);
  if (!bytes) return std::nullopt;
  const double of_one = static_cast<double>(*bytes) / static_cast<double>(sample.size());
  return static_cast<std::uint64_t>(of_one * static_cast<double>(inputs.size()));
}

}  // namespace

std::optional<std::uint64_t> source_bytes_of(std::span<const std::string> inputs) {
  std::uint64_t total = 0;
  bool standard_input_is_read = false;
  for (const std::string& name : inputs) {
    struct stat status{};
    const bool standard_input = name == "-";
    const bool found = (standard_input ? ::fstat(STDIN_FILENO, &status) : ::stat(name.c_str(), &status)) == 0;
    if (!found || S_ISDIR(status.st_mode)) continue;
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    if (!standard_input) {
      total += static_cast<std::uint64_t>(status.st_size);
    } else if (!std::exchange(standard_input_is_read, true)) {
      total += rest_of_standard_input(status);
    }
  }
  return total;
}

std::optional<std::uint64_t> expected_source_bytes(std::span<const std::string> inputs,
                                                   const std::optional<io::walk_settings>& trees) {
  if (!trees) return expected_bytes_of_files(inputs);
  constexpr std::size_t max_names = std::size_t{1} << 14U;
  std::vector<std::string> names;
  std::size_t seen = 0;
  for (; seen < inputs.size() && names.size() < max_names; ++seen) {
    if (is_directory(inputs[seen])) {
      append_files_of(inputs[seen], *trees, max_names, names);
    } else {
      names.push_back(inputs[seen]);
    }
  }
  const std::optional<std::uint64_t> bytes = expected_bytes_of_files(names);
  if (!bytes || seen == 0) return bytes;
  return static_cast<std::uint64_t>(static_cast<double>(*bytes) * static_cast<double>(inputs.size()) /
                                    static_cast<double>(seen));
}

}  // namespace gpuhist::pipeline
