#include "bench/device_commands.hpp"

#include "bench/cuda.hpp"
#include "bench/decode_device.hpp"
#include "bench/kernels.hpp"
#include "bench/link.hpp"
#include "bench/pairs.hpp"
#include "bench/samples.hpp"
#include "bench/summary.hpp"
#include "bench/table.hpp"
#include "bench/units.hpp"
#include "config/size.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::bench {
namespace {

constexpr const char* explanation = R"(
Medians of up to %u runs that take turns in one stream, timed by events; each run reads the next of several buffers,
together eight L2 caches or more. The ceiling is the fastest of the kernels that only read, in the same rounds. The time
of cub_* includes clearing the counters, which its call does; the time of every kernel includes clearing its scratch
memory. Counts are compared after every run. sequential_loop: one core of the host, the simple loop in C++ over up to
64 MiB, with the same rate for every size. x loop and x global: rate relative to sequential_loop and to global_atomic.
)";

constexpr const char* decode_explanation = R"(
Medians of %u runs. GB/s are of text: of the device's decoder; of libzstd or ISA-L on %u threads of the host, for the
distinct frames; of copies of the compressed bytes from pinned memory; of the peer. B/sequence: bytes of text per
sequence; Huffman: literals with Huffman codes, share of the text. The last columns are the times of the phases in ms,
by events.
All frames were decoded, their checksums compared, and the distinct text compared with the original.

)";

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_heading(const kernels_options& options, const machine& on) {
  if (options.format == output_format::csv) print(csv_heading());
  if (options.format != output_format::table) return;
  std::printf("%s, %d multiprocessors, L2 cache of %s\n", on.device.c_str(), on.multiprocessors,
              config::format_size(on.l2_bytes).c_str());
  std::printf(explanation, options.repetitions);
  if (!options.input.empty()) std::printf("text: %s\n", options.input.c_str());
}

void print_group(const measured_group& group, output_format format, const machine& on) {
  switch (format) {
    case output_format::table:
      return print("\n" + ladder(group));
    case output_format::json:
      return print(json_rows(group, on));
    case output_format::csv:
      return print(csv_rows(group, on));
  }
}

void print_decode_heading(const decode_command& command, const machine& on, unsigned host_threads) {
  if (command.format == output_format::csv) print(decode_csv_heading());
  if (command.format != output_format::table) return;
  std::printf("%s, %d multiprocessors\n", on.device.c_str(), on.multiprocessors);
  std::printf(decode_explanation, command.options.rounds, host_threads);
  print(decode_table_heading(command.options.coded));
}

void print_decode_row(const decode_row& row, output_format format, const machine& on, unsigned host_threads) {
  switch (format) {
    case output_format::table:
      return print(decode_table_line(row));
    case output_format::json:
      return print(decode_json_row(row, on.device, host_threads));
    case output_format::csv:
      return print(decode_csv_row(row, on.device, host_threads));
  }
}

}  // namespace

std::vector<std::string_view> device_kernel_names() { return kernel_names(); }

int run_kernels(const kernels_options& options) {
  check_options(options);
  const machine on = current_machine();
  print_heading(options, on);
  std::vector<measured_group> groups;
  measure_kernels(options, on, [&](measured_group group) {
    print_group(group, options.format, on);
    groups.push_back(std::move(group));
  });
  if (options.format == output_format::table) print("\nsummary, " + on.device + "\n\n" + summary_of(groups));
  return any_wrong(groups) ? 1 : 0;
}

int run_link(const link_options& options) {
  measure_link(options, current_machine());
  return 0;
}

int run_decode(const decode_command& command) {
  const machine on = current_machine();
  const unsigned host_threads = std::max(1U, std::thread::hardware_concurrency());
  print_decode_heading(command, on, host_threads);
  measure_decode(command.options, host_threads,
                 [&](const decode_row& row) { print_decode_row(row, command.format, on, host_threads); });
  return 0;
}

int run_pairs() { return measure_pairs(current_machine()) ? 0 : 1; }
int run_samples() { return measure_samples(current_machine()) ? 0 : 1; }
int run_units() { return measure_units(current_machine()) ? 0 : 1; }

}  // namespace gpuhist::bench
