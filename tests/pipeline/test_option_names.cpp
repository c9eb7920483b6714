// The options know engines, formats and schemes only as text. Here their names are compared with the tables that define
// them.
#include "config/option_table.hpp"
#include "config/scheme.hpp"
#include "gpu/engines.hpp"
#include "io/format.hpp"
#include "report/formats/report.hpp"
#include "report/measures/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using gpuhist::config::find_option;

namespace {

using names = std::vector<std::string_view>;

/// Sorted, in one text, so that a difference is easy to read.
std::string sorted(names values) {
  std::sort(values.begin(), values.end());
  std::string text;
  for (const std::string_view each : values) text += std::string(each) + " ";
  return text;
}

/// The values that help, manual page and completions offer.
std::string offered(std::string_view option) { return sorted(find_option(option)->choice_names()); }

}  // namespace

TEST_CASE("--format offers the report formats that there are, and no other") {
  names known;
  for (const auto& each : gpuhist::pipeline::report_formats()) known.push_back(each.name);
  CHECK(offered("--format") == sorted(known));
}

TEST_CASE("--input-format offers the readable formats that there are, and no other") {
  CHECK(offered("--input-format") == sorted(gpuhist::io::input_format_names()));
}

TEST_CASE("--engine offers the engines that there are, and no other") {
  CHECK(offered("--engine") == sorted(gpuhist::gpu::engine_names()));
}

TEST_CASE("--measures offers the measures that there are, `all`, and no other") {
  names known = {"all"};
  for (const auto& each : gpuhist::pipeline::measures::all_measures()) known.push_back(each.name);
  CHECK(offered("--measures") == sorted(known));
}

TEST_CASE("--buckets offers the schemes that there are, and no other") {
  CHECK(offered("--buckets") == sorted(gpuhist::config::scheme_names()));
}
