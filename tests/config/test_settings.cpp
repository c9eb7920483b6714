// Settings of a file, the environment and the command line: their precedence, and their places in messages.
#include "config/command_table.hpp"
#include "config/option_table.hpp"
#include "config/options.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/usage_errors.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using gpuhist::config::find_option;
using gpuhist::config::option_row;
using gpuhist::config::option_table;
using gpuhist::config::options;
using gpuhist::config::value_kind;
using gpuhist::test::usage_error_of;

namespace {

using words = std::vector<std::string>;

options typed(const words& arguments, const words& environment = {}) {
  std::vector<const char*> argv = {"gpuhist"};
  for (const std::string& each : arguments) argv.push_back(each.c_str());
  return std::get<options>(
      gpuhist::config::parse_command_line(static_cast<int>(argv.size()), argv.data(), environment));
}

std::string error_of(const words& arguments, const words& environment = {}) {
  return usage_error_of([&] { typed(arguments, environment); });
}

/// A configuration file, and messages without its directory.
class configuration {
 public:
  explicit configuration(std::string_view content) : path_(folder_.file("job.toml", content)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] options read(words more = {}, const words& environment = {}) const {
    return typed(with_config(std::move(more)), environment);
  }
  [[nodiscard]] std::string error(words more = {}, const words& environment = {}) const {
    std::string message = error_of(with_config(std::move(more)), environment);
    const std::string before = folder_ / "";
    if (message.starts_with(before)) message.erase(0, before.size());
    return message;
  }

 private:
  [[nodiscard]] words with_config(words more) const {
    more.insert(more.end(), {"--config", path_});
    return more;
  }

  gpuhist::test::temporary_folder folder_;
  std::string path_;
};

/// A good value of every kind, in the environment.
std::string good_value(const option_row& row) {
  if (row.value == "CONDITION") return "bytes > 0";
  if (row.value == "UNIT") return "line";
  if (row.key() == "rewrite") return "strip";
  if (row.value == "BYTE") return ",";
  if (row.key() == "max-errors" || row.key() == "error") return "0.1%";
  if (row.key() == "quantiles") return "50,99.9";
  if (row.key() == "match") return "error=ERROR";
  if (row.key() == "group-by" || row.key() == "then-by") return "field:1";
  if (row.key() == "event-time") return "iso";
  if (row.key() == "time-zone") return "UTC";
  switch (row.kind) {
    case value_kind::flag:
    case value_kind::number:
    case value_kind::numbers:
      return row.is_flag() ? "yes" : "3";
    case value_kind::size:
      return "64MiB";
    case value_kind::interval:
      return "2s";
    default:
      return row.choices.empty() ? "/dev/null" : std::string(row.choice_names().back());
  }
}

/// The beginning of a command line of the first command that takes the option.
words first_words_of(const option_row& row) {
  for (const gpuhist::config::command_row& each : gpuhist::config::command_table()) {
    if (row.taken_by(each.kind)) return each.name.empty() ? words{} : words{std::string(each.name)};
  }
  FAIL("no command takes it");
  return {};
}

}  // namespace

TEST_CASE("every option has a variable, whose value is used and whose name is in messages") {
  for (const option_row& row : option_table()) {
    const std::string name(row.long_name());
    CAPTURE(name);
    if (find_option(name) != &row)
      continue;  // only on the command line: files and variables set the first of that name
    if (!row.is_setting()) {
      CHECK(error_of({}, {row.variable() + "=1"}).find("no option has this variable") != std::string::npos);
      continue;
    }
    const words environment = {row.variable() + "=" + good_value(row)};
    if (const std::string error = error_of(first_words_of(row), environment); !row.rules.needs.empty()) {
      if (error.starts_with(row.variable() + ": requires --")) continue;
    }
    const options o = typed(first_words_of(row), environment);
    CHECK(o.where(name) == row.variable());
    CHECK(o.origins.size() == 1);
  }
  CHECK(typed({}, {"GPUHIST_BUCKETS=letters,bytes"}).run.counting.schemes == words{"letters", "bytes"});
  CHECK(typed({}, {"GPUHIST_CHUNK_SIZE=8MiB"}).run.chunk_size == 8388608U);
  CHECK(typed({}, {"GPUHIST_THREADS=3"}).run.counting.threads == 3U);
  CHECK(typed({}, {"GPUHIST_OUTPUT=a=b"}).output == "a=b");
}

TEST_CASE("a flag in the environment accepts all usual words for on and off") {
  for (const std::string on : {"1", "true", "yes", "on", "ON", "True"}) {
    CHECK(typed({}, {"GPUHIST_STATS=" + on}).stats);
    CHECK(typed({}, {"GPUHIST_PROGRESS=" + on}).progress == true);
  }
  for (const std::string off : {"0", "false", "no", "off", "Off"}) {
    CHECK_FALSE(typed({}, {"GPUHIST_STATS=" + off}).stats);
    CHECK(typed({}, {"GPUHIST_PROGRESS=" + off}).progress == false);
  }
  CHECK(error_of({}, {"GPUHIST_STATS=maybe"}) ==
        "GPUHIST_STATS: \"maybe\" is neither on nor off; give 1, true, yes or on, or 0, false, no or off");
}

TEST_CASE("empty variables and variables of other programs are ignored") {
  const options o = typed({}, {"GPUHIST_THREADS=", "GPUHIST_NONSENSE=", "GPUHIST=x", "PATH=/bin", "MY_GPUHIST_X=1"});
  CHECK(o.run.counting.threads == 0);
  CHECK(o.origins.empty());
}

TEST_CASE("an unknown variable is an error that suggests the nearest one") {
  CHECK(error_of({}, {"GPUHIST_THREAD=1"}) ==
        "GPUHIST_THREAD: no option has this variable name; did you mean GPUHIST_THREADS?");
  CHECK(
      error_of({}, {"GPUHIST_QQQQQQQQQ=1"}) ==
      "GPUHIST_QQQQQQQQQ: no option has this variable name; the names are those of the options, as GPUHIST_CHUNK_SIZE; "
      "unset it");
}

TEST_CASE("a file sets options by their long names, with the types of TOML") {
  const configuration file(R"(
buckets = ["letters", "bytes", "n:a=x,y"]
chunk-size = "8MiB"
memory-limit = 100_000_000
threads = 3
stats = true
progress = false
devices = [0, 2]
snapshot-every = "1s"
)");
  const options o = file.read();
  CHECK(o.run.counting.schemes == words{"letters", "bytes", "n:a=x,y"});
  CHECK(o.run.chunk_size == 8388608U);
  CHECK(o.run.counting.memory_limit == 100000000U);
  CHECK(o.run.counting.threads == 3U);
  CHECK(o.stats);
  CHECK(o.progress == false);
  CHECK(o.run.counting.devices == std::vector<unsigned>{0, 2});
  CHECK(o.run.snapshot_every == gpuhist::config::snapshot_interval(std::chrono::milliseconds(1000)));
  CHECK(o.where("--threads") == file.path() + ":5: threads");
  CHECK(o.where("--engine") == "--engine");
  CHECK(configuration("buckets = 'letters,bytes'").read().run.counting.schemes == words{"letters", "bytes"});
  CHECK(configuration("devices = 'all'").read().run.counting.all_devices);
  CHECK(configuration("devices = 1").read().run.counting.devices == std::vector<unsigned>{1});
  CHECK(configuration("").read().origins.empty());
}

TEST_CASE("an error in a file is reported with file and line") {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"\nthread = 1", "job.toml:2: thread: unknown option; did you mean threads?"},
      {"zzzzzzzz = 1",
       "job.toml:1: zzzzzzzz: unknown option; keys are the long names without their dashes, as chunk-size"},
      {"help = true", "job.toml:1: help: unknown option; keys are the long names without their dashes, as chunk-size"},
      {"stats = true\nconfig = 'x'",
       "job.toml:2: config: a configuration file cannot name another one; give --config FILE"},
      {"threads = '4'", "job.toml:1: threads: takes no string; give an integer"},
      {"threads = 1.5", "job.toml:1: threads: takes no number with a fraction; give an integer"},
      {"stats = 1", "job.toml:1: stats: takes no integer; give true or false"},
      {"label = true", "job.toml:1: label: takes no boolean; give a string"},
      {"label = 2026-01-01", "job.toml:1: label: takes no date or time; give a string"},
      {"[output]\nx = 1", "job.toml:1: output: takes no table; give a string"},
      {"format = ['json']", "job.toml:1: format: takes no array; give a string"},
      {"chunk-size = true", "job.toml:1: chunk-size: takes no boolean; give an integer, or a string such as \"8MiB\""},
      {"buckets = ['a', 1]", "job.toml:1: buckets: takes no integer; give a string, or an array of strings"},
      {"buckets = []", "job.toml:1: buckets: takes no empty array; give a string, or an array of strings"},
      {"devices = [true]", "job.toml:1: devices: takes no boolean; give \"all\", an integer, or an array of integers"},
      {"threads = 0", "job.toml:1: threads: 0 is out of range; give 1 to 1024"},
      {"threads = -1", "job.toml:1: threads: \"-1\" is not a whole number; give 1 to 1024"},
      {"devices = [1, 1]", "job.toml:1: devices: device 1 occurs twice in \"1,1\"; give each number once"},
  };
  for (const auto& [content, message] : bad) CHECK(configuration(content).error() == message);
}

TEST_CASE("invalid TOML is reported with line and column") {
  CHECK(configuration("stats = true\nstats true").error().starts_with("job.toml:2:7: not TOML: "));
  CHECK(configuration("a = 'x").error().starts_with("job.toml:1:"));
  CHECK(configuration("stats = true\nstats = true").error().starts_with("job.toml:2:"));
  CHECK(configuration("label = \"\xff\"").error().starts_with("job.toml:1:"));
}

TEST_CASE("a file that cannot be read is reported with the option or variable that names it") {
  CHECK(error_of({"--config", "/absent/x"}) == "--config: \"/absent/x\" cannot be read: No such file or directory");
  CHECK(error_of({}, {"GPUHIST_CONFIG=/"}) == "GPUHIST_CONFIG: \"/\" cannot be read: Is a directory");
  CHECK(error_of({"--config", "/dev/zero"}) ==
        "--config: \"/dev/zero\" is larger than 1MiB, the limit of a configuration file");
}

TEST_CASE("a higher level replaces a lower one: file, environment, command line") {
  const configuration file("threads = 1\nbuckets = ['letters', 'bytes']\nstats = true\n");
  CHECK(file.read().run.counting.threads == 1U);
  CHECK(file.read({}, {"GPUHIST_THREADS=2"}).run.counting.threads == 2U);
  CHECK(file.read({"-T", "3"}, {"GPUHIST_THREADS=2"}).run.counting.threads == 3U);
  CHECK(file.read({"-b", "classes"}).run.counting.schemes == words{"classes"});
  CHECK(file.read({}, {"GPUHIST_BUCKETS=utf8"}).run.counting.schemes == words{"utf8"});
  CHECK_FALSE(file.read({"--no-stats"}).stats);
  CHECK_FALSE(file.read({}, {"GPUHIST_STATS=0"}).stats);
  CHECK(file.read({"--stats"}, {"GPUHIST_STATS=0"}).stats);
}

TEST_CASE("messages name the place of the value that applies") {
  const configuration file("threads = 1\n");
  CHECK(file.read().where("--threads") == file.path() + ":1: threads");
  CHECK(file.read({}, {"GPUHIST_THREADS=2"}).where("--threads") == "GPUHIST_THREADS");
  CHECK(file.read({"-T", "3"}, {"GPUHIST_THREADS=2"}).where("--threads") == "--threads");
}

TEST_CASE("every value of a lower level can be unset, and the default applies") {
  for (const option_row& row : option_table()) {
    if (!row.is_setting() || find_option(row.long_name()) != &row) continue;
    CAPTURE(row.names);
    words arguments = first_words_of(row);
    arguments.push_back(row.off_name());
    const options o = typed(arguments, {row.variable() + "=" + good_value(row)});
    CHECK(o.origins.empty());
  }
  const configuration job("output = 'x'\nlabel = 'y'\nsnapshot-every = '1s'\nmemory-limit = '1GB'\nthreads = 3\n");
  const options kept = job.read();
  CHECK((kept.output == "x" && kept.run.label == "y" && kept.run.snapshot_every && kept.run.counting.threads == 3U));
  const options o = job.read({"--no-output", "--no-label", "--no-snapshot-every", "--no-memory-limit", "--no-threads"});
  const options untouched;
  CHECK_FALSE(o.output);
  CHECK(o.run.label == untouched.run.label);
  CHECK_FALSE(o.run.snapshot_every);
  CHECK(o.run.counting.memory_limit == untouched.run.counting.memory_limit);
  CHECK(o.run.counting.threads == 0);
  CHECK(typed({"--no-buckets"}, {"GPUHIST_BUCKETS=letters"}).run.counting.schemes == words{"classes"});
}

TEST_CASE("no file is read if --no-config unsets the file that the environment names") {
  const configuration job("threads = 3\n");
  CHECK(typed({}, {"GPUHIST_CONFIG=" + job.path()}).run.counting.threads == 3U);
  CHECK_FALSE(typed({"--no-config"}, {"GPUHIST_CONFIG=" + job.path()}).run.counting.threads);
  CHECK(job.read({"--config", "missing.toml", "--no-config"}).run.counting.threads == 3U);  // job.toml is named last
}

TEST_CASE("a bad value is an error even if a higher level replaces it") {
  CHECK(configuration("threads = 0").error({"-T", "1"}) == "job.toml:1: threads: 0 is out of range; give 1 to 1024");
  CHECK(error_of({"-T", "1"}, {"GPUHIST_THREADS=x"}) == "GPUHIST_THREADS: \"x\" is not a whole number; give 1 to 1024");
}

TEST_CASE("only the last file that is named is read") {
  const configuration first("threads = 1");
  const configuration second("streams = 2");
  const options o = first.read({}, {"GPUHIST_CONFIG=" + second.path()});
  CHECK(o.run.counting.threads == 1U);
  CHECK_FALSE(o.run.counting.streams);
  CHECK(typed({}, {"GPUHIST_CONFIG=" + second.path()}).run.counting.streams == 2U);
}

TEST_CASE("each command reads only its own options from a file") {
  const configuration file("threads = 3\nformat = 'json'");
  const options o = file.read({"devices"});
  CHECK(o.format == "json");
  CHECK(o.run.counting.threads == 0);
}

TEST_CASE("help is printed even if the environment has errors") {
  const char* const argv[] = {"gpuhist", "--help"};
  const words environment = {"GPUHIST_NONSENSE=1", "GPUHIST_THREADS=0"};
  CHECK(
      std::holds_alternative<gpuhist::config::information>(gpuhist::config::parse_command_line(2, argv, environment)));
}
