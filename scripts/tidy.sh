#!/usr/bin/env bash
# Runs clang-tidy; findings are errors.
#   scripts/tidy.sh            sources of the program and its benchmarks that changed since the commit in
#                              scripts/tidy_passed, whose sources passed; for a changed header, one source that includes
#                              it
#   scripts/tidy.sh --record   the same; if they pass, the present commit is written to scripts/tidy_passed, which must
#                              then be committed
#   scripts/tidy.sh --all      all these sources; if they pass, their commit is written to scripts/tidy_passed, which
#                              must then be committed. Takes hours; if it is interrupted, the next pass leaves out what
#                              passed (scripts/tidy_source.py)
#   scripts/tidy.sh FILE...    these sources or folders. Tests are checked only if named (they take twice as long as the
#                              program)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/build.sh

folders=(async config io gpu pipeline bench)
passed=scripts/tidy_passed

# Sources are checked with the compile commands of the host build (build/tidy); sources that only the CUDA build
# compiles, with those of build/dev; those of the Python package only if named, and if build/python-package exists.
configure tidy >/dev/null
configure dev
sources_of() {
  python3 -c 'import json, os, sys
for entry in json.load(open(sys.argv[1])):
    if entry["file"].endswith(".cpp"): print(os.path.relpath(entry["file"]))' "$1/compile_commands.json" | sort -u
}
list=$(sources_of build/tidy | sed 's|$| build/tidy|')
list+=$'\n'$(sources_of build/dev | grep -vxFf <(cut -d' ' -f1 <<<"$list") | sed 's|$| build/dev|' || true)
if [[ -e build/python-package/compile_commands.json ]]; then
  list+=$'\n'$(sources_of build/python-package | sed -n 's|^python/.*|& build/python-package|p')
fi

# source_for HEADER: the source of the same name, or the first source that includes the header.
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
elif (($#)) && [[ $1 != --record ]]; then
  chosen=$(grep -E "^($(IFS='|'; echo "$*"))[ /]" <<<"$list")
else
  since=$(cat "$passed")
  git cat-file -e "$since^{commit}" || { echo "tidy.sh: commit $since of $passed is not in this clone: fetch the whole history, or run scripts/tidy.sh --all" >&2; exit 1; }
  # deleted files, and files that no build here compiles, are left out
  chosen=$(grep -Ff <(changed_sources "$since" | sed 's|$| |') <<<"$list" || true)
  echo "clang-tidy: $(grep -c . <<<"$chosen" || true) sources changed since $since"
  [[ $chosen ]] || exit 0
fi

xargs -P "$(nproc)" -n 2 python3 -B scripts/tidy_source.py <<<"$chosen"

if [[ ${1:-} == --all || ${1:-} == --record ]]; then
  if [[ -z $(git status --porcelain -- "${folders[@]}") ]]; then git rev-parse HEAD >"$passed"; fi
fi
