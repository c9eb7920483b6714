// The list of devices, for people and for programs.
#include "report/formats/devices_report.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <sstream>
#include <string>

using namespace gpuhist;
using namespace gpuhist::report;
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
          .place = {.now = {.generation = 1, .width = 16}, .best = {.generation = 5, .width = 16}, .numa_node = 0},
          .shared_bytes = 228 * 1024,
          .shared_bytes_block = 227 * 1024,
          .threads = 2048,
          .l2_bytes = std::size_t{60} << 20U,
          .tuning = {.threads = 512, .copies = 32, .loads = 2, .blocks_per_multiprocessor = 3}};
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
                             .kernels = {{"lane_private", "a copy a lane"}},
                             .devices = {large_device(), broken}},
                    .host = {.threads = 16,
                             .cores = 8,
                             .simd_targets = {"AVX3", "AVX2"},
                             .kernels = {{"ranges", "comparisons", "AVX3"}, {"scalar", "the obvious loop", ""}}}},
          .schemes = {{"letters", "ranges/AVX3", {"ranges", "scalar"}}, {"bytes", "tables", {"scalar"}}}};
}

std::string table_of(const devices_report& devices, unsigned width = 80) {
  return render_devices_table(devices, {.width = width});
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("people see every engine with its reason, and each device with its properties and its link to the host") {
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
  CHECK(has_line(table, "  kernel      lane_private: a copy a lane"));
  CHECK(has_line(table, "  ranges      comparisons (AVX3)"));
  CHECK(has_line(table, "  scalar      the obvious loop"));
  for (const auto* only_verbose : {"tuning", "shared", "L2", "--kernel"}) {
    CHECK(table.find(only_verbose) == std::string::npos);
  }
}

TEST_CASE("in verbose mode, people see what the tuning of each device depends on, and all kernels of a scheme") {
  devices_report devices = two_devices();
  devices.verbose = true;
  const std::string table = table_of(devices, 200);
  CAPTURE(table);
  CHECK(has_line(table, "  shared      228 KiB a multiprocessor, 227 KiB a block at most"));
  CHECK(has_line(table, "  threads     2048 a multiprocessor"));
  CHECK(has_line(table, "  L2 cache    60 MiB"));
  CHECK(has_line(table, "  tuning      for text in its memory: " + describe(large_device().tuning)));
  CHECK(table.find("512 threads a block, 3 a multiprocessor") != std::string::npos);
  CHECK(has_line(table, "scheme        host kernel, and all kernels that --kernel may name"));
  CHECK(has_line(table, "letters       ranges/AVX3: ranges, scalar"));
  std::size_t tunings = 0;  // none for a device whose properties could not be read
  for (std::size_t at = table.find("tuning"); at != std::string::npos; at = table.find("tuning", at + 1)) ++tunings;
  CHECK(tunings == 1);
}

TEST_CASE("in verbose mode, programs get the tuning of each device as data, and all other fields are unchanged") {
  devices_report devices = two_devices();
  const json brief = json::parse(render_devices_json(devices));
  devices.verbose = true;
  json out = json::parse(render_devices_json(devices));
  json& device = out["cuda"]["devices"][0];
  CHECK(device["tuning"] == json{{"threads", 512},
                                 {"blocks_per_multiprocessor", 3},
                                 {"copies", 32},
                                 {"shared_bytes", 32768},
                                 {"loads", 2},
                                 {"tile_bytes", 16384},
                                 {"description", describe(large_device().tuning)}});
  CHECK(device["shared_bytes"] == 228 * 1024);
  CHECK(device["shared_bytes_block"] == 227 * 1024);
  CHECK(device["threads_per_multiprocessor"] == 2048);
  CHECK(device["l2_bytes"] == 62914560);
  CHECK(out["host"]["scheme_kernels"] == json{{"letters", {"ranges", "scalar"}}, {"bytes", json::array({"scalar"})}});
  for (const auto* added : {"tuning", "shared_bytes", "shared_bytes_block", "threads_per_multiprocessor", "l2_bytes"}) {
    device.erase(added);
  }
  out["host"].erase("scheme_kernels");
  CHECK(out == brief);
}

TEST_CASE("a device that cannot be used is listed with the reason, and none of its text moves the cursor") {
  const std::string table = table_of(two_devices());
  CAPTURE(table);
  CHECK(table.find("  usable      no: cudaErrorUnknown: fell off the \\x1b[2Jbus") != std::string::npos);
  CHECK(table.find('\x1b') == std::string::npos);
}

TEST_CASE("link properties that the system does not report are marked, and a link at its best is shown once") {
  const auto link_line = [](const gpu::pci_place& place) {
    devices_report devices = two_devices();
    devices.found.cuda.devices[0].place = place;
    const std::string table = table_of(devices);
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
  devices_report devices = two_devices();
  devices.verbose = true;
  for (const unsigned width : {50U, 60U, 80U, 200U}) {
    CAPTURE(width);
    const std::string table = table_of(devices, width);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= width);
    CHECK(words(table) == words(table_of(devices, 100000)));
  }
}

TEST_CASE("without CUDA the table says that it was not built in") {
  devices_report devices = two_devices();
  devices.found.cuda = {};
  CHECK(has_line(table_of(devices), "CUDA          built without CUDA"));
}

TEST_CASE("programs get one line with everything; values that are not reported are null") {
  const std::string text = render_devices_json(two_devices());
  CHECK(text.find('\n') == text.size() - 1);
  const json out = json::parse(text);
  CHECK(out["kind"] == "devices");
  CHECK(out["schema"] == "gpuhist.devices/1");
  CHECK(out["auto_takes"] == json::array({"host", "cuda"}));
  CHECK(out["engines"][1] ==
        json{{"name", "cuda"}, {"synonym", "gpu"}, {"usable", true}, {"reason", "NVIDIA H200, 132 multiprocessors"}});
  CHECK(out["cuda"]["driver_version"] == "13.1");
  CHECK(out["cuda"]["kernels"] ==
        json::array({{{"name", "lane_private"}, {"instruction_set", nullptr}, {"description", "a copy a lane"}}}));
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
