#!/usr/bin/env bash
# `scripts/test_gpu.sh BUNDLE [PART...]`: tests and measurements on a machine with a GPU, with a folder made by
# scripts/bundle.sh. Parts:
#   tests        the tests on the device, and the command's tests with --engine cuda
#   sanitize     the four tools of compute-sanitizer
#   interrupted  a run that ends while copies are in flight
#   rates        the rate of a cached file, and the rate of the link, measured in the same run
#   kernels      the kernel catalogue
#   engines      the engine auto, compared with host and cuda
#   archives     archives, compared with their decoders alone
#   matches      --match with strings, compared with counting alone
# Default: the first four. The exit status is 0 if nothing failed.
set -uo pipefail
bundle=$(readlink -f "${1:?usage: scripts/test_gpu.sh BUNDLE [tests|sanitize|interrupted|rates|kernels|engines|archives|matches]...}")
shift
parts=${*:-tests sanitize interrupted rates}
export LD_LIBRARY_PATH="$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PATH="$bundle/bin:$PATH"
export GPUHIST="$bundle/bin/gpuhist" TEST_ENGINE=cuda
work=${WORK:-$(mktemp -d)}
failed=0

check() {  # check NAME COMMAND...: prints the command's duration, and the end of its output if it fails
  local name=$1 log begun=$SECONDS
  log=$(mktemp "$work/log.XXXX")
  if "${@:2}" >"$log" 2>&1; then
    echo "ok      $((SECONDS - begun)) s  $name: $(grep -aE 'test cases|^Ran |ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1)"
  else
    echo "FAILED  $((SECONDS - begun)) s  $name"; tail -60 "$log"; failed=1
    return 1
  fi
}

# Every start of the program creates a CUDA context. That takes 0.4 s, and much longer if many processes do so at once,
# because the driver creates one context at a time. Therefore half as many suites as cores run in parallel, and suites
# that use no engine are left out. Inside a suite, only a sample of the cases that do not depend on the engine runs
# (tests/cli/support.py: sampled). SUITES='zstd gzip' runs only these suites.
without_engine=' archive_damage configuration filter_folder help jsonl_field listing lost_device oracle reference_files renderings report table usage '
longest_first='follow gzip xz_bzip2_lz4 archives inputs exactness pass_through zstd signals compress windows trees damage gates
  parallel terminal skip_damage repack'

example() {  # example NAME OUTPUT: runs an example of docs/examples
  [[ $("$bundle/bin/gpuhist_example_$1") == "$2" ]]
}

suites() {  # the names of the suites, the slowest first
  local suite
  for suite in $longest_first $(cd "$bundle/tests/cli" && ls test_*.py | sed 's/^test_//; s/\.py$//'); do
    if [[ ${SUITES:-} ]]; then [[ " $SUITES " == *" $suite "* ]] || continue
    elif [[ $without_engine == *" $suite "* ]]; then continue; fi
    [[ -f $bundle/tests/cli/test_$suite.py ]] && echo "$suite"
  done | awk '!seen[$0]++'
}

tests() {
  local suite begun=$SECONDS
  check 'device tests' "$bundle/bin/test_gpu_device"
  check 'zstd on the device' "$bundle/bin/test_zstd_device"
  check 'gzip on the device' "$bundle/bin/test_deflate_device"
  check 'parts of text on the device' "$bundle/bin/test_frame_lanes_device"
  check 'units on the device' "$bundle/bin/test_unit_device"
  check 'samples on the device' "$bundle/bin/test_samples_device"
  check 'kernel catalogue' "$bundle/bin/test_kernel_catalogue"
  check 'example: device memory' example count_device_memory 'l: 3000000, o: 2000000'
  check 'example: a graph' example count_in_a_graph 'l: 9000000, o: 6000000'
  for suite in $(suites); do
    while (($(jobs -rp | wc -l) >= ($(nproc) + 1) / 2)); do wait -n || failed=1; done
    check "cli cuda: $suite" python3 -B "$bundle/tests/cli/test_$suite.py" &
  done
  while (($(jobs -p | wc -l) > 0)); do wait -n || failed=1; done
  echo "tests: $((SECONDS - begun)) s"
}

# All tools check every strategy of the catalogue. memcheck also checks the lanes. racecheck, which is much slower,
# checks a chunk that takes every path of the engine's kernel. TOOLS='memcheck' runs only this tool over the catalogue.
sanitize() {
  local tool
  for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
    check "compute-sanitizer $tool, catalogue" timeout 250 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$bundle/bin/test_kernel_catalogue" --test-case='every strategy of the catalogue*'
  done
  check 'compute-sanitizer memcheck, lanes' compute-sanitizer --tool memcheck --error-exitcode 9 \
    "$bundle/bin/test_gpu_device" --test-case-exclude='*5 GiB*'
  check 'compute-sanitizer racecheck, lanes' compute-sanitizer --tool racecheck --error-exitcode 9 \
    "$bundle/bin/test_gpu_device" --test-case='*unaligned extents of a small chunk*'
  for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
    check "compute-sanitizer $tool, zstd" timeout 250 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$bundle/bin/test_zstd_device" --test-case='a sanitized sample*'
    check "compute-sanitizer $tool, gzip" timeout 250 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$bundle/bin/test_deflate_device" --test-case='a sanitized sample*'
    check "compute-sanitizer $tool, zstd in steps" timeout 250 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$bundle/bin/test_frame_lanes_device" --test-case='*a sanitized sample*'
    check "compute-sanitizer $tool, samples" timeout 250 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$bundle/bin/test_samples_device" --test-case='a sanitized sample*'
    check "compute-sanitizer $tool, units" timeout 250 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$bundle/bin/test_unit_device" --test-case='a sanitized sample*'
  done
}

# A signal while copies are in flight: the report has the counts so far, nothing hangs, and no freed memory is used.
interrupted() { check 'compute-sanitizer memcheck, the command interrupted' interrupt; }

interrupt() {
  local report="$work/interrupted.json" log="$work/interrupted.log" job
  yes "$(printf 'x%.0s' {1..200})" | timeout 120 compute-sanitizer --tool memcheck "$GPUHIST" --engine cuda \
    --buckets letters --format json -o "$report" >"$log" 2>&1 &
  job=$!
  for _ in $(seq 200); do pgrep -x gpuhist >/dev/null && break; sleep 0.1; done
  sleep 6
  pkill -INT -x gpuhist
  wait "$job"
  cat "$log"
  grep -q '"complete": *false' "$report" && grep 'ERROR SUMMARY: 0 errors' "$log"
}

# A file in the page cache, named so often that a run takes seconds. Runs alternate with measurements of the link alone.
rates() {
  local log="$work/4GiB.log" files=() run
  "$bundle/bin/make_log" 4GiB >"$log"
  for _ in $(seq "${REPEATS:-50}"); do files+=("$log"); done
  for run in 1 2 3; do
    echo "-- run $run: gpuhist --engine cuda reads $((4 * ${#files[@]})) GiB of a cached file; then the link alone"
    "$GPUHIST" --engine cuda --buckets letters --stats ${OPTIONS:-} "${files[@]}" 2>&1 >"$work/table" |
      grep -E '^(engine|kernel|text|chunks|read|copy|count|device|limited)|overlap|busy'
    "$bundle/bin/gpuhist-bench" link
  done
  tail -3 "$work/table"
}

kernels() { "$bundle/bin/gpuhist-bench" kernels; }

engines() { python3 -B "$bundle/bench/engines.py" "$GPUHIST" "$bundle/bin/make_log" "$work" ${ONLY:+"$ONLY"}; }

archives() {
  python3 -B "$bundle/bench/archives.py" "$GPUHIST" "$bundle/bin/gpuhist-bench" "$bundle/bin/make_log" "$work" ${ARCHIVES:-}
}

matches() { python3 -B "$bundle/bench/matches.py" "$GPUHIST" "$bundle/bin/make_log" "$work" ${MATCHES:-}; }

nvidia-smi -L
for part in $parts; do "$part"; done
exit $failed
