#include "bench/options.hpp"

#include "config/size.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>

namespace gpuhist::bench {
namespace {

using words = std::vector<std::string>;
using names = std::span<const std::string_view>;

constexpr std::uint64_t min_size = 1024;
constexpr std::uint64_t max_host_bytes = (std::uint64_t{1} << 32U) - 1;
constexpr unsigned max_repetitions = 10'000;
constexpr unsigned max_threads = 1024;
constexpr int max_level = 22;
constexpr int max_gzip_level = 9;
constexpr std::uint64_t max_frame_bytes = std::uint64_t{1} << 30U;
constexpr std::uint64_t max_distinct_bytes = std::uint64_t{3} << 30U;  // the compressed bytes have 32-bit offsets
constexpr std::array<std::string_view, 3> format_names{"table", "json", "csv"};  // as output_format
constexpr std::array<std::string_view, 9> subcommand_names{"kernels", "pairs",    "samples",    "units", "link",
                                                           "host",    "segments", "decompress", "decode"};

constexpr std::string_view usage = R"(usage: gpuhist-bench SUBCOMMAND [OPTIONS]

  kernels     counting strategies on device memory, compared with reading only, CUB and the sequential loop
  pairs       the kernel that counts pairs of classes, compared with reading only
  samples     histograms of samples that are not bytes, compared with reading only and CUB
  units       the kernels that count classes of bytes in each line, compared with reading only
  link        pinned host-to-device copies, by chunk size and streams
  host        counting on one core: every kernel on every instruction set of this machine
  segments    counting of chunks with many short segments, on the host and on a device
  decompress  decompression of archives in parallel without counting, by number of threads
  decode      the decoder of the device and its phases, compared with libzstd or ISA-L and the link

gpuhist-bench SUBCOMMAND --help lists the options.
)";

std::string joined(names all) {
  std::string text;
  for (const std::string_view each : all) text.append(text.empty() ? "" : ", ").append(each);
  return text;
}

[[noreturn]] void refuse(std::string_view option, std::string_view typed, std::string_view category, names known) {
  std::string message = std::string(option) + (option.empty() ? "" : ": ") + config::quote(typed) + " is not a known " +
                        std::string(category);
  if (const auto meant = config::nearest_name(typed, known))
    message.append("; did you mean ").append(*meant).append("?");
  throw config::usage_error(message + " (there are " + joined(known) + ")");
}

/// The index of the typed name in `known`.
std::size_t resolve(std::string_view option, std::string_view typed, std::string_view category, names known) {
  const auto found = std::ranges::find(known, typed);
  if (found == known.end()) refuse(option, typed, category, known);
  return static_cast<std::size_t>(found - known.begin());
}

template <class T>
void add_once(std::vector<T>& to, T value) {
  if (std::ranges::find(to, value) == to.end()) to.push_back(std::move(value));
}

std::uint64_t size_of(std::string_view option, const std::string& typed) {
  const std::uint64_t size = config::parse_size(typed);
  if (size >= min_size) return size;
  throw config::usage_error(std::string(option) + ": " + config::quote(typed) +
                            " is too small to be timed; the minimum is 1KiB");
}

std::vector<std::uint64_t> sizes_of(std::string_view option, const words& typed) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& each : typed) add_once(sizes, size_of(option, each));
  return sizes;
}

std::vector<data_set> data_of(const words& typed) {
  std::vector<std::string_view> known;
  for (const data_set each : every_data_set) known.push_back(name_of(each));
  std::vector<data_set> sets;
  for (const std::string& each : typed) add_once(sets, every_data_set[resolve("--data", each, "data set", known)]);
  return sets;
}

std::vector<bins> bins_of(const words& typed) {
  std::vector<std::string_view> known;
  for (const bins each : every_bins) known.push_back(name_of(each));
  std::vector<bins> counted;
  for (const std::string& each : typed) add_once(counted, every_bins[resolve("--bins", each, "set of bins", known)]);
  return counted;
}

words kernels_of(const words& typed, names known) {
  words kernels;
  for (const std::string& each : typed) {
    resolve("--kernel", each, "kernel", known);
    add_once(kernels, each);
  }
  return kernels;
}

output_format format_of(const std::string& typed) {
  return static_cast<output_format>(resolve("--format", typed, "format", format_names));
}

/// The options of one subcommand: CLI11 splits the arguments, the values are resolved later.
class splitter {
 public:
  splitter(std::string description, std::string name) : app_(std::move(description), std::move(name)) {
    app_.allow_extras();
    app_.add_option("--format", format_, "table, json (one object per line) or csv")->type_name("FORMAT");
  }

  CLI::Option* list(const std::string& name, words& into, const std::string& description, const std::string& type) {
    return app_.add_option(name, into, description)->delimiter(',')->allow_extra_args(false)->type_name(type);
  }

  CLI::App& app() { return app_; }
  [[nodiscard]] output_format format() const { return format_of(format_); }

  /// The help, if it is requested.
  std::optional<help_text> split(words arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 requires the reverse order
    try {
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return help_text{app_.help()};
    } catch (const CLI::ParseError& error) {
      throw config::usage_error(error.what());
    }
    if (const words extra = app_.remaining(); !extra.empty()) refuse_unknown(extra.front());
    return std::nullopt;
  }

 private:
  [[noreturn]] void refuse_unknown(const std::string& argument) const {
    words with_dashes;
    for (const CLI::Option* each : app_.get_options()) with_dashes.push_back(each->get_name());
    const std::vector<std::string_view> known(with_dashes.begin(), with_dashes.end());
    refuse("", argument.substr(0, argument.find('=')), "option of " + app_.get_name(), known);
  }

  CLI::App app_;
  std::string format_ = "table";
};

/// The values as typed, of the options that CLI11 does not parse.
struct typed_kernels {
  words sizes, data, bins, kernels;
  std::string input;
};

void add_kernels_options(splitter& with, typed_kernels& typed, kernels_options& options) {
  with.list("--sizes", typed.sizes, "number of bytes to count (default 1MiB,16MiB,1GiB,4GiB)", "SIZE,...");
  with.list("--data", typed.data, "text, random, zipf, sawtooth, one-letter (default all)", "NAME,...");
  with.app().add_option("--input", typed.input, "count this file instead of the synthetic text")->type_name("FILE");
  with.list("--bins", typed.bins, "letters (8 counters), bytes (256) (default both)", "NAME,...");
  with.list("--kernel", typed.kernels, "only this kernel (repeatable; default all)", "NAME");
  with.app()
      .add_option("--coarsening", options.coarsening, "bytes per thread, for kernels with a coarsening factor")
      ->check(CLI::Range(1U, largest_coarsening))
      ->type_name("N");
  with.app()
      .add_option("--repetitions", options.repetitions, "maximum runs of each kernel (default 31)")
      ->check(CLI::Range(1U, max_repetitions))
      ->type_name("N");
  with.app().add_flag("--variants", options.variants, "also measure lane_private with other tunings");
}

request parse_kernels(const words& arguments, names kernel_names) {
  splitter with("Counting strategies on device memory, compared with reading only, CUB and the sequential loop.",
                "gpuhist-bench kernels");
  typed_kernels typed;
  kernels_options options;
  add_kernels_options(with, typed, options);
  if (auto help = with.split(arguments)) return *std::move(help);
  options.format = with.format();
  if (!typed.sizes.empty()) options.sizes = sizes_of("--sizes", typed.sizes);
  if (!typed.data.empty()) options.data = data_of(typed.data);
  if (!typed.bins.empty()) options.counted = bins_of(typed.bins);
  options.kernels = kernels_of(typed.kernels, kernel_names);
  options.input = typed.input;
  if (!options.input.empty() && std::ranges::find(options.data, data_set::text) == options.data.end()) {
    throw config::usage_error("--input: the file replaces the data set 'text', which --data does not name");
  }
  return options;
}

request parse_link(const words& arguments) {
  splitter with("Pinned host-to-device copies, by chunk size and streams.", "gpuhist-bench link");
  if (auto help = with.split(arguments)) return *std::move(help);
  return link_options{.format = with.format()};
}

request parse_host(const words& arguments, names kernel_names) {
  splitter with("Counting on one core: every kernel on every instruction set of this machine.", "gpuhist-bench host");
  words sizes, data, kernels;
  host_options options;
  with.list("--sizes", sizes, "number of bytes to count (default 256KiB,256MiB: in a cache, from memory)", "SIZE,...");
  with.list("--data", data, "text, random, zipf, sawtooth, one-letter (default text,random,one-letter)", "NAME,...");
  with.list("--kernel", kernels, "only this kernel (repeatable; default all)", "NAME");
  with.app()
      .add_option("--repetitions", options.repetitions, "runs of each kernel; the fastest is reported (default 5)")
      ->check(CLI::Range(1U, max_repetitions))
      ->type_name("N");
  if (auto help = with.split(arguments)) return *std::move(help);
  options.format = with.format();
  if (!sizes.empty()) options.sizes = sizes_of("--sizes", sizes);
  if (!data.empty()) options.data = data_of(data);
  options.kernels = kernels_of(kernels, kernel_names);
  if (std::ranges::max(options.sizes) > max_host_bytes) {
    throw config::usage_error("--sizes: host kernels count spans under 4GiB");
  }
  return options;
}

request parse_segments(const words& arguments) {
  splitter with("Counting of chunks with many short segments, on the host and on a device.", "gpuhist-bench segments");
  if (auto help = with.split(arguments)) return *std::move(help);
  return segments_options{};
}

request parse_pairs(const words& arguments) {
  splitter with("The kernel that counts pairs of classes, compared with reading only.", "gpuhist-bench pairs");
  if (auto help = with.split(arguments)) return *std::move(help);
  return pairs_options{};
}

request parse_samples(const words& arguments) {
  splitter with(
      "Histograms of integers and floating-point numbers in device memory, compared with reading only and CUB.",
      "gpuhist-bench samples");
  if (auto help = with.split(arguments)) return *std::move(help);
  return samples_options{};
}

request parse_units(const words& arguments) {
  splitter with("The kernels that count classes of bytes in each line, compared with reading only.",
                "gpuhist-bench units");
  if (auto help = with.split(arguments)) return *std::move(help);
  return units_options{};
}

request parse_decompress(const words& arguments) {
  splitter with("Decompression of archives in parallel without counting, by number of threads.",
                "gpuhist-bench decompress");
  decompress_options options;
  with.app().add_option("FILE", options.files, "archives (default: synthetic log text in frames of 8 MiB)");
  with.app()
      .add_option("--threads", options.threads, "numbers of threads (default 1,2,4 ... up to the number of cores)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1U, max_threads))
      ->type_name("N,...");
  with.app()
      .add_option("--repetitions", options.rounds,
                  "runs of each number of threads, in turn; the fastest is reported (default 5)")
      ->check(CLI::Range(1U, max_repetitions))
      ->type_name("N");
  if (auto help = with.split(arguments)) return *std::move(help);
  return decompress_command{.options = std::move(options), .format = with.format()};
}

/// The values as typed, of the options that CLI11 does not parse.
struct typed_decode {
  words data, frame_sizes, in_flight;
  std::string codec = "zstd";
  std::string distinct;
};

void add_decode_options(splitter& with, typed_decode& typed, decode_options& options) {
  with.list("--data", typed.data, "text, random, zipf, sawtooth, one-letter (default text,random,zipf,one-letter)",
            "NAME,...");
  with.app()
      .add_option("--file", options.file, "also measure the text of this file; without --data only this")
      ->type_name("FILE");
  with.app()
      .add_option("--codec", typed.codec, "zstd, or gzip: frames are members (default zstd)")
      ->check(CLI::IsMember({"zstd", "gzip"}))
      ->type_name("NAME");
  with.app()
      .add_option("--level", options.level, "compression level (default 3, of gzip 6)")
      ->check(CLI::Range(1, max_level))
      ->type_name("N");
  with.list("--frame-sizes", typed.frame_sizes, "text of one frame (default 64KiB,1MiB,8MiB)", "SIZE,...");
  with.list("--in-flight", typed.in_flight, "text of one batch (default 3968MiB), less if device memory is short",
            "SIZE,...");
  with.app()
      .add_option("--distinct", typed.distinct, "text that is compressed, and repeated in a batch (default 1GiB)")
      ->type_name("SIZE");
  with.app()
      .add_option("--repetitions", options.rounds, "runs of each decoder; medians are reported (default 5)")
      ->check(CLI::Range(1U, max_repetitions))
      ->type_name("N");
  with.app()
      .add_option("--peer", options.peer, "libnvcomp.so (version 5 or 6): also measure its decoder")
      ->type_name("FILE");
}

request parse_decode(const words& arguments) {
  splitter with(
      "The decoder of the device and its phases, compared with libzstd or ISA-L on all cores and with the link.",
      "gpuhist-bench decode");
  typed_decode typed;
  decode_options options;
  add_decode_options(with, typed, options);
  if (auto help = with.split(arguments)) return *std::move(help);
  if (typed.codec == "gzip") options.coded = codec::gzip;
  if (options.coded == codec::gzip && options.level.value_or(0) > max_gzip_level) {
    throw config::usage_error("--level: the maximum of gzip is 9");
  }
  if (!options.file.empty()) options.data.clear();
  if (!typed.data.empty()) options.data = data_of(typed.data);
  if (!typed.frame_sizes.empty()) options.frame_sizes = sizes_of("--frame-sizes", typed.frame_sizes);
  if (!typed.in_flight.empty()) options.in_flight = sizes_of("--in-flight", typed.in_flight);
  if (!typed.distinct.empty()) options.distinct_bytes = size_of("--distinct", typed.distinct);
  if (std::ranges::max(options.frame_sizes) > max_frame_bytes) {
    throw config::usage_error("--frame-sizes: the maximum is 1GiB");
  }
  if (options.distinct_bytes > max_distinct_bytes) throw config::usage_error("--distinct: the maximum is 3GiB");
  return decode_command{.options = std::move(options), .format = with.format()};
}

}  // namespace

request parse_options(const words& arguments, names device_kernels, names host_kernels) {
  if (arguments.empty())
    throw config::usage_error("the subcommand is missing (there are " + joined(subcommand_names) + ")");
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") return help_text{std::string(usage)};
  const words rest(arguments.begin() + 1, arguments.end());
  const std::string_view command = subcommand_names[resolve("", first, "subcommand", subcommand_names)];
  if (command == "kernels") return parse_kernels(rest, device_kernels);
  if (command == "decompress") return parse_decompress(rest);
  if (command == "decode") return parse_decode(rest);
  if (command == "segments") return parse_segments(rest);
  if (command == "pairs") return parse_pairs(rest);
  if (command == "samples") return parse_samples(rest);
  if (command == "units") return parse_units(rest);
  return command == "host" ? parse_host(rest, host_kernels) : parse_link(rest);
}

}  // namespace gpuhist::bench
