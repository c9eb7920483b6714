// gpuhist-bench: measures the hardware and the kernels in the way in which the pipeline uses them. Exit status 1 if a
// count was wrong or a call failed, 2 for an invalid command line.
#include "bench/core_clock.hpp"
#include "bench/decompress.hpp"
#include "bench/device_commands.hpp"
#include "bench/host_kernels.hpp"
#include "bench/host_table.hpp"
#include "bench/options.hpp"
#include "bench/segments.hpp"
#include "bench/table.hpp"
#include "config/usage_error.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <variant>

namespace {

using namespace gpuhist::bench;

constexpr const char* host_explanation = R"(
One core at about %s GHz, measured by dependent additions. The fastest of %u repetitions that take turns, by CPU time;
counts are compared after each. vector_sum adds the same bytes as 64-bit words.
)";

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_group(const host_group& group, output_format format) {
  switch (format) {
    case output_format::table:
      return print("\n" + host_table(group));
    case output_format::json:
      return print(host_json_rows(group));
    case output_format::csv:
      return print(host_csv_rows(group));
  }
}

int run(const help_text& help) {
  print(help.text);
  return 0;
}

int run(const host_options& options) {
  if (options.format == output_format::csv) print(host_csv_heading());
  if (options.format == output_format::table) {
    std::printf(host_explanation, fixed(core_clock() * 1e-9, 2).c_str(), options.repetitions);
  }
  measure_host(options, [&](const host_group& group) { print_group(group, options.format); });
  return 0;
}

int run(const decompress_command& command) {
  const decompress_result result = measure_decompress(command.options);
  switch (command.format) {
    case output_format::table:
      print(decompress_table(result));
      break;
    case output_format::json:
      print(decompress_json_rows(result));
      break;
    case output_format::csv:
      print(decompress_csv(result));
      break;
  }
  return 0;
}

int run(const kernels_options& options) { return run_kernels(options); }
int run(const segments_options&) {
  measure_segments();
  return 0;
}

int run(const link_options& options) { return run_link(options); }
int run(const pairs_options&) { return run_pairs(); }
int run(const samples_options&) { return run_samples(); }
int run(const units_options&) { return run_units(); }
int run(const decode_command& command) { return run_decode(command); }

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto device_kernels = device_kernel_names();
    const auto host_kernels = host_kernel_names();
    return std::visit([](const auto& asked) { return run(asked); },
                      parse_options({argv + 1, argv + argc}, device_kernels, host_kernels));
  } catch (const gpuhist::config::usage_error& error) {
    std::fprintf(stderr, "gpuhist-bench: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpuhist-bench: %s\n", error.what());
    return 1;
  }
}
