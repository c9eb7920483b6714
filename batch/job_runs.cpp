#include "batch/job_runs.hpp"

#include "io/file_access.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/formats/report_json.hpp"
#include "report/output/destination.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <array>
#include <climits>
#include <ctime>

namespace gpuhist::pipeline {
namespace {

void append_to(const std::filesystem::path& file, const nlohmann::ordered_json& line) {
  destination to(file.string(), writing::append);
  to.write(as_line(line));
  to.commit();
}

void add_run(std::vector<job_run_times>& runs, const nlohmann::ordered_json& line) {
  if (line.at("kind") == "begin") {
    runs.push_back({.began = line.at("began").get<std::string>(), .host = line.at("host").get<std::string>()});
  } else if (!runs.empty()) {
    job_run_times& last = runs.back();
    last.ended = line.at("ended").get<std::string>();
    last.seconds = line.at("seconds").get<double>();
    last.inputs = line.at("inputs").get<std::uint64_t>();
  }
}

}  // namespace

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), size};
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}

void note_beginning(const std::filesystem::path& file, const job_run_times& run) {
  append_to(file, {{"kind", "begin"}, {"began", run.began}, {"host", run.host}});
}

void note_end(const std::filesystem::path& file, const job_run_times& run) {
  append_to(file, {{"kind", "end"}, {"ended", run.ended}, {"seconds", run.seconds}, {"inputs", run.inputs}});
}

std::vector<job_run_times> read_runs(const std::filesystem::path& file) {
  std::vector<job_run_times> runs;
  io::require_regular(file);
  if (::access(file.c_str(), R_OK) != 0) return runs;
  for_each_record(file, [&](const nlohmann::ordered_json& line) { add_run(runs, line); });
  return runs;
}

}  // namespace gpuhist::pipeline
