#!/usr/bin/env bash
# Tapes, `dd conv=sync` and bsdtar fill the last block with zeros. gzip, xz, bzip2 and lzip decompress such files with
# status 0 (xz: if the padding is a multiple of 4 bytes). zstd and lz4 write all text, and then fail.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack gzip=1.12-1 xz-utils=5.4.1-1+deb12u2 bzip2=1.0.8-5+b1 lzip=1.23-5 lz4=1.9.4-1 zstd=1.5.4+dfsg2-5
seq 100 >a
for row in gzip:0 xz:0 bzip2:0 lzip:0 lz4:1 zstd:1; do
  tool=${row%:*}
  "$tool" -c a >padded
  truncate -s 10240 padded
  expect "$tool" "status ${row#*:}, text complete" "$(
    status=0
    "$tool" -dc <padded >text 2>/dev/null || status=$?
    echo "status $status, text $(cmp -s a text && echo complete || echo incomplete)"
  )"
done
