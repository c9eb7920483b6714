// The list of devices, for people and for programs.
#include "pipeline/devices_report.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

using namespace gpuhist;
using namespace gpuhist::pipeline;
using nlohmann::json;

namespace {

gpu::listed_device large_device() {
  return {.number = 0,
          .name = "NVIDIA H200",
          .unusable = {},
          .compute_major = 9,
          .compute_minor = 0,
          .multiprocessors = 132,
          .memory_bytes = std::uint64_t{140} << 30U,
          .pci_bus_id = "0000:3b:00.0",
          .place = {.now = {.generation = 1, .width = 16}, .best = {.generation = 5, .width = 16}, .numa_node = 0}};
}

devices_report two_devices() {
  gpu::listed_device broken{.number = 1,
                            .name = {},
                            .unusable = "cudaErrorUnknown: fell off the \x1b[2Jbus (cudaGetDeviceProperties)",
                            .pci_bus_id = {},
                            .place = {}};
  return {.found = {.engines = {{"auto", "", true, "takes cuda: NVIDIA H200, 132 multiprocessors"},
                                {"cuda", "gpu", true, "NVIDIA H200, 132 multiprocessors"},
                                {"host", "cpu", true, "16 threads, AVX3"}},
                    .auto_wakes_cuda = true,
                    .cuda = {.built_in = true,
                             .driver_version = "13.1",
                             .runtime_version = "13.0",
                             .devices = {large_device(), broken}},
                    .host = {.threads = 16,
                             .cores = 8,
                             .simd_targets = {"AVX3", "AVX2"},
                             .kernels = {{"ranges", "comparisons", "AVX3"}, {"scalar", "the obvious loop", ""}}}},
          .schemes = {{"letters", "ranges/AVX3"}, {"bytes", "tables"}}};
}

std::string table_of(const devices_report& what, unsigned width = 80) {
  return render_devices_table(what, {.width = width});
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("people see every engine with its reason, and of a device what it is and how it hangs on the host") {
  const std::string table = table_of(two_devices());
  CAPTURE(table);
  CHECK(has_line(table, "auto          yes: takes cuda: NVIDIA H200, 132 multiprocessors"));
  CHECK(has_line(table, "CUDA          driver 13.1, runtime 13.0"));
  CHECK(has_line(table, "device 0      NVIDIA H200"));
  CHECK(has_line(table, "  usable      yes"));
  CHECK(has_line(table, "  compute     9.0, 132 multiprocessors"));
  CHECK(has_line(table, "  memory      140 GiB"));
  CHECK(has_line(table, "  link        PCIe 5 x16, now PCIe 1 x16 (links slow down while idle)"));
  CHECK(has_line(table, "  bus         0000:3b:00.0, NUMA node 0"));
  CHECK(has_line(table, "host          cores 8, threads 16"));
  CHECK(has_line(table, "letters       ranges/AVX3"));
}

TEST_CASE("a device that cannot be used says why, and nothing it says moves a cursor") {
  const std::string table = table_of(two_devices());
  CAPTURE(table);
  CHECK(table.find("  usable      no: cudaErrorUnknown: fell off the \\x1b[2Jbus") != std::string::npos);
  CHECK(table.find('\x1b') == std::string::npos);
}

TEST_CASE("what the system does not report of a link is said so, and a link at its best is said once") {
  const auto link_line = [](const gpu::pci_place& place) {
    devices_report what = two_devices();
    what.found.cuda.devices[0].place = place;
    const std::string table = table_of(what);
    const auto at = table.find("  link        ") + 14;
    return table.substr(at, table.find('\n', at) - at);
  };
  CHECK(link_line({}) == "not reported");
  CHECK(link_line({.now = {.generation = 5, .width = 16}, .best = {.generation = 5, .width = 16}}) == "PCIe 5 x16");
  CHECK(link_line({.now = {.generation = 4, .width = 8}, .best = {}}) == "PCIe 4 x8");
  CHECK(link_line({.now = {}, .best = {.generation = 5, .width = 16}}) == "PCIe 5 x16, now not reported");
  CHECK(link_line({.now = {.generation = 5, .width = 8}, .best = {.generation = 5, .width = 16}}) ==
        "PCIe 5 x16, now PCIe 5 x8");
}

TEST_CASE("no line is wider than the terminal, and wrapping loses no word") {
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word;) all.push_back(word);
    return all;
  };
  for (const unsigned width : {50U, 60U, 80U, 200U}) {
    CAPTURE(width);
    const std::string table = table_of(two_devices(), width);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= width);
    CHECK(words(table) == words(table_of(two_devices(), 100000)));
  }
}

TEST_CASE("without CUDA the table says that it was not built in") {
  devices_report what = two_devices();
  what.found.cuda = {};
  CHECK(has_line(table_of(what), "CUDA          built without CUDA"));
}

TEST_CASE("programs get one line with everything; what is not reported is null") {
  const std::string text = render_devices_json(two_devices());
  CHECK(text.find('\n') == text.size() - 1);
  const json out = json::parse(text);
  CHECK(out["kind"] == "devices");
  CHECK(out["schema"] == "gpuhist.devices/1");
  CHECK(out["auto_takes"] == json::array({"host", "cuda"}));
  CHECK(out["engines"][1] ==
        json{{"name", "cuda"}, {"synonym", "gpu"}, {"usable", true}, {"reason", "NVIDIA H200, 132 multiprocessors"}});
  CHECK(out["cuda"]["driver_version"] == "13.1");
  CHECK(out["cuda"]["devices"][0] ==
        json{{"number", 0},
             {"name", "NVIDIA H200"},
             {"usable", true},
             {"compute_capability", "9.0"},
             {"multiprocessors", 132},
             {"memory_bytes", 150323855360},
             {"pci_bus_id", "0000:3b:00.0"},
             {"link", {{"generation", 1}, {"width", 16}, {"max_generation", 5}, {"max_width", 16}}},
             {"numa_node", 0}});
  CHECK(out["cuda"]["devices"][1]["usable"] == false);
  CHECK(out["cuda"]["devices"][1]["name"].is_null());
  CHECK(out["host"]["schemes"] == json{{"letters", "ranges/AVX3"}, {"bytes", "tables"}});
  CHECK(out["host"]["kernels"][1]["instruction_set"].is_null());

  devices_report bare = two_devices();
  bare.found.auto_wakes_cuda = false;
  bare.found.cuda.devices[0].place = {};
  bare.found.host.cores.reset();
  const json unknown = json::parse(render_devices_json(bare));
  CHECK(unknown["cuda"]["devices"][0]["link"]["max_generation"].is_null());
  CHECK(unknown["cuda"]["devices"][0]["numa_node"].is_null());
  CHECK(unknown["host"]["cores"].is_null());
  CHECK(unknown["auto_takes"] == json::array({"host"}));
}
