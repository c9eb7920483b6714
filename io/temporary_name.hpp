// The names of the temporary files that replace outputs when they are complete: ".NAME.gpuhist-000000", beside NAME.
#pragma once

#include <string>
#include <string_view>

namespace gpuhist::io {

/// A name for the temporary file of an output. `last`: the last component of the path of the output. A long one is
/// shortened, so that the result has at most 255 bytes. `number`: of the names of that output. They are the same for
/// every process, so that a run finds the files that killed runs left.
std::string temporary_name(std::string last, unsigned number);

/// Whether the last component of a path is that of a temporary file of any process.
bool is_temporary_name(std::string_view last);

/// The output that a temporary file replaces, or its first bytes: "NAME". `last`: is_temporary_name().
std::string_view name_of_replaced(std::string_view last);

}  // namespace gpuhist::io
