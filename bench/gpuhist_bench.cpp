// gpuhist-bench: what the hardware and the kernels can do, measured the way the pipeline uses them.
#include "bench/bench.hpp"

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

namespace {

struct subcommand {
  const char* name;
  const char* description;
  void (*run)();
};

constexpr std::array<subcommand, 2> subcommands{{
    {.name = "link",
     .description = "pinned host-to-device copies, by chunk size and streams",
     .run = gpuhist::bench::measure_link},
    {.name = "kernels",
     .description = "the counting kernel on device memory, against reading alone",
     .run = gpuhist::bench::measure_kernels},
}};

void print_usage(std::FILE* to) {
  std::fputs("usage: gpuhist-bench SUBCOMMAND\n\n", to);
  for (const auto& each : subcommands) std::fprintf(to, "  %-10s %s\n", each.name, each.description);
}

int run(std::string_view name) {
  for (const auto& each : subcommands) {
    if (name != each.name) continue;
    cudaDeviceProp device;
    gpuhist::bench::check(cudaGetDeviceProperties(&device, 0));
    std::printf("%s, %d multiprocessors\n", device.name, device.multiProcessorCount);
    each.run();
    return 0;
  }
  print_usage(stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view name = argc == 2 ? argv[1] : "";
    if (name == "--help" || name == "-h") {
      print_usage(stdout);
      return 0;
    }
    return run(name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpuhist-bench: %s\n", error.what());
    return 1;
  }
}
