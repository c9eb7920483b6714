#!/usr/bin/env bash
# pigz, the parallel gzip, decompresses a file of many small members (WARC, appended logs) many times slower than gzip:
# its threads wait for each other several times for each member. With `-p 1` it has no other threads, and is as fast.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
unpack gzip=1.12-1 pigz=2.6-1
members=2000
seq 20 | gzip >one
for ((i = 0; i < members; ++i)); do cat one; done >many.gz

# waits COMMAND...: how often its threads waited for each member, as a class, and the seconds that it took
waits() {
  python3 - "$members" "$@" <<'PYTHON'
import resource, subprocess, sys, time
members, command = int(sys.argv[1]), sys.argv[2:]
begin = time.monotonic()
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
print(f"{time.monotonic() - begin:.2f} s", file=sys.stderr)
each = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw / members
print("at least 2" if each >= 2 else "fewer than 0.1" if each < 0.1 else f"{each:.1f}")
PYTHON
}

expect 'gzip -dc, waits for each member' 'fewer than 0.1' "$(waits gzip -dc many.gz)"
expect 'pigz -dc -p 2, waits for each member' 'at least 2' "$(waits pigz -dc -p 2 many.gz)"
expect 'pigz -dc -p 1, waits for each member' 'fewer than 0.1' "$(waits pigz -dc -p 1 many.gz)"
