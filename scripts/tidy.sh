#!/usr/bin/env bash
# clang-tidy; findings are errors.
#   scripts/tidy.sh            what changed since the last full pass, whose commit is in scripts/tidy_passed: sources of the
#                              program and its benches, and for a changed header a source that includes it
#   scripts/tidy.sh --all      all of them; if they pass, the commit is written to scripts/tidy_passed, to be committed
#   scripts/tidy.sh FILE...    these sources or folders; tests are checked only so (they take twice the time of the program)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/build.sh

folders=(async config io gpu pipeline bench)
passed=scripts/tidy_passed

# As the host build compiles it, one source at a time; what only the build with CUDA compiles, as build/dev does.
configure tidy
sources_of() {
  python3 -c 'import json, os, sys
for entry in json.load(open(sys.argv[1])):
    if entry["file"].endswith(".cpp"): print(os.path.relpath(entry["file"]))' "$1/compile_commands.json" | sort -u
}
list=$(sources_of build/tidy | sed 's|$| build/tidy|')
if [[ -e build/dev/compile_commands.json ]]; then
  list+=$'\n'$(sources_of build/dev | grep -vxFf <(cut -d' ' -f1 <<<"$list") | sed 's|$| build/dev|' || true)
fi

# Of a header: the source of the same name, or the first that includes it.
source_for() {
  if [[ -e ${1%.hpp}.cpp ]]; then echo "${1%.hpp}.cpp"; else grep -lF "#include \"$1\"" -r "${folders[@]}" --include='*.cpp' | sort | head -n 1; fi
}

changed_sources() {
  local file
  { git diff --name-only "$1" -- "${folders[@]}"; git ls-files --others --exclude-standard -- "${folders[@]}"; } |
    while read -r file; do
      case $file in
        *.cpp) echo "$file" ;;
        *.hpp) source_for "$file" || true ;;
      esac
    done | sort -u
}

if [[ ${1:-} == --all ]]; then
  chosen=$(grep -E "^($(IFS='|'; echo "${folders[*]}"))/" <<<"$list")
elif (($#)); then
  chosen=$(grep -E "^($(IFS='|'; echo "$*"))[ /]" <<<"$list")
else
  since=$(cat "$passed")
  git cat-file -e "$since^{commit}" || { echo "tidy.sh: commit $since of $passed is not in this clone: fetch the whole history, or run scripts/tidy.sh --all" >&2; exit 1; }
  # files that do not exist any more, or that no build here compiles, drop out
  chosen=$(grep -Ff <(changed_sources "$since" | sed 's|$| |') <<<"$list" || true)
  echo "clang-tidy: $(grep -c . <<<"$chosen" || true) sources changed since $since"
  [[ $chosen ]] || exit 0
fi

xargs -P "$(nproc)" -n 2 bash -c '
  output=$(clang-tidy-19 --quiet --extra-arg=-Wno-unknown-warning-option -p "$1" "$0" 2>&1) && echo "  ok $0" && exit
  grep -v -e "warnings generated" -e "warnings treated as errors" <<<"$output"; exit 1' <<<"$chosen"

if [[ ${1:-} == --all ]]; then
  if [[ -z $(git status --porcelain -- "${folders[@]}") ]]; then git rev-parse HEAD >"$passed"; fi
fi
