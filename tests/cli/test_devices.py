"""`gpuhist devices`: the list of engines, devices and kernels of this machine. --devices, and --kernel: every kernel can be
forced by its name, is then the one that runs, and counts the same as the others."""

import json
import os
import subprocess
import unittest

import support
from support import CommandTest, main, run, text


class Devices(CommandTest):
    def listed(self, *arguments):
        ended = run("devices", "--format", "json", *arguments, engine=None)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return ended.result

    def test_json_is_one_line_with_its_own_schema(self):
        ended = run("devices", "--format=json", engine=None)
        self.assertEqual(len(ended.documents), 1)
        self.assertEqual((ended.result["kind"], ended.result["schema"]), ("devices", "gpuhist.devices/1"))

    def test_every_engine_is_listed_with_a_reason(self):
        engines = self.listed()["engines"]
        self.assertEqual([each["name"] for each in engines], ["auto", "cuda", "host"])
        for each in engines:
            self.assertTrue(each["reason"], each)
        self.assertTrue(engines[0]["usable"] and engines[2]["usable"])

    def test_an_engine_counts_if_and_only_if_it_is_listed_as_usable(self):
        for each in self.listed()["engines"]:
            with self.subTest(engine=each["name"]):
                ended = run("--format", "json", stdin_bytes=b"text", engine=each["name"])
                if each["usable"]:
                    self.assert_counted(ended, b"text")
                else:
                    self.assertEqual(ended.status, 2, ended)
                    self.assertIn(each["reason"], ended.stderr)

    def test_the_listed_kernel_of_a_scheme_is_the_one_that_is_used(self):
        for scheme, kernel in self.listed()["host"]["schemes"].items():
            with self.subTest(scheme=scheme):
                ended = run("-b", scheme, "--format", "json", "--stats", stdin_bytes=b"text", engine="host")
                self.assertEqual(ended.result["stats"]["engine"]["kernel"], kernel)

    def test_every_kernel_is_listed_with_a_description(self):
        listed = self.listed()
        for each in listed["host"]["kernels"] + listed["cuda"]["kernels"]:
            self.assertTrue(each["name"] and each["description"], each)
        self.assertIn("scalar", [each["name"] for each in listed["host"]["kernels"]])
        self.assertEqual([each["name"] for each in listed["cuda"]["kernels"]], ["lane_private"])

    def test_verbose_lists_all_kernels_that_can_be_forced_for_a_scheme(self):
        listed = self.listed("--verbose")["host"]
        names = [each["name"] for each in listed["kernels"]]
        self.assertEqual(list(listed["scheme_kernels"]), list(listed["schemes"]))
        for scheme, able in listed["scheme_kernels"].items():
            self.assertIn(listed["schemes"][scheme].split("/")[0], able)
            for name in names:
                with self.subTest(scheme=scheme, kernel=name):
                    ended = run("-b", scheme, "--kernel", name, "--format", "json", "--stats", stdin=subprocess.DEVNULL, engine="host")
                    self.assertEqual(ended.status, 0 if name in able else 2, ended)

    def test_verbose_extends_the_table_and_removes_nothing_from_the_json(self):
        brief, verbose = (run("devices", *more, engine=None).stdout.decode() for more in ((), ("--verbose",)))
        self.assertLess(len(brief), len(verbose))
        for scheme, able in self.listed("--verbose")["host"]["scheme_kernels"].items():
            self.assertRegex(" ".join(verbose.split()), rf"{scheme} \S+: {', '.join(able)}")
        more = self.listed("--verbose")
        del more["host"]["scheme_kernels"]
        for device in more["cuda"]["devices"]:
            for name in ("shared_bytes", "shared_bytes_block", "threads_per_multiprocessor", "l2_bytes", "tuning"):
                device.pop(name, None)
        self.assertEqual(more, self.listed())

    def test_verbose_is_an_option_of_devices_only(self):
        message = "--verbose: not an option of gpuhist, but of gpuhist devices"
        self.assert_usage_error(run("--verbose", engine=None), message)

    def test_the_listed_threads_are_those_that_this_process_may_use(self):
        given = os.sched_getaffinity(0)
        self.assertEqual(self.listed()["host"]["threads"], len(given))
        self.addCleanup(os.sched_setaffinity, 0, given)
        os.sched_setaffinity(0, {min(given)})
        self.assertEqual(self.listed()["host"]["threads"], 1)

    def test_the_table_lists_every_engine_and_every_scheme(self):
        ended = run("devices", engine=None)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        table = ended.stdout.decode()
        listed = self.listed()
        for each in listed["engines"]:
            self.assertIn(f"\n{each['name']} ", table)
        for scheme, kernel in listed["host"]["schemes"].items():
            self.assertRegex(table, rf"(?m)^{scheme} +{kernel}$")

    def test_an_output_file_appears_only_when_it_is_complete(self):
        path = self.folder / "devices.json"
        ended = run("devices", "--format", "json", "--output", path, engine=None)
        self.assertEqual((ended.status, ended.stdout, ended.stderr), (0, b"", ""), ended)
        self.assertEqual(json.loads(path.read_text()), self.listed())
        self.assertEqual([each.name for each in self.folder.iterdir()], ["devices.json"])

    def test_an_unknown_format_or_an_input_file_is_a_usage_error(self):
        for arguments, words in ((["--format", "csv"], "table or json"), (["--format", "jso"], "jso"), (["some.log"], "some.log")):
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run("devices", *arguments, engine=None), words)


class ChosenDevices(CommandTest):
    def test_devices_cannot_be_combined_with_the_host_engine(self):
        for devices in ("0", "all"):
            self.assert_usage_error(run("--devices", devices, stdin_bytes=b"text", engine="host"), "--engine host")

    def test_a_device_that_does_not_exist_is_named_and_nothing_is_counted(self):
        for engine in ("auto", "cuda"):
            self.assert_usage_error(run("--devices", "1000", stdin_bytes=b"text", engine=engine), "--devices: device 1000: ")

    @unittest.skipUnless(support.ENGINE == "cuda", "needs a device")
    def test_all_devices_and_each_device_alone_give_the_same_counts(self):
        data = support.text(20_000_000)
        listed = run("devices", "--format", "json", engine=None).result["cuda"]["devices"]
        usable = [str(each["number"]) for each in listed if each["usable"]]
        for devices in ("all", ",".join(usable), *usable):
            with self.subTest(devices=devices):
                ended = run("--devices", devices, "--format", "json", "--stats", stdin_bytes=data, engine="cuda")
                self.assert_counted(ended, data)
                count = 1 if devices.isdigit() else len(usable)
                self.assertEqual(ended.result["stats"]["engine"]["workers"], 3 * count)


JSON = ("--format", "json", "--stats")
SCHEMES = ("letters", "classes", "bytes", "alphabet", "utf8", "few:a=a;b=b")


def listed():
    return run("devices", "--format", "json", engine=None).result


def host_kernels():
    return [each["name"] for each in listed()["host"]["kernels"]]


class HostKernels(CommandTest):
    def test_a_forced_kernel_runs_and_gives_the_counts_of_the_best_kernel(self):
        data = text(300_000)
        path = self.file("data", data)
        ran = set()
        for scheme in SCHEMES:
            best = run(*JSON, "-b", scheme, path, engine="host").result
            for each in listed()["host"]["kernels"]:
                with self.subTest(scheme=scheme, kernel=each["name"]):
                    ended = run(*JSON, "-b", scheme, "--kernel", each["name"], path, engine="host")
                    if ended.status == 2:
                        self.assertIn(f"--kernel: {each['name']} cannot count the ", ended.stderr)
                        continue
                    self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
                    target = each["instruction_set"]
                    self.assertEqual(ended.result["stats"]["engine"]["kernel"], each["name"] + (f"/{target}" if target else ""))
                    self.assertEqual(ended.result["buckets"], best["buckets"])
                    if scheme != SCHEMES[-1]:
                        self.assert_counts(ended.result, data)
                    ran.add(each["name"])
        expected = set(host_kernels())
        if not any(each.startswith("AVX3") for each in listed()["host"]["simd_targets"]):
            expected.discard("lookup")  # it needs AVX-512
        self.assertEqual(ran, expected)

    def test_with_engine_auto_a_kernel_of_the_host_can_be_forced(self):
        for name in host_kernels():
            ended = run(*JSON, "-b", "few:a=a;b=b", "--kernel", name, stdin_bytes=b"text", engine="auto")
            if ended.status != 2:
                self.assertEqual(ended.result["stats"]["engine"]["kernel"].split("/")[0], name)

    def test_a_kernel_that_does_not_support_the_schemes_is_refused_before_anything_is_read(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.write(writing, b"text")
        os.close(writing)
        ended = run("--kernel", "ranges", "-b", "bytes", stdin=reading, engine="host")
        self.assertEqual(os.read(reading, 100), b"text")
        self.assert_usage_error(ended, "--kernel: ranges cannot count the 256 classes of this run; give ", "scalar, or no --kernel")

    def test_byte_counts_need_a_kernel_of_256_classes(self):
        ended = run("--kernel", "ranges", "-b", "letters", "--byte-counts", "--format", "json", engine="host")
        self.assert_usage_error(ended, "256 classes")


class Names(CommandTest):
    def assert_refused(self, *arguments, words):
        self.assert_usage_error(run(*arguments, engine=None), *words)

    def test_an_unknown_name_is_refused_with_all_names_and_the_nearest(self):
        for engine in ("auto", "cuda", "host"):
            words = [*host_kernels(), "lane_private", 'there is no "scaler"; known are', "did you mean scalar?"]
            self.assert_refused("--engine", engine, "--kernel", "scaler", words=words)

    def test_a_kernel_of_the_other_engine_is_refused_with_the_name_of_that_engine(self):
        for engine in ("auto", "host", "cpu"):
            words = ["--kernel: lane_private counts on CUDA devices; give --engine cuda, or "]
            self.assert_refused("--engine", engine, "--kernel", "lane_private", words=words)
        for name in host_kernels():
            words = [f"--kernel: {name} counts on the host; give --engine host, or lane_private"]
            self.assert_refused("--engine", "cuda", "--kernel", name, words=words)

    def test_messages_name_the_source_of_the_option(self):
        path = self.file("job.toml", b'kernel = "scaler"\n')
        self.assert_refused("--config", path, words=[f"{path}:1: kernel: there is no"])

    @unittest.skipUnless(support.ENGINE == "cuda", "needs a device")
    def test_a_forced_kernel_of_cuda_is_the_one_that_runs(self):
        (kernel,) = [each["name"] for each in listed()["cuda"]["kernels"]]
        ended = run(*JSON, "--kernel", kernel, stdin_bytes=b"text", engine="cuda")
        self.assertEqual(ended.result["stats"]["engine"]["kernel"], kernel)
        self.assert_counted(ended, b"text")


if __name__ == "__main__":
    main()
