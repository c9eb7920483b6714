#!/usr/bin/env bash
# libarchive reads a zip archive that was written to a pipe (`zip -Z bzip2 - FILE | ...`) from a file, but not from a pipe:
# its decoder needs the length of a member, which follows the content. The message says that the member is truncated, so
# an intact archive looks damaged.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack zip=3.0-13+deb12u1 libarchive-tools=3.6.2-1+deb12u5 libarchive13=3.6.2-1+deb12u5
seq 100 >a
zip -q -Z bzip2 - a | cat >x.zip
expect 'bsdtar, file' "$(wc -c <a) bytes" "$(bsdtar -xOf x.zip | wc -c) bytes"
expect 'bsdtar, pipe' '0 bytes' "$(cat x.zip | bsdtar -xOf - 2>messages | wc -c) bytes"
expect 'its message' 'a: Truncated bzip2 file body' "$(sed -n '1s/body.*/body/p' messages)"
