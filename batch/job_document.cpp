#include "batch/job_document.hpp"

#include "config/option_values.hpp"
#include "io/file_access.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/formats/report_json.hpp"
#include "report/output/destination.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <fstream>
#include <ranges>
#include <string_view>
#include <thread>

namespace gpuhist::batch {
namespace {

using json = nlohmann::ordered_json;

// "model name      : AMD EPYC 9654"; empty where the system does not report it.
std::string cpu_model() {
  std::ifstream from("/proc/cpuinfo");
  for (std::string line; std::getline(from, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

json machine_of(const job_description& job) {
  json out{{"host", host_name()}, {"cores", std::thread::hardware_concurrency()}};
  if (const std::string model = cpu_model(); !model.empty()) out["cpu"] = model;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) out["memory_bytes"] = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  if (!job.device.empty()) out["gpu"] = job.device;
  return out;
}

json versions_of(const json& state) {
  return {{"gpuhist", GPUHIST_VERSION},
          {"state", state.at("schema")},
          {"manifest", manifest_schema},
          {"results", "gpuhist.result/1"}};
}

template <typename Value>
void add_if(json& to, const char* key, const std::optional<Value>& value) {
  if (value) to[key] = *value;
}

// The options that do not determine counts; the others are in the state.
json plan_of(const config::options& typed) {
  const auto given = [&](const char* key) {
    const auto found = typed.given.find(key);
    return found == typed.given.end() ? std::vector<std::string>() : found->second;
  };
  const std::vector<std::string> engines = given("engine");
  json out{{"inputs", typed.inputs}, {"engine", engines.empty() ? "auto" : engines.back()}};
  if (!typed.job.empty()) out["job"] = typed.job;
  if (typed.run.list) out["files-from"] = typed.run.list->path;
  add_if(out, "manifest", typed.manifest);
  for (const char* const key : {"include", "exclude"}) {
    if (const std::vector<std::string> patterns = given(key); !patterns.empty()) out[key] = patterns;
  }
  if (typed.run.counting.threads > 0) out["threads"] = typed.run.counting.threads;
  if (typed.run.counting.memory_limit > 0) out["memory-limit"] = typed.run.counting.memory_limit;
  if (typed.min_age) out["min-age-ms"] = typed.min_age->count();
  out["on-error"] = typed.stops_on_error ? "stop" : "continue";
  if (typed.max_errors) {
    out["max-errors"] = typed.max_errors->amount;
    out["max-errors-unit"] = typed.max_errors->is_percentage ? "%" : "inputs";
  }
  if (!typed.run.counting.fail_if.empty()) out["fail-if"] = typed.run.counting.fail_if;
  if (!typed.run.counting.alert_if.empty()) out["alert-if"] = typed.run.counting.alert_if;
  if (const std::vector<std::string> watched = given("watch"); !watched.empty())
    out["watch"] = config::parse_names(watched);
  return out;
}

json run_as_json(const job_run_times& run) {
  json out{{"began", run.began}, {"host", run.host}};
  if (run.ended.empty()) return out;  // it was killed
  out["ended"] = run.ended;
  out["seconds"] = run.seconds;
  out["finished"] = run.inputs;
  return out;
}

json times_of(const job_description& job) {
  constexpr std::size_t listed = 100;
  double seconds = 0;
  std::string first = job.began;
  for (const job_run_times& each : job.runs) {
    seconds += each.seconds;
    first = std::min(first, each.began);
  }
  json out{{"first_run", first},
           {"last_run", job.began},
           {"ended", now_as_text()},
           {"run_count", job.runs.size()},
           {"counting_seconds", seconds}};
  json runs = json::array();
  for (const job_run_times& each : job.runs | std::views::drop(job.runs.size() - std::min(job.runs.size(), listed))) {
    runs.push_back(run_as_json(each));
  }
  out["runs"] = std::move(runs);
  return out;
}

void append_to(const std::filesystem::path& file, const nlohmann::ordered_json& line) {
  report::destination to(file.string(), report::writing::append);
  to.write(report::as_line(line));
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

json job_as_json(const manifest& inputs, const job_ledger& ledger, const job_description& job, bool is_complete) {
  const json state = json::parse(job.header);
  json out{{"kind", "job"},
           {"schema", "gpuhist.job/1"},
           {"complete", is_complete},
           {"inputs", inputs.entries.size()},
           {"finished", ledger.finished()},
           {"failed", ledger.failed()},
           {"source_bytes", inputs.bytes()},
           {"fingerprint", name_of(inputs.fingerprint)},
           {"state", state}};
  if (job.typed != nullptr) out["plan"] = plan_of(*job.typed);
  out["versions"] = versions_of(state);
  out["machine"] = machine_of(job);
  out["times"] = times_of(job);
  if (!job.missing_shards.empty()) out["missing_shards"] = job.missing_shards;
  return out;
}

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
  report::for_each_record(file, [&](const nlohmann::ordered_json& line) { add_run(runs, line); });
  return runs;
}

}  // namespace gpuhist::batch
