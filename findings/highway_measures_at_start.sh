#!/usr/bin/env bash
# Highway is a library of portable vectors. Debian's libhwy1 also has its functions for benchmarks, and a constructor among
# them measures the resolution of the timer when the library is loaded. So each program that links it starts some
# milliseconds later, also one that calls nothing of it. Seen by a library that is loaded first, whose function of the same
# name takes the place of the measurement; the times of a start are printed, and not compared.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack libhwy1=1.0.3-3+deb12u1
cat >seen.cpp <<'CPP'
#include <cstdint>
#include <cstdio>

namespace hwy::platform {
std::uint64_t TimerResolution() {
  std::puts("measured");
  return 1;
}
}  // namespace hwy::platform
CPP
echo 'int main() {}' >empty.cpp
g++ -std=c++17 -shared -fPIC seen.cpp -o seen.so
g++ empty.cpp -o without
g++ empty.cpp -o with -Wl,--no-as-needed "${LD_LIBRARY_PATH%%:*}/libhwy.so.1"
python3 - <<'PY'
import statistics, subprocess, time

def seconds(program):
    begin = time.perf_counter()
    subprocess.run([program], check=True)
    return time.perf_counter() - begin

runs = [[seconds(f"./{name}") for name in ("without", "with")] for _ in range(100)]
for name, times in zip(("without", "with"), zip(*runs)):
    print(f"start of an empty program {name} libhwy: {1000 * statistics.median(times):.2f} ms")
PY
expect "a start without libhwy" "" "$(LD_PRELOAD=./seen.so ./without)"
expect "a start with libhwy" "measured" "$(LD_PRELOAD=./seen.so ./with)"
