// What the user typed, as it stands in a message of one line.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::config {

/// The text with the bytes of control characters (C0, DEL, C1), of marks that change the direction of text and of what
/// is not UTF-8 as \xNN, so that a message stays one line and harmless on a terminal.
std::string on_one_line(std::string_view typed);

/// The same in double quotes.
std::string quote(std::string_view typed);

}  // namespace gpuhist::config
