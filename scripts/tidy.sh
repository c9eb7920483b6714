#!/usr/bin/env bash
# clang-tidy over every .cpp of the program and its benches that build/host-only (and, with CUDA, build/dev) compiles;
# findings are errors. `scripts/tidy.sh [FILE...]` checks only these; tests are checked when they are named (all of them
# take twice the time of the program). Both presets must have been configured (scripts/test.sh does it).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The .cpp files of a compile database, relative to here.
sources_of() {
  python3 -c 'import json, os, sys
for entry in json.load(open(sys.argv[1])):
    if entry["file"].endswith(".cpp"): print(os.path.relpath(entry["file"]))' "$1/compile_commands.json" | sort -u
}

# What the host build compiles is checked as the host build compiles it; the rest (CUDA only) as build/dev does.
list=$(sources_of build/host-only | sed 's|$| build/host-only|')
if [[ -e build/dev/compile_commands.json ]]; then
  list+=$'\n'$(sources_of build/dev | grep -vxFf <(cut -d' ' -f1 <<<"$list") | sed 's|$| build/dev|' || true)
fi
if ((!$#)); then set -- async config io gpu pipeline bench; fi
list=$(grep -E "^($(printf '%s|' "$@" | sed 's/|$//'))[ /]" <<<"$list")

grep . <<<"$list" | xargs -P "$(nproc)" -n 2 bash -c '
  output=$(clang-tidy-19 --quiet --extra-arg=-Wno-unknown-warning-option -p "$1" "$0" 2>&1) && echo "  ok $0" && exit
  grep -v -e "warnings generated" -e "warnings treated as errors" <<<"$output"; exit 1'
