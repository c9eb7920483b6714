#!/usr/bin/env bash
# `zip -s SIZE` that needs only one part writes the marker of a split archive, PK\7\8, in front of the first member. The
# format's specification has another marker for this case, PK00. So PK\7\8 at the start does not mean that parts are missing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack zip=3.0-13+deb12u1 unzip=6.0-28+deb12u1
seq 100 >a
zip -q -s 1m one.zip a
expect 'first 8 bytes' 504b0708504b0304 "$(head -c 8 one.zip | od -An -tx1 | tr -d ' \n')"
expect 'parts' 'one.zip' "$(ls one.z*)"
expect 'unzip -t' 0 "$(unzip -tqq one.zip >/dev/null; echo $?)"
