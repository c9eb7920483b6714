// One vocabulary: the names, values and errors of options are the same on the command line, in the environment, in
// configuration and job files, in C++ and in C. (tests/python/test_options.py: in Python.)
#include "config/option_table.hpp"
#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.h>
#include <gpuhist/gpuhist.hpp>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using nlohmann::json;
using settings = std::vector<std::pair<std::string, std::string>>;

const json& values() {
  static const json read = json::parse(std::ifstream(OPTION_VALUES));
  return read;
}

/// A value of the option, with what else it needs.
settings given(const std::string& key, const std::string& value) {
  settings made = {{key, value}};
  const json others = values().at(key).value("with", json::object());
  for (const auto& [other, needed] : others.items()) made.emplace_back(other, needed.get<std::string>());
  return made;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const config::usage_error& refused) {
    return refused.what();
  } catch (const error& refused) {
    CHECK(refused.kind() == errc::invalid_argument);
    return refused.what();
  }
  return {};
}

const config::option_row& row_of(const std::string& key) { return *config::find_option("--" + key); }

/// The command that takes the option.
std::string command_of(const settings& all) {
  using enum config::command;
  for (const auto& [taker, name] : {std::pair{count, ""}, std::pair{filter, "filter"}, std::pair{batch, "batch"}}) {
    const auto takes = [&](const auto& each) { return row_of(each.first).taken_by(taker); };
    if (std::ranges::all_of(all, takes)) return name;
  }
  FAIL("no command takes them");
  return {};
}

void parse(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
  std::vector<const char*> argv = {"gpuhist"};
  for (const std::string& each : arguments) {
    if (!each.empty()) argv.push_back(each.c_str());
  }
  static_cast<void>(config::parse_command_line(static_cast<int>(argv.size()), argv.data(), environment));
}

std::string error_of_command_line(const settings& all) {
  std::vector<std::string> arguments = {command_of(all)};
  for (const auto& [key, value] : all) {
    const bool is_flag = row_of(key).is_flag();
    arguments.push_back((is_flag && value == "false" ? "--no-" : "--") + key + (is_flag ? "" : "=" + value));
  }
  return error_of([&] { parse(arguments); });
}

std::string error_of_environment(const settings& all) {
  std::vector<std::string> environment;
  for (const auto& [key, value] : all) environment.push_back(row_of(key).variable() + "=" + value);
  return error_of([&] { parse({command_of(all)}, environment); });
}

std::string error_of_file(const settings& all, const std::string& first, const std::string& suffix) {
  const test::temporary_folder folder;
  std::string content;
  for (const auto& [key, value] : all) {
    content += key + " = " + (row_of(key).is_flag() ? value : json(value).dump()) + "\n";
  }
  const std::string path = folder.file("options" + suffix, content);
  return error_of([&] {
    first.empty() ? parse({command_of(all), "--config", path}) : parse({first, path, "--output-dir", "results"});
  });
}

std::string error_of_cpp(const settings& all) {
  return error_of([&] {
    named_options options;
    for (const auto& [key, value] : all) options.set(key, value);
    static_cast<void>(options.files());
  });
}

std::string error_of_c(const settings& all) {
  gpuhist_options* options = nullptr;
  REQUIRE(gpuhist_options_create(&options) == GPUHIST_OK);
  std::string found;
  for (const auto& [key, value] : all) {
    if (gpuhist_options_set(options, key.c_str(), value.c_str()) != GPUHIST_OK) found = gpuhist_error_text();
  }
  gpuhist_options_destroy(options);
  return found;
}

bool is_number(const std::string& key) { return row_of(key).kind == config::value_kind::number; }

}  // namespace

TEST_CASE("every option of a run has a value in the table of this test, and C has the names of C++") {
  std::vector<std::string> names = option_names();
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(std::string(gpuhist_option_name(i)) == names[i]);
  CHECK(gpuhist_option_name(names.size()) == nullptr);
  std::ranges::sort(names);
  std::vector<std::string> known;
  for (const auto& [key, value] : values().items()) known.push_back(key);
  CHECK(known == names);
}

TEST_CASE("every surface accepts the same values of an option") {
  for (const auto& [key, value] : values().items()) {
    CAPTURE(key);
    const settings all = given(key, value.at("good").get<std::string>());
    CHECK(error_of_command_line(all).empty());
    CHECK(error_of_environment(all).empty());
    CHECK(error_of_cpp(all).empty());
    CHECK(error_of_c(all).empty());
    if (is_number(key)) continue;  // an integer in TOML
    CHECK(error_of_file(all, "", ".conf").empty());
    const auto is_of_job = [](const auto& each) { return row_of(each.first).taken_by(config::command::batch); };
    if (std::ranges::all_of(all, is_of_job)) CHECK(error_of_file(all, "batch", ".toml").empty());
  }
}

TEST_CASE("every surface refuses the same values of an option, with the same error after the place") {
  for (const auto& [key, value] : values().items()) {
    if (!value.contains("bad")) continue;
    CAPTURE(key);
    const auto error = value.at("error").get<std::string>();
    const settings all = given(key, value.at("bad").get<std::string>());
    if (!row_of(key).is_flag()) CHECK(error_of_command_line(all).ends_with(": " + error));
    if (!all.front().second.empty()) CHECK(error_of_environment(all).ends_with(": " + error));  // empty: not set
    CHECK(error_of_cpp({all.front()}).ends_with(error));
    CHECK(error_of_c({all.front()}).ends_with(error));
    if (is_number(key) || row_of(key).is_flag()) continue;
    CHECK(error_of_file(all, "", ".conf").ends_with(": " + error));
  }
}

TEST_CASE("an option that needs another one is refused without it, by programs as by the command") {
  for (const auto& [key, value] : values().items()) {
    if (!value.contains("with") || key == "baseline") continue;
    CAPTURE(key);
    const settings alone = {{key, value.at("good").get<std::string>()}};
    CHECK(error_of_cpp(alone).starts_with("--" + key + ": requires --"));
    CHECK(error_of_command_line(alone) == error_of_cpp(alone));
  }
  CHECK(error_of_cpp({{"keep-if", "digit > 0.5"}, {"drop-if", "digit > 0.5"}}) ==
        "--keep-if: cannot be combined with --drop-if; leave one of them out");
}

TEST_CASE("options by name have the values of the public structures") {
  named_options options;
  for (const auto& [key, value] : settings{{"buckets", "letters"},
                                           {"buckets", "bytes,utf8"},
                                           {"threads", "3"},
                                           {"threads", "2"},
                                           {"step", "1MiB"},
                                           {"window", "2MiB"},
                                           {"per-input", "on"},
                                           {"each", "4KiB"},
                                           {"where", "digit > 0.5"},
                                           {"where", "long=bytes > 9"},
                                           {"top", "3:entropy"},
                                           {"max-output", "1GiB"},
                                           {"recursive", "1"},
                                           {"exclude", "*.gz"},
                                           {"watch", "inputs"},
                                           {"fail-if", "entropy > 7"},
                                           {"fail-if", "lines < 2"}}) {
    options.set(key, value);
  }
  const file_options files = named_options(options).files();
  const counting_options& counting = files.counting;
  CHECK(counting.schemes == std::vector<std::string>{"letters", "bytes", "utf8"});
  CHECK(counting.threads == 2);
  CHECK(counting.windows->length == 2U << 20U);
  CHECK(counting.windows->step == 1U << 20U);
  CHECK(counting.windows->per_input);
  CHECK(counting.units->part_bytes == 4096);
  CHECK(counting.units->rules == std::vector<std::string>{"digit > 0.5", "long=bytes > 9"});
  CHECK(counting.units->top == 3);
  CHECK(counting.fail_if == std::vector<std::string>{"entropy > 7", "lines < 2"});
  CHECK((counting.watch.inputs && !counting.watch.totals));
  CHECK(files.max_output == 1U << 30U);
  CHECK(files.trees->exclude == std::vector<std::string>{"*.gz"});
  CHECK(error_of([&] { static_cast<void>(options.counting()); }) == "--max-output: is for count_files() only");
  CHECK(error_of([&] { options.set("thread", "2"); }).ends_with("did you mean threads?"));
}

}  // namespace gpuhist
