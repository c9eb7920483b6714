"""The adapters in the real engines: the totals of one run, also after a worker is killed. Run by scripts/test.sh --long
adapters; an engine that is not installed is reported as skipped."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import unittest

from support import byte_counts, folder, main, optional
from test_tables import CONDITION, is_numeric, random_texts

import gpuhist

DOCUMENTATION = pathlib.Path(__file__).parents[2] / "docs/python.md"
OPTIONS = {"drop_if": CONDITION, "buckets": ["classes", "bytes"]}
os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else Ray writes a token to the home folder
# The package for workers that engines start, and this folder for what their tasks import.
PATHS = os.pathsep.join([*filter(None, [os.environ.get("PYTHON_PACKAGE", "")]), str(pathlib.Path(__file__).parent)])
os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, PATHS.split(os.pathsep)))


def kill_once(marker, victim):
    """Kills a process, in the first call for this marker only."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(victim(), signal.SIGKILL)


def killing(rows, marker, at, victim=os.getpid):
    """The rows; the worker that has row `at` is killed, once."""
    if at in (rows["id"].to_pylist() if hasattr(rows["id"], "to_pylist") else list(rows["id"])):
        kill_once(marker, victim)
    return rows


class Engine(unittest.TestCase):
    texts = [None if text is None else text.decode() for text in random_texts(4000, seed=9, is_utf8=True)]
    ids = list(range(len(texts)))

    def needed(self, *names):
        for name in names:
            if optional(name) is None:
                self.skipTest(f"{name} is not installed")

    def table(self):
        import pyarrow

        return pyarrow.table({"id": self.ids, "text": self.texts})

    def run_example(self, first_line, **names):
        """Runs the example of the documentation that begins with this line."""
        blocks = re.findall(r"(?:^    .*\n)+", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE)
        examples = [textwrap.dedent(block) for block in blocks if block.strip().startswith(first_line)]
        self.assertEqual(len(examples), 1, first_line)
        exec(examples[0], names)
        return names

    def expected_by_preset(self):
        return gpuhist.filter_table(self.table(), "text", preset="nemo").table["id"].to_pylist()

    def assert_example(self, names, kept):
        """Each example keeps by preset="nemo", and counts with drop_if="digit > 0.5"."""
        self.assertEqual(sorted(kept), self.expected_by_preset())
        self.assertEqual(names["counts"].rows, gpuhist.count_table(self.table(), "text", drop_if="digit > 0.5").rows)

    def kept_ids(self):
        return [row for row, text in enumerate(self.texts) if text is not None and not is_numeric(text.encode())]

    def assert_whole(self, counts):
        """By the oracle, and by one run over the whole table."""
        present = [text.encode() for text in self.texts if text is not None]
        kept = [self.texts[row].encode() for row in self.kept_ids()]
        self.assertEqual(counts.rows, gpuhist.RowCounts(len(self.texts), len(kept), self.texts.count(None),
                                                        len(b"".join(present)), len(b"".join(kept))))
        self.assertEqual(counts.results.counts("bytes")[:256], byte_counts(b"".join(present)))
        whole = gpuhist.count_table(self.table(), "text", **OPTIONS).results
        self.assertEqual(counts.results.counts("classes"), whole.counts("classes"))


def started(start):
    """What `start` returns. Ray gives a node 30 seconds to start, which is too short on a machine that is busy."""
    import ray

    for attempt in range(5):
        try:
            return start()
        except Exception as error:
            ray.shutdown()
            is_of_start = "timed out during startup" in str(error) or type(error).__name__ == "RpcError"
            if attempt == 4 or not is_of_start:
                raise


class Ray(Engine):
    def test_two_nodes_and_a_killed_worker_give_the_totals_of_one_run(self):
        self.needed("ray", "ray.data", "pyarrow")
        import ray
        from ray.cluster_utils import Cluster

        import gpuhist.adapters.ray as adapter

        node = {"num_cpus": 1, "object_store_memory": 200 << 20}
        cluster = started(lambda: Cluster(initialize_head=True, head_node_args=node))
        self.addCleanup(cluster.shutdown)
        started(lambda: cluster.add_node(**node))
        ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}}, log_to_driver=False)
        self.addCleanup(ray.shutdown)
        with folder() as path:
            dataset = ray.data.from_arrow([self.table().slice(first, 500) for first in range(0, 4000, 500)])
            dying = dataset.map_batches(killing, batch_format="pyarrow", batch_size=100,
                                        fn_kwargs={"marker": str(path / "killed"), "at": 1499})
            self.assert_whole(adapter.count(dying, "text", batch_size=100, **OPTIONS))
            self.assertTrue((path / "killed").exists())
            kept = adapter.filter(dataset, "text", **OPTIONS)
            self.assertEqual(sorted(row["id"] for row in kept.iter_rows()), self.kept_ids())
            names = self.run_example("import gpuhist.adapters.ray", dataset=dataset)
            self.assert_example(names, [row["id"] for row in names["kept"].iter_rows()])


class Dask(Engine):
    def setUp(self):
        self.needed("dask", "dask.dataframe", "distributed", "pyarrow")
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        self.addCleanup(cluster.close)
        client = Client(cluster)
        self.addCleanup(client.close)

    def test_two_processes_and_a_killed_one_give_the_totals_of_one_run(self):
        import dask.bag
        import dask.dataframe

        import gpuhist.adapters.dask as adapter

        frame = dask.dataframe.from_pandas(self.table().to_pandas(), npartitions=8)
        with folder() as path:
            dying = frame.map_partitions(killing, str(path / "killed"), 1999, meta=frame._meta)
            self.assert_whole(adapter.count(dying, "text", **OPTIONS))
            self.assertTrue((path / "killed").exists())
        self.assertEqual(list(adapter.filter(frame, "text", **OPTIONS)["id"].compute()), self.kept_ids())
        bag = dask.bag.from_sequence(self.texts, npartitions=4)
        names = self.run_example("import gpuhist.adapters.dask", frame=frame, bag=bag)
        self.assert_example(names, names["kept"]["id"].compute())

    def test_a_bag_of_texts_is_counted_and_filtered(self):
        import dask.bag

        import gpuhist.adapters.dask as adapter

        bag = dask.bag.from_sequence(self.texts, npartitions=4)
        self.assert_whole(adapter.count(bag, **OPTIONS))
        self.assertEqual(adapter.filter(bag, **OPTIONS).compute(), [self.texts[row] for row in self.kept_ids()])


def executor_of_worker():
    """The process of Java whose daemon has forked this worker."""
    daemon = os.getppid()
    return int(pathlib.Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])


def killing_batches(batches, marker, at, victim):
    for batch in batches:
        yield killing(batch, marker, at, victim)


class Spark(Engine):
    def session(self, master):
        self.needed("pyspark", "pyarrow")
        import shutil

        if shutil.which("java") is None:
            self.skipTest("java is not installed")
        import pyspark
        from pyspark.sql import SparkSession

        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_HOME=os.path.dirname(pyspark.__file__), SPARK_LOCAL_IP="127.0.0.1")
        made = (SparkSession.builder.master(master).config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
                .config("spark.executor.memory", "512m").config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
                .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100").getOrCreate())
        made.sparkContext.setLogLevel("OFF")
        self.addCleanup(made.stop)
        return made

    def assert_totals_after_a_kill(self, spark, victim):
        from functools import partial

        import gpuhist.adapters.spark as adapter

        frame = spark.createDataFrame(self.table()).repartition(4)
        with folder() as path:
            task = partial(killing_batches, marker=str(path / "killed"), at=1999, victim=victim)
            self.assert_whole(adapter.count(frame.mapInArrow(task, frame.schema), "text", **OPTIONS))
            self.assertTrue((path / "killed").exists())
        self.assertEqual(sorted(row.id for row in adapter.filter(frame, "text", **OPTIONS).collect()), self.kept_ids())
        return frame

    def test_two_workers_and_a_killed_process_of_python_give_the_totals_of_one_run(self):
        frame = self.assert_totals_after_a_kill(self.session("local[2,4]"), os.getpid)
        names = self.run_example("import gpuhist.adapters.spark", frame=frame)
        self.assert_example(names, [row.id for row in names["kept"].collect()])

    def test_two_executors_and_a_killed_one_give_the_totals_of_one_run(self):
        self.assert_totals_after_a_kill(self.session("local-cluster[2,1,1024]"), executor_of_worker)


DATATROVE = """
import os, signal, sys
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep
from gpuhist.adapters import datatrove
from test_adapters import CONDITION, Engine, OPTIONS

class Source(PipelineStep):
    name, type = "rows", "source"
    def run(self, data=None, rank=0, world_size=1):
        for row in range(rank, len(Engine.texts), world_size):
            if rank == 2 and row > 3000 and not os.path.exists(sys.argv[1] + "/killed"):
                open(sys.argv[1] + "/killed", "w").close()
                os.killpg(os.getpgid(0), signal.SIGKILL)  # the whole executor
            if Engine.texts[row] is not None:
                yield Document(text=Engine.texts[row], id=str(row))

class Sink(PipelineStep):
    name, type = "ids", "sink"
    def run(self, data, rank=0, world_size=1):
        with open(f"{sys.argv[1]}/kept-{rank}", "w") as file:
            for document in data:
                file.write(document.id + "\\n")
                yield document

if __name__ == "__main__":
    steps = [Source(), datatrove.Stats(sys.argv[1] + "/stats", batch_size=100, **OPTIONS),
             datatrove.Filter(batch_size=100, drop_if=CONDITION), Sink()]
    LocalPipelineExecutor(steps, tasks=4, workers=2, logging_dir=sys.argv[1] + "/logs").run()
"""


class Datatrove(Engine):
    def test_four_tasks_and_a_killed_executor_give_the_totals_of_one_run(self):
        self.needed("datatrove")
        import gpuhist.adapters.datatrove as adapter

        with folder() as path:
            (path / "pipeline.py").write_text(DATATROVE)
            statuses = [subprocess.run([sys.executable, path / "pipeline.py", path], start_new_session=True,
                                       capture_output=True, text=True, timeout=250).returncode for _ in range(2)]
            self.assertEqual(statuses, [-signal.SIGKILL, 0])
            results = adapter.merge_stats(str(path / "stats"), buckets=OPTIONS["buckets"])
            present = b"".join(text.encode() for text in self.texts if text is not None)
            self.assertEqual(results.counts("bytes")[:256], byte_counts(present))
            self.assertEqual(len(results.inputs), 4)
            kept = [int(line) for rank in range(4) for line in (path / f"kept-{rank}").read_text().split()]
            self.assertEqual(sorted(kept), self.kept_ids())

    def test_a_preset_that_rewrites_texts_rewrites_those_of_documents(self):
        self.needed("datatrove")
        from datatrove.data import Document
        from gpuhist.adapters.datatrove import Filter

        documents = [Document(text="One. Two. Three! Four? It is five.\nshort\nA line of words.[12]", id="a"), Document(text="x", id="b")]
        self.assertEqual(Filter(preset="c4-quality").filter_batch(documents), [True, (False, "gpuhist")])
        self.assertEqual(documents[0].text, "One. Two. Three! Four? It is five.\nA line of words.")

    def test_the_documented_pipeline_reads_and_writes_files(self):
        self.needed("datatrove")
        from datatrove.executor import LocalPipelineExecutor
        from datatrove.pipeline.readers import JsonlReader
        from datatrove.pipeline.writers import JsonlWriter

        with folder() as path, contextlib.chdir(path):
            os.mkdir("data")
            for rank in range(4):
                rows = [{"id": str(row), "text": self.texts[row]} for row in range(rank, len(self.texts), 4) if self.texts[row]]
                with open(f"data/{rank}.jsonl", "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows)
            names = self.run_example("from gpuhist.adapters import datatrove", LocalPipelineExecutor=LocalPipelineExecutor,
                                     reader=JsonlReader("data"), writer=JsonlWriter("kept", compression=None))
            self.assertEqual(names["results"].bytes, sum(len(text.encode()) for text in self.texts if text))
            lines = [line for each in pathlib.Path("kept").iterdir() for line in each.read_bytes().splitlines()]
            kept = [json.loads(line)["id"] for line in lines]
            self.assertEqual(sorted(map(int, kept)), self.expected_by_preset())

    def test_the_filter_gives_its_reason(self):
        self.needed("datatrove")
        from datatrove.data import Document

        import gpuhist.adapters.datatrove as adapter

        documents = [Document(text=text, id="") for text in ("words", "1234", "\ud800")]
        found = adapter.Filter(drop_if=CONDITION, reason="digits").filter_batch(documents)
        self.assertEqual(found, [True, (False, "digits"), True])


class NemoCurator(Engine):
    def setUp(self):
        self.needed("ray", "nemo_curator", "nemo_curator.backends.ray_data")
        import ray

        self.addCleanup(ray.shutdown)

    def test_a_pipeline_returns_the_kept_documents_and_the_totals(self):
        import pyarrow
        from nemo_curator.backends.ray_data import RayDataExecutor
        from nemo_curator.pipeline import Pipeline
        from nemo_curator.tasks import DocumentBatch

        import gpuhist.adapters.nemo_curator as adapter

        batches = [DocumentBatch(dataset_name="test", data=self.table().slice(first, 500)) for first in range(0, 4000, 500)]
        pipeline = Pipeline(name="test", stages=[adapter.Stage("text", **OPTIONS)])
        found = started(lambda: pipeline.run(RayDataExecutor(), initial_tasks=batches))
        self.assert_whole(adapter.merge_counts(found))
        kept = pyarrow.concat_tables([batch.to_pyarrow() for batch in found])
        self.assertEqual(sorted(kept["id"].to_pylist()), self.kept_ids())
        names = started(lambda: self.run_example("from gpuhist.adapters import nemo_curator", Pipeline=Pipeline,
                                                 executor=RayDataExecutor(), batches=batches))
        kept = pyarrow.concat_tables([batch.to_pyarrow() for batch in names["batches"]])
        self.assertEqual(sorted(kept["id"].to_pylist()), self.expected_by_preset())
        self.assertEqual(names["counts"].rows.kept, len(kept))


class HuggingFace(Engine):
    def test_a_dataset_is_counted_and_filtered_by_two_processes(self):
        self.needed("datasets")
        import datasets

        import gpuhist.adapters.huggingface as adapter

        dataset = datasets.Dataset.from_dict({"id": self.ids, "text": self.texts})
        for processes in (None, 2):
            self.assert_whole(adapter.count(dataset, "text", num_proc=processes, **OPTIONS))
            kept = adapter.filter(dataset, "text", num_proc=processes, **OPTIONS)
            self.assertEqual(kept["id"][:], self.kept_ids())
            self.assertEqual(kept.format, dataset.format)
        names = self.run_example("import gpuhist.adapters.huggingface", dataset=dataset)
        self.assert_example(names, names["kept"]["id"][:])


class Absent(unittest.TestCase):
    def test_an_engine_that_is_not_installed_is_an_error_that_names_the_package(self):
        from gpuhist.adapters._tasks import require

        with self.assertRaisesRegex(ImportError, "this adapter needs the package 'absent.engine.': pip install"):
            require("absent_engine.part", "'absent[engine]'")


if __name__ == "__main__":
    main()
