"""--kernel: every kernel can be forced by its name, is then the one that runs, and counts the same as the others."""

import os
import unittest

import support
from support import CommandTest, main, run, text

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
