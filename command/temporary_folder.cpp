#include "command/temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

std::string path_of_folder() {
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  if (!missing) return folder.string();
  const char* const named = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing here sets it
  return named != nullptr ? named : "/tmp";
}

}  // namespace

spill_folder temporary_folder() { return {.path = path_of_folder(), .named_by = "TMPDIR"}; }

}  // namespace gpuhist::pipeline
