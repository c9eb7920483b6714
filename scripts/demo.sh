#!/usr/bin/env bash
# From a fresh clone to results: installs missing packages, builds, makes a sample log, and counts it from a pipe, from
# a file and from an archive. Prints each command before its output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
source scripts/build.sh
setup
build release gpuhist gpuhist_make_log

log=build/sample/sample.log
mkdir -p build/sample
build/release/make_log 64MiB >"$log"
zstd -q -f "$log" -o "$log.zst"

# Prints a shell command, then runs it.
show() {
  printf '\n$ %s\n' "$1"
  bash -c "set -o pipefail; $1"
}

show "cat $log | build/release/gpuhist --buckets letters"
show "build/release/gpuhist --buckets letters $log.zst"
show "build/release/gpuhist --buckets classes,letters --stats $log $log.zst"
show "build/release/gpuhist --buckets letters --format json $log"
