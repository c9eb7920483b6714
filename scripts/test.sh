#!/usr/bin/env bash
# Builds and runs the tests: `scripts/test.sh [--all] [ctest arguments]`. With --all everything that CI checks:
# both sanitizers, the build without CUDA, formatting, clang-tidy, and the installed program. Every step runs, also
# after one that failed; the exit status is 0 only if all of them passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
source scripts/build.sh

all=
if [[ ${1:-} == --all ]]; then all=--all; shift; fi
ctest_arguments=("$@")
failed=()

# step WHAT COMMAND...: one line before, one after, and never the end of the run.
step() {
  local what=$1 begin=$SECONDS
  printf '\n== %s\n' "$what"
  if "${@:2}"; then
    printf '== %s: passed (%d s)\n' "$what" $((SECONDS - begin))
  else
    printf '== %s: FAILED (%d s)\n' "$what" $((SECONDS - begin))
    failed+=("$what")
  fi
}

# tests PRESET [ctest arguments]
tests() {
  local preset=$1
  build "$preset" && ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "${@:2}"
}

formatted() { git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format-19 --dry-run -Werror; }

installed_program() {
  local to
  to=$(mktemp -d) || return
  cmake --install build/host-only --prefix "$to" >/dev/null && find "$to" -type f | sed "s|^$to/|  |" | sort &&
    [[ $(printf 'hello' | "$to/bin/gpuhist" --buckets letters --format json) == *'"e-h":2'* ]]
  local status=$?
  rm -rf "$to"
  return $status
}

setup $all
step 'tests (dev)' tests dev ${ctest_arguments[@]+"${ctest_arguments[@]}"}
if [[ $all ]]; then
  step 'formatting' formatted
  step 'the build without CUDA' build host-only gpuhist gpuhist_documents
  step 'the installed program' installed_program
  step 'clang-tidy' scripts/tidy.sh
  # What is labelled slow is slow for its many bytes: the sanitizers find nothing there that they would not find sooner.
  step 'tests (address and undefined behaviour sanitizers)' tests asan -LE slow
  step 'tests (thread sanitizer)' tests tsan -LE slow
fi

echo
if ((${#failed[@]})); then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "gpuhist: all passed ($SECONDS s)"
