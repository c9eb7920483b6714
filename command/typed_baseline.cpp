#include "command/typed_baseline.hpp"

#include "command/temporary_folder.hpp"
#include "config/quote.hpp"
#include "config/usage_error.hpp"
#include "library/results.hpp"
#include "report/formats/result_file.hpp"

#include <memory>
#include <utility>

namespace gpuhist::pipeline {
namespace {

// "of an incomplete run ("complete":false): b.log: stopped at offset 4096"
std::string cause_of_incompleteness(const report& read) {
  std::string words = "of an incomplete run (\"complete\":false)";
  for (const input_report& each : read.inputs) {
    if (!each.complete && !each.error.empty()) return words + ": " + printable(each.name + ": " + each.error);
  }
  return words;
}

}  // namespace

typed_baseline read_baseline(const std::string& option, const std::string& path) {
  const std::string prefix = option + ": " + config::quote(path) + " ";
  if (path == "-") throw config::usage_error(option + ": cannot be standard input; give the path of a file");
  result_sum kept(letter_case::exact, temporary_folder());
  kept.add_file(path);
  if (!kept.errors().empty()) throw config::usage_error(prefix + "is no baseline: " + kept.errors().front());
  report read = kept.take();
  if (read.verified.bytes() == 0) {
    throw config::usage_error(prefix + "is no baseline: there are no bytes in it; give a result of some text");
  }
  typed_baseline made;
  if (!read.complete) {
    made.warning = prefix + "is " + cause_of_incompleteness(read) + "; the comparison uses only the bytes that it has";
  }
  made.content =
      results(std::make_shared<const results::state>(results::state{.content = std::move(read), .failed = {}}));
  return made;
}

}  // namespace gpuhist::pipeline
