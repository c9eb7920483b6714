// The command line: good and bad values of every option, and the difference between options and inputs.
#include "config/option_values.hpp"
#include "config/options.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using gpuhist::config::information;
using gpuhist::config::options;
using gpuhist::config::snapshot_interval;
using gpuhist::config::usage_error;
using gpuhist::test::usage_error_of;

namespace {

using words = std::vector<std::string>;

std::variant<options, information> parse(const words& arguments) {
  std::vector<const char*> argv = {"gpuhist"};
  for (const std::string& each : arguments) argv.push_back(each.c_str());
  argv.push_back(nullptr);
  return gpuhist::config::parse_command_line(static_cast<int>(argv.size()) - 1, argv.data());
}

options typed(const words& arguments) { return std::get<options>(parse(arguments)); }

std::string error_of(const words& arguments) {
  return usage_error_of([&] { parse(arguments); });
}

}  // namespace

TEST_CASE("an empty command line gives the documented defaults") {
  const options o = typed({});
  CHECK(o.inputs.empty());
  CHECK(o.run.counting.schemes == words{"classes"});
  CHECK(o.run.counting.counting_engine == gpuhist::engine::automatic);
  CHECK(o.run.format.empty());
  CHECK_FALSE(o.run.counting.threads);
  CHECK_FALSE(o.run.counting.streams);
  CHECK_FALSE(o.run.chunk_size);
  CHECK_FALSE(o.run.slots);
  CHECK(o.run.counting.kernel.empty());
  CHECK_FALSE(o.run.counting.memory_limit);
  CHECK(o.run.label == "(standard input)");
  CHECK_FALSE(o.format);
  CHECK_FALSE(o.output);
  CHECK_FALSE(o.run.snapshot_every);
  CHECK_FALSE(o.run.counting.byte_counts);
  CHECK_FALSE(o.run.count_unverified);
  CHECK_FALSE(o.stats);
}

TEST_CASE("an empty argv gives the defaults") {
  const char* const none[] = {nullptr};
  CHECK(std::get<options>(gpuhist::config::parse_command_line(0, none)).run.counting.schemes == words{"classes"});
}

TEST_CASE("every option has its effect, in each of its spellings") {
  for (const words& spelling :
       {words{"-b", "letters"}, words{"-bletters"}, words{"--buckets", "letters"}, words{"--buckets=letters"}}) {
    CHECK(typed(spelling).run.counting.schemes == words{"letters"});
  }
  CHECK(typed({"--engine", "gpu"}).run.counting.counting_engine == gpuhist::engine::cuda);
  CHECK(typed({"--engine=cpu"}).run.counting.counting_engine == gpuhist::engine::host);
  CHECK(typed({"--input-format", "zstd"}).run.format == "zstd");
  CHECK(typed({"-T", "1"}).run.counting.threads == 1U);
  CHECK(typed({"-T4"}).run.counting.threads == 4U);
  CHECK(typed({"--threads", "1024"}).run.counting.threads == 1024U);
  CHECK(typed({"--streams", "64"}).run.counting.streams == 64U);
  CHECK(typed({"--kernel", "ranges"}).run.counting.kernel == "ranges");
  CHECK(typed({"--chunk-size", "1"}).run.chunk_size == 1U);
  CHECK(typed({"--chunk-size", "1GiB"}).run.chunk_size == 1073741824U);
  CHECK(typed({"--slots", "2"}).run.slots == 2U);
  CHECK(typed({"--slots", "65536"}).run.slots == 65536U);
  CHECK(typed({"--memory-limit", "2GB"}).run.counting.memory_limit == 2000000000U);
  CHECK(typed({"--memory-limit", "none"}).run.counting.memory_limit == gpuhist::config::no_memory_limit);
  CHECK(typed({"--label", "a b"}).run.label == "a b");
  CHECK(typed({"--format", "json"}).format == "json");
  CHECK(typed({"-o", "x"}).output == "x");
  CHECK(typed({"--output", "[a,b]"}).output == "[a,b]");
  CHECK_FALSE(typed({"--output", "x", "--output", "-"}).output);  // standard output
  CHECK(typed({"--output", "fd:3"}).output == "fd:3");
  CHECK(typed({"--output", "./fd:x"}).output == "./fd:x");
  CHECK(typed({"--byte-counts"}).run.counting.byte_counts);
  CHECK(typed({"--count-unverified"}).run.count_unverified);
  CHECK(typed({"--stats"}).stats);
  CHECK(typed({"--stats", "--stats"}).stats);
}

TEST_CASE("a snapshot interval is a time or a size, depending on its unit") {
  CHECK(typed({"--snapshot-every", "1s"}).run.snapshot_every == snapshot_interval(1000ms));
  CHECK(typed({"--snapshot-every", "500ms"}).run.snapshot_every == snapshot_interval(500ms));
  CHECK(typed({"--snapshot-every", "5m"}).run.snapshot_every == snapshot_interval(5min));
  CHECK(typed({"--snapshot-every", "5M"}).run.snapshot_every == snapshot_interval(std::uint64_t{5} << 20U));
  CHECK(typed({"--snapshot-every", "64MiB"}).run.snapshot_every == snapshot_interval(std::uint64_t{64} << 20U));
  CHECK(typed({"--snapshot-every", "10B"}).run.snapshot_every == snapshot_interval(std::uint64_t{10}));
}

TEST_CASE("a window is an amount of text, a time or a number of lines, depending on its unit") {
  using measure = gpuhist::window_options::measure;
  const auto check = [](const words& arguments, measure measured_in, std::uint64_t length, std::uint64_t step = 0) {
    const auto found = typed(arguments).run.counting.windows;
    REQUIRE(found);
    CHECK(found->measured_in == measured_in);
    CHECK(found->length == length);
    CHECK(found->step == step);
  };
  check({"--window", "64MiB"}, measure::bytes, std::uint64_t{64} << 20U);
  check({"--window", "1B"}, measure::bytes, 1);
  check({"--window", "10s", "--step", "500ms"}, measure::milliseconds, 10'000, 500);
  check({"--step", "500ms", "--window", "10s"}, measure::milliseconds, 10'000, 500);
  check({"--window", "5m"}, measure::milliseconds, 300'000);
  check({"--window", "100000lines"}, measure::lines, 100'000);
  check({"--window", "1line"}, measure::lines, 1);
  CHECK_FALSE(typed({"--window", "1s", "--no-window"}).run.counting.windows);
  CHECK(typed({"--window", "1s", "--per-input"}).run.counting.windows->per_input);
  CHECK(error_of({"--window", "1s", "--step", "1line"}) ==
        "--step: has another unit than --window; give both in bytes, lines or time");
}

TEST_CASE("a flag has a --no- form, and the last of both applies") {
  CHECK_FALSE(typed({"--stats", "--no-stats"}).stats);
  CHECK(typed({"--no-stats", "--stats"}).stats);
  CHECK_FALSE(typed({"--no-append"}).append);
  CHECK_FALSE(typed({"-q", "--no-quiet"}).quiet);
}

TEST_CASE("--pass-through alone is raw; its value must follow '=', and the next word is an input") {
  using content = gpuhist::pass_through_options::content;
  const auto passed = [](const words& arguments) {
    const auto found = typed(arguments).run.pass_through;
    return found ? std::optional(found->forwarded) : std::nullopt;
  };
  CHECK_FALSE(passed({}));
  CHECK(passed({"--pass-through"}) == content::input);
  CHECK(passed({"--pass-through=raw"}) == content::input);
  CHECK(passed({"--pass-through=text"}) == content::text);
  CHECK(passed({"--pass-through", "--pass-through=text"}) == content::text);
  CHECK_FALSE(passed({"--pass-through=text", "--no-pass-through"}));
  const options o = typed({"--pass-through", "text"});
  CHECK(o.run.pass_through->forwarded == content::input);
  CHECK(o.inputs == words{"text"});
  CHECK(error_of({"--pass-through=bytes"}) == "--pass-through: there is no \"bytes\"; known are raw, text");
  CHECK(error_of({"--pass-through="}) == "--pass-through: there is no \"\"; known are raw, text");
}

TEST_CASE("progress is on, off, or depends on the terminal") {
  CHECK_FALSE(typed({}).progress);
  CHECK(typed({"--progress"}).progress == true);
  CHECK(typed({"--no-progress"}).progress == false);
}

TEST_CASE("devices are all or a list of numbers, and the last list applies") {
  CHECK(typed({}).run.counting.devices.empty());
  CHECK(typed({"--devices", "1,0,12"}).run.counting.devices == std::vector<unsigned>{1, 0, 12});
  CHECK(typed({"--devices", "all"}).run.counting.all_devices);
  CHECK_FALSE(typed({"--devices", "all", "--devices", "3"}).run.counting.all_devices);
  CHECK(typed({"--devices", "all", "--devices", "3"}).run.counting.devices == std::vector<unsigned>{3});
  CHECK(typed({"--devices", "3", "--devices", "all"}).run.counting.devices.empty());
}

TEST_CASE("a definition of buckets is one scheme, commas included") {
  CHECK(typed({"-b", "letters", "-b", "a=x,y;b=z", "-b", "bytes"}).run.counting.schemes ==
        words{"letters", "a=x,y;b=z", "bytes"});
  CHECK(typed({"--buckets=n:a=,"}).run.counting.schemes == words{"n:a=,"});
}

TEST_CASE("bucket names are split at commas, kept in order, and repeatable") {
  CHECK(typed({"-b", "letters,bytes", "--buckets=classes"}).run.counting.schemes ==
        words{"letters", "bytes", "classes"});
}

TEST_CASE("the last value of a repeated option applies") {
  CHECK(typed({"-T", "2", "--threads", "3"}).run.counting.threads == 3U);
  CHECK(typed({"--format", "json", "--format", "table"}).format == "table");
}

TEST_CASE("words that are not options are inputs, in order and unchanged") {
  CHECK(typed({"a", "--stats", "-", "b", "-T", "2", "a"}).inputs == words{"a", "-", "b", "a"});
  const words odd = {"[a,b]", "{}", "%%", "++", "a=b", "", "/x", "a,b", "caf\xe9", "[]"};
  CHECK(typed(odd).inputs == odd);
}

TEST_CASE("every word after -- is an input") {
  CHECK(typed({"a", "--", "--stats", "-x", "--", "-", "[b]"}).inputs == words{"a", "--stats", "-x", "--", "-", "[b]"});
  CHECK_FALSE(typed({"--", "--stats"}).stats);
  CHECK(typed({"--", "--output="}).inputs == words{"--output="});
}

TEST_CASE("the error of a bad value is one line with the option, the error and the remedy") {
  const std::vector<std::pair<words, std::string>> bad = {
      {{"-T", "0"}, "--threads: 0 is out of range; give 1 to 1024"},
      {{"-T", "1025"}, "--threads: 1025 is out of range; give 1 to 1024"},
      {{"--threads=99999999999"}, "--threads: 99999999999 is out of range; give 1 to 1024"},
      {{"-T", "two"}, "--threads: \"two\" is not a whole number; give 1 to 1024"},
      {{"-T", "-1"}, "--threads: \"-1\" is not a whole number; give 1 to 1024"},
      {{"-T", "2.5"}, "--threads: \"2.5\" is not a whole number; give 1 to 1024"},
      {{"-T", ""}, "--threads: \"\" is not a whole number; give 1 to 1024"},
      {{"-T", "0", "-T", "2"}, "--threads: 0 is out of range; give 1 to 1024"},
      {{"--streams", "0"}, "--streams: 0 is out of range; give 1 to 64"},
      {{"--streams", "65"}, "--streams: 65 is out of range; give 1 to 64"},
      {{"--slots", "1"}, "--slots: 1 is out of range; give 2 to 65536"},
      {{"--slots", "65537"}, "--slots: 65537 is out of range; give 2 to 65536"},
      {{"--chunk-size", "0"}, "--chunk-size: 0 is out of range; give 1 byte to 1GiB"},
      {{"--chunk-size", "1073741825"}, "--chunk-size: 1073741825 is out of range; give 1 byte to 1GiB"},
      {{"--chunk-size", "4Q"}, "--chunk-size: \"4Q\" is not a size; good forms are 65536, 64K (= 64KiB), 16MiB, 1GB"},
      {{"--memory-limit", "lots"},
       "--memory-limit: \"lots\" is not a size; good forms are 65536, 64K (= 64KiB), 16MiB, 1GB"},
      {{"--memory-limit", "0"}, "--memory-limit: 0 is not a valid limit; give a size such as 512MiB or 2GiB, or none"},
      {{"-b", "letters,,bytes"}, "--buckets: a name is missing in \"letters,,bytes\"; give names separated by commas"},
      {{"-b", ""}, "--buckets: a name is missing in \"\"; give names separated by commas"},
      {{"-b", "letters,"}, "--buckets: a name is missing in \"letters,\"; give names separated by commas"},
      {{"--engine", ""}, "--engine: there is no \"\"; known are auto, cuda, host, gpu, cpu"},
      {{"--input-format", ""},
       "--input-format: the value is empty; give one of auto, raw, zstd, gzip, xz, lzma, lzip, bzip2, lz4, compress, "
       "snappy, hadoop-snappy, hadoop-lz4, brotli, zlib, deflate, tar, zip, 7z, cpio, ar, rpm"},
      {{"--format", ""}, "--format: the value is empty; give table, json, jsonl, csv or prometheus"},
      {{"--label", ""}, "--label: the value is empty; give a name"},
      {{"-o", ""}, "--output: the value is empty; give a path, or fd:N for a descriptor"},
      {{"-o", "fd:x"}, "--output: \"fd:x\" names no descriptor; give fd:N with a number, or ./fd:x for a file"},
      {{"-o", "fd:"}, "--output: \"fd:\" names no descriptor; give fd:N with a number, or ./fd: for a file"},
      {{"-o", "fd:-1"}, "--output: \"fd:-1\" names no descriptor; give fd:N with a number, or ./fd:-1 for a file"},
      {{"--devices", "0,0"}, "--devices: device 0 occurs twice in \"0,0\"; give each number once"},
      {{"--devices", "0,x"},
       "--devices: \"x\" is not the number of a device; give all, or numbers separated by commas, as 0,1"},
      {{"--devices", "0,"},
       "--devices: \"\" is not the number of a device; give all, or numbers separated by commas, as 0,1"},
      {{"--devices", "all,0"},
       "--devices: \"all\" is not the number of a device; give all, or numbers separated by commas, as 0,1"},
      {{"--config", ""}, "--config: the value is empty; give a path"},
      {{"--generate", "bsh"}, "--generate: \"bsh\" cannot be generated; did you mean bash?"},
      {{"--generate", "tcl"}, "--generate: \"tcl\" cannot be generated; give man, bash, zsh, fish or options"},
      {{"--snapshot-every", "10"},
       "--snapshot-every: \"10\" has no unit (seconds or bytes); good forms are 500ms, 1s, 5m, 64MiB"},
      {{"--snapshot-every", "0s"}, "--snapshot-every: 0s is not an interval; good forms are 500ms, 1s, 5m, 64MiB"},
      {{"--snapshot-every", "0K"}, "--snapshot-every: 0K is not an interval; good forms are 500ms, 1s, 5m, 64MiB"},
      {{"--snapshot-every", "often"},
       "--snapshot-every: \"often\" is neither a duration nor a size; good forms are 500ms, 1s, 5m, 64MiB"},
      {{"--snapshot-every", ""},
       "--snapshot-every: \"\" is neither a duration nor a size; good forms are 500ms, 1s, 5m, 64MiB"},
      {{"--window", "10"},
       "--window: \"10\" has no unit (bytes, seconds or lines); good forms are 64MiB, 10s, 100000lines"},
      {{"--window", "0lines"}, "--window: 0lines is not a window; good forms are 64MiB, 10s, 100000lines"},
      {{"--step", "0s"},
       "--step: \"0s\" is neither a size, a duration nor a number of lines; good forms are 64MiB, 10s, 100000lines"},
      {{"--window", "99999999999999999999lines"},
       "--window: \"99999999999999999999lines\" is neither a size, a duration nor a number of lines; good forms are "
       "64MiB, 10s, 100000lines"},
      {{"--window", "lines"},
       "--window: \"lines\" is neither a size, a duration nor a number of lines; good forms are 64MiB, 10s, "
       "100000lines"},
      {{"--snapshot-every", "9223372036854775807ms"},
       "--snapshot-every: \"9223372036854775807ms\" is longer than the longest duration, 876000h (100 years)"},
      {{"--window", "876001h"}, "--window: \"876001h\" is longer than the longest duration, 876000h (100 years)"},
      {{"--step", "9999999999999999999999s"},
       "--step: \"9999999999999999999999s\" is longer than the longest duration, 876000h (100 years)"},
      {{"--snapshot-every", "-1s"},
       "--snapshot-every: \"-1s\" is neither a duration nor a size; good forms are 500ms, 1s, 5m, 64MiB"},
  };
  for (const auto& [arguments, message] : bad) CHECK(error_of(arguments) == message);
}

TEST_CASE("a missing value and an empty value have different errors") {
  CHECK(error_of({"--threads"}) == "--threads: the value is missing; write --threads N");
  CHECK(error_of({"-T"}) == "--threads: the value is missing; write --threads N");
  CHECK(error_of({"a", "-b"}) == "--buckets: the value is missing; write --buckets SCHEMES");
  CHECK(error_of({"--chunk-size="}) ==
        "--chunk-size: \"\" is not a size; good forms are 65536, 64K (= 64KiB), 16MiB, 1GB");
  CHECK(error_of({"--output=", "x"}) == "--output: the value is empty; give a path, or fd:N for a descriptor");
}

TEST_CASE("a flag and a --no- form take no value") {
  for (const std::string flag : {"--stats", "--no-stats", "--byte-counts", "--count-unverified", "--version",
                                 "--no-output", "--no-threads", "--no-config"}) {
    for (const std::string value : {"=1", "=true", "=no", "=false", "="}) {
      CHECK(error_of({flag + value}) == flag + ": takes no value; write " + flag + " alone");
    }
  }
}

TEST_CASE("a --no- form unsets earlier values, and later values apply") {
  CHECK_FALSE(typed({"--threads", "3", "--no-threads"}).run.counting.threads);
  CHECK(typed({"--no-threads", "--threads", "3"}).run.counting.threads == 3U);
  CHECK(typed({"-b", "letters", "--no-buckets"}).run.counting.schemes == words{"classes"});
  CHECK(typed({"-b", "letters", "--no-buckets", "-b", "bytes", "-b", "utf8"}).run.counting.schemes ==
        words{"bytes", "utf8"});
  CHECK(typed({"--devices", "all", "--no-devices", "--devices", "1"}).run.counting.devices == std::vector<unsigned>{1});
  CHECK_FALSE(typed({"--devices", "all", "--no-devices"}).run.counting.all_devices);
  CHECK(error_of({"--threads", "0", "--no-threads"}).starts_with("--threads: 0 is out of range"));
  CHECK(error_of({"devices", "--no-threads"}).starts_with("--threads: not an option of gpuhist devices"));
  CHECK(error_of({"--output", "--no-label"}).starts_with("--output: the value is missing, --no-label is an option"));
}

TEST_CASE("the last form of a flag applies") {
  CHECK_FALSE(typed({"--stats", "--no-stats"}).stats);
  CHECK(typed({"--no-stats", "--stats"}).stats);
  CHECK(typed({"-qq", "--stats"}).quiet);
}

TEST_CASE("an unknown option is an error that suggests the nearest one") {
  CHECK(error_of({"--thread", "2"}) == "--thread: unknown option; did you mean --threads?");
  CHECK(error_of({"--chunksize=4M"}) == "--chunksize: unknown option; did you mean --chunk-size?");
  CHECK(error_of({"-stat"}) == "-stat: unknown option; did you mean --stats?");
  CHECK(error_of({"a", "--helpp"}) == "--helpp: unknown option; did you mean --help?");
  CHECK(error_of({"--thrads="}) == "--thrads: unknown option; did you mean --threads?");
  CHECK(error_of({"--out", "x"}) == "--out: unknown option; did you mean --output?");
  CHECK(error_of({"--snapshot=1s"}) == "--snapshot: unknown option; did you mean --snapshot-every?");
  CHECK(error_of({"--no-progres"}) == "--no-progres: unknown option; did you mean --no-progress?");
  CHECK(error_of({"-byte-counts"}) ==
        "-byte-counts: unknown option; did you mean --byte-counts? (or -b yte-counts, with a blank)");
  CHECK(error_of({"--no-thread"}) == "--no-thread: unknown option; did you mean --no-threads?");
  CHECK(error_of({"--no-help"}) == "--no-help: unknown option; --help is not a setting, so it has no --no- form");
  const std::string help = "see gpuhist --help (a file with this name is given after --)";
  CHECK(error_of({"--nothing-like-it"}) == "--nothing-like-it: unknown option; " + help);
  CHECK(error_of({"--plot"}) == "--plot: unknown option; " + help);
  CHECK(error_of({"--no-plot"}) == "--no-plot: unknown option; " + help);
  CHECK(error_of({"-x"}) == "-x: unknown option; " + help);
  CHECK(error_of({"-5"}) == "-5: unknown option; " + help);
  CHECK(error_of({"--a\nb"}) == "--a\\x0ab: unknown option; " + help);
}

TEST_CASE("a long option with one dash is not parsed as a short option with a value") {
  CHECK(error_of({"-buckets", "letters"}) ==
        "-buckets: unknown option; did you mean --buckets? (or -b uckets, with a blank)");
  CHECK(error_of({"-output=x"}) == "-output=x: unknown option; did you mean --output? (or -o utput=x, with a blank)");
  CHECK(error_of({"-out", "x"}) == "-out: unknown option; did you mean --output? (or -o ut, with a blank)");
  CHECK(typed({"-oresult.json"}).output == "result.json");
  CHECK(typed({"-bbytes"}).run.counting.schemes == words{"bytes"});
}

TEST_CASE("a short option with an equals sign is refused") {
  CHECK(error_of({"-o=x"}) == "-o=x: a short option has no '=' before its value; write -o x");
  CHECK(error_of({"-T=4"}) == "-T=4: a short option has no '=' before its value; write -T 4");
  CHECK(typed({"-o", "=x"}).output == "=x");
}

TEST_CASE("an option is not the value of the option before it, unless it follows an equals sign") {
  CHECK(error_of({"--output", "--stats", "x"}) ==
        "--output: the value is missing, --stats is an option; write --output FILE, or --output=--stats if that is "
        "the value");
  CHECK(error_of({"-o", "-q"}).starts_with("--output: the value is missing, -q is an option"));
  CHECK(typed({"--output=--stats"}).output == "--stats");
}

TEST_CASE("a first word that names a command is the command; elsewhere it is a file") {
  using gpuhist::config::command;
  CHECK(typed({"a"}).what == command::count);
  CHECK(typed({"report", "a", "report"}).what == command::report);
  CHECK(typed({"report", "a", "report"}).inputs == words{"a", "report"});
  CHECK(typed({"devices"}).what == command::devices);
  CHECK(typed({"devices"}).inputs.empty());
  for (const words& elsewhere : {words{"./report"}, words{"a", "report"}, words{"--", "devices"}}) {
    CHECK(typed(elsewhere).what == command::count);
    CHECK(typed(elsewhere).inputs.size() == elsewhere.size() - (elsewhere.front() == "--" ? 1 : 0));
  }
}

TEST_CASE("an option that a command does not take is refused, and the message names the commands that take it") {
  CHECK(error_of({"report", "--threads", "2", "x"}) ==
        "--threads: not an option of gpuhist report, but of gpuhist, gpuhist changes, gpuhist diff, gpuhist sample, "
        "gpuhist repack, "
        "gpuhist filter and gpuhist batch; "
        "see gpuhist "
        "--help "
        "report");
  CHECK(error_of({"devices", "-b", "letters"}) ==
        "--buckets: not an option of gpuhist devices, but of gpuhist, gpuhist changes, gpuhist diff, gpuhist sample, "
        "gpuhist report, "
        "gpuhist filter, "
        "gpuhist "
        "batch and gpuhist merge; see gpuhist --help devices");
  const options o = typed({"report", "-b", "bytes", "--ignore-case", "--format", "csv", "-o", "x", "--append",
                           "--totals-only", "-q", "result.json"});
  CHECK(o.run.counting.schemes == words{"bytes"});
  CHECK((o.run.counting.ignore_case && o.append && o.totals_only && o.quiet));
  CHECK(typed({"devices", "--format", "json", "-o", "x"}).output == "x");
}

TEST_CASE("the options of the table of inputs") {
  const options o = typed({"--columns", "bytes,digit", "--columns", "a / b", "--sort=-bytes", "--top", "5", "x"});
  CHECK(o.columns == words{"bytes", "digit", "a / b"});
  CHECK(o.sort == "-bytes");
  CHECK(o.top == 5U);
  CHECK(error_of({"--top", "0"}).starts_with("--top: 0 is out of range"));
  CHECK(error_of({"--columns", "bytes,,lines"}).starts_with("--columns: a name is missing"));
  CHECK(error_of({"--sort", ""}).starts_with("--sort: "));
  CHECK(typed({"report", "--sort", "bytes", "--top", "2"}).top == 2U);
}

TEST_CASE(
    "a unit is a name or a size, a delimiter is one byte, and --top is a number of inputs or a ranking of units") {
  using kind = gpuhist::unit_options::kind;
  const auto units = [](words arguments, const std::string& each) {
    arguments.insert(arguments.end(), {"--each", each});
    return typed(arguments).run.counting.units.value();
  };
  CHECK_FALSE(typed({}).run.counting.units);
  CHECK(units({}, "line").each == kind::line);
  CHECK(units({}, "record").each == kind::record);
  CHECK(units({}, "input").each == kind::input);
  CHECK(units({}, "window").each == kind::window);
  CHECK(units({}, "4KiB").each == kind::part);
  CHECK(units({}, "4KiB").part_bytes == 4096);
  for (const char* const bad : {"lines", "0", "2GiB", ""}) {
    CHECK(error_of({"--each", bad}) ==
          "--each: \"" + std::string(bad) +
              "\" is no unit; give line, record, input, window or a size of 1 byte to 1GiB");
  }
  CHECK(units({"--delimiter", ","}, "record").delimiter == ',');
  CHECK(units({"--delimiter", "\\"}, "record").delimiter == '\\');
  CHECK(units({"--delimiter", "\\0"}, "record").delimiter == '\0');
  CHECK(units({"--delimiter", "\\n"}, "record").delimiter == '\n');
  CHECK(units({"--delimiter", "\\x1e"}, "record").delimiter == '\x1e');
  CHECK(error_of({"--delimiter", "ab"}).starts_with("--delimiter: \"ab\" is not one byte"));
  CHECK(error_of({"--delimiter", "\\n\\r"}).starts_with("--delimiter: "));
  CHECK(units({"--where", "digit > 0.5", "--where", "x=bytes > 9"}, "line").rules ==
        words{"digit > 0.5", "x=bytes > 9"});
  CHECK(units({"--distribution-of", "bytes"}, "line").distribution_of == "bytes");
  const options both = typed({"--top", "5", "--top", "10:bytes / words", "--each", "line"});
  CHECK(both.top == 5U);
  CHECK(both.run.counting.units->top == 10);
  CHECK(both.run.counting.units->top_by == "bytes / words");
  CHECK(error_of({"--top", "0:bytes"}) == "--top: 0 is out of range; give 1 to 1000000");
  CHECK(error_of({"--top", "3:"}).starts_with("--top: the value is empty; give a formula"));
  CHECK(error_of({"--top", "x"}).ends_with(", or all; or N:FORMULA for the units of --each"));
}

TEST_CASE("the options of repack") {
  const options o = typed({"repack", "a", "b", "-o", "c", "--frame-size", "2MiB", "--level", "19", "--force", "-q"});
  CHECK(o.inputs == words{"a", "b"});
  CHECK(o.output == "c");
  CHECK(o.frame_size == 2U << 20U);
  CHECK(o.level == 19);
  CHECK((o.force && o.quiet));
  CHECK(error_of({"repack", "--level", "23"}) == "--level: 23 is out of range; give 1 to 22");
  CHECK(error_of({"repack", "--frame-size", "0"}) == "--frame-size: 0 is out of range; give 1 byte to 1GiB");
  CHECK(error_of({"--force", "a"})
            .starts_with("--force: not an option of gpuhist, but of gpuhist repack and gpuhist filter; see"));
}

TEST_CASE("the options of filter") {
  const options o = typed({"filter", "--keep-if", "digit > 0.5", "--result", "r", "--each", "record", "--delimiter",
                           ",", "-o", "c", "-q", "-r", "a"});
  CHECK(o.what == gpuhist::config::command::filter);
  CHECK(o.inputs == words{"a"});
  CHECK(o.run.counting.units->rules == words{"digit > 0.5"});
  CHECK(o.run.counting.units->filter == gpuhist::unit_filter::keep);
  CHECK(o.result == "r");
  CHECK(o.output == "c");
  CHECK(o.run.counting.units->delimiter == ',');
  CHECK((o.quiet && o.run.trees));
  const options both = typed({"filter", "--drop-if", "bytes > 9", "--preset", "nemo,gopher", "--preset", "nemo"});
  CHECK(both.given.at("preset") == words{"nemo,gopher", "nemo"});
  const words& rules = both.run.counting.units->rules;
  CHECK(rules.front().starts_with("nemo.empty="));
  CHECK(rules.back() == "bytes > 9");
  using gpuhist::missing_field;
  CHECK(both.run.counting.units->without_field == missing_field::drop);
  CHECK(o.run.counting.units->without_field == missing_field::by_condition);
  for (const auto& [action, meaning] : {std::pair{"keep", missing_field::keep}, {"fail", missing_field::fail}}) {
    const options kept = typed({"filter", "--without-field", action, "--preset", "nemo", "--jsonl-field", "text"});
    CHECK(kept.run.counting.units->without_field == meaning);
  }
  CHECK(error_of({"filter", "--drop-if", "bytes > 9", "--without-field", "drop"}) ==
        "--without-field: requires --jsonl-field");
  CHECK(error_of({"filter", "--keep-if", ""}).starts_with("--keep-if: the value is empty; give a condition"));
  CHECK(error_of({"filter", "--drop-if", ""}).starts_with("--drop-if: the value is empty; give a condition"));
  CHECK(error_of({"filter", "--result", ""}).starts_with("--result: "));
  CHECK(error_of({"filter", "--preset", ""}).starts_with("--preset: "));
  for (const char* const option : {"--where", "--format", "--pass-through=text", "--follow"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    CHECK(error_of({"filter", option, "table", "a"}).starts_with(name + ": not an option of gpuhist filter, but of "));
  }
  for (const char* const option : {"--keep-if", "--drop-if", "--result"}) {
    CHECK(error_of({option, "x", "a"})
              .starts_with(std::string(option) +
                           ": not an option of gpuhist, but of gpuhist filter; see gpuhist --help"));
  }
}

TEST_CASE("a rule has a name before a single equals sign, or its text is its name") {
  using gpuhist::config::named_condition;
  using gpuhist::config::parse_rule;
  CHECK(parse_rule("short=words < 50") == named_condition{.name = "short", .condition = "words < 50"});
  CHECK(parse_rule(" a.b-c_1 = words == 50") == named_condition{.name = "a.b-c_1", .condition = "words == 50"});
  for (const char* const text : {"words==50", "words == 50", "words<=50", "words>=50", "words!=50", "words > 5",
                                 "lines", "\"a=b\" > 1", "digit > 0.5 || x=1", "=words < 5", ""}) {
    CAPTURE(text);
    CHECK(parse_rule(text) == named_condition{.name = text, .condition = text});
  }
  CHECK(parse_rule("x=") == named_condition{.name = "x", .condition = ""});
}

TEST_CASE("every error is one line") {
  for (const words& arguments : {words{"-T", "a\nb"}, words{"--chunk-size", "\n"}, words{"-o", "fd:\n"},
                                 words{"--snapshot-every", "\n1s"}, words{"-b", "a\n,"}}) {
    const std::string message = error_of(arguments);
    CAPTURE(message);
    CHECK(message.starts_with("--"));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("the version is that of the project") {
  CHECK(std::get<information>(parse({"--version"})).text == "gpuhist " GPUHIST_VERSION "\n");
  CHECK(std::string(GPUHIST_VERSION).size() >= 5);
}

TEST_CASE("help is printed even if another value is wrong") {
  CHECK(std::holds_alternative<information>(parse({"--threads", "0", "--help"})));
}
