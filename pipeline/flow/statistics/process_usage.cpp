#include "pipeline/flow/statistics/process_usage.hpp"

#include <sys/resource.h>

#include <fstream>
#include <limits>
#include <string>

namespace gpuhist::pipeline {

std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

std::uint64_t disk_bytes_read() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  // glibc declares it in a union of types of one size
  return static_cast<std::uint64_t>(usage.ru_inblock) * 512;  // NOLINT(cppcoreguidelines-pro-type-union-access)
}

}  // namespace gpuhist::pipeline
