#!/usr/bin/env bash
# Builds and runs the tests.
#   scripts/test.sh [CTEST ARGUMENTS]  the tests of the build with warnings as errors (preset dev)
#   scripts/test.sh --all              the steps of CI: these tests, formatting, installation, clang-tidy of changed
#                                      files, the quick part of each sanitizer; of large tests a sample
#   scripts/test.sh --long [STEP...]   all tests as a whole: before an issue is closed. They take hours; the steps can run
#                                      one by one: tests, host-only, oldest-gpu, python, adapters, tidy, address, thread
# docs/testing.md lists the checks of each step. A failed step does not stop the others. The exit status is 0 only if
# all steps passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/setup.sh
source scripts/build.sh

mode=${1:-}
case $mode in --all | --long) shift ;; *) mode= ;; esac
arguments=("$@") # of ctest, or steps of --long
failed=()
reports=() # on failed tests

# step TITLE COMMAND...: runs the command with a line before and after it. A failure is recorded and does not end the
# script.
step() {
  local title=$1 begin=$SECONDS
  printf '\n== %s\n' "$title"
  if "${@:2}"; then
    printf '== %s: passed (%d s)\n' "$title" $((SECONDS - begin))
  else
    printf '== %s: FAILED (%d s)\n' "$title" $((SECONDS - begin))
    failed+=("$title")
  fi
}

# GPUHIST_TEST_DATA, the folder with test files of other projects, is only for the tests: gpuhist takes every variable
# that begins with GPUHIST_ for an option.
test_data=${GPUHIST_TEST_DATA:-}
unset GPUHIST_TEST_DATA

# tests PRESET [CTEST ARGUMENTS]: runs the tests of a build. Some suites only wait for timers, so there is one process
# more than there are cores.
tests() {
  touch "build/$1/tests_began"
  env ${test_data:+GPUHIST_TEST_DATA="$test_data"} ctest --test-dir "build/$1" --output-on-failure --no-tests=error \
    -j $(($(nproc) + 1)) "${@:2}" && return
  reports+=("$(failed_tests "$1")")
  return 1
}

# failed_tests PRESET: the failed tests of a build, each with the last lines that it printed, from the logs of CTest: a
# reader of CI's output may see nothing but its end.
failed_tests() {
  local logs=build/$1/Testing/Temporary
  if [[ ! $logs/LastTestsFailed.log -nt build/$1/tests_began ]]; then # CTest keeps the log of an earlier run
    echo "build/$1: no test was run"
    return
  fi
  echo "tests that failed in build/$1:"
  sed 's/^/  /' "$logs/LastTestsFailed.log"
  awk '/^[0-9]+\/[0-9]+ Testing: / { title = $0; count = 0; printing = 0 }
       /^<end of output>$/ { printing = 0 }
       printing { line[count++] = $0 }
       /^Output:$/ && !count { printing = 1 }
       /^Test Failed\.$/ {
         print "-- " title
         for (i = count > 25 ? count - 25 : 0; i < count; ++i) print line[i]
       }' "$logs/LastTest.log"
}

build_and_test() { build "$1" && tests "$@"; }

formatted() { git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format-19 --dry-run -Werror; }

# installed_library PREFIX: builds a C program with the installed library, and runs it.
installed_library() {
  local libraries=$1/lib
  cc -std=c11 docs/examples/count_stdin.c -o "$1/count_stdin" \
    $(PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config --cflags --libs gpuhist) &&
    [[ $(printf 'hello' | LD_LIBRARY_PATH="$libraries" "$1/count_stdin") == *'e-h 2'* ]]
}

# installed_program PRESET: installs the build, of which only the target gpuhist may exist, and checks the installed
# files.
installed_program() {
  local to status
  to=$(mktemp -d) || return
  cmake --install "build/$1" --prefix "$to" >/dev/null && find "$to" -type f | sed "s|^$to/|  |" | sort &&
    [[ -s $to/share/man/man1/gpuhist.1 ]] &&
    "$to/bin/gpuhist-slurm" --help >/dev/null &&
    [[ $(printf 'hello' | "$to/bin/gpuhist" --buckets letters --format json) == *'"e-h":2'* ]] &&
    if [[ -e $to/lib/libgpuhist.so ]]; then installed_library "$to"; fi
  status=$?
  rm -rf "$to"
  return $status
}

# CI takes a sample of the cases of large tests, so that a change does not wait for its verdict.
sampled_tests() { CAMPAIGN=sample tests "$@"; }

# Memory errors: decoders and readers of archives.
quick_address_sanitizer() { build asan gpuhist_memory_tests && sampled_tests asan -LE long -L memory; }

# Data races: coroutines, engines and decoders of frames.
quick_thread_sanitizer() { build tsan gpuhist_race_tests && sampled_tests tsan -LE long -L race; }

oldest_gpu() {
  command -v nvcc >/dev/null || { echo "skipped: no nvcc"; return; }
  configure oldest-gpu --preset release -DGPUHIST_WERROR=ON -DCMAKE_CUDA_ARCHITECTURES=75 && compile oldest-gpu gpuhist
}

without_cuda() { build host-only gpuhist && installed_program host-only; }

# The Python package without CUDA, and its tests, with packages from PyPI: nanobind is no package of Debian 12.
python_build() {
  local environment=build/python-environment
  python3 -m venv "$environment" && "$environment/bin/pip" install --quiet 'nanobind>=2.4' numpy pyarrow &&
    configure python-package --preset ci -DGPUHIST_CUDA=OFF -DGPUHIST_PYTHON=ON \
      -DPython_EXECUTABLE="$PWD/$environment/bin/python" &&
    compile python-package gpuhist gpuhist_python_stub
}

python_package() { python_build && tests python-package -L python && scripts/tidy.sh python; }

# Engines and libraries of tables from PyPI. NeMo Curator without its models: what its stages and its executor import.
adapter_packages=(numpy==2.4.6 pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 pylance==14.0.2 'ray[data]==2.60.0'
  'dask[dataframe,distributed]==2026.8.0' pyspark==4.3.0 datasets==5.2.0 datatrove==0.10.1 regex==2026.11.19
  cosmos-xenna==0.2.0)
engines() {
  local environment=build/adapters-environment
  python_build && python3 -m venv "$environment" && "$environment/bin/pip" install --quiet "${adapter_packages[@]}" &&
    "$environment/bin/pip" install --quiet --no-deps nemo-curator==1.4.0 || return
  local suite
  for suite in tables adapters; do
    PYTHON_PACKAGE=build/python-package/python PYTHONDONTWRITEBYTECODE=1 \
      "$environment/bin/python" "tests/python/test_$suite.py" --verbose || return
  done
}

long_steps=(tests host-only oldest-gpu python adapters tidy address thread)

long_step() {
  case $1 in
    tests) step 'tests (dev)' build_and_test dev ;;
    host-only) step 'the build without CUDA, installed' without_cuda ;;
    oldest-gpu) step 'the build for the oldest GPU architecture' oldest_gpu ;;
    python) step 'the Python package' python_package ;;
    adapters) step 'the Python package in other engines' engines ;;
    tidy) step 'clang-tidy, all files' scripts/tidy.sh --all ;;
    address) step 'tests (address and undefined behaviour sanitizers)' build_and_test asan -LE long ;;
    thread) step 'tests (thread sanitizer)' build_and_test tsan -LE long ;;
    *) step "'$1' is no step: ${long_steps[*]}" false ;;
  esac
}

if [[ $mode == --long ]]; then setup --long; else setup --all; fi
case $mode in
  '') step 'tests (dev)' build_and_test dev -LE long ${arguments[@]+"${arguments[@]}"} ;;
  --all)
    step 'build (ci)' build ci
    step 'tests (ci)' sampled_tests ci -LE long
    step 'formatting' formatted
    step 'the installed program' installed_program ci
    step 'clang-tidy, changed files' scripts/tidy.sh
    step 'address and undefined behaviour sanitizers, quick part' quick_address_sanitizer
    step 'thread sanitizer, quick part' quick_thread_sanitizer
    ;;
  --long)
    if ((!${#arguments[@]})); then arguments=("${long_steps[@]}"); fi
    for name in "${arguments[@]}"; do long_step "$name"; done
    ;;
esac

echo
if ((${#failed[@]})); then
  printf '%s\n' ${reports[@]+"${reports[@]}"}
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "gpuhist: all passed ($SECONDS s)"
