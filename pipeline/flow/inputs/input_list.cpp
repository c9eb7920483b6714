#include "pipeline/flow/inputs/input_list.hpp"

#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/decoding/stream_cancel.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t block_bytes = std::size_t{64} * 1024;
constexpr std::size_t max_name_bytes = std::size_t{1024} * 1024;

input_failure stopped_before(const std::string& event) {
  return {.kind = failure_kind::stopped, .text = "stopped before " + event};
}

[[noreturn]] void throw_output_is_input(const std::string& input, const run_plan& plan) {
  const std::string name = config::on_one_line(input == "-" ? plan.label : input);
  throw config::usage_error(name + ": is an input, and the same file as " + plan.output_name +
                            "; give another --output, or remove it from the inputs");
}

// Whether the file or folder is a folder of this process, or in one.
bool is_kept_by_process(const std::string& name, const struct stat& found, const run_plan& plan) {
  if (!plan.outputs || !plan.outputs->has_folders()) return false;
  if (S_ISDIR(found.st_mode)) return plan.outputs->has_folder(found);
  const std::size_t slash = name.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : name.substr(0, slash + 1);
  struct stat around{};
  return ::stat(folder.c_str(), &around) == 0 && plan.outputs->has_folder(around);
}

bool is_output(const std::string& input, const run_plan& plan) {
  struct stat found{};
  const int result = input == "-" ? ::fstat(STDIN_FILENO, &found) : ::stat(input.c_str(), &found);
  return result == 0 && plan.outputs->find(found) == io::output_files::role::output;
}

}  // namespace

void refuse_outputs_as_inputs(const run_plan& plan) {
  if (!plan.outputs) return;
  for (const std::string& each : plan.inputs) {
    if (is_output(each, plan)) throw_output_is_input(each, plan);
  }
  if (plan.list && is_output(*plan.list, plan)) throw_output_is_input(*plan.list, plan);
}

input_list::input_list(const run_plan& plan, async::event_loop& streams, std::stop_token stop)
    : plan_(plan), streams_(streams), stop_(std::move(stop)), list_finished_(!plan.list || plan.looked_up) {
  if (!plan.looked_up) return;
  next_named_ = plan.inputs.size();
  skipped_ = plan.looked_up->skipped;
  empty_trees_ = plan.looked_up->empty_trees;
}

async::task<std::vector<listed_input>> input_list::next(std::size_t max_inputs) {
  std::vector<listed_input> found;
  while (found.size() < max_inputs && !stop_.stop_requested()) {
    std::optional<listed_input> input = next_looked_up();
    if (input) {
      if (!is_left_out(*input)) found.push_back(*std::move(input));
      continue;
    }
    if (tree_) {
      input = next_in_tree();
    } else if (next_named_ < plan_.inputs.size()) {
      input = look_up(plan_.inputs[next_named_++]);
    } else if (auto name = take_name()) {
      input = look_up(*std::move(name));
    } else if (!list_error_.is_none()) {
      input = list_failed(std::exchange(list_error_, {}));
    } else if (list_finished_ || !found.empty()) {
      break;
    } else {
      co_await read_list();
    }
    if (input && !is_left_out(*input)) found.push_back(*std::move(input));
  }
  co_return found;
}

bool input_list::is_left_out(const listed_input& input) const {
  return plan_.is_counted && input.error.is_none() && plan_.is_counted(input.name);
}

std::optional<listed_input> input_list::next_looked_up() {
  if (!plan_.looked_up || next_looked_up_ == plan_.looked_up->inputs.size()) return std::nullopt;
  return plan_.looked_up->inputs[next_looked_up_++];
}

// Returns nothing for a directory, whose files are listed next, and for a temporary output file of this run.
std::optional<listed_input> input_list::look_up(std::string name) {
  const bool is_standard_input = name == "-";
  listed_input input{.name = std::move(name)};
  if (is_standard_input && plan_.list == "-") {
    input.error = {.kind = failure_kind::refused,
                   .text = "standard input already supplies the list of names (--files-from -)"};
    return input;
  }
  if (is_standard_input && !plan_.standard_input) {
    input.error = {.kind = failure_kind::refused, .text = "standard input is not one of the inputs of this run"};
    return input;
  }
  // the system would open the name before the zero byte
  if (input.name.find('\0') != std::string::npos) {
    input.error = {.kind = failure_kind::refused,
                   .text =
                       "is no name of a file, because it contains a zero byte; --null reads a list of names that end "
                       "in zero bytes"};
    return input;
  }
  if (std::string closed = io::closed_descriptor_text(input.name, plan_.descriptors); !closed.empty()) {
    input.error = {.kind = failure_kind::unreadable, .text = std::move(closed)};
    return input;
  }
  struct stat found{};
  const bool is_found =
      is_standard_input ? ::fstat(STDIN_FILENO, &found) == 0 : ::stat(input.name.c_str(), &found) == 0;
  if (!is_found) return input;
  if (const auto role = plan_.outputs ? plan_.outputs->find(found) : std::nullopt) {
    if (*role == io::output_files::role::temporary) return std::nullopt;
    throw_output_is_input(input.name, plan_);
  }
  if (is_standard_input) return input;
  if (is_kept_by_process(input.name, found, plan_)) throw_output_is_input(input.name, plan_);
  input.regular = S_ISREG(found.st_mode);
  input.size = static_cast<std::uint64_t>(found.st_size);
  if (!S_ISDIR(found.st_mode)) return input;
  if (!plan_.trees) {
    input.error = {.kind = failure_kind::refused, .text = "is a directory; --recursive (-r) counts the files below it"};
    return input;
  }
  io::walk_settings settings = *plan_.trees;
  settings.outputs = plan_.outputs;
  tree_has_inputs_ = false;
  tree_.emplace(std::move(input.name), std::move(settings));
  return std::nullopt;
}

// Returns nothing at the end of the tree. After a stop it also returns nothing, but keeps the tree, which unreached()
// reports.
std::optional<listed_input> input_list::next_in_tree() {
  while (!stop_.stop_requested()) {
    std::optional<io::tree_entry> entry = tree_->next();
    if (!entry) {
      if (!tree_has_inputs_ && empty_trees_.count++ == 0) empty_trees_.first = tree_->root();
      tree_.reset();
      return std::nullopt;
    }
    if (entry->type == io::tree_entry::kind::skipped) {
      note_skipped(*entry);
      continue;
    }
    tree_has_inputs_ = true;
    return listed_input{.name = std::move(entry->path),
                        .in_tree = true,
                        .root_bytes = tree_->root().size(),
                        .follow_links = tree_->follows_links(),
                        .regular = true,
                        .error = {.kind = entry->error_kind, .text = std::move(entry->error)}};
  }
  return std::nullopt;
}

void input_list::note_skipped(const io::tree_entry& entry) {
  add_skipped(skipped_, {.kind = io::kind_of(entry.cause),
                         .cause = std::string(io::name_of(entry.cause)),
                         .count = 1,
                         .first = entry.path});
}

// Returns the next complete name of the part of the list that was read. The last name of the list needs no terminator.
std::optional<std::string> input_list::take_name() {
  for (;;) {
    const std::size_t end = read_.find(plan_.list_end, take_at_);
    if (end == std::string::npos && (!list_finished_ || take_at_ == read_.size())) return std::nullopt;
    std::string name = read_.substr(take_at_, end == std::string::npos ? end : end - take_at_);
    take_at_ = end == std::string::npos ? read_.size() : end + 1;
    if (!name.empty()) return name;
  }
}

// Reads the next part of the list. An error ends the list; next() reports it after the names before it.
async::task<> input_list::read_list() {
  read_.erase(0, std::exchange(take_at_, 0));
  if (read_.size() > max_name_bytes) {
    list_error_ = {.kind = failure_kind::refused, .text = "a name in it is longer than 1 MiB"};
    list_finished_ = true;
    read_.clear();
    co_return;
  }
  try {
    if (const std::string closed = io::closed_descriptor_text(*plan_.list, plan_.descriptors); !closed.empty()) {
      throw io::input_error(closed, 0);
    }
    if (!list_) {
      list_ = std::make_shared<io::source>(
          io::open_source(*plan_.list, streams_.context().get_executor(), plan_.buffers.pipe_bytes));
    }
    const std::size_t had = read_.size();
    read_.resize(had + block_bytes);
    const std::span<std::byte> room = std::as_writable_bytes(std::span(read_)).subspan(had);
    std::size_t size = 0;
    if (const auto* file = std::get_if<io::file_source>(list_.get())) {
      size = file->read_at(room, list_offset_);
      list_offset_ += size;
      file->leave_offset_at(list_offset_);
    } else {
      auto& stream = std::get<io::stream_source>(*list_);
      size = co_await async::run_on(streams_, read_list_stream(stream, room));
    }
    read_.resize(had + size);
    list_finished_ = size == 0 && !stop_.stop_requested();
  } catch (const io::input_error&) {
    list_error_ = failure_from(std::current_exception());
    list_finished_ = true;
    read_.clear();
  }
}

// Runs on the event loop of streams. Returns 0 at the end, or after a stop.
async::task<std::size_t> input_list::read_list_stream(io::stream_source& stream, std::span<std::byte> room) {
  const std::stop_callback cancel_on_stop(
      stop_, [cancel = make_stream_cancel(streams_, list_)]() noexcept { cancel->post(); });
  for (;;) {
    if (stop_.stop_requested()) co_return 0;
    if (const auto size = stream.read_some(room)) co_return *size;
    if (!co_await stream.readable()) co_return 0;
  }
}

listed_input input_list::list_failed(const input_failure& failure) const {
  const std::string name = *plan_.list == "-" ? plan_.label : *plan_.list;
  const std::string list = "the list of names (--files-from): ";
  return {.name = name, .error = {.kind = failure.kind, .text = list + failure.text}};
}

std::vector<listed_input> input_list::unreached() {
  std::vector<listed_input> all;
  while (auto input = next_looked_up()) {
    if (input->error.is_none()) input->error = not_read();
    all.push_back(*std::move(input));
  }
  if (tree_) all.push_back({.name = tree_->root(), .error = stopped_before("all files below it were found")});
  tree_.reset();
  for (; next_named_ < plan_.inputs.size(); ++next_named_) {
    all.push_back({.name = plan_.inputs[next_named_], .error = not_read()});
  }
  while (auto name = take_name()) all.push_back({.name = *std::move(name), .error = not_read()});
  if (plan_.is_counted) std::erase_if(all, [&](const listed_input& each) { return plan_.is_counted(each.name); });
  if (!list_finished_) all.push_back(list_failed(stopped_before("all of it was read")));
  list_finished_ = true;
  return all;
}

}  // namespace gpuhist::pipeline
