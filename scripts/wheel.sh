#!/usr/bin/env bash
# Builds the wheel of the Python package, and checks it in a fresh virtual environment.
#   scripts/wheel.sh [OUTDIR]  default: build/wheel
# PYTHON is the interpreter (default python3): 3.11 makes a wheel for 3.11 only, a newer one a wheel for 3.12 and newer
# (stable ABI). The wheel has the CUDA engine if nvcc is on the PATH, and also works without a driver. It needs the
# shared libraries of the decoders (docs/python.md), so it is for machines with the same distribution.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
setup

out=${1:-build/wheel}
python=${PYTHON:-python3}
launcher=()
if command -v ccache >/dev/null; then launcher=(-C cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

rm -f "$out"/gpuhist-*.whl
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$out" ${launcher[@]+"${launcher[@]}"} .
wheel=$(ls "$out"/gpuhist-*.whl)

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$python" -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --no-index --no-deps "$wheel"
(cd "$fresh" && venv/bin/python -c 'import gpuhist
with gpuhist.Counter(buckets="letters") as counter:
    counter.feed(b"hello")
assert counter.results.counts_by_name()["e-h"] == 2')
echo "$wheel ($(stat -c %s "$wheel") bytes)"
