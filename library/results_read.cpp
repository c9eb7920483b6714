// gpuhist::results from earlier results, as text and as files.
#include "config/quote.hpp"
#include "config/scheme.hpp"
#include "config/usage_error.hpp"
#include "gpuhist/errors.hpp"
#include "io/descriptor.hpp"
#include "library/errors.hpp"
#include "library/option_names.hpp"
#include "library/results.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/formats/result_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace gpuhist {
namespace {

using pipeline::letter_case;
using pipeline::result_sum;
using pipeline::view_through;

std::vector<config::scheme> schemes_of(const read_options& options) {
  try {
    return config::make_schemes(options.schemes, options.ignore_case);
  } catch (const config::usage_error& refused) {
    throw error(errc::invalid_argument, "read_options::schemes: " + std::string(refused.what()));
  }
}

// Throws if the file cannot be opened: result_sum reports that as an error of its content.
void check_readable(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument, "a path cannot contain a zero byte: " + config::quote(path));
  }
  const io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw error(errc::system, path + ": " + std::system_category().message(errno));
}

template <typename Add>
results read_results(const read_options& options, const Add& add) {
  const std::vector<config::scheme> schemes = schemes_of(options);
  result_sum sum({options.ignore_case ? letter_case::ignored : letter_case::exact,
                  options.pairs ? schemes : std::vector<config::scheme>(), pipeline::field_of_reading},
                 {.path = ""});
  try {
    add(sum);
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
  if (!sum.errors().empty()) throw error(errc::invalid_argument, sum.errors().front());
  auto made = std::make_shared<results::state>(results::state{.content = sum.take(), .failed = {}});
  pipeline::report& content = made->content;
  if (!options.pairs) {
    for (const config::scheme& each : schemes) content.schemes.push_back(view_through(each, content.partition));
  }
  content.ignore_case = options.ignore_case;
  content.byte_counts = true;
  return results(std::move(made));
}

}  // namespace

results results::read(std::string_view json, const read_options& options) {
  return read_results(options, [&](result_sum& sum) { sum.add_text("the text", json); });
}

results results::read_file(const std::string& path, const read_options& options) {
  check_readable(path);
  return read_results(options, [&](result_sum& sum) { sum.add_file(path == "-" ? "./-" : path); });
}

}  // namespace gpuhist
