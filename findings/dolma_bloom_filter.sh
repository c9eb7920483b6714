#!/usr/bin/env bash
# The deduper of dolma makes a Bloom filter for a number of documents and a rate of false positives. It rounds the size up to
# a mebibyte and a power of two, and chooses the number of hash functions that is best for a filter of that size: for 1,000
# documents 5,815, where 20 suffice for the rate that was asked for. So the fewer documents are announced, the more each one
# costs. (The number is written into the file of the filter: a seed of four words of 64 bits for each function.)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
install_python dolma==1.2.1
cat >deduplicate.py <<'PYTHON'
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import time

module = next(pathlib.Path("python/dolma").glob("dolma.*.so"))  # the package itself imports what only its taggers need
spec = importlib.util.spec_from_loader("dolma", importlib.machinery.ExtensionFileLoader("dolma", str(module)))
deduper = importlib.util.module_from_spec(spec)
spec.loader.exec_module(deduper)

announced = int(sys.argv[1])
folder = pathlib.Path(sys.argv[1])
(folder / "documents").mkdir(parents=True)
documents = folder / "documents" / "a.jsonl"
documents.write_text("".join(json.dumps({"id": str(each), "text": f"document {each}"}) + "\n" for each in range(1000)))
dedupe = {"name": "equal", "documents": {"attribute_name": "duplicate", "key": "$.text"}, "skip_empty": False, "min_length": 0, "min_words": 0,
          "num_partitions": 1, "partition_index": 0, "file_partition": False, "document_dir": "documents"}  # fmt: skip
bloom_filter = {"file": str(folder / "filter"), "read_only": False, "size_in_bytes": 0, "estimated_doc_count": announced,
                "desired_false_positive_rate": 1e-6}  # fmt: skip
begin = time.perf_counter()
deduper.deduper_entrypoint(json.dumps({
    "documents": [str(documents)], "work_dir": {"input": str(folder / "in"), "output": str(folder / "out")}, "processes": 1, "compression": {},
    "is_s3_volume": False, "dedupe": dedupe, "bloom_filter": bloom_filter,
}))  # fmt: skip
size = (folder / "filter").stat().st_size
print(f"announced {announced:,}: 1,000 documents in {time.perf_counter() - begin:.3f} s", file=sys.stderr)
bits = 1 << (size.bit_length() - 1)
print(bits, (size - bits) // 32)
PYTHON
for announced in 1000 10000 100000 1000000; do
  read -r size functions < <(RUST_LOG=off python3 deduplicate.py "$announced")
  seen+=("$announced documents $size bytes $functions functions")
done
expect "size of the filter and its hash functions" \
  "1000 documents 1048576 bytes 5815 functions, 10000 documents 1048576 bytes 582 functions, 100000 documents 1048576 bytes 59 functions, 1000000 documents 4194304 bytes 24 functions" \
  "$(printf '%s, ' "${seen[@]}" | sed 's/, $//')"
