// How a device is connected to its host, as the system reports it in sysfs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gpuhist::gpu {

/// A PCI Express link. Members that the system does not report are absent.
struct pci_link {
  std::optional<unsigned> generation{};  ///< 1 to 7; 5 is 32 GT/s
  std::optional<unsigned> width{};       ///< lanes, 16 for x16

  bool operator==(const pci_link&) const = default;
};

struct pci_place {
  pci_link now;   ///< idle devices reduce the speed of their link
  pci_link best;  ///< the best that device and slot support
  std::optional<unsigned> numa_node{};

  bool operator==(const pci_place&) const = default;
};

/// Reads <sysfs>/bus/pci/devices/<bus_id> ("0000:3b:00.0"). Does not throw: values that cannot be read are absent.
pci_place pci_place_of(const std::filesystem::path& sysfs, const std::string& bus_id);

/// "32.0 GT/s PCIe" is generation 5; nothing for "Unknown".
std::optional<unsigned> pci_generation(const std::string& speed);

}  // namespace gpuhist::gpu
