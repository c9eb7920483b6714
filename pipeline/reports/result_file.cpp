#include "pipeline/reports/result_file.hpp"

#include "config/quote.hpp"
#include "io/descriptor.hpp"
#include "pipeline/inputs/line_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace gpuhist::pipeline {
namespace {

io::descriptor open_results(const std::string& path) {
  if (path == "-") return io::descriptor::borrowed(STDIN_FILENO);
  io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw std::system_error(errno, std::system_category());
  return opened;
}

/// The inputs of a result: within it, or the lines before it.
input_reports inputs_of(const nlohmann::json& document, letter_case wanted, input_reports before) {
  if (const auto count = document.find("input_count"); count != document.end()) {
    if (!count->is_number_unsigned() || count->get<std::size_t>() != before.size()) {
      throw result_damage("\"input_count\" is " + count->dump() + ", but there are " + std::to_string(before.size()) +
                          " lines of inputs before it");
    }
    return before;
  }
  const auto within = document.find("inputs");
  if (within == document.end() || !within->is_array()) throw result_damage("\"inputs\" is no list");
  if (!before.empty()) throw result_damage("lines of inputs before it are not its own");
  for (const nlohmann::json& each : *within) before.push_back(read_input(each, wanted, is_folded(document)));
  return before;
}

}  // namespace

result_sum::result_sum(letter_case wanted) : wanted_(wanted) {
  sum_.partition = gpu::partition::identity();
  sum_.complete = true;
  sum_.verified = sum_.unverified = gpu::tally(sum_.partition.classes);
}

void result_sum::add_file(const std::string& path) {
  place at{.name = path == "-" ? "standard input" : printable(path)};
  try {
    const io::descriptor opened = open_results(path);
    add_lines(opened.get(), at);
    finish(at);
  } catch (const std::system_error& error) {
    at.line = 0;
    complain(at, error.code().message());
  } catch (const std::length_error& error) {
    complain(at, error.what());
  }
}

void result_sum::add_lines(int fd, place& at) {
  line_reader lines(fd);
  for (std::string line; ++at.line, lines.next(line);) {
    if (line.empty()) continue;
    try {
      add_document(line, at);
    } catch (const result_damage& damage) {
      at.inputs = {};
      at.spoilt = true;
      complain(at, damage.what());
    }
  }
}

void result_sum::add_document(std::string_view line, place& at) {
  const nlohmann::json document = parse_document(line);
  const std::string kind = kind_of(document);
  if (kind == "snapshot" || kind == "window" || kind == "verdict" || kind == "alert") return;
  if (kind == "result") return add_result(document, at);
  if (kind != "input") throw result_damage("the kind is " + config::quote(kind) + "; results are of kind \"result\"");
  input_report input = read_input(document, wanted_, is_folded(document));
  if (!at.spoilt) at.inputs.push_back(std::move(input));
}

void result_sum::add_result(const nlohmann::json& document, place& at) {
  input_reports before = std::exchange(at.inputs, {});
  ++at.results;
  // a line of its inputs was damaged: that has been told
  if (std::exchange(at.spoilt, false) && document.contains("input_count")) return;
  report one = read_totals(document, wanted_);
  one.inputs = inputs_of(document, wanted_, std::move(before));
  check_sums(one);
  if (std::uint64_t bytes = 0; __builtin_add_overflow(sum_.verified.bytes(), one.verified.bytes(), &bytes) ||
                               __builtin_add_overflow(sum_.unverified.bytes(), one.unverified.bytes(), &bytes)) {
    throw result_damage("with the results before it there are more than 2^64 - 1 bytes");
  }
  ++results_;
  sum_.complete = sum_.complete && one.complete;
  sum_.verified += one.verified;
  sum_.unverified += one.unverified;
  sum_.counted_unverified = sum_.counted_unverified || one.counted_unverified;
  for (const input_report& each : one.inputs) sum_.inputs.push_back(each);
}

void result_sum::finish(place& at) {
  at.line = 0;
  if (!at.inputs.empty()) {
    complain(at, "ends with " + std::to_string(at.inputs.size()) + " lines of inputs, without their result");
  } else if (at.results == 0 && !at.spoilt) {
    complain(at, "there is no result in it; results are written by gpuhist --byte-counts --format json");
  }
}

void result_sum::complain(const place& at, std::string_view what) {
  sum_.complete = false;
  faults_.push_back(at.name + ":" + (at.line == 0 ? "" : std::to_string(at.line) + ":") + " " + std::string(what));
}

report result_sum::take() { return std::move(sum_); }

}  // namespace gpuhist::pipeline
