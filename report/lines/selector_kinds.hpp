// The parsers of all kinds of selectors, which selector.cpp lists, and what they share. Internal.
#pragma once

#include "report/lines/selector.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::report::lines {

reader_factory parse_field_selector(const typed_selector& typed);
reader_factory parse_csv_selector(const typed_selector& typed);
reader_factory parse_json_selector(const typed_selector& typed);
reader_factory parse_regex_selector(const typed_selector& typed);
reader_factory parse_template_selector(const typed_selector& typed);
reader_factory parse_kind_selector(const typed_selector& typed);
reader_factory parse_host_selector(const typed_selector& typed);
reader_factory parse_app_selector(const typed_selector& typed);
reader_factory parse_status_selector(const typed_selector& typed);
reader_factory parse_level_selector(const typed_selector& typed);

/// Throws config::usage_error: the selector, then the error, which ends in the remedy.
[[noreturn]] void refuse(const typed_selector& typed, const std::string& error);

/// The argument as a number, of at most nine digits; nothing: it is none.
std::optional<int> integer_argument(const typed_selector& typed);

/// The line without '\r' at its end.
inline std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace gpuhist::report::lines
