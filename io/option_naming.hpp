// How messages name options: as the user of the command types them, or as a program sets them.
#pragma once

#include <string_view>

namespace gpuhist::io {

/// The name of an option in messages, of static lifetime; empty if the caller cannot set it. `option`: its long name on
/// the command line, "--threads", of static lifetime.
using option_naming = std::string_view (*)(std::string_view option);

/// As on the command line.
constexpr std::string_view as_typed(std::string_view option) { return option; }

}  // namespace gpuhist::io
