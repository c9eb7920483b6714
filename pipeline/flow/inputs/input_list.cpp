#include "pipeline/flow/inputs/input_list.hpp"

#include "config/quote.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/input_failure.hpp"
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
constexpr std::size_t longest_name = std::size_t{1024} * 1024;

input_failure stopped_before(const std::string& what) {
  return {.kind = failure_kind::stopped, .text = "stopped before " + what};
}

input_failure unreadable(std::string error) {
  if (error.empty()) return {};
  return {.kind = failure_kind::unreadable, .text = std::move(error)};
}

[[noreturn]] void throw_output_is_input(const std::string& input, const run_plan& what) {
  const std::string name = config::on_one_line(input == "-" ? what.label : input);
  throw config::usage_error(name + ": is an input, and the same file as " + what.output_name +
                            "; give another --output, or leave it out of the inputs");
}

bool is_output(const std::string& input, const run_plan& what) {
  struct stat found{};
  const int result = input == "-" ? ::fstat(STDIN_FILENO, &found) : ::stat(input.c_str(), &found);
  return result == 0 && what.outputs->find(found) == io::output_files::role::output;
}

}  // namespace

void refuse_outputs_as_inputs(const run_plan& what) {
  if (!what.outputs) return;
  for (const std::string& each : what.inputs) {
    if (is_output(each, what)) throw_output_is_input(each, what);
  }
  if (what.list && is_output(*what.list, what)) throw_output_is_input(*what.list, what);
}

input_list::input_list(const run_plan& what, async::event_loop& streams, std::stop_token stop)
    : plan_(what), streams_(streams), stop_(std::move(stop)), list_finished_(!what.list) {}

async::task<std::vector<listed_input>> input_list::next(std::size_t most) {
  std::vector<listed_input> found;
  while (found.size() < most && !stop_.stop_requested()) {
    std::optional<listed_input> one;
    if (tree_) {
      one = next_in_tree();
    } else if (next_named_ < plan_.inputs.size()) {
      one = come_to(plan_.inputs[next_named_++]);
    } else if (auto name = take_name()) {
      one = come_to(*std::move(name));
    } else if (!list_error_.is_none()) {
      one = list_failed(std::exchange(list_error_, {}));
    } else if (list_finished_ || !found.empty()) {
      break;
    } else {
      co_await read_list();
    }
    if (one) found.push_back(*std::move(one));
  }
  co_return found;
}

// Nothing where it is a directory that is walked from now on, or not complete yet because this run writes it.
std::optional<listed_input> input_list::come_to(std::string name) {
  listed_input one{.name = std::move(name)};
  if (one.name == "-" && plan_.list == "-") {
    one.error = {.kind = failure_kind::refused, .text = "standard input is where the names come from (--files-from -)"};
    return one;
  }
  if (std::string closed = io::closed_descriptor_text(one.name, plan_.descriptors); !closed.empty()) {
    one.error = {.kind = failure_kind::unreadable, .text = std::move(closed)};
    return one;
  }
  struct stat found{};
  const bool is_found = one.name == "-" ? ::fstat(STDIN_FILENO, &found) == 0 : ::stat(one.name.c_str(), &found) == 0;
  if (!is_found) return one;
  if (const auto role = plan_.outputs ? plan_.outputs->find(found) : std::nullopt) {
    if (*role == io::output_files::role::temporary) return std::nullopt;
    throw_output_is_input(one.name, plan_);
  }
  if (one.name == "-") return one;
  one.regular = S_ISREG(found.st_mode);
  one.size = static_cast<std::uint64_t>(found.st_size);
  if (!S_ISDIR(found.st_mode)) return one;
  if (!plan_.trees) {
    one.error = {.kind = failure_kind::refused, .text = "is a directory; --recursive (-r) counts the files below it"};
    return one;
  }
  io::walk_settings how = *plan_.trees;
  how.outputs = plan_.outputs;
  tree_.emplace(std::move(one.name), std::move(how));
  return std::nullopt;
}

// Nothing at the end of the tree, or after a stop, when the tree stays: left() reports it.
std::optional<listed_input> input_list::next_in_tree() {
  while (!stop_.stop_requested()) {
    std::optional<io::tree_entry> entry = tree_->next();
    if (!entry) {
      tree_.reset();
      return std::nullopt;
    }
    if (entry->type == io::tree_entry::kind::skipped) {
      note_skipped(*entry);
      continue;
    }
    return listed_input{.name = std::move(entry->path),
                        .in_tree = true,
                        .follow_links = tree_->follows_links(),
                        .regular = true,
                        .error = unreadable(std::move(entry->error))};
  }
  return std::nullopt;
}

void input_list::note_skipped(const io::tree_entry& what) {
  add_skipped(skipped_, {.what = std::string(io::name_of(what.cause)), .count = 1, .first = what.path});
}

// Whole names of what was read of the list, and the last one, which need not have an end.
std::optional<std::string> input_list::take_name() {
  for (;;) {
    const std::size_t end = read_.find(plan_.list_end, take_at_);
    if (end == std::string::npos && (!list_finished_ || take_at_ == read_.size())) return std::nullopt;
    std::string name = read_.substr(take_at_, end == std::string::npos ? end : end - take_at_);
    take_at_ = end == std::string::npos ? read_.size() : end + 1;
    if (!name.empty()) return name;
  }
}

// Reads on. What cannot be read ends the list, and is said in its turn.
async::task<> input_list::read_list() {
  read_.erase(0, std::exchange(take_at_, 0));
  if (read_.size() > longest_name) {
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
    std::size_t got = 0;
    if (const auto* file = std::get_if<io::file_source>(list_.get())) {
      got = file->read_at(room, list_offset_);
      list_offset_ += got;
      file->leave_offset_at(list_offset_);
    } else {
      auto& stream = std::get<io::stream_source>(*list_);
      got = co_await async::run_on(streams_, read_list_stream(stream, room));
    }
    read_.resize(had + got);
    list_finished_ = got == 0 && !stop_.stop_requested();
  } catch (const io::input_error&) {
    list_error_ = failure_from(std::current_exception());
    list_finished_ = true;
    read_.clear();
  }
}

// On the thread of streams. 0 at the end, or after a stop.
async::task<std::size_t> input_list::read_list_stream(io::stream_source& stream, std::span<std::byte> room) {
  const std::stop_callback cancel_on_stop(
      stop_, [cancel = make_stream_cancel(streams_, list_)]() noexcept { cancel->post(); });
  for (;;) {
    if (stop_.stop_requested()) co_return 0;
    if (const auto got = stream.read_some(room)) co_return *got;
    if (!co_await stream.readable()) co_return 0;
  }
}

listed_input input_list::list_failed(const input_failure& why) const {
  const std::string name = *plan_.list == "-" ? plan_.label : *plan_.list;
  return {.name = name, .error = {.kind = why.kind, .text = "the list of names (--files-from): " + why.text}};
}

std::vector<listed_input> input_list::left() {
  std::vector<listed_input> all;
  if (tree_) all.push_back({.name = tree_->root(), .error = stopped_before("all files below it were found")});
  tree_.reset();
  for (; next_named_ < plan_.inputs.size(); ++next_named_) {
    all.push_back({.name = plan_.inputs[next_named_], .error = not_read()});
  }
  while (auto name = take_name()) all.push_back({.name = *std::move(name), .error = not_read()});
  if (!list_finished_) all.push_back(list_failed(stopped_before("all of it was read")));
  list_finished_ = true;
  return all;
}

}  // namespace gpuhist::pipeline
