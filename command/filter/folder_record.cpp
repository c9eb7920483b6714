#include "command/filter/folder_record.hpp"

#include "batch/job_identity.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/result_document.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* schema = "gpuhist.filter/1";

json as_json(const recorded_output& line, const std::string& options) {
  json out{{"kind", "output"}, {"schema", schema}, {"name", line.name}};
  if (!config::is_utf8(line.name)) out["name_base64"] = report::base64(line.name);
  out["input"] = report::state_as_json(line.input);
  out["output"] = report::state_as_json(line.output);
  out["kept"] = {{"units", line.kept}, {"bytes", line.kept_bytes}};
  out["dropped"] = {{"units", line.dropped}, {"bytes", line.dropped_bytes}};
  if (line.lacks_damaged_text) out["lacks_damaged_text"] = true;
  out["options"] = json::parse(options);
  return out;
}

// Adds nothing if the line is of another version.
void add_line(const json& object, const std::string& options, earlier_outputs& to) {
  if (object.at("schema") != schema) return;
  std::string name = object.at("name").get<std::string>();
  const auto encoded = object.find("name_base64");
  if (encoded != object.end()) name = report::from_base64(encoded->get<std::string>()).value_or("");
  const earlier_output found{.input = report::state_from(object.at("input")),
                             .output = report::state_from(object.at("output")),
                             .has_same_options = object.at("options").dump() == options,
                             .lacks_damaged_text = object.value("lacks_damaged_text", false)};
  to[name].push_back(found);
}

std::string name_of(const config::output_compression& how) {
  using kind = config::output_compression::kind;
  if (how.type == kind::zstd) return "zstd:" + std::to_string(how.level);
  if (how.type == kind::gzip) return "gzip";
  return how.type == kind::same ? "same" : "none";
}

}  // namespace

std::string options_of_output(const config::options& typed, const plan& planned) {
  json made = batch::texts_of(planned);
  made["compress"] = name_of(typed.compress.value_or(config::output_compression{}));
  return json::parse(report::as_line(made)).dump();  // as it is read back
}

earlier_outputs read_record(const std::filesystem::path& folder, const std::string& options) {
  earlier_outputs found;
  std::vector<std::filesystem::path> lists;
  std::error_code ignored;
  for (std::filesystem::directory_iterator each(folder, ignored), end; !ignored && each != end;
       each.increment(ignored)) {
    if (is_record_name(each->path().filename().string())) lists.push_back(each->path());
  }
  std::ranges::sort(lists);
  for (const std::filesystem::path& list : lists) {
    report::for_each_record(list, [&](const json& line) { add_line(line, options, found); });
  }
  return found;
}

io::descriptor open_output_folder(const std::filesystem::path& folder) {
  io::descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened) return opened;
  throw io::destination_error(errno, std::system_category(), "cannot write " + report::printable(folder.string()));
}

folder_record::folder_record(const std::filesystem::path& folder, const std::string& name, std::string options)
    : options_(std::move(options)), file_(open_output_folder(folder), folder / name, report::writing::append) {}

void folder_record::add(const recorded_output& line) {
  const std::string text = report::as_line(as_json(line, options_));
  const std::scoped_lock lock(mutex_);
  file_.write(text);
  static_cast<void>(file_.synchronize_text());
}

}  // namespace gpuhist::command
