#!/usr/bin/env bash
# `bench/pipeline.sh [SIZE]` (default 1GiB): the command against the commands that do the least that its input allows,
# in one run, alternating, medians, page cache warm. BUILD=build/release and RUNS=7 can be set. Reports; judges nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
size=${1:-1GiB}
build=${BUILD:-build/release}
[[ -x $build/gpuhist && -x $build/make_log ]] || { echo "bench/pipeline.sh: no $build/gpuhist: cmake --preset release && cmake --build --preset release" >&2; exit 1; }

sample=build/sample
log=$sample/bench-$size.log
mkdir -p "$sample"
if [[ ! -e $log ]]; then "$build/make_log" "$size" >"$log.part" && mv "$log.part" "$log"; fi
if [[ ! -e $log.zst ]]; then zstd -q -f "$log" -o "$log.zst.part" && mv "$log.zst.part" "$log.zst"; fi
cat "$log" "$log.zst" >/dev/null # warm

exec python3 bench/pipeline.py "$build/gpuhist" "$log" "${RUNS:-7}"
