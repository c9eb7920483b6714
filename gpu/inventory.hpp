// What could count here: every engine, every CUDA device and every host kernel, whether it can be used, and why not.
// Looking makes no CUDA context.
#pragma once

#include "gpu/cuda/kernel_tuning.hpp"
#include "gpu/pci_link.hpp"
#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::gpu {

namespace cuda {
class runtime;
}

struct listed_engine {
  std::string name;
  std::string synonym;  ///< empty: none
  bool usable = false;
  std::string why;  ///< one clause: what it would count on, or what is missing
};

struct listed_device {
  int number = 0;
  std::string name;
  std::string unusable;  ///< why; empty where it can be used
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;  ///< all of it, used or not
  std::string pci_bus_id;
  pci_place place;
  std::size_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  std::size_t shared_bytes_block = 0;  ///< of it, what one block may have
  int threads = 0;                     ///< that are resident on a multiprocessor at most
  std::size_t l2_bytes = 0;
  cuda::kernel_tuning tuning{};  ///< of the kernel over text that lies on the device
};

struct listed_kernel {
  std::string name;
  std::string description;
  std::string instruction_set{};  ///< empty where there is only one
};

struct listed_host {
  unsigned threads = 1;                   ///< that this process may run at once
  std::optional<unsigned> cores;          ///< of the machine, as the system reports them
  std::vector<std::string> simd_targets;  ///< compiled in and supported here, best first: the first is used
  std::vector<listed_kernel> kernels;     ///< in the order of their table
};

struct listed_cuda {
  bool built_in = false;
  std::string driver_version;            ///< the newest CUDA that the driver can do, "13.1"; empty: no driver
  std::string runtime_version;           ///< of the CUDA runtime that is linked in; empty: none
  std::vector<listed_kernel> kernels{};  ///< of the engine
  std::vector<listed_device> devices;
};

struct inventory {
  std::vector<listed_engine> engines;  ///< auto, cuda, host
  bool auto_wakes_cuda = false;        ///< `auto` always takes the host, and devices when the cores fall short
  listed_cuda cuda;
  listed_host host;
};

/// Asks the system. Throws nothing but std::bad_alloc.
inventory take_inventory();

/// The same of this runtime and of what lies below `sysfs` ("/sys").
inventory take_inventory(cuda::runtime& api, const std::filesystem::path& sysfs);

/// The host kernel that would count this partition here: "ranges/AVX2".
std::string host_kernel_for(const partition& counted);

}  // namespace gpuhist::gpu
