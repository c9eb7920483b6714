#!/usr/bin/env bash
# Python's zipfile with ZIP_LZMA writes an empty file as a member with an LZMA stream of no bytes. libarchive fails on it
# with a number of liblzma, and reads it as damage.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack libarchive-tools=3.6.2-1+deb12u5 libarchive13=3.6.2-1+deb12u5
python3 -c 'import sys, zipfile
print("Python", sys.version.split()[0])
with zipfile.ZipFile("x.zip", "w", zipfile.ZIP_LZMA) as archive: archive.writestr("empty", b"")'
expect 'Python reads' 'None' "$(python3 -c 'import zipfile; print(zipfile.ZipFile("x.zip").testzip())')"
expect 'bsdtar exits with' 1 "$(bsdtar -xOf x.zip 2>messages >/dev/null; echo $?)"
expect 'its message' 'empty: lzma unknown error 10' "$(sed -n '1s/ 10:.*/ 10/p' messages)"
