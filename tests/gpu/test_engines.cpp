// The table of engines: names, and results with and without a device. The inventory with fake runtimes and a generated
// sysfs, and the parsing of PCI links.
#include "contract/engine_contract.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/engines.hpp"
#include "gpu/host/kernel.hpp"
#include "gpu/inventory.hpp"
#include "gpu/pci_link.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace gpuhist::gpu {
namespace {

engine_request request() {
  return {.counted = contract::letters_partition(),
          .run = [](const std::function<void()>& task) { task(); },
          .max_chunk = 4096,
          .max_extents = 4};
}

TEST_CASE("every name of an engine has a canonical one, and no other name has") {
  CHECK(engine_names() == std::vector<std::string_view>{"auto", "cuda", "host", "gpu", "cpu"});
  CHECK(canonical_engine("gpu") == "cuda");
  CHECK(canonical_engine("cpu") == "host");
  for (const auto name : {"auto", "cuda", "host"}) CHECK(canonical_engine(name) == name);
  for (const auto name : {"", "CUDA", "hos"}) CHECK_THROWS_AS(canonical_engine(name), std::invalid_argument);
}

TEST_CASE("the host engine is always available, and counts the requested partition") {
  CHECK(!forecast_engine("host", request()).cuda);
  const engine_choice choice = make_engine("host", request());
  CHECK(choice.taken->name() == "host");
  CHECK(choice.taken->layout().counted == request().counted);
}

TEST_CASE("cuda is made if a device is usable, and fails with the reason if none is") {
  const engine_forecast expected = forecast_engine("cuda", request());
  CHECK(!expected.why.empty());
  if (expected.cuda) {
    CHECK(make_engine("cuda", request()).taken->name() == "cuda");
  } else {
    CHECK_THROWS_WITH_AS(make_engine("cuda", request()), expected.why.c_str(), engine_error);
  }
}

TEST_CASE("auto uses devices if there may be any, and gives the reason if there is none") {
  const engine_forecast expected = forecast_engine("auto", request());
  CHECK(!expected.cuda);
  const engine_choice choice = make_engine("auto", request());
  CHECK(choice.reason == expected.why);
  CHECK((choice.taken->name() == "auto") == expected.shared);
  CHECK((choice.taken->name() == "host") == !expected.shared);
  CHECK(expected.shared == expected.why.empty());
}

TEST_CASE("a forecast is used: devices are not enumerated again") {
  engine_request with_forecast = request();
  with_forecast.forecast = engine_forecast{.why = "no device, found earlier"};
  CHECK(make_engine("auto", with_forecast).reason == "no device, found earlier");
  CHECK(make_engine("auto", with_forecast).taken->name() == "host");
  CHECK_THROWS_WITH_AS(make_engine("cuda", with_forecast), "no device, found earlier", engine_error);
}

TEST_CASE("a kernel is chosen by name, with auto for the host, and an unsuitable kernel is an error") {
  for (const std::string_view name : host_kernel_names_for(request().counted)) {
    engine_request forced = request();
    forced.kernel = name;
    for (const auto engine : {"host", "auto"}) {
      CHECK(make_engine(engine, forced).taken->stats().kernel.starts_with(name));
    }
    CHECK_THROWS_AS(make_engine("cuda", forced), engine_error);
  }
  engine_request wrong = request();
  wrong.kernel = "no_such_kernel";
  for (const auto engine : {"auto", "cuda", "host"}) CHECK_THROWS_AS(make_engine(engine, wrong), engine_error);
}

TEST_CASE("a kernel is listed for a partition exactly if the engine accepts it") {
  for (const partition& counted : {contract::letters_partition(), partition::identity()}) {
    const std::vector<std::string_view> able = host_kernel_names_for(counted);
    CHECK(!able.empty());
    for (const std::string_view name : host_kernel_names()) {
      CAPTURE(name);
      engine_request forced = request();
      forced.counted = counted;
      forced.kernel = name;
      if (std::ranges::find(able, name) != able.end()) {
        CHECK_NOTHROW(make_engine("host", forced));
      } else {
        CHECK_THROWS_AS(make_engine("host", forced), engine_error);
      }
    }
  }
}

TEST_CASE("auto does not fall back to the host if a device is requested by number") {
  engine_request far_away = request();
  far_away.devices = {4000};
  CHECK_THROWS_AS(forecast_engine("auto", far_away), engine_error);
  CHECK_THROWS_AS(make_engine("auto", far_away), engine_error);
  CHECK_THROWS_AS(make_engine("cuda", far_away), engine_error);
}

}  // namespace

namespace {

using test::temporary_folder;

void write(const std::filesystem::path& file, const std::string& line) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << line << '\n';
}

// A sysfs with one device on an idle PCIe 5 link.
void write_idle_link(const std::filesystem::path& sysfs, const std::string& bus_id) {
  const auto folder = sysfs / "bus/pci/devices" / bus_id;
  write(folder / "current_link_speed", "2.5 GT/s PCIe");
  write(folder / "current_link_width", "16");
  write(folder / "max_link_speed", "32.0 GT/s PCIe");
  write(folder / "max_link_width", "16");
  write(folder / "numa_node", "1");
}

cuda::device_properties fake_at(const std::string& bus_id) {
  cuda::device_properties properties = cuda::fake_device();
  properties.pci_bus_id = bus_id;
  return properties;
}

TEST_CASE("every speed of PCI Express has its generation, in every spelling of the kernel") {
  CHECK(pci_generation("2.5 GT/s PCIe") == 1);
  CHECK(pci_generation("2.5 GT/s") == 1);
  CHECK(pci_generation("5.0 GT/s PCIe") == 2);
  CHECK(pci_generation("5 GT/s") == 2);
  CHECK(pci_generation("8.0 GT/s PCIe") == 3);
  CHECK(pci_generation("16.0 GT/s PCIe") == 4);
  CHECK(pci_generation("32.0 GT/s PCIe") == 5);
  CHECK(pci_generation("64.0 GT/s PCIe") == 6);
  CHECK(pci_generation("128.0 GT/s PCIe") == 7);
  for (const auto* unknown : {"", "Unknown", "Unknown speed", "16", "3.0 GT/s PCIe", "GT/s"}) {
    CAPTURE(unknown);
    CHECK(!pci_generation(unknown));
  }
}

TEST_CASE("a link has the values that the system reports; unreported values are absent") {
  const temporary_folder folder;
  const std::filesystem::path sysfs = folder / "sys";
  write_idle_link(sysfs, "0000:3b:00.0");
  CHECK(pci_place_of(sysfs, "0000:3b:00.0") ==
        pci_place{.now = {.generation = 1, .width = 16}, .best = {.generation = 5, .width = 16}, .numa_node = 1});
  CHECK(pci_place_of(sysfs, "0000:3c:00.0") == pci_place{});
  CHECK(pci_place_of(sysfs, "") == pci_place{});

  const auto odd = sysfs / "bus/pci/devices/0000:01:00.0";
  write(odd / "current_link_speed", "Unknown");
  write(odd / "current_link_width", "255");
  write(odd / "max_link_width", "0");
  write(odd / "numa_node", "-1");
  CHECK(pci_place_of(sysfs, "0000:01:00.0") == pci_place{});
}

TEST_CASE("every device is listed with its PCI place, unusable ones with the reason, and none is woken") {
  const temporary_folder folder;
  const std::filesystem::path sysfs = folder / "sys";
  write_idle_link(sysfs, "0000:3b:00.0");
  cuda::device_properties old = fake_at("0000:5e:00.0");
  old.compute_major = 6;
  const auto seen = std::make_shared<cuda::ledger>();
  const auto api = cuda::make_fake_runtime(seen, {old, fake_at("0000:3b:00.0")});
  const inventory all = take_inventory(*api, sysfs);

  CHECK(seen->contexts().empty());
  CHECK(seen->misuses().empty());
  CHECK(all.cuda.built_in);
  CHECK(all.cuda.driver_version == "13.1");
  CHECK(all.cuda.runtime_version == "13.0");
  REQUIRE(all.cuda.devices.size() == 2);
  CHECK(all.cuda.devices[0].unusable ==
        "fake device is too old: it has compute capability 6.0, gpuhist needs 7.5 or more");
  CHECK(all.cuda.devices[0].place == pci_place{});
  CHECK(all.cuda.devices[1].unusable.empty());
  CHECK(all.cuda.devices[1].number == 1);
  CHECK(all.cuda.devices[1].name == "fake device");
  CHECK(all.cuda.devices[1].memory_bytes == 1 << 30);
  CHECK(all.cuda.devices[1].place.best == pci_link{.generation = 5, .width = 16});
  CHECK(all.auto_wakes_cuda);
  REQUIRE(all.engines.size() == 3);
  CHECK(all.engines[0].why == "takes host, and wakes cuda if the cores are saturated: fake device, 4 multiprocessors");
  CHECK(all.engines[1].usable);
}

TEST_CASE("a device is listed with its tuning, and with the properties that determine it") {
  cuda::device_properties large = cuda::fake_device();
  large.shared_bytes = 228 * 1024;
  large.shared_bytes_block = 227 * 1024;
  large.threads = 2048;
  large.l2_bytes = 60 << 20;
  cuda::device_properties small = large;
  small.shared_bytes = small.shared_bytes_block = 64 * 1024;
  small.threads = 1024;
  const auto api = cuda::make_fake_runtime(std::make_shared<cuda::ledger>(), {large, small});
  const inventory all = take_inventory(*api, "/nowhere");
  REQUIRE(all.cuda.devices.size() == 2);
  CHECK(all.cuda.devices[0].shared_bytes == 228 * 1024);
  CHECK(all.cuda.devices[0].shared_bytes_block == 227 * 1024);
  CHECK(all.cuda.devices[0].threads == 2048);
  CHECK(all.cuda.devices[0].l2_bytes == 60 << 20);
  CHECK(all.cuda.devices[0].tuning == cuda::shipped_tunings.front());
  CHECK(all.cuda.devices[1].tuning == cuda::shipped_tunings.back());
}

TEST_CASE("a device whose properties cannot be read is listed with the error of CUDA") {
  const auto plan = std::make_shared<cuda::planned_failure>(2, cuda::planned_failure::kind::once, 999);
  const auto api = cuda::make_failing_runtime(
      cuda::make_fake_runtime(std::make_shared<cuda::ledger>(), {cuda::fake_device(), cuda::fake_device()}), plan);
  const inventory all = take_inventory(*api, "/nowhere");
  REQUIRE(all.cuda.devices.size() == 2);
  CHECK(all.cuda.devices[0].unusable == "fake error 999 (cudaGetDeviceProperties)");
  CHECK(all.cuda.devices[1].unusable.empty());
  CHECK(all.auto_wakes_cuda);
}

TEST_CASE("without a device CUDA is unusable and auto uses the host, both with the reason") {
  const auto api = cuda::make_fake_runtime(std::make_shared<cuda::ledger>(), {});
  const inventory all = take_inventory(*api, "/nowhere");
  CHECK(all.cuda.devices.empty());
  CHECK(!all.auto_wakes_cuda);
  CHECK(all.engines[0].usable);
  CHECK(all.engines[0].why == "takes host: no CUDA device: fake error 100 (cudaGetDeviceCount)");
  CHECK(!all.engines[1].usable);
  CHECK(all.engines[1].why == "no CUDA device: fake error 100 (cudaGetDeviceCount)");
  CHECK(all.engines[2].usable);
}

TEST_CASE("without a driver, the reason is the missing driver, not an old version") {
  const auto seen = std::make_shared<cuda::ledger>();
  seen->driver_version = 0;
  const inventory all = take_inventory(*cuda::make_fake_runtime(seen, {}), "/nowhere");
  CHECK(all.cuda.driver_version.empty());
  CHECK(all.engines[1].why == "no CUDA device: no NVIDIA driver is loaded");
}

TEST_CASE("the listed engines are those of the table, and usable exactly if they can be forecast") {
  const inventory all = take_inventory();
  for (const listed_engine& each : all.engines) CHECK(canonical_engine(each.name) == each.name);
  for (const listed_engine& each : all.engines) {
    if (!each.synonym.empty()) CHECK(canonical_engine(each.synonym) == each.name);
  }
  const engine_forecast expected = forecast_engine("cuda", {.counted = {}, .run = {}});
  CHECK(all.auto_wakes_cuda == expected.cuda);
  CHECK(all.engines[1].why == expected.why);
}

TEST_CASE("cores are counted once for all their threads; offline CPUs and other folders are not counted") {
  const temporary_folder folder;
  const std::filesystem::path sysfs = folder / "sys";
  const auto cpus = sysfs / "devices/system/cpu";
  for (const auto& [cpu, package, core] : {std::array{"cpu0", "0", "0"}, std::array{"cpu1", "0", "1"},
                                           std::array{"cpu2", "0", "0"}, std::array{"cpu3", "1", "0"}}) {
    write(cpus / cpu / "topology/core_id", core);
    write(cpus / cpu / "topology/physical_package_id", package);
  }
  write(cpus / "cpu4/online", "0");
  write(cpus / "cpufreq/boost", "1");
  const auto api = cuda::make_fake_runtime(std::make_shared<cuda::ledger>(), {});
  CHECK(take_inventory(*api, sysfs).host.cores == 3);
  CHECK(!take_inventory(*api, "/nowhere").host.cores);
}

TEST_CASE("kernels use the first SIMD target, and host_kernel_for names the kernel of the engine") {
  const inventory all = take_inventory();
  REQUIRE(!all.host.simd_targets.empty());
  CHECK(all.host.simd_targets.front() == host::ranges_instruction_set());
  for (const auto& each : contract::sample_partitions()) {
    const auto made = make_engine("host", {.counted = each.value, .run = {}});
    CHECK(host_kernel_for(each.value) == made.taken->stats().kernel);
  }
}

}  // namespace

}  // namespace gpuhist::gpu
