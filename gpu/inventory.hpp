// Everything that can count on this machine: engines, CUDA devices and host kernels, whether each is usable, and the
// reason if not. No CUDA context is created.
#pragma once

#include "gpu/cuda/kernel_tuning.hpp"
#include "gpu/pci_link.hpp"
#include "gpu/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::gpu {

namespace cuda {
class runtime;
}

struct listed_engine {
  std::string name;
  std::string synonym;  ///< empty: none
  bool usable = false;
  std::string why;  ///< one clause: the device or cores that it would use, or what is missing
};

struct listed_device {
  int number = 0;
  std::string name;
  std::string unusable;  ///< the reason; empty if it is usable
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;  ///< total, used or free
  std::string pci_bus_id;
  pci_place place;
  std::size_t shared_bytes = 0;        ///< shared memory of a multiprocessor
  std::size_t shared_bytes_block = 0;  ///< part of it that one block may use
  int threads = 0;                     ///< maximum resident on a multiprocessor
  std::size_t l2_bytes = 0;
  cuda::kernel_tuning tuning{};  ///< of the kernel for text in device memory
};

struct listed_kernel {
  std::string name;
  std::string description;
  std::string instruction_set{};  ///< empty if there is only one
};

struct listed_host {
  unsigned threads = 1;                   ///< that this process may run at the same time
  std::optional<unsigned> cores;          ///< of the machine, as the system reports them
  std::vector<std::string> simd_targets;  ///< compiled in and supported by this machine, best first; the first is used
  std::vector<listed_kernel> kernels;     ///< in the order of their table
};

struct listed_cuda {
  bool built_in = false;
  std::string driver_version;            ///< the newest CUDA version that the driver supports, "13.1"; empty: no driver
  std::string runtime_version;           ///< of the linked CUDA runtime; empty: none
  std::vector<listed_kernel> kernels{};  ///< of the engine
  std::vector<listed_device> devices;
};

struct inventory {
  std::vector<listed_engine> engines;  ///< auto, cuda, host
  bool auto_wakes_cuda = false;        ///< `auto` always uses the host, and devices if the cores are saturated
  listed_cuda cuda;
  listed_host host;
};

/// Queries the system. Throws only std::bad_alloc.
inventory take_inventory();

/// Queries this runtime, and sysfs at the path `sysfs` ("/sys").
inventory take_inventory(cuda::runtime& api, const std::filesystem::path& sysfs);

/// The host kernel that would count this partition here: "ranges/AVX2".
std::string host_kernel_for(const partition& counted);

// The names of the counting kernels of all engines.

/// All kernels of the host, in the order of their table.
std::vector<std::string_view> host_kernel_names();

/// The host kernels that can count this partition; never empty.
std::vector<std::string_view> host_kernel_names_for(const partition& counted);

/// The kernels of the CUDA engine, which count every partition.
std::vector<std::string_view> cuda_kernel_names();

}  // namespace gpuhist::gpu
