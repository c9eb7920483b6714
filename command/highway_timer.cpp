// Debian's libhwy measures the resolution of the timer for 5 ms when it is loaded, for its functions for benchmarks,
// which gpuhist does not call (findings/highway_measures_at_start.sh). A function of the program takes the place of the
// measurement. Programs that use libgpuhist are not concerned.
#include <cstdint>

namespace gpuhist::command {

[[gnu::used, gnu::visibility("default")]] std::uint64_t timer_resolution() asm("_ZN3hwy8platform15TimerResolutionEv");

std::uint64_t timer_resolution() { return 1; }

}  // namespace gpuhist::command
