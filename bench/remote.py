"""Measures the reading of an object from an HTTP server on the loopback interface that delays each request by 20 ms, limits a
connection to 50 MB/s and all of them to 200 MB/s: as a share of that, and against `curl | gpuhist`.

    python3 bench/remote.py PROGRAM [MIB]"""

import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

DELAY = 0.02
OF_CONNECTION = 50e6
OF_ALL = 200e6
STEP = 1 << 18


class Limit:
    """Bytes per second, of all that share it."""

    def __init__(self, rate):
        self.rate, self.free_at, self.lock = rate, 0.0, threading.Lock()

    def take(self, size):
        """Returns the time at which these bytes may have been sent."""
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic() - 0.01) + size / self.rate
            return self.free_at


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    path_of_content, all_of_them = None, Limit(OF_ALL)

    def setup(self):
        super().setup()
        self.own = Limit(OF_CONNECTION)

    def log_message(self, *_):
        pass

    def do_GET(self):
        time.sleep(DELAY)
        size = os.path.getsize(self.path_of_content)
        asked = re.match(r"bytes=(\d+)-(\d+)$", self.headers.get("Range", ""))
        begin, end = (int(asked[1]), min(size, int(asked[2]) + 1)) if asked else (0, size)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        self.wfile.flush()
        with open(self.path_of_content, "rb") as content:
            for at in range(begin, end, STEP):
                part = min(STEP, end - at)
                time.sleep(max(0, max(self.own.take(part), self.all_of_them.take(part)) - time.monotonic()))
                sent = 0
                while sent < part:
                    sent += os.sendfile(self.connection.fileno(), content.fileno(), at + sent, part - sent)


def main():
    program, size = sys.argv[1], int(sys.argv[2] if len(sys.argv) > 2 else 1024) << 20
    with tempfile.TemporaryDirectory() as folder:
        line = b"2026-12-01T02:03:04Z INFO request 12345 took 67 ms\n"
        Handler.path_of_content = os.path.join(folder, "a.log")
        with open(Handler.path_of_content, "wb") as out:
            for _ in range(size >> 20):
                out.write((line * (len(line) + (1 << 20) // len(line)))[: 1 << 20])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/a.log"
        seconds = {}
        for name, command in {"gpuhist URL": [program, url], "curl | gpuhist": ["sh", "-c", f"curl -s {url} | {program}"]}.items():
            started = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name] = time.monotonic() - started
            print(f"{name:16}{seconds[name]:7.2f} s{size / seconds[name] / 1e6:8.1f} MB/s, {size / seconds[name] / OF_ALL:.2f} of the limit")
        print(f"time of gpuhist URL: {seconds['gpuhist URL'] / seconds['curl | gpuhist']:.2f} of curl | gpuhist")


main()
