#include "command/filter/output_names.hpp"

#include "batch/parallel_work.hpp"
#include "config/usage_error.hpp"
#include "io/archive/archive_format.hpp"
#include "io/checksum.hpp"
#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/format.hpp"
#include "io/http/url.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;
using compression_kind = config::output_compression::kind;

[[noreturn]] void refuse(const std::string& cause) { throw config::option_error("output-dir", cause); }

// Without links, as far as it exists.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path made = fs::weakly_canonical(fs::absolute(path, error), error);
  if (!made.has_filename()) made = made.parent_path();
  return made;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Otherwise a second run would filter the outputs of the first one.
void check_trees(const config::options& typed, const pipeline::looked_up_inputs& found) {
  const fs::path folder = resolved(*typed.output_dir);
  std::string checked;
  for (const pipeline::listed_input& each : found.inputs) {
    if (!each.in_tree) continue;
    const std::string root = each.name.substr(0, each.root_bytes);
    if (root == checked) continue;
    if (is_within(folder, resolved(root))) {
      refuse(report::printable(*typed.output_dir) + " is within " + report::printable(root) +
             ", whose files are inputs; give a folder outside it");
    }
    checked = root;
  }
}

// The formats that have no member are decoded to one text.
void check_format(const config::options& typed, const plan& planned) {
  if (planned.forced_format == nullptr || planned.forced_format->archive == io::archive_kind::none) return;
  throw config::option_error("input-format", "the members of archives have no outputs in " +
                                                 typed.where("--output-dir") +
                                                 "; extract them and give their files, or give --output");
}

// Of an input: what it is now. Throws for what cannot be an output, or not be resumed.
io::file_state checked_state(const pipeline::listed_input& input) {
  if (input.name == "-") {
    refuse("standard input has no name in the folder; give files, or --output for the text of a stream");
  }
  if (!input.in_tree && io::http::is_remote(input.name)) {
    refuse(report::printable(io::http::shown_url(input.name)) +
           " is not a file; give --output for the text of an object");
  }
  struct stat now{};
  if (::stat(input.name.c_str(), &now) != 0) return {};
  if (!S_ISREG(now.st_mode)) {
    refuse(report::printable(input.name) + " is not a regular file; give files, or --output for the text of a stream");
  }
  return io::state_of(now);
}

std::string_view below_root(const pipeline::listed_input& input) {
  std::string_view name = input.name;
  if (!input.in_tree) return name.substr(name.rfind('/') + 1);
  name.remove_prefix(input.root_bytes);
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  return name;
}

// "a/x.log" of "a/x.log.gz". A name that is only an extension is kept.
std::string without_compression(std::string_view name, const io::format* forced) {
  const bool is_read_as_it_is = forced != nullptr && forced->is_plain;
  const std::size_t dot = name.rfind('.');
  if (is_read_as_it_is || io::promised_by(name) == nullptr || dot == std::string_view::npos) return std::string(name);
  if (dot == 0 || name[dot - 1] == '/') return std::string(name);
  return std::string(name.substr(0, dot));
}

// The first bytes of a file; fewer if it cannot be read, which the run reports.
std::vector<std::byte> read_head(const std::string& name) {
  std::vector<std::byte> head;
  const io::descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  for (std::size_t wanted = file ? io::archive_head_bytes : 0; wanted > 0; wanted = io::bytes_for_format(head)) {
    const std::size_t have = head.size();
    head.resize(wanted);
    const ssize_t read = ::read(file.get(), head.data() + have, wanted - have);
    head.resize(have + static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
    if (read <= 0) break;
  }
  return head;
}

compression_kind compression_of(const config::options& typed, const std::string& name, const io::format* forced) {
  const io::format* found = nullptr;
  try {
    found = &io::identify(name, read_head(name), forced, {.skip_damage = typed.run.skip_damage}).format;
  } catch (const io::input_error&) {
    return compression_kind::none;  // the run reports it, and there is no output
  }
  if (found->is_plain) return compression_kind::none;
  if (found->name == "zstd") return compression_kind::zstd;
  if (found->name == "gzip") return compression_kind::gzip;
  throw config::option_error("compress", "same: " + report::printable(name) + " is " + std::string(found->name) +
                                             ", which gpuhist does not write; give none, zstd or gzip");
}

planned_output output_of(const config::options& typed, const plan& planned, const pipeline::listed_input& input) {
  planned_output made;
  made.compression = typed.compress.value_or(config::output_compression{});
  made.input_state = checked_state(input);
  const std::string_view name = below_root(input);
  made.name = without_compression(name, planned.forced_format);
  if (made.compression.type == compression_kind::zstd) made.name += ".zst";
  if (made.compression.type == compression_kind::gzip) made.name += ".gz";
  if (made.compression.type == compression_kind::same) {
    made.name = name;
    made.compression.type = compression_of(typed, input.name, planned.forced_format);
  }
  return made;
}

// No output is another one, or a folder of another one, or the list of outputs.
class name_check {
 public:
  explicit name_check(const pipeline::looked_up_inputs& found) : found_(found) {}

  void add(const planned_output& output) {
    if (is_record_name(output.name)) refuse(input(output.input) + " has the name of the list in the folder");
    const auto [at, is_new] = by_name_.emplace(output.name, output.input);
    if (!is_new) refuse_both(output.name, output.input, at->second);
  }

  void check_folders() const {
    for (const auto& [name, number] : by_name_) {
      for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
        const auto found = by_name_.find(name.substr(0, slash));
        if (found != by_name_.end()) refuse_both(found->first, number, found->second);
      }
    }
  }

 private:
  [[nodiscard]] std::string input(std::size_t number) const { return report::printable(found_.inputs[number].name); }

  [[noreturn]] void refuse_both(std::string_view name, std::size_t first, std::size_t second) const {
    refuse(input(std::min(first, second)) + " and " + input(std::max(first, second)) + " would both need the name " +
           report::printable(std::string(name)) + " in the folder; filter them in two runs with two folders");
  }

  const pipeline::looked_up_inputs& found_;
  std::map<std::string_view, std::size_t> by_name_;  // names are those of the outputs
};

}  // namespace

std::string record_name_of(config::shard_choice shard) {
  if (shard.count == 0) return record_name;
  return ".gpuhist-filter." + std::to_string(shard.number) + "-of-" + std::to_string(shard.count) + ".jsonl";
}

bool is_record_name(std::string_view name) { return name.starts_with(".gpuhist-filter.") && name.ends_with(".jsonl"); }

bool is_in_shard(std::string_view output, config::shard_choice shard) {
  return shard.count == 0 || io::checksum_of(output, 0) % shard.count == shard.number - 1;
}

std::vector<planned_output> plan_outputs(const config::options& typed, const plan& planned,
                                         const pipeline::looked_up_inputs& found, config::shard_choice shard) {
  check_format(typed, planned);
  check_trees(typed, found);
  std::vector<planned_output> outputs;
  outputs.reserve(found.inputs.size());  // names stay where they are
  name_check names(found);
  for (std::size_t i = 0; i < found.inputs.size(); ++i) {
    if (!found.inputs[i].error.is_none()) continue;
    outputs.push_back(output_of(typed, planned, found.inputs[i]));
    outputs.back().input = i;
    names.add(outputs.back());
  }
  names.check_folders();
  std::erase_if(outputs, [&](const planned_output& each) { return !is_in_shard(each.name, shard); });
  batch::in_parallel(outputs.size(), planned.threads, [&](std::size_t i) {
    const std::string& input = found.inputs[outputs[i].input].name;
    const std::optional<io::file_state> read = io::state_of(input, io::fingerprinted::ends_or_all);
    if (read) outputs[i].input_state.fingerprint = read->fingerprint;  // else the run reports that it cannot be read
  });
  return outputs;
}

}  // namespace gpuhist::command
