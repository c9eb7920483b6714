#!/usr/bin/env bash
# pixz appends an index of the members to the tar, within the xz stream. tar does not see it, because it follows the blocks
# that end the archive, but whatever counts or compares the decompressed bytes does.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack pixz=1.0.7-2 xz-utils=5.4.1-1+deb12u2 tar=1.34+dfsg-1.2+deb12u1
seq 100 >a
tar -cf x.tar a
pixz x.tar x.tpxz
expect 'bytes after the tar' 27 "$(($(xz -dc x.tpxz | wc -c) - $(wc -c <x.tar)))"
expect 'of the tar' same "$(xz -dc x.tpxz | head -c "$(wc -c <x.tar)" | cmp -s - x.tar && echo same)"
expect 'tar lists' a "$(xz -dc x.tpxz | tar -tf -)"
