#include "command/resumed_result.hpp"

#include "batch/job_identity.hpp"
#include "config/options.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "io/checksum.hpp"
#include "io/format.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/formats/member_writer.hpp"
#include "report/formats/result_document.hpp"
#include "report/output/destination.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

// A line that was counted with other options: a line of the message for each of them.
struct other_options : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Members have the formats from the inside out: "tar.gzip". Whether an archive was read to its end is not known.
bool is_of_archive(std::string_view format) {
  return std::ranges::any_of(std::views::split(format, '.'), [](const auto& each) {
    const io::format* const found = io::format_named(std::string_view(each.begin(), each.end()));
    return found != nullptr && found->archive != io::archive_kind::none;
  });
}

// Whether the line stays: that of a complete input that is not a member of an archive.
bool is_kept(const nlohmann::json& document) {
  return report::kind_of(document) == "input" && document.value("complete", false) &&
         !is_of_archive(document.value("format", std::string()));
}

// The beginning of every line. A file that does not end so is not a result, and stays as it is.
bool is_begun_line(std::string_view torn) {
  constexpr std::string_view begin = R"({"kind":")";
  return torn.substr(0, begin.size()) == begin.substr(0, torn.size());
}

// Calls `use` with each whole line and its number. The last line may be incomplete, because the run was killed.
void for_each_line(const std::string& path, const std::function<void(const std::string&)>& use) {
  if (!std::filesystem::exists(path)) return;
  report::bounded_lines lines(path);
  for (std::string line; lines.next(line);) {
    if (line.empty()) continue;
    try {
      if (lines.is_whole()) {
        use(line);
      } else if (!is_begun_line(line)) {
        throw report::result_damage("it is not a line of a jsonl result");
      }
    } catch (const nlohmann::json::exception&) {
      throw std::runtime_error(lines.place() + ": not valid JSON; remove this line, and run again");
    } catch (const report::result_damage& damage) {
      throw std::runtime_error(lines.place() + ": cannot be resumed: " + damage.what() +
                               "; give the options of the first run, or another file");
    } catch (const other_options& found) {
      throw std::runtime_error(lines.place() +
                               ": cannot be resumed: it was counted with other options; give those of " +
                               "the first run, or another file; it has (long values as hashes):" + found.what());
    }
  }
}

// What a line of a result states, by the names of options. A long value is replaced by its hash.
nlohmann::ordered_json options_of_lines(const library::counting_plan& planned) {
  constexpr std::size_t longest_value = 24;
  constexpr std::size_t hash_digits = 16;
  nlohmann::ordered_json made = batch::counts_of(planned);
  if (made.erase("pair-classes") > 0) made["pairs"] = true;
  // lines have counts of buckets, and only those of complete inputs are kept, which the last two do not change
  for (const char* const each : {"classes", "skip-damage", "count-unverified"}) made.erase(each);
  for (auto& [name, value] : made.items()) {
    const std::string text = report::text_of(value);
    if (value.is_structured() || text.size() > longest_value) value = io::hash_text(text).substr(0, hash_digits);
  }
  return made;
}

}  // namespace

std::string counted_with(const library::counting_plan& planned) { return report::text_of(options_of_lines(planned)); }

config::options options_of_resumed_run(const config::options& typed) {
  if (typed.format.value_or("jsonl") != "jsonl") {
    throw config::usage_error("--resume: the format is jsonl; leave " + typed.where("--format") + " out");
  }
  const bool has_inputs = !typed.inputs.empty() || typed.run.list;
  if (!has_inputs || std::ranges::find(typed.inputs, "-") != typed.inputs.end()) {
    throw config::usage_error("--resume: standard input cannot be read again; give the names of files");
  }
  if (report::names_descriptor(*typed.resumed_file)) {
    throw config::usage_error("--resume: " + config::quote(*typed.resumed_file) +
                              " is a descriptor; give the path of a regular file");
  }
  config::options made = typed;
  made.output = typed.resumed_file;
  made.append = true;
  made.format = "jsonl";
  return made;
}

resumed_result::resumed_result(std::string path, const plan& planned)
    : path_(std::move(path)),
      planned_(planned),
      options_(options_of_lines(planned)),
      by_bucket_(planned.partition,
                 [&] {
                   std::vector<config::scheme> schemes;
                   for (const pipeline::scheme_view& each : planned.schemes) schemes.push_back(each.scheme);
                   return schemes;
                 }()),
      finished_(std::make_shared<pipeline::finished_inputs>(planned.partition.classes, std::size_t{1} << 20U,
                                                            planned.spilled_to)) {
  counts_.complete = true;
  counts_.partition = planned.partition;
  counts_.verified = counts_.unverified = by_bucket_.no_text();
  read();
  counts_.inputs = pipeline::input_reports(finished_, number_);
}

void resumed_result::read() {
  for_each_line(path_, [this](const std::string& line) { add_line(line); });
}

void resumed_result::add_line(const std::string& line) {
  ++lines_;
  const nlohmann::json document = nlohmann::json::parse(line);
  report::wanted_counts wanted(report::letter_case::exact);
  wanted.by_bucket = &by_bucket_;
  report::check_schema(document);
  check_run(document);
  const std::string kind = report::kind_of(document);
  if (kind == "window" || kind == "event_window" || kind == "unit" || kind == "verdict")
    throw report::result_damage("it has lines of --window or --each");
  if (!is_kept(document)) return;
  check_options(document);
  const pipeline::input_report input = report::read_input(document, wanted, report::is_folded(document));
  if (has_changed(document, input.name)) return;
  finished_->append(finished_->spill(input));
  ++number_;
  ++names_[input.name];
  counts_.add(input);
  counts_.counted_unverified = false;  // a complete input has no unverified bytes
}

// Lines of runs without --resume, and of older versions, have no state: the name decides.
bool resumed_result::has_changed(const nlohmann::json& document, const std::string& name) {
  const auto state = document.find("file");
  if (state == document.end()) return false;
  try {
    if (!io::has_changed(name, report::state_from(*state))) return false;
  } catch (const nlohmann::json::exception&) {
    throw report::result_damage("\"file\" is not the state of a file");
  }
  if (changed_.empty()) first_changed_ = name;
  changed_.push_back(lines_);
  return true;
}

void resumed_result::check_run(const nlohmann::json& document) {
  const std::string found = report::run_of(document);
  if (found.empty()) throw report::result_damage("it does not name its run, as lines of older versions");
  if (run_.empty()) run_ = found;
  if (run_ != found) throw report::result_damage("it is a line of another run than those before it");
}

void resumed_result::check_options(const nlohmann::json& document) {
  const auto recorded = document.find("counted_with");
  if (recorded == document.end()) return check_options_of_older_line(document);
  const auto is_structured = [](const nlohmann::json& value) { return value.is_structured(); };
  if (!recorded->is_object() || std::ranges::any_of(*recorded, is_structured)) {
    throw report::result_damage("\"counted_with\" is not an object of texts, numbers and flags");
  }
  const std::string found = batch::differences_of_counts(*recorded, options_);
  if (!found.empty()) throw other_options(found);
}

void resumed_result::check_options_of_older_line(const nlohmann::json& document) {
  has_older_lines_ = true;
  const auto check = [&](const char* field, bool is_wanted, const char* option) {
    if (document.contains(field) == is_wanted) return;
    throw report::result_damage("it was counted " + std::string(is_wanted ? "without " : "with ") + option);
  };
  check("ignore_case", planned_.ignore_case, "--ignore-case");
  check("byte_counts", planned_.byte_counts, "--byte-counts");
  check("measures", !planned_.measuring.asked.empty(), "--measures");
}

bool resumed_result::take(const std::string& name) {
  const auto found = names_.find(name);
  if (found != names_.end() && found->second > 0) {
    --found->second;
    return true;
  }
  if (std::optional<io::file_state> state = io::state_of(name); state && state->is_regular) {
    const std::scoped_lock lock(mutex_);
    begun_.emplace(name, *std::move(state));
  }
  return false;
}

// The fingerprint is made after the file was read, when the system still has it in memory. Without a fingerprint, a
// file that changed meanwhile is counted again by the next run.
std::optional<io::file_state> resumed_result::state_of(const std::string& name) {
  std::unique_lock lock(mutex_);
  const auto node = begun_.extract(name);
  lock.unlock();
  if (node.empty()) return std::nullopt;
  io::file_state& before = node.mapped();
  std::optional<io::file_state> now = io::state_of(name, io::fingerprinted::ends_or_all);
  if (now && now->bytes == before.bytes && now->modified == before.modified) return now;
  return before;
}

bool resumed_result::has_duplicates() const {
  return std::ranges::any_of(names_, [](const auto& each) { return each.second > 1; });
}

void resumed_result::refuse_duplicates(const pipeline::looked_up_inputs& inputs) const {
  std::unordered_map<std::string_view, std::uint32_t> given;
  for (const pipeline::listed_input& each : inputs.inputs) ++given[each.name];
  for (const auto& [name, lines] : names_) {
    const auto found = given.find(name);
    if (lines <= 1 || (found != given.end() && found->second >= lines)) continue;
    throw std::runtime_error(report::printable(path_) + ": cannot be resumed: it has " +
                             config::number_of(lines, "line") + " of " + report::printable(name) + ", which is given " +
                             config::number_of(found == given.end() ? 0 : found->second, "time") +
                             "; remove the others, or give another file");
  }
}

void resumed_result::rewrite() {
  report::destination to(path_, report::writing::whole);
  std::size_t number = 0;
  to.write([&](const report::text_sink& out) {
    for_each_line(path_, [&](const std::string& line) {
      if (std::ranges::binary_search(changed_, ++number) || !is_kept(nlohmann::json::parse(line))) return;
      out(line + "\n");
      rewritten_bytes_ += line.size() + 1;
    });
  });
  to.commit();
}

void resumed_result::refuse_other_lines() const {
  if (std::filesystem::file_size(path_) == rewritten_bytes_) return;
  throw std::runtime_error(report::printable(path_) + ": another run has continued this file meanwhile; run again");
}

}  // namespace gpuhist::command
