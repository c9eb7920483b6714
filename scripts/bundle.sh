#!/usr/bin/env bash
# `scripts/bundle.sh OUTDIR [--preset release] [--keep-symbols] [--formats [--rapidgzip WHEEL]]`: makes a folder that
# runs on another Linux machine of the same architecture without installation. It contains gpuhist, the test and bench
# programs of the build, the libraries that they need except those that every system has, and the command's tests.
# OUTDIR/run PROGRAM [ARGUMENTS] runs one.
# --formats: the folder contains only what bench/formats.py needs: gpuhist, make_log, and every tool that is installed
# here. `OUTDIR/run formats [ARGUMENTS]` runs bench/formats.py. WHEEL is rapidgzip for the Python of the other machine,
# from `pip download --no-deps --only-binary=:all: --python-version 312 rapidgzip`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  echo "usage: scripts/bundle.sh OUTDIR [--preset release] [--keep-symbols] [--formats [--rapidgzip WHEEL]]" >&2
  exit 2
}

out='' preset=release strip=1 formats='' wheel=''
while (($#)); do
  case $1 in
    --preset) (($# > 1)) || usage; preset=$2; shift ;;
    --keep-symbols) strip= ;;
    --formats) formats=1 ;;
    --rapidgzip) (($# > 1)) || usage; wheel=$2; shift ;;
    -*) usage ;;
    *) [[ -z $out ]] || usage; out=$1 ;;
  esac
  shift
done
[[ $out && ($formats || ! $wheel) ]] || usage
build=build/$preset
[[ -x $build/gpuhist ]] || {
  echo "bundle.sh: $build/gpuhist does not exist: build the preset '$preset' first" >&2
  exit 1
}

# copy_tests: the programs of gpuhist, which are the executables outside CMake's own folders and the scratch folder of
# tests/package; the tools that the command's tests use; and these tests.
copy_tests() {
  find "$build" -name CMakeFiles -prune -o -name _deps -prune -o -name scratch -prune -o -type f -perm -u+x \
    ! -name '*.so*' ! -name '*.py' ! -name '*.sh' ! -name '*.o' -print0 | xargs -0 cp -t "$out/bin"
  local tool
  for tool in zstd pzstd xz lzip bzip2 lz4 compress cpio; do cp "$(command -v "$tool")" "$out/bin"; done
  mkdir -p "$out/tests"
  cp -r tests/cli "$out/tests/"
  rm -rf "$out/tests/cli/__pycache__"
}

# copy_peers: gpuhist, make_log, the tools that bench/formats.py compares with, and a command that starts it.
copy_peers() {
  cp "$build/gpuhist" "$build/make_log" "$out/bin"
  local name path
  python3 -B bench/formats.py --list-tools | while IFS=$'\t' read -r name path; do
    if [[ $(head -c 4 "$path") == $'\x7fELF' ]]; then cp -L "$path" "$out/bin/$name"
    elif [[ $name != rapidgzip ]]; then echo "bundle.sh: $path is left out: it is a script" >&2; fi
  done
  cat >"$out/bin/formats" <<'FORMATS'
#!/bin/sh
# formats [ARGUMENTS]: bench/formats.py with the programs of this folder.
here=$(dirname "$(readlink -f "$0")")
PATH="$here:$PATH" BUILD="$here" exec python3 -B "$here/../bench/formats.py" --samples "$here/../samples" "$@"
FORMATS
  chmod +x "$out/bin/formats"
}

# copy_rapidgzip: the module of the wheel, and a command that starts it without what Python imports at each start.
copy_rapidgzip() {
  mkdir -p "$out/python"
  python3 -m zipfile -e "$wheel" "$out/python"
  if [[ $strip ]]; then strip "$out"/python/*.so; fi
  cat >"$out/bin/rapidgzip" <<'RAPIDGZIP'
#!/bin/sh
exec python3 -I -S -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); import rapidgzip; sys.exit(rapidgzip.cli())' \
  "${0%/*}/../python" "$@"
RAPIDGZIP
  chmod +x "$out/bin/rapidgzip"
}

# programs: those of bin/ that are not scripts
programs() { find "$out/bin" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' - {} ';' -print; }

rm -rf "$out/bin" "$out/lib" "$out/tests" "$out/bench" "$out/python" "$out/run"
mkdir -p "$out/bin" "$out/lib"
if [[ $formats ]]; then copy_peers; else copy_tests; fi
if [[ $wheel ]]; then copy_rapidgzip; fi
if [[ $strip ]]; then programs | xargs strip; fi

# Libraries that every system has are not copied: the C library of another system does not run.
system='^(libc|libm|libstdc\+\+|libgcc_s|ld-linux[^.]*|libpthread|libdl|librt)\.so'
programs | while read -r program; do
  { ldd "$program" || true; } | sed -n 's/^\s*\S* => \(\/\S*\) .*/\1/p'
done | sort -u | while read -r library; do
  if [[ ! $(basename "$library") =~ $system ]]; then cp -L "$library" "$out/lib/"; fi
done

mkdir -p "$out/bench"
cp bench/*.py "$out/bench/"
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
