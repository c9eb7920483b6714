#!/usr/bin/env bash
# `scripts/test_gpu.sh BUNDLE [tests] [sanitize] [rates]`: what only a machine with a GPU can show, from a folder made by
# scripts/bundle.sh: the tests on the device and the command's tests with --engine cuda; memcheck and racecheck; the rate
# of a cached file beside the link's, measured in the same run. All three when none is named. Exit 0: nothing failed.
set -uo pipefail
bundle=$(readlink -f "${1:?usage: scripts/test_gpu.sh BUNDLE [tests] [sanitize] [rates]}")
shift
parts=${*:-tests sanitize rates}
export LD_LIBRARY_PATH="$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PATH="$bundle/bin:$PATH"
export GPUHIST="$bundle/bin/gpuhist" TEST_ENGINE=cuda
work=${WORK:-$(mktemp -d)}
failed=0
running=()

check() {  # check NAME COMMAND...: the output's end if it fails
  local name=$1 log
  log=$(mktemp "$work/log.XXXX")
  if "${@:2}" >"$log" 2>&1; then
    echo "ok      $name: $(grep -aE 'test cases|^Ran |ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1)"
  else
    echo "FAILED  $name"; tail -40 "$log"; failed=1
    return 1
  fi
}

tests() {
  check 'device tests' "$bundle/bin/test_gpu_device"
  local suite
  for suite in "$bundle"/tests/cli/test_*.py; do  # every start of the program wakes the device: side by side
    check "cli cuda: $(basename "$suite" .py)" python3 -B "$suite" &
    running+=($!)
  done
  for suite in "${running[@]}"; do wait "$suite" || failed=1; done
}

# memcheck sees the whole contract but the 5 GiB; racecheck, far slower, a chunk that takes every path of the kernel.
sanitize() {
  check 'compute-sanitizer memcheck' compute-sanitizer --tool memcheck --error-exitcode 9 \
    "$bundle/bin/test_gpu_device" --test-case-exclude='*5 GiB*'
  check 'compute-sanitizer racecheck' compute-sanitizer --tool racecheck --error-exitcode 9 \
    "$bundle/bin/test_gpu_device" --test-case='*unaligned extents of a small chunk*'
}

# A file in the page cache, named so often that a run takes seconds, in turn with the link alone.
rates() {
  local log="$work/4GiB.log" files=() run
  "$bundle/bin/make_log" 4GiB >"$log"
  for _ in $(seq "${REPEATS:-50}"); do files+=("$log"); done
  for run in 1 2 3; do
    echo "-- run $run: gpuhist --engine cuda over $((4 * ${#files[@]})) GiB of cached file; then the link alone"
    "$GPUHIST" --engine cuda --buckets letters --stats ${OPTIONS:-} "${files[@]}" 2>&1 >"$work/table" |
      grep -E '^(engine|kernel|text|chunks|read|copy|count|device|limited)|overlap|busy'
    "$bundle/bin/gpuhist-bench" link
  done
  tail -3 "$work/table"
  "$bundle/bin/gpuhist-bench" kernels
}

nvidia-smi -L
for part in $parts; do "$part"; done
exit $failed
