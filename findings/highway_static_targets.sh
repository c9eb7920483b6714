#!/usr/bin/env bash
# Highway is a library of portable vectors. Compiled for one target (static dispatch) with the default flags of GCC, which
# include SSE2, its vectors have one byte. With -march=x86-64-v3, which includes AVX2, they have 16 bytes and not 32: its
# target AVX2 requires AES and PCLMUL, too, which are not in that level. The results are right in each case.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack libhwy-dev=1.0.3-3+deb12u1 libhwy1=1.0.3-3+deb12u1
cat >lanes.cpp <<'CPP'
#include <hwy/highway.h>

#include <cstdint>
#include <cstdio>

int main() {
  namespace simd = hwy::HWY_NAMESPACE;
  std::printf("%zu-byte %s\n", simd::Lanes(simd::ScalableTag<std::uint8_t>()), hwy::TargetName(HWY_STATIC_TARGET));
}
CPP
# row FLAGS EXPECTED
row() {
  # shellcheck disable=SC2086
  g++ -std=c++17 -O2 $1 -I usr/include lanes.cpp -o lanes -L "${LD_LIBRARY_PATH%%:*}" -lhwy
  expect "vectors with '$1'" "$2" "$(./lanes)"
}
g++ --version | head -1
row "" "1-byte SCALAR"
row "-mssse3" "16-byte SSSE3"
row "-march=x86-64-v3" "16-byte SSSE3"
row "-march=x86-64-v3 -maes -mpclmul" "32-byte AVX2"
