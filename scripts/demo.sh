#!/usr/bin/env bash
# From a fresh clone to results: installs missing packages, builds, makes a sample log, and counts it from a pipe, from
# a file and from an archive. Prints each command before its output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
source scripts/build.sh
setup

# The compute capabilities, as CMake takes them (90, or 75;90), of the GPUs of this machine for which nvcc compiles.
# Without one: the lowest that gpuhist supports, whose PTX every later GPU runs.
compute_capabilities() {
  local known found
  known=$(nvcc --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p') || true
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -u | grep -xF "${known:-none}" | paste -sd ';') || true
  echo "${found:-75}"
}
CUDAARCHS=$(compute_capabilities)
export CUDAARCHS
build quick gpuhist gpuhist_make_log

log=build/sample/sample.log
mkdir -p build/sample
build/quick/make_log 64MiB >"$log"
zstd -q -f "$log" -o "$log.zst"

# Prints a shell command, then runs it.
show() {
  printf '\n$ %s\n' "$1"
  bash -c "set -o pipefail; $1"
}

show "cat $log | build/quick/gpuhist --buckets letters"
show "build/quick/gpuhist --buckets letters $log.zst"
show "build/quick/gpuhist --buckets classes,letters --stats $log $log.zst"
show "build/quick/gpuhist --buckets letters --format json $log"
