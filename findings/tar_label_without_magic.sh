#!/usr/bin/env bash
# GNU tar writes the header of a volume label (`tar -V LABEL`) without the magic "ustar"; all other headers of the archive
# have it. A program that looks for the magic at the begin of a stream takes such an archive for plain data.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack tar=1.34+dfsg-1.2+deb12u1
seq 100 >a
tar -V backup -cf x.tar a
expect 'magic of the first header' 0000000000 "$(tail -c +258 x.tar | head -c 5 | od -An -tx1 | tr -d ' \n')"
expect 'magic of the second header' ustar "$(tail -c +770 x.tar | head -c 5)"
