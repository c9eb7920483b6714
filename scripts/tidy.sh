#!/usr/bin/env bash
# Runs clang-tidy; findings are errors.
#   scripts/tidy.sh            sources of the program and its benchmarks that changed since the commit in
#                              scripts/tidy_passed, whose sources passed; for a changed header, one source that includes
#                              it
#   scripts/tidy.sh --record   the same; if they pass, the present commit is written to scripts/tidy_passed, which must
#                              then be committed
#   scripts/tidy.sh --all      all these sources; if they pass, their commit is written to scripts/tidy_passed, which
#                              must then be committed. If it is interrupted, the next pass leaves out what
#                              passed (scripts/tidy_groups.py)
#   scripts/tidy.sh FILE...    these sources or folders. Tests are checked only if named (they take twice as long as the
#                              program)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/build.sh

folders=(async config io gpu pipeline report library batch command samples bench)
passed=scripts/tidy_passed

# scripts/tidy_groups.py names the builds whose compile commands it takes.
configure tidy --preset host-only -DGPUHIST_UNITY=ON >/dev/null # compile commands, in groups of sources
configure dev
list=$(python3 -B scripts/tidy_groups.py --list)

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
  chosen=$(grep -E "^($(IFS='|'; echo "$*"))(/|$)" <<<"$list")
else
  since=$(cat "$passed")
  git cat-file -e "$since^{commit}" || { echo "tidy.sh: commit $since of $passed is not in this clone: fetch the whole history, or run scripts/tidy.sh --all" >&2; exit 1; }
  # deleted files, and files that no build here compiles, are left out
  chosen=$(grep -xFf <(changed_sources "$since") <<<"$list" || true)
  echo "clang-tidy: $(grep -c . <<<"$chosen" || true) sources changed since $since"
  [[ $chosen ]] || exit 0
fi

python3 -B scripts/tidy_groups.py <<<"$chosen"

if [[ ${1:-} == --all || ${1:-} == --record ]]; then
  if [[ -z $(git status --porcelain -- "${folders[@]}") ]]; then git rev-parse HEAD >"$passed"; fi
fi
