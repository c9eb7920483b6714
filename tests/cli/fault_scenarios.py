"""The runs into which faults are injected: the inputs of each, and the check of its result. Inputs are small, so that a
run takes milliseconds. Chunks are smaller still, so that a run has several of them."""

import bz2
import dataclasses
import functools
import gzip
import json
import lzma
import pathlib
import shutil
import subprocess

from pairs_oracle import pairs_in
from support import ENGINE, GPUHIST, counts_of, oracle, tar, text, zipped, zstd

SCHEMES = ("letters", "classes")
FRAME = 40_000  # bytes of text in a frame, in inputs of many frames
COMMON = ("--engine", ENGINE, "--threads", "2", "--chunk-size", "64KiB", "--buckets", ",".join(SCHEMES))
JSON = (*COMMON, "--format", "json")
OLD = b'{"kind":"result","of":"an earlier run"}\n'


@dataclasses.dataclass
class Outcome:
    """How a run ended, and its output. `status` is negative for a signal, None for a run that hung and was killed."""

    status: int | None
    stdout: bytes
    stderr: bytes
    output: dict  # files in the folder of outputs, by name
    temporary: list  # names in TMPDIR
    inputs: pathlib.Path  # the folder of inputs
    failed: str | None  # the class of the calls that failed


# ---- checks ----------------------------------------------------------------------------------------------------------
# A check takes an outcome and returns a description of the error, or None. It is called for every exit status: the
# output of a failed run must also be right, unless it says that it is incomplete.


@functools.lru_cache(maxsize=None)
def counts(data):
    expected = oracle(data)
    expected["buckets"] = {scheme: expected["buckets"][scheme] for scheme in SCHEMES}
    return expected


def documents(content):
    return [json.loads(line) for line in content.decode().splitlines()]


class Counts:
    """The last document is a result with the counts of these inputs. A complete result has all of them."""

    def __init__(self, inputs, output=None, before=b""):
        self.inputs = inputs  # name -> text
        self.output = output  # name of the file, None: standard output
        self.before = before  # its content before the run

    def __call__(self, outcome):
        if self.output is None:
            return self.check_content(outcome.stdout, outcome.status)
        content = outcome.output.get(self.output)
        if content is None or content == self.before:
            return "no result" if outcome.status == 0 else "the old file has disappeared" if content is None and self.before else None
        return self.check_content(content, outcome.status)

    def check_content(self, content, status):
        try:
            printed = documents(content)
        except ValueError:
            # what was written to standard output stays there when a later write fails
            return f"a torn document: {content[-100:]}" if status == 0 or self.output else None
        if not printed or printed[-1].get("kind") != "result":
            return "no result" if status == 0 else None
        if status == 0 and not printed[-1]["complete"]:
            return "exit status 0 of an incomplete result"
        return self.check_result(printed[-1]) or self.check_before_result(printed[:-1])

    def check_result(self, result):
        for each in result.get("inputs", []):
            if each["complete"] and counts_of(each) != counts(self.inputs[each["name"]]):
                return f"wrong counts of {each['name']}, which is said to be complete: {each['bytes']} bytes"
        if not result["complete"]:
            return None
        if "inputs" in result and [each["name"] for each in result["inputs"]] != list(self.inputs):
            return f"other inputs: {[each['name'] for each in result['inputs']]}"
        if counts_of(result) != counts(b"".join(self.inputs.values())):
            return f"wrong totals: {result['bytes']} bytes"
        return None

    def check_before_result(self, printed):
        return f"an unexpected document: {printed[0]}" if printed else None


@functools.lru_cache(maxsize=None)
def pairs(*texts):
    return {scheme: pairs_in(*texts, scheme=scheme) for scheme in SCHEMES}


class Pairs(Counts):
    """Like Counts, with the pairs of the totals and of each input; those of an incomplete input are of its first bytes."""

    def check_result(self, result):
        parts = [(each, (self.inputs[each["name"]][: each["bytes"]],)) for each in result.get("inputs", [])]
        if result["complete"]:
            parts.append((result, tuple(self.inputs.values())))
        for part, texts in parts:
            if {scheme: counted["counts"] for scheme, counted in part["pairs"].items()} != pairs(*texts):
                return f"wrong pairs of {part.get('name', 'the totals')}"
        return super().check_result(result)


class Appended(Counts):
    """The file begins with its old content. After that there is nothing, or a result."""

    def check_content(self, content, status):
        if not content.startswith(self.before):
            return "what was appended to has changed"
        return super().check_content(content[len(self.before) :], status)


class Windows(Counts):
    """Like Counts, with a window for every `size` bytes, in order."""

    def __init__(self, data, size):
        super().__init__({"(standard input)": data})
        self.windows = [data[at : at + size] for at in range(0, len(data), size)]

    def check_before_result(self, printed):
        windows = [each for each in printed if each["kind"] == "window"]
        for window, content in zip(windows, self.windows):
            if window["bytes"] == len(content) and counts_of(window) != counts(content):
                return f"wrong counts of window {window['index']}"
        return None

    def check_result(self, result):
        result.setdefault("inputs", [])
        del result["inputs"]  # jsonl has a line for each input instead
        return super().check_result(result)

    def __call__(self, outcome):
        wrong = super().__call__(outcome)
        if wrong or outcome.status != 0:
            return wrong
        sizes = [each["bytes"] for each in documents(outcome.stdout) if each["kind"] == "window"]
        return None if sizes == [len(each) for each in self.windows] else f"windows of {sizes} bytes"


class InputLines(Counts):
    """Like Counts, with a line for each input, in the order in which they are finished."""

    def check_before_result(self, printed):
        names = [each.get("name") for each in printed if each["kind"] == "input"]
        if len(names) != len(printed) or len(set(names)) != len(names) or not set(names) <= set(self.inputs):
            return f"not the lines of the inputs: {names}"
        for each in printed:
            if each["complete"] and counts_of(each) != counts(self.inputs[each["name"]]):
                return f"wrong counts of {each['name']}, which is said to be complete"
        return None

    def __call__(self, outcome):
        wrong = super().__call__(outcome)
        if wrong or outcome.status != 0:
            return wrong
        lines = len(documents(outcome.stdout)) - 1
        return None if lines == len(self.inputs) else f"{lines} lines of {len(self.inputs)} inputs"


class Snapshots(Counts):
    """Like Counts, after snapshots, each of a prefix."""

    def check_before_result(self, printed):
        (data,) = self.inputs.values()
        for each in printed:
            if each["kind"] != "snapshot" or counts_of(each) != counts(data[: each["bytes"]]):
                return f"a snapshot that is not of the first {each.get('bytes')} bytes"
        return None


class Forwarded:
    """Standard output is a prefix of the data, and all of it if the exit status is 0. A report has the counts."""

    def __init__(self, data, report):
        self.data = data
        self.report = report

    def __call__(self, outcome):
        if outcome.stdout != self.data[: len(outcome.stdout)]:
            return "what was forwarded is not what was read"
        if outcome.status == 0 and len(outcome.stdout) != len(self.data):
            return f"{len(outcome.stdout)} of {len(self.data)} bytes were forwarded"
        return self.report(outcome)


class Text:
    """Standard output has the words of a run without faults, which include the number of bytes. Bars and rules are not
    compared: they are drawn in ASCII if no locale can be set."""

    def __init__(self, size):
        self.size = str(size)
        self.expected = None

    def __call__(self, outcome):
        if outcome.status != 0:
            return None
        printed = outcome.stdout.decode()
        words = [word for word in printed.split() if any(character.isalnum() for character in word)]
        if self.expected is None and self.size in printed.replace(",", ""):
            self.expected = words
        return None if words == self.expected else "other text than without faults"


class Archive:
    """The output does not exist, or is a zstd archive of the data."""

    def __init__(self, data, output):
        self.data = data
        self.output = output

    def __call__(self, outcome):
        content = outcome.output.get(self.output)
        if content is None:
            return "no archive" if outcome.status == 0 else None
        unpacked = subprocess.run(["zstd", "-dqc"], input=content, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return None if unpacked.returncode == 0 and unpacked.stdout == self.data else "another archive"


# ---- the scenarios ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Scenario:
    """`arguments` name inputs as in/NAME and outputs as out/NAME. `stdin` is fed through a pipe; with `pause`, in two
    parts with that many seconds between them."""

    name: str
    arguments: tuple
    check: object
    stdin: bytes | None = None
    before: dict = dataclasses.field(default_factory=dict)  # content of out/ before the run
    pause: float = 0
    status: int = 0  # of a run without faults


PLAIN = text(300_000)
LARGE = text(1_100_000)  # more than 1 MiB: with a fingerprint
SHORT = {f"in/s{i}": text(1000 * i, seed=i) for i in range(1, 5)}
TREE = dict(sorted((f"in/tree/{'sub/' * i}f{i}", data) for i, data in enumerate(SHORT.values())))
HAS_7Z = shutil.which("7z") is not None
LIMITED = ("plain file", "pipe", "zstd of many frames", "gzip", "tar.gz", "pass-through of text", "output file", "repack")


def frames(data, compress):
    return b"".join(compress(data[at : at + FRAME]) for at in range(0, len(data), FRAME))


def lz4(data):
    return subprocess.run(["lz4", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def seven_zip(folder, members):
    subprocess.run(["7z", "a", "-bd", "-mx1", "../t.7z", *members], cwd=folder, stdout=subprocess.DEVNULL, check=True)


def cpio(folder, members):
    command = ["cpio", "-o", "--quiet", "-H", "newc"]
    return subprocess.run(command, input="\n".join(members).encode(), cwd=folder, stdout=subprocess.PIPE, check=True).stdout


MEMBERS = {"a": PLAIN[:150_000], "b": b"", "c": PLAIN[150_000:]}


def write_files(folder, files):
    for name, content in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_inputs(folder):
    """Writes all inputs of all scenarios."""
    contents = {
        "plain": PLAIN,
        "large": LARGE,
        "many.zst": frames(PLAIN, zstd),
        "one.zst": zstd(PLAIN),
        "t.gz": gzip.compress(PLAIN, 6),
        "t.xz": lzma.compress(PLAIN, preset=0),
        "t.bz2": bz2.compress(PLAIN, 1),
        "t.lz4": frames(PLAIN, lz4),
        "t.tar": tar(MEMBERS),
        "t.tar.gz": gzip.compress(tar(MEMBERS), 6),
        "t.zip": zipped(MEMBERS),
        "list": "".join(f"{name}\n" for name in SHORT).encode(),
        "settings.toml": b'buckets = ["letters", "classes"]\nthreads = 2\nchunk-size = "64KiB"\n',
        **{name.removeprefix("in/"): data for name, data in SHORT.items()},
        **{f"tree/{'sub/' * i}f{i}": data for i, data in enumerate(SHORT.values())},
        **{f"several/{name.removeprefix('in/')}.zst": zstd(data) for name, data in SHORT.items()},
        **{f"several/{name.removeprefix('in/')}.tar": tar({"member": data}) for name, data in SHORT.items()},
        **{f"members/{name}": data for name, data in MEMBERS.items()},
    }
    write_files(folder, contents)
    members = pathlib.Path(folder, "members")
    pathlib.Path(folder, "t.cpio").write_bytes(cpio(members, MEMBERS))
    if HAS_7Z:
        seven_zip(members, MEMBERS)
    for name in SHORT:
        command = [GPUHIST, *JSON, "--byte-counts", "-o", f"{name}.json", name]
        subprocess.run(command, cwd=pathlib.Path(folder).parent, check=True)


def scenarios():
    def of_file(name, file, *options):
        return Scenario(name, (*JSON, *options, f"in/{file}"), Counts({f"in/{file}": PLAIN}))

    def of_archive(name, file, order=tuple(MEMBERS)):
        return Scenario(name, (*JSON, f"in/{file}"), Counts({f"in/{file}/{each}": MEMBERS[each] for each in order}))

    several = {f"in/several/{name.removeprefix('in/')}{suffix}": data for suffix in (".zst", ".tar/member") for name, data in SHORT.items()}
    piped = {"(standard input)": PLAIN}
    return [
        of_file("plain file", "plain"),
        Scenario("automatic engine", (*JSON, "--engine", "auto", "in/plain"), Counts({"in/plain": PLAIN})),
        Scenario("small files", (*JSON, *SHORT), Counts(SHORT)),
        Scenario("pipe", JSON, Counts(piped), stdin=PLAIN),
        Scenario("zstd in a pipe", JSON, Counts(piped), stdin=frames(PLAIN, zstd)),
        of_file("zstd of many frames", "many.zst"),
        of_file("zstd of one frame", "one.zst"),
        Scenario("pairs", (*JSON, "--pairs", "in/many.zst", *SHORT), Pairs({"in/many.zst": PLAIN, **SHORT})),
        Scenario("pairs of a pipe", (*JSON, "--pairs"), Pairs(piped), stdin=PLAIN),
        of_file("gzip", "t.gz"),
        of_file("xz", "t.xz"),
        of_file("bzip2", "t.bz2"),
        of_file("lz4", "t.lz4"),
        of_archive("tar", "t.tar"),
        of_archive("zip", "t.zip"),
        of_archive("tar.gz", "t.tar.gz"),
        of_archive("cpio", "t.cpio"),
        *([of_archive("7z", "t.7z", order=("b", "a", "c"))] if HAS_7Z else []),
        Scenario("more archives than are read at once", (*JSON, *(name.removesuffix("/member") for name in several)), Counts(several)),
        Scenario("windows", (*COMMON, "--format", "jsonl", "--window", "48KiB"), Windows(PLAIN, 48 * 1024), stdin=frames(PLAIN, zstd)),
        Scenario(
            "pass-through",
            (*JSON, "--pass-through", "-o", "out/r"),
            Forwarded(PLAIN, Counts(piped, "r")),
            stdin=PLAIN,
        ),
        Scenario(
            "pass-through of text",
            (*JSON, "--pass-through=text", "-o", "out/r", "in/many.zst"),
            Forwarded(PLAIN, Counts({"in/many.zst": PLAIN}, "r")),
        ),
        Scenario(
            "pass-through of a slow stream",
            (*JSON, "--pass-through", "-o", "out/r"),
            Forwarded(PLAIN, Counts(piped, "r")),
            stdin=PLAIN,
            pause=0.15,
        ),
        Scenario(
            "windows of a slow stream",
            (*COMMON, "--format", "jsonl", "--window", "48KiB"),
            Windows(PLAIN, 48 * 1024),
            stdin=PLAIN,
            pause=0.15,
        ),
        Scenario(
            "following",
            (*JSON, "--follow", "--snapshot-every", "10ms", "--fail-if", f"bytes >= {len(PLAIN)}", "--fail-fast", "in/plain"),
            Snapshots({"in/plain": PLAIN}),
            status=3,
        ),
        Scenario("snapshots", (*JSON, "--snapshot-every", "64KiB"), Snapshots(piped), stdin=PLAIN),
        Scenario("output file", (*JSON, "-o", "out/r", "in/many.zst"), Counts({"in/many.zst": PLAIN}, "r", OLD), before={"r": OLD}),
        Scenario("append", (*JSON, "--append", "-o", "out/r", "in/plain"), Appended({"in/plain": PLAIN}, "r", OLD), before={"r": OLD}),
        Scenario("tree", (*JSON, "-r", "in/tree"), Counts(TREE)),
        Scenario("list of files", (*JSON, "--files-from", "in/list"), Counts(SHORT)),
        Scenario("lines of inputs", (*COMMON, "--format", "jsonl", *SHORT), InputLines(SHORT)),
        Scenario("prometheus", (*COMMON, "--format", "prometheus", "in/s1", "in/plain"), Text(len(PLAIN) + len(SHORT["in/s1"]))),
        Scenario("table", (*COMMON, "--measures", "all", "in/s1", "in/plain"), Text(len(PLAIN))),
        Scenario("csv", (*COMMON, "--format", "csv", "in/s1", "in/plain"), Text(len(PLAIN) + len(SHORT["in/s1"]))),
        Scenario("conditions", (*JSON, "--config", "in/settings.toml", "--alert-if", "digit > 2", "in/plain"), Counts({"in/plain": PLAIN})),
        Scenario("report", ("report", "--format", "json", "--buckets", ",".join(SCHEMES), *(f"{name}.json" for name in SHORT)), Counts(SHORT)),
        Scenario("repack", ("repack", "-q", "--threads", "2", "--frame-size", "64KiB", "-o", "out/r.zst", "in/many.zst"), Archive(PLAIN, "r.zst")),
    ]
