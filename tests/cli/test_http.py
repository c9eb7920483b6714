"""Inputs on HTTP servers: everything that a file can do gives the same result for an object, whatever the server does to the
requests. The oracle is the text that the server has."""

import gzip
import re
import signal
import ssl
import subprocess
import time
import unittest

from http_server import Server
from support import CommandTest, Running, main, needs, noise, run, tar, text, wait_until, without_run, zipped, zstd

JSON = ("--format", "json", "--buckets", "letters,bytes")
MIB = 1 << 20
TIME = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z")  # of a window
TEXT = text(21 * MIB + 12345)


def is_built_with_libcurl():
    return "without libcurl" not in run("http://127.0.0.1:1/").stderr


@unittest.skipUnless(is_built_with_libcurl(), "built without libcurl")
class HttpTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.close)

    def assert_failed(self, ended, *words):
        self.assertEqual(ended.status, 1, ended)
        for word in words:
            self.assertIn(word, ended.stderr)
        self.assertIs(ended.result["complete"], False)

    def assert_as_a_file(self, name, content, *options):
        """The result of the object is that of the file, except for the name."""
        path = self.file(name.replace("/", "-"), content)
        url = self.server.put(name, content)
        engine = {"engine": None} if options[0] == "filter" else {}
        by_file, by_url = run(*options, path, **engine), run(*options, url, **engine)
        self.assertNotEqual(by_file.status, 2, by_file)
        self.assertEqual((by_url.status, by_url.stderr.replace(url, "X")), (by_file.status, by_file.stderr.replace(str(path), "X")), by_url)
        printed = [TIME.sub(b"T", without_run(ended.stdout.replace(of, b"X"))) for ended, of in ((by_url, url.encode()), (by_file, bytes(path)))]
        self.assertEqual(*printed)


class Objects(HttpTest):
    def test_plain_text_is_counted_with_each_number_of_threads(self):
        url = self.server.put("a.log", TEXT)
        for threads in ("1", "2", "4"):
            self.assert_counted(run(*JSON, "--threads", threads, url), TEXT)

    def test_every_format_and_archive_gives_the_result_of_a_file(self):
        half = TEXT[: 9 * MIB]
        files = {"a.log": text(3 * MIB), "b/c.log": text(100), "d.bin": noise(2 * MIB)}
        contents = {"a.zst": zstd(half), "many.zst": b"".join(zstd(half[at : at + MIB]) for at in range(0, len(half), MIB)), "a.gz": gzip.compress(half, 1),
                    "a.tar": tar(files), "a.tar.gz": gzip.compress(tar(files), 1), "a.zip": zipped(files), "b.zip": zipped({**files, "n.bin": noise(9 * MIB)}),
                    "cut.zst": zstd(half)[:-1000], "empty": b"", "one": b"x"}  # fmt: skip
        for name, content in contents.items():
            with self.subTest(name=name):
                self.assert_as_a_file(name, content, *JSON)

    def test_units_windows_and_filters_give_the_result_of_a_file(self):
        content = TEXT[: 5 * MIB]
        for options in (("--each", "line", "--where", "digit > 0.2"), ("--window", "1MiB", "--format", "jsonl"),
                        ("filter", "--drop-if", "digit > 0.1", "-o", "-"), ("--pass-through",), ("--pass-through=text",)):  # fmt: skip
            with self.subTest(options=options):
                self.assert_as_a_file("u.log", content, *options)

    def test_many_objects_and_files_are_counted_in_one_run_and_the_list_may_be_a_file(self):
        contents = [text(1000 + 777 * number, number) for number in range(100)]
        urls = [self.server.put(f"many/{number}.log{'.zst' if number % 3 else ''}", zstd(each) if number % 3 else each) for number, each in enumerate(contents)]
        local = self.file("local.log", text(5000, 7))
        ended = run(*JSON, "--files-from", self.file("list", "\n".join([*urls, str(local)]).encode()))
        self.assert_counted(ended, b"".join(contents) + text(5000, 7))
        self.assertEqual([each["name"] for each in ended.result["inputs"]], [*urls, str(local)])
        self.assertEqual(len(self.server.requests), len(urls))

    def test_the_same_object_can_be_given_twice_and_absent_ones_fail_alone(self):
        url, absent = self.server.put("a.log", TEXT[: 5 * MIB]), f"http://127.0.0.1:{self.server.port}/absent"
        ended = run(*JSON, url, absent, url)
        self.assert_failed(ended, absent, "404")
        self.assert_counts(ended.result, TEXT[: 5 * MIB] * 2)

    def test_the_values_of_a_query_are_sent_and_not_printed(self):
        url = self.server.put("signed.log", TEXT[:1000]) + "?X-Amz-Signature=secret"
        ended = run(*JSON, url)
        self.assert_counted(ended, TEXT[:1000])
        self.assertEqual(ended.result["inputs"][0]["name"], url.replace("X-Amz-Signature=secret", "..."))
        self.assertIn("?X-Amz-Signature=secret", self.server.requests[-1][0])
        failed = run(*JSON, url.replace("signed", "absent"))
        self.assert_failed(failed, "404")
        self.assertNotIn("secret", failed.stderr + failed.stdout.decode())

    def test_requests_retries_and_bytes_are_in_the_statistics(self):
        url = self.server.put("a.log", TEXT[: 9 * MIB], errors=1)
        ended = run("--stats", url)
        self.assertIn(f"4 HTTP requests, 1 of them repeated, {9 * MIB} bytes received", ended.stderr)


class Streams(HttpTest):
    def test_an_object_without_ranges_or_length_is_read_once_as_a_stream(self):
        for behaviour in ({"ranges": False}, {"ranges": False, "chunked": True}):
            for name, content, counted in (("a.log", TEXT, TEXT), ("a.zst", zstd(TEXT), TEXT), ("empty", b"", b"")):
                with self.subTest(behaviour=behaviour, name=name):
                    url = self.server.put(name, content, **behaviour)
                    before = len(self.server.requests)
                    self.assert_counted(run(*JSON, url), counted)
                    self.assertEqual(len(self.server.requests) - before, 1)

    def test_many_streams_are_counted_in_one_run(self):
        contents = [text(300_000 + number, number) for number in range(40)]
        urls = [self.server.put(f"{number}.log", each, ranges=False) for number, each in enumerate(contents)]
        self.assert_counted(run(*JSON, *urls), b"".join(contents))

    def test_a_stream_that_ends_early_is_an_error_and_not_the_end(self):
        for chunked in (False, True):
            url = self.server.put("cut.log", TEXT, ranges=False, chunked=chunked, cut_after=3 * MIB)
            ended = run(*JSON, url)
            self.assert_failed(ended, url, "the transfer failed")
            self.assertLessEqual(ended.result["bytes"], 3 * MIB)


class Faults(HttpTest):
    def test_totals_are_exact_although_requests_fail(self):
        for fails in (0.05, 0.3):
            url = self.server.put("a.log", TEXT, fails=fails)
            packed = self.server.put("a.zst", zstd(TEXT), fails=fails)
            self.assert_counted(run(*JSON, url, packed), TEXT * 2)

    def test_bodies_that_end_early_are_continued(self):
        url = self.server.put("short.log", TEXT, cut_after=MIB + 1, cut_every=2)
        self.assert_counted(run(*JSON, url), TEXT)

    def test_a_server_that_asks_to_come_later_is_asked_later(self):
        for status in (408, 429, 500, 502, 503, 504):
            url = self.server.put(f"{status}.log", TEXT[:1000], errors=2, error_status=status)
            self.assert_counted(run(*JSON, url), TEXT[:1000])

    def test_an_error_names_the_address_the_status_the_cause_and_the_remedy(self):
        expired = b"<?xml?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
        for status, words in {403: ("ExpiredToken: The provided token has expired.", "use a new address"), 401: ("use a new address",), 410: ("check the address",), 400: ()}.items():
            url = self.server.put(f"{status}.log", b"x", status=status, text=expired)
            ended = run(*JSON, url, self.file("a", b"hello\n"))
            self.assert_failed(ended, url, f"HTTP status {status}", *words)
            self.assertEqual(ended.result["bytes"], 6)
            self.assertEqual(self.server.objects[f"/{status}.log"].requests, 1)
        absent = f"http://127.0.0.1:{self.server.port}/absent"
        self.assert_failed(run(*JSON, absent), absent, "HTTP status 404 (NoSuchKey", "check the address")

    def test_an_object_that_changes_while_it_is_read_is_an_error(self):
        for behaviour in ({}, {"ignores_conditions": True}, {"ignores_conditions": True, "etag": ""}):
            url = self.server.put("changed.log", TEXT, changes_after=2, **behaviour)
            ended = run(*JSON, url)
            self.assert_failed(ended, url, "it changed while it was read")

    def test_a_server_that_is_not_there_is_named(self):
        self.assert_failed(run(*JSON, "http://127.0.0.1:1/a"), "http://127.0.0.1:1/a", "the transfer failed")

    def test_redirects_are_followed_and_bounded(self):
        other = Server()
        self.addCleanup(other.close)
        target = other.put("there.log", TEXT[: 6 * MIB])
        self.assert_counted(run(*JSON, self.server.put("here.log", b"", location=target)), TEXT[: 6 * MIB])
        for _, headers in other.requests:
            self.assertFalse({"Authorization", "Cookie"} & headers.keys())
        circle = self.server.put("circle", b"", location="/circle")
        self.assert_failed(run(*JSON, circle), circle, "redirects")
        self.assert_failed(run(*JSON, self.server.put("file", b"", location="file:///etc/passwd")), "the transfer failed")

    def test_addresses_are_not_followed_and_not_resumed_and_have_no_file_in_an_output_folder(self):
        url = self.server.put("a.log", b"x")
        self.assertIn("leave --follow out", run("--follow", url).stderr)
        self.assert_usage_error(run("filter", "--drop-if", "digit > 2", "--output-dir", self.folder / "o", url, engine=None), url, "give --output")
        self.assertIn("leave --resume out", run("--resume", self.folder / "r.jsonl", url).stderr)

    def test_an_address_with_a_password_is_refused(self):
        ended = run(*JSON, f"http://user:secret@127.0.0.1:{self.server.port}/a")
        self.assert_failed(ended, "pipe the content")
        self.assertEqual(self.server.requests, [])

    @needs("openssl")
    def test_a_server_whose_certificate_is_not_trusted_is_refused(self):
        certificate = self.folder / "c.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", certificate, "-out", certificate, "-days", "1", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.server.server.socket = context.wrap_socket(self.server.server.socket, server_side=True)
        url = self.server.put("a.log", b"x").replace("http:", "https:")
        self.assert_failed(run(*JSON, url), url, "certificate")
        self.assertEqual(self.server.requests, [])

    def test_a_signal_ends_a_run_that_waits_for_a_server(self):
        for behaviour in ({"delay": 30}, {"bytes_per_second": 100_000}, {"bytes_per_second": 100_000, "ranges": False}, {"status": 503}):
            with self.subTest(behaviour=behaviour):
                url = self.server.put("slow.log", TEXT, **behaviour)
                before = len(self.server.requests)
                with Running(*JSON, url) as running:
                    wait_until(lambda: len(self.server.requests) > before)
                    time.sleep(0.1)
                    running.process.send_signal(signal.SIGINT)
                    started = time.monotonic()
                    ended = running.finish()
                self.assertLess(time.monotonic() - started, 3)
                self.assertNotEqual(ended.status, 0)
                self.assertIs(ended.result["complete"], False)


if __name__ == "__main__":
    main()
