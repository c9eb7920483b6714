#!/usr/bin/env bash
# `scripts/bundle.sh OUTDIR [--preset release] [--keep-symbols]`: makes a folder that runs on another Linux machine of
# the same architecture without installation. It contains gpuhist, the test and bench programs of the build, the
# libraries that they need except those that every system has, and the command's tests. OUTDIR/run PROGRAM [ARGUMENTS]
# runs one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() { echo "usage: scripts/bundle.sh OUTDIR [--preset release] [--keep-symbols]" >&2; exit 2; }

out='' preset=release strip=1
while (($#)); do
  case $1 in
    --preset) (($# > 1)) || usage; preset=$2; shift ;;
    --keep-symbols) strip= ;;
    -*) usage ;;
    *) [[ -z $out ]] || usage; out=$1 ;;
  esac
  shift
done
[[ $out ]] || usage
build=build/$preset
[[ -x $build/gpuhist ]] || { echo "bundle.sh: $build/gpuhist does not exist: build the preset '$preset' first" >&2; exit 1; }

rm -rf "$out/bin" "$out/lib" "$out/tests" "$out/bench" "$out/run"
mkdir -p "$out/bin" "$out/lib" "$out/tests"

# The programs of gpuhist are the executables outside CMake's own folders and the scratch folder of tests/package.
find "$build" -name CMakeFiles -prune -o -name _deps -prune -o -name scratch -prune -o -type f -perm -u+x ! -name '*.so*' ! -name '*.py' \
  ! -name '*.sh' ! -name '*.o' -print0 | xargs -0 cp -t "$out/bin"
# Tools that the command's tests use.
for tool in zstd pzstd xz lzip bzip2 lz4 compress cpio; do cp "$(command -v "$tool")" "$out/bin"; done
if [[ $strip ]]; then strip "$out"/bin/*; fi

# Libraries that every system has are not copied: the C library of another system does not run.
system='^(libc|libm|libstdc\+\+|libgcc_s|ld-linux[^.]*|libpthread|libdl|librt)\.so'
for program in "$out"/bin/*; do
  ldd "$program" | sed -n 's/^\s*\S* => \(\/\S*\) .*/\1/p'
done | sort -u | while read -r library; do
  if [[ ! $(basename "$library") =~ $system ]]; then cp -L "$library" "$out/lib/"; fi
done

cp -r tests/cli "$out/tests/"
mkdir -p "$out/bench"
cp bench/*.py "$out/bench/"
rm -rf "$out/tests/cli/__pycache__"
cat >"$out/run" <<'RUN'
#!/bin/sh
# run PROGRAM [ARGUMENTS]: runs a program of bin/ with the libraries of lib/. For several programs, or for the tests:
# export LD_LIBRARY_PATH=.../lib; GPUHIST=.../bin/gpuhist python3 tests/cli/test_exactness.py
here=$(dirname "$(readlink -f "$0")")
program=$1
shift
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/bin/$program" "$@"
RUN
chmod +x "$out/run"
du -sh "$out" | cut -f1 | sed "s|\$| in $out: $(ls "$out/bin" | xargs)|"
