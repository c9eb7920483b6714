// Threads of the library run no signal handlers of the program.
#pragma once

#include <functional>
#include <thread>

namespace gpuhist::pipeline {

/// Starts a thread in which signals are blocked, except those that its own instructions cause (SIGSEGV, ...). Threads
/// that it starts inherit that. The mask of the caller is unchanged. Throws std::system_error.
std::thread start_without_signals(std::function<void()> body);

}  // namespace gpuhist::pipeline
