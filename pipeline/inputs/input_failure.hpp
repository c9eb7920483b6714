// The words in which a result says why an input is not complete.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// "Input/output error at offset 4096", "No such file or directory": what was thrown by a source or a decoder.
std::string failure_text(const std::exception_ptr& error);

/// "stopped at offset 4096": reading was given up, because of a signal or a failure elsewhere.
std::string left_at(std::uint64_t offset);

/// "not read": the run was stopped before it came to this input.
std::string not_read();

/// Whether those are its words: the run came to an end before the input did, and nothing is wrong with that one.
bool is_left(std::string_view error);

}  // namespace gpuhist::pipeline
