#!/usr/bin/env bash
# Builds the wheel of the Python package, and runs the tests of files with it in a fresh virtual environment.
#   scripts/wheel.sh [OUTDIR [PIP ARGUMENTS]]  default: build/wheel
#   scripts/wheel.sh build/wheel -C cmake.define.GPUHIST_CUDA=OFF   without the CUDA engine: compiles in a fraction of the time
# PYTHON is the interpreter (default python3): 3.11 makes a wheel for 3.11 only, a newer one a wheel for 3.12 and newer
# (stable ABI; needs CMake 3.26, which pip downloads if the installed one is older). The wheel has the CUDA engine if nvcc
# is on the PATH, and also works without a driver. It needs the shared libraries of the decoders (docs/python.md), so it is
# for machines with the same distribution.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
setup

out=${1:-build/wheel}
python=${PYTHON:-python3}
arguments=("${@:2}")
launcher=()
if command -v ccache >/dev/null; then launcher=(-C cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$fresh" ${launcher[@]+"${launcher[@]}"} \
  ${arguments[@]+"${arguments[@]}"} .
wheel=$(basename "$fresh"/gpuhist-*.whl)

"$python" -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --no-index --no-deps "$fresh/$wheel"
(cd "$fresh" && venv/bin/python -c 'import gpuhist
with gpuhist.Counter(buckets="letters") as counter:
    counter.feed(b"hello")
assert counter.results.counts_by_name()["e-h"] == 2')
env -u PYTHON_PACKAGE "$fresh/venv/bin/python" -B tests/python/test_files.py
mkdir -p "$out"
mv "$fresh/$wheel" "$out/$wheel"
echo "$out/$wheel ($(stat -c %s "$out/$wheel") bytes)"
