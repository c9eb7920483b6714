#include "command/filter/folder_record.hpp"

#include "io/file_access.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* schema = "gpuhist.filter/1";

json as_json(const file_state& state) {
  json out{{"bytes", state.bytes}, {"modified", state.modified}};
  if (!state.fingerprint.empty()) out["fingerprint"] = state.fingerprint;
  return out;
}

file_state state_from(const json& object) {
  return {.bytes = object.at("bytes").get<std::uint64_t>(),
          .modified = object.at("modified").get<std::int64_t>(),
          .fingerprint = object.value("fingerprint", std::string())};
}

json as_json(const recorded_output& line, const std::string& options) {
  json out{{"kind", "output"}, {"schema", schema}, {"name", line.name}};
  if (!is_utf8(line.name)) out["name_base64"] = base64(line.name);
  out["input"] = as_json(line.input);
  out["output"] = as_json(line.output);
  out["kept"] = {{"units", line.kept}, {"bytes", line.kept_bytes}};
  out["dropped"] = {{"units", line.dropped}, {"bytes", line.dropped_bytes}};
  if (line.lacks_damaged_text) out["lacks_damaged_text"] = true;
  out["options"] = json::parse(options);
  return out;
}

// Adds nothing if a process ended while it wrote the line, or if the line is of another version.
void add_line(const std::string& text, const std::string& options, earlier_outputs& to) {
  try {
    const json object = json::parse(text);
    if (object.at("schema") != schema) return;
    std::string name = object.at("name").get<std::string>();
    const auto encoded = object.find("name_base64");
    if (encoded != object.end()) name = from_base64(encoded->get<std::string>()).value_or("");
    const earlier_output found{.input = state_from(object.at("input")),
                               .output = state_from(object.at("output")),
                               .has_same_options = object.at("options").dump() == options,
                               .lacks_damaged_text = object.value("lacks_damaged_text", false)};
    to[name].push_back(found);
  } catch (const json::exception&) {
    return;
  }
}

std::string hash_of(const measures::byte_counts& counts) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by 64 bits
  for (const std::uint64_t each : counts) hash = (hash ^ each) * 0x100000001b3;
  return std::to_string(hash);
}

std::string name_of(const config::output_compression& how) {
  using kind = config::output_compression::kind;
  if (how.type == kind::zstd) return "zstd:" + std::to_string(how.level);
  if (how.type == kind::gzip) return "gzip";
  return how.type == kind::same ? "same" : "none";
}

}  // namespace

std::string options_of_output(const config::options& typed, const plan& planned) {
  const units::unit_plan& units = *planned.units;
  const bool keeps = units.filter->units == units::filtering::kept::selected;
  json made{{keeps ? "keep-if" : "drop-if", units.where->text()}, {"each", units.each}};
  if (units.field) made["jsonl-field"] = {{"name", units.field->name}, {"max-bytes", units.field->max_bytes}};
  if (!units.shape.bytes) made["delimiter"] = std::to_integer<int>(units.shape.delimiter);
  made["buckets"] = typed.run.counting.schemes;
  if (typed.run.counting.ignore_case) made["ignore-case"] = true;
  if (planned.measuring.baseline) made["baseline"] = hash_of(*planned.measuring.baseline);
  made["input-format"] = typed.run.format.empty() ? "auto" : typed.run.format;
  made["compress"] = name_of(typed.compress.value_or(config::output_compression{}));
  return json::parse(as_line(made)).dump();  // as it is read back
}

earlier_outputs read_record(const std::filesystem::path& folder, const std::string& options) {
  earlier_outputs found;
  const std::filesystem::path path = folder / record_name;
  io::require_regular(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return found;
  bounded_lines lines(path);
  for (std::string line; lines.next(line);) add_line(line, options, found);
  return found;
}

io::descriptor open_output_folder(const std::filesystem::path& folder) {
  io::descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened) return opened;
  throw destination_error(errno, std::system_category(), "cannot write " + printable(folder.string()));
}

folder_record::folder_record(const std::filesystem::path& folder, std::string options)
    : options_(std::move(options)), file_(open_output_folder(folder), folder / record_name, writing::append) {}

void folder_record::add(const recorded_output& line) {
  const std::string text = as_line(as_json(line, options_));
  const std::scoped_lock lock(mutex_);
  file_.write(text);
  static_cast<void>(file_.synchronize_text());
}

}  // namespace gpuhist::pipeline
