"""Compares `gpuhist --minhash` with MinhashDedupSignature of datatrove, whose tokenizer is replaced by one that divides words
by white space: the files must be equal byte for byte, also those that the next stages make of them. Prints the seconds of
one core.

    python3 -m venv /tmp/minhash && /tmp/minhash/bin/pip install 'datatrove[processing]==0.10.1' orjson spacy xxhash
    GPUHIST=build/release/gpuhist /tmp/minhash/bin/python bench/minhash.py [FILE.jsonl...]
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import datatrove.pipeline.dedup.minhash as stages
from datatrove.pipeline.readers import JsonlReader
from datatrove.utils.word_tokenizers import WordTokenizer
from loguru import logger

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "cli"))
import test_minhash  # noqa: E402


class Whitespace(WordTokenizer):
    def word_tokenize(self, text):
        return text.split()

    def sent_tokenize(self, text):
        return [text]

    def span_tokenize(self, text):
        return [(0, len(text))]


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.sig"))}


def sign_with_datatrove(inputs, out):
    stages.load_word_tokenizer = lambda _: Whitespace()
    for rank in range(len(list(inputs.iterdir()))):
        documents = JsonlReader(str(inputs)).run(rank=rank, world_size=len(list(inputs.iterdir())))
        stages.MinhashDedupSignature(str(out)).run(documents, rank=rank)
    return time.process_time()


def removed(signatures, out):
    """What the next stages find."""
    for rank in range(test_minhash.BANDS):
        stages.MinhashDedupBuckets(str(signatures), str(out / "buckets")).run(None, rank, test_minhash.BANDS)
    stages.MinhashDedupCluster(str(out / "buckets"), str(out / "removed")).run(None, 0, 1)
    return {path.name: path.read_bytes() for path in sorted((out / "removed").glob("*"))}


def main():
    logger.remove()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        inputs = folder / "in"
        inputs.mkdir()
        if sys.argv[1:]:
            contents = [pathlib.Path(each).read_bytes() for each in sys.argv[1:]]
        else:
            contents = [test_minhash.jsonl(test_minhash.documents(seed, 2000)) for seed in range(4)]
        for number, content in enumerate(contents):
            (inputs / f"{number:05}.jsonl").write_bytes(content)
        arguments = [os.environ["GPUHIST"], "--engine", "host", "-T", "1", "--each", "line", "--jsonl-field", "text", "--minhash", folder / "a"]
        subprocess.run([*arguments, *sorted(inputs.iterdir())], stdout=subprocess.DEVNULL, check=True)
        own = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        before = time.process_time()
        theirs = sign_with_datatrove(inputs, folder / "b") - before
        print(f"{sum(map(len, contents)):,} bytes: gpuhist {own:.2f} s, datatrove {theirs:.2f} s")
        print("signatures:", "equal" if files_in(folder / "a") == files_in(folder / "b") else "DIFFERENT")
        found = [removed(folder / each, folder / f"{each}-next") for each in "ab"]
        print(f"next stages: {'equal' if found[0] == found[1] else 'DIFFERENT'}, {sum(map(len, found[0].values())) // 4:,} documents removed")


if __name__ == "__main__":
    main()
