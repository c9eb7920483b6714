#!/usr/bin/env bash
# `bench/pipeline.sh [SIZE]` (default 1GiB): compares gpuhist with commands that only decompress or read the same input;
# medians of alternating runs, warm page cache. Environment: BUILD (default build/release), RUNS (default 7). Prints
# ratios and targets; the exit status does not depend on them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
size=${1:-1GiB}
build=${BUILD:-build/release}
[[ -x $build/gpuhist && -x $build/make_log ]] || { echo "bench/pipeline.sh: $build/gpuhist or $build/make_log does not exist; build it: cmake --preset release && cmake --build --preset release" >&2; exit 1; }

sample=build/sample
log=$sample/bench-$size.log
mkdir -p "$sample"
# made FILE COMMAND...: writes the output of the command to the file, unless the file exists
made() {
  local file=$1
  if [[ ! -e $file ]]; then "${@:2}" >"$file.part" && mv "$file.part" "$file"; fi
}
# part N: prints part N of 16 of the log, compressed as one frame
part() { (set +o pipefail; tail -c +$((bytes * $1 / 16 + 1)) "$log" | head -c $((bytes / 16)) | zstd -q -c); }

made "$log" "$build/make_log" "$size"
bytes=$(stat -c %s "$log")
made "$log.zst" zstd -q -c "$log"
made "$log.many.zst" pzstd -q -p 2 -c "$log"
made "$log.gz" gzip -c "$log"
for number in {0..15}; do made "$log.$(printf %02d "$number").zst" part "$number"; done
cat "$log" "$log".*zst "$log.gz" >/dev/null # warm

exec python3 bench/pipeline.py "$build/gpuhist" "$log" "${RUNS:-7}"
