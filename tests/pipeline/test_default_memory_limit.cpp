// The default of --memory-limit: within the limits of the process's control groups.
#include "library/default_memory_limit.hpp"

#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

/// A root directory with /proc and /sys.
struct machine {
  test::temporary_folder root;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::optional<std::uint64_t> limit() const { return cgroup_memory_limit(root / "."); }
};

}  // namespace

TEST_CASE_FIXTURE(machine, "without control groups, or without a limit in them, there is no limit") {
  CHECK_FALSE(limit());
  write("proc/self/cgroup", "0::/a/b\n");
  CHECK_FALSE(limit());
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK_FALSE(limit());
  write("sys/fs/cgroup/a/b/memory.max", "");
  CHECK_FALSE(limit());
  CHECK(default_memory_limit(root / ".") == 1024 * mib);
}

TEST_CASE_FIXTURE(machine, "in version 2 the lowest limit of the process's own group and of its ancestors applies") {
  write("proc/self/cgroup", "0::/a/b/c\n");
  write("sys/fs/cgroup/a/b/c/memory.max", "800000000\n");
  CHECK(limit() == 800'000'000);
  write("sys/fs/cgroup/a/memory.max", "700000000\n");
  CHECK(limit() == 700'000'000);
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(limit() == 700'000'000);
  write("sys/fs/cgroup/memory.max", "600000000\n");  // where a container sees its own group
  CHECK(limit() == 600'000'000);
  write("sys/fs/cgroup/other/memory.max", "5\n");
  CHECK(limit() == 600'000'000);
}

TEST_CASE_FIXTURE(machine, "in version 1 the group of the memory controller applies") {
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/a/b\n1:name=systemd:/a:b\n0::/u\n");
  write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(limit());
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300000000\n");
  CHECK(limit() == 300'000'000);
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5\n");
  CHECK(limit() == 300'000'000);
  write("sys/fs/cgroup/unified/u/memory.max", "200000000\n");
  CHECK(limit() == 200'000'000);
}

TEST_CASE_FIXTURE(machine, "if the group is outside the container's view, the limit at the visible root applies") {
  for (const char* path : {"/docker/0123", "/../../outside", "/"}) {
    CAPTURE(path);
    write("proc/self/cgroup", "4:memory:" + std::string(path) + "\n0::" + path + "\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000000");
    CHECK(limit() == 400'000'000);
  }
}

TEST_CASE_FIXTURE(machine, "the default is three quarters of the limit, within bounds") {
  write("proc/self/cgroup", "0::/\n");
  for (const auto& [group, expected] :
       {std::pair{4096 * mib, 1024 * mib}, {1200 * mib, 900 * mib}, {400 * mib, 300 * mib}, {20 * mib, 64 * mib}}) {
    write("sys/fs/cgroup/memory.max", std::to_string(group) + "\n");
    CHECK(default_memory_limit(root / ".") == expected);
  }
}
