// The command line of gpuhist-bench: its values, and errors with suggestions.
#include "bench/options.hpp"
#include "config/usage_error.hpp"

#include <doctest/doctest.h>

using namespace gpuhist::bench;
using gpuhist::config::usage_error;

namespace {

constexpr std::array<std::string_view, 3> known{"global_atomic", "lane_private", "cub_even"};
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

constexpr std::array<std::string_view, 2> host_known{"ranges", "tables"};

request parse(const std::vector<std::string>& arguments) { return parse_options(arguments, known, host_known); }

kernels_options kernels(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "kernels");
  return std::get<kernels_options>(parse(arguments));
}

}  // namespace

TEST_CASE("without options everything is measured") {
  const kernels_options options = kernels({});
  CHECK(options.sizes == std::vector<std::uint64_t>{mib, 16 * mib, 1024 * mib, 4096 * mib});
  CHECK(options.data.size() == 5);
  CHECK(options.counted == std::vector{bins::letters, bins::bytes});
  CHECK(options.kernels.empty());
  CHECK(options.input.empty());
  CHECK(options.coarsening == 0);
  CHECK(options.format == output_format::table);
  CHECK_FALSE(options.variants);
}

TEST_CASE("lists are separated by commas, may be repeated, and have no duplicates") {
  const kernels_options options =
      kernels({"--sizes", "64K,1MiB", "--sizes=65536", "--data", "zipf,one-letter", "--bins", "bytes", "--kernel",
               "lane_private", "--kernel", "cub_even,lane_private"});
  CHECK(options.sizes == std::vector<std::uint64_t>{65536, mib});
  CHECK(options.data == std::vector{data_set::zipf, data_set::one_letter});
  CHECK(options.counted == std::vector{bins::bytes});
  CHECK(options.kernels == std::vector<std::string>{"lane_private", "cub_even"});
}

TEST_CASE("the other options of kernels, and of link") {
  const kernels_options options =
      kernels({"--input", "a,b.log", "--coarsening", "16", "--repetitions", "7", "--format", "csv", "--variants"});
  CHECK(options.input == "a,b.log");
  CHECK(options.coarsening == 16);
  CHECK(options.repetitions == 7);
  CHECK(options.format == output_format::csv);
  CHECK(options.variants);
  CHECK(std::get<link_options>(parse({"link", "--format", "json"})).format == output_format::json);
  CHECK(std::get<link_options>(parse({"link"})).format == output_format::table);
}

TEST_CASE("the options of host: its own kernels; by default a size in cache and a size in memory") {
  const auto all = std::get<host_options>(parse({"host"}));
  CHECK(all.sizes == std::vector<std::uint64_t>{mib / 4, 256 * mib});
  CHECK(all.data == std::vector{data_set::text, data_set::random, data_set::one_letter});
  CHECK(all.kernels.empty());
  const auto some = std::get<host_options>(parse(
      {"host", "--kernel", "tables", "--sizes", "4KiB", "--data", "zipf", "--repetitions", "3", "--format", "csv"}));
  CHECK(some.kernels == std::vector<std::string>{"tables"});
  CHECK(some.sizes == std::vector<std::uint64_t>{4096});
  CHECK(some.data == std::vector{data_set::zipf});
  CHECK(some.repetitions == 3);
  CHECK(some.format == output_format::csv);
  CHECK_THROWS_WITH_AS(parse({"host", "--kernel", "range"}), doctest::Contains("did you mean ranges?"), usage_error);
  CHECK_THROWS_AS(parse({"host", "--sizes", "4GiB"}), usage_error);
  CHECK_THROWS_AS(parse({"host", "--bins", "letters"}), usage_error);
}

TEST_CASE("the options of decompress: archives or none; numbers of threads in the given order") {
  const auto none = std::get<decompress_command>(parse({"decompress"}));
  CHECK(none.options.files.empty());
  CHECK(none.options.threads.empty());
  CHECK(none.options.rounds == 5);
  const auto some = std::get<decompress_command>(
      parse({"decompress", "a.zst", "--threads", "16,1", "b.gz", "--repetitions", "2", "--format", "json"}));
  CHECK(some.options.files == std::vector<std::filesystem::path>{"a.zst", "b.gz"});
  CHECK(some.options.threads == std::vector<unsigned>{16, 1});
  CHECK(some.options.rounds == 2);
  CHECK(some.format == output_format::json);
  CHECK_THROWS_AS(parse({"decompress", "--threads", "0"}), usage_error);
  CHECK_THROWS_WITH_AS(parse({"decompress", "--thread", "1"}), doctest::Contains("did you mean --threads?"),
                       usage_error);
}

TEST_CASE("the options of decode: a file replaces the data sets unless --data names some") {
  const auto decode = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "decode");
    return std::get<decode_command>(parse(arguments));
  };
  const decode_options none = decode({}).options;
  CHECK(none.data == std::vector{data_set::text, data_set::random, data_set::zipf, data_set::one_letter});
  CHECK(none.level == 3);
  CHECK(none.frame_sizes == std::vector<std::uint64_t>{65536, mib, 8 * mib});
  CHECK(none.in_flight == std::vector<std::uint64_t>{3968 * mib});
  CHECK(none.distinct_bytes == 1024 * mib);
  CHECK(none.rounds == 5);
  CHECK(none.peer.empty());
  const decode_command some = decode({"--file", "a,b.log", "--level", "19", "--frame-sizes", "4KiB,1MiB", "--in-flight",
                                      "1GiB", "--in-flight=64MiB", "--distinct", "100MiB", "--repetitions", "2",
                                      "--peer", "lib/libnvcomp.so", "--format", "json"});
  CHECK(some.options.data.empty());
  CHECK(some.options.file == "a,b.log");
  CHECK(some.options.level == 19);
  CHECK(some.options.frame_sizes == std::vector<std::uint64_t>{4096, mib});
  CHECK(some.options.in_flight == std::vector<std::uint64_t>{1024 * mib, 64 * mib});
  CHECK(some.options.distinct_bytes == 100 * mib);
  CHECK(some.options.rounds == 2);
  CHECK(some.options.peer == "lib/libnvcomp.so");
  CHECK(some.format == output_format::json);
  CHECK(decode({"--file", "log", "--data", "zipf"}).options.data == std::vector{data_set::zipf});
  for (const std::vector<std::string>& refused : {std::vector<std::string>{"--level", "0"},
                                                  {"--level", "23"},
                                                  {"--frame-sizes", "2GiB"},
                                                  {"--distinct", "4GiB"},
                                                  {"--in-flight", "1"},
                                                  {"--data", "prose"}}) {
    CAPTURE(refused.back());
    CHECK_THROWS_AS(decode(refused), usage_error);
  }
}

TEST_CASE("the error for a misspelled name suggests the nearest name") {
  const auto refused = [](const std::vector<std::string>& arguments, const char* meant) {
    CAPTURE(meant);
    CHECK_THROWS_WITH_AS(parse(arguments), doctest::Contains(meant), usage_error);
  };
  refused({"kernel"}, "did you mean kernels?");
  refused({"kernels", "--data", "texts"}, "--data: \"texts\" is not a known data set; did you mean text?");
  refused({"kernels", "--bins", "byte"}, "did you mean bytes?");
  refused({"kernels", "--kernel", "lane_privat"}, "did you mean lane_private?");
  refused({"kernels", "--format", "jsn"}, "did you mean json?");
  refused({"kernels", "--variant"}, "did you mean --variants?");
  refused({"link", "--fromat", "json"}, "did you mean --format?");
  refused({"link", "--sizes", "1MiB"}, "is not a known option of gpuhist-bench link");
}

TEST_CASE("invalid values are usage errors") {
  const auto refused = [](std::vector<std::string> arguments) {
    CAPTURE(arguments.back());
    arguments.insert(arguments.begin(), "kernels");
    CHECK_THROWS_AS(parse(arguments), usage_error);
  };
  CHECK_THROWS_AS(parse({}), usage_error);
  refused({"--sizes", "12 parsecs"});
  refused({"--sizes", "1023"});
  refused({"--coarsening", "0"});
  refused({"--coarsening", "2097153"});
  refused({"--repetitions", "many"});
  refused({"--repetitions"});
  refused({"stray"});
  refused({"--data", "zipf", "--input", "log"});
}

TEST_CASE("help may be requested in any place") {
  CHECK(std::get<help_text>(parse({"--help"})).text.find("link") != std::string::npos);
  CHECK(std::get<help_text>(parse({"kernels", "--help"})).text.find("--coarsening") != std::string::npos);
  CHECK(std::get<help_text>(parse({"kernels", "--variants", "-h"})).text.find("--sizes") != std::string::npos);
  CHECK(std::get<help_text>(parse({"link", "--help"})).text.find("--format") != std::string::npos);
}
