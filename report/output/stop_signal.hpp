// The stop signal of the process. The command sets it (command/signals.hpp); a wait for the lock of an output obeys it.
#pragma once

#include <atomic>

namespace gpuhist::report {

/// 0: none was received. Handlers of signals can use only globals.
inline std::atomic<int> stop_signal_of_process = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace gpuhist::report
