// The command line of gpuhist-bench as values.
#pragma once

#include "bench/data.hpp"
#include "bench/decode.hpp"
#include "bench/decompress.hpp"
#include "bench/host_count.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpuhist::bench {

enum class output_format { table, json, csv };

/// Maximum bytes per thread for a strategy with a coarsening factor.
inline constexpr unsigned largest_coarsening = 1U << 21U;

struct kernels_options {
  std::vector<std::uint64_t> sizes{std::uint64_t{1} << 20U, std::uint64_t{1} << 24U, std::uint64_t{1} << 30U,
                                   std::uint64_t{1} << 32U};
  std::vector<data_set> data{every_data_set.begin(), every_data_set.end()};
  std::filesystem::path input;  ///< replaces the synthetic text; empty: none
  std::vector<bins> counted{every_bins.begin(), every_bins.end()};
  std::vector<std::string> kernels;  ///< empty: all
  unsigned coarsening = 0;           ///< 0: the default of each strategy
  unsigned repetitions = 31;         ///< maximum runs of each kernel
  output_format format = output_format::table;
  bool variants = false;
};

struct link_options {
  output_format format = output_format::table;
};

struct host_options {
  std::vector<std::uint64_t> sizes{std::uint64_t{256} << 10U, std::uint64_t{256} << 20U};
  std::vector<data_set> data{data_set::text, data_set::random, data_set::one_letter};
  std::vector<std::string> kernels;  ///< empty: all
  unsigned repetitions = 5;
  output_format format = output_format::table;
};

/// `segments`, `pairs`, `samples` and `units` have only the option --help.
struct segments_options {};
struct pairs_options {};
struct samples_options {};
struct units_options {};

struct decompress_command {
  decompress_options options;
  output_format format = output_format::table;
};

struct decode_command {
  decode_options options;
  output_format format = output_format::table;
};

/// Help to print; nothing is measured.
struct help_text {
  std::string text;
};

using request = std::variant<help_text, kernels_options, link_options, host_options, segments_options, pairs_options,
                             samples_options, units_options, decompress_command, decode_command>;

/// Parses `arguments`, without the name of the program. `device_kernels` and `host_kernels` are the names that --kernel
/// accepts. Throws config::usage_error.
request parse_options(const std::vector<std::string>& arguments, std::span<const std::string_view> device_kernels,
                      std::span<const std::string_view> host_kernels);

}  // namespace gpuhist::bench
