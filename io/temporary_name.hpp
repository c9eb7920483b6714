// The names of the temporary files that replace outputs when they are complete: ".NAME.gpuhist-XXXXXX", beside NAME.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::io {

/// A new random name for the temporary file of an output. `last`: the last component of the path of the output. A long
/// one is shortened, so that the result has at most 255 bytes.
std::string temporary_name(std::string last);

/// Whether the last component of a path is that of a temporary file of any process.
bool is_temporary_name(std::string_view last);

/// The output that a temporary file replaces, or its first bytes: "NAME". `last`: is_temporary_name().
std::string_view name_of_replaced(std::string_view last);

}  // namespace gpuhist::io
