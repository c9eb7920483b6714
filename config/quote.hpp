// Text from users, safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::config {

/// The text with \xNN for each byte of control characters (C0, DEL, C1), of marks that change the direction of text,
/// and of invalid UTF-8. The message stays on one line, and is harmless on a terminal.
std::string on_one_line(std::string_view typed);

/// on_one_line(typed) in double quotes.
std::string quote(std::string_view typed);

}  // namespace gpuhist::config
