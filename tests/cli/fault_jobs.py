"""Runs of jobs (`gpuhist batch`, `gpuhist merge`) into which faults are injected. After each, the same command is run without
faults."""

import json
import pathlib
import subprocess
import tempfile

from fault_scenarios import COMMON, LARGE, MEMBERS, PLAIN, SHORT, TREE, Scenario, counts, documents, files_in, write_files
from support import GPUHIST, counts_of


class Job:
    """The folder of a job has no results, or those of all inputs. Without faults, the same command and those that follow
    it give the results of a job without faults. An input that cannot be read is not counted; other faults cost none.
    (Libraries report a failed allocation as damage of the archive.)"""

    COST_NO_INPUT = ("write", "sync", "rename", "link", "open", "truncate", "unlink", "fcntl", "thread", None)

    def __init__(self, inputs, *commands, made="total.json"):
        self.inputs = inputs
        self.commands = commands  # until there are results
        self.made = made  # the file that exists when the first command has succeeded

    def __call__(self, outcome):
        if outcome.status == 0 and self.made not in outcome.output:
            return f"no {self.made}"
        if self.made == "total.json" in outcome.output:
            wrong = self.check(outcome.output, outcome.failed)
            if wrong:
                return wrong
        return self.check(after(self.commands, outcome.inputs, outcome.output), outcome.failed)

    def check(self, output, failed):
        if "total.json" not in output:
            return "no total.json after the commands without faults"
        total = json.loads(output["total.json"])
        if not total["complete"]:
            return "inputs failed" if failed in self.COST_NO_INPUT else None
        if counts_of(total) != counts(b"".join(self.inputs.values())):
            return f"wrong totals: {total['bytes']} bytes"
        names = [each["name"] for each in documents(output["files.jsonl"])]
        return None if names == list(self.inputs) else f"other inputs: {names}"


def after(commands, inputs, output):
    """The files in out/ after these commands without faults. `output`: the files before."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "in").symlink_to(inputs)
        (folder / "out").mkdir()
        write_files(folder / "out", output)
        for arguments in commands:
            subprocess.run([GPUHIST, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return files_in(folder / "out")


class Manifest:
    """The manifest of all inputs, or none. An input that cannot be looked up has an error in it."""

    def __init__(self, inputs, output):
        self.inputs = inputs
        self.output = output

    def __call__(self, outcome):
        if self.output not in outcome.output:
            return "no manifest" if outcome.status == 0 else None
        _, *entries = documents(outcome.output[self.output])
        if any("error" in each for each in entries):
            return "inputs failed" if outcome.failed in Job.COST_NO_INPUT else None
        return None if [each["name"] for each in entries] == list(self.inputs) else "other inputs"


def jobs(inputs):
    """Runs of a job: from the beginning, continued, one shard, the merge, the plan. `inputs`: the folder that write_inputs()
    has filled."""
    texts = {**SHORT, "in/large": LARGE, "in/many.zst": PLAIN, **{f"in/t.tar/{name}": data for name, data in MEMBERS.items()}, **TREE}
    names = (*SHORT, "in/large", "in/many.zst", "in/t.tar", "in/tree")
    listed = {each: None for each in (*SHORT, "in/large", "in/many.zst", "in/t.tar", *TREE)}
    options = (*COMMON, "--trust-names", "--output-dir", "out")
    whole = ("batch", *options, *names)
    plan = ("batch", "plan", *options, *names, "-o", "out/m")
    shards = [("batch", *options, "--manifest", "out/m", "--shard", f"{number}/2") for number in (1, 2)]
    merge = ("merge", "out")
    half = after([whole], inputs, {})
    half = {name: half[name] for name in (".gpuhist-batch/manifest.jsonl", ".gpuhist-batch/state")}
    half[".gpuhist-batch/state"] = half[".gpuhist-batch/state"][: len(half[".gpuhist-batch/state"]) * 6 // 10]  # killed in a write
    planned = after([plan], inputs, {})
    return [
        Scenario("batch", whole, Job(texts, whole)),
        Scenario("batch, continued", whole, Job(texts, whole), before=half),
        Scenario("batch, a shard", shards[0], Job(texts, *shards, merge, made="parts/1-of-2"), before=planned),
        Scenario("merge", merge, Job(texts, merge), before=after([plan, *shards], inputs, {})),
        Scenario("batch plan", plan, Manifest(listed, "m")),
    ]
