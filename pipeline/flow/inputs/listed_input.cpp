#include "pipeline/flow/inputs/listed_input.hpp"

#include "io/http/url.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

// Returns the names that were read, which are at most `most`.
std::uint64_t append_files_of(const std::string& root, io::walk_settings settings, std::uint64_t most,
                              std::vector<std::string>& names) {
  settings.most_names = most;
  io::tree_walk walk(root, std::move(settings));
  while (std::optional<io::tree_entry> entry = walk.next()) {
    if (entry->type == io::tree_entry::kind::file) names.push_back(std::move(entry->path));
  }
  return walk.names_read();
}

std::uint64_t times(double bytes, double number) {
  constexpr double most = 9e18;  // 2^63
  return static_cast<std::uint64_t>(std::min(bytes * number, most));
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
  return times(static_cast<double>(*bytes), static_cast<double>(inputs.size()) / static_cast<double>(sample.size()));
}

}  // namespace

std::optional<std::uint64_t> source_bytes_of(std::span<const std::string> inputs) {
  std::uint64_t total = 0;
  bool standard_input_is_read = false;
  for (const std::string& name : inputs) {
    struct stat status{};
    const bool standard_input = name == "-";
    const bool found = (standard_input ? ::fstat(STDIN_FILENO, &status) : ::stat(name.c_str(), &status)) == 0;
    if (!found && io::http::is_url(name)) return std::nullopt;
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
  constexpr std::uint64_t most_names = std::uint64_t{1} << 14U;
  std::vector<std::string> names;
  std::size_t seen = 0;
  for (std::uint64_t read = 0; seen < inputs.size() && read < most_names; ++seen) {
    if (is_directory(inputs[seen])) {
      read += append_files_of(inputs[seen], *trees, most_names - read, names);
    } else {
      names.push_back(inputs[seen]);
      ++read;
    }
  }
  const std::optional<std::uint64_t> bytes = expected_bytes_of_files(names);
  if (!bytes || seen == 0) return bytes;
  return times(static_cast<double>(*bytes), static_cast<double>(inputs.size()) / static_cast<double>(seen));
}

}  // namespace gpuhist::pipeline
