#include "gpu/pci_link.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <utility>

namespace gpuhist::gpu {
namespace {

// Gigatransfers per second of each generation.
constexpr std::array<std::pair<std::string_view, unsigned>, 7> speeds{
    {{"2.5", 1}, {"5", 2}, {"8", 3}, {"16", 4}, {"32", 5}, {"64", 6}, {"128", 7}}};

std::string line_of(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// A number of at least 0; kernels write -1 for "none".
std::optional<unsigned> number_in(const std::filesystem::path& file) {
  const std::string line = line_of(file);
  unsigned number = 0;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{} || rest != line.data() + line.size()) return std::nullopt;
  return number;
}

std::optional<unsigned> width_in(const std::filesystem::path& file) {
  constexpr unsigned widest = 32;  // unknown widths read 0, 63 or 255
  const auto width = number_in(file);
  return width && *width > 0 && *width <= widest ? width : std::nullopt;
}

pci_link link_in(const std::filesystem::path& folder, const std::string& which) {
  return {.generation = pci_generation(line_of(folder / (which + "_link_speed"))),
          .width = width_in(folder / (which + "_link_width"))};
}

}  // namespace

std::optional<unsigned> pci_generation(const std::string& speed) {
  std::string number = speed.substr(0, speed.find(' '));  // older kernels say "8 GT/s", newer ones "8.0 GT/s PCIe"
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  const auto* const found =
      std::find_if(speeds.begin(), speeds.end(), [&](const auto& each) { return each.first == number; });
  if (found == speeds.end() || speed.find("GT/s") == std::string::npos) return std::nullopt;
  return found->second;
}

pci_place pci_place_of(const std::filesystem::path& sysfs, const std::string& bus_id) {
  if (bus_id.empty()) return {};
  const std::filesystem::path folder = sysfs / "bus" / "pci" / "devices" / bus_id;
  return {
      .now = link_in(folder, "current"), .best = link_in(folder, "max"), .numa_node = number_in(folder / "numa_node")};
}

}  // namespace gpuhist::gpu
