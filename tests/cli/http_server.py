"""An HTTP server on the loopback interface whose faults are chosen by the test. It notes the requests that it receives."""

import hashlib
import http.server
import random
import re
import threading
import time

RANGE = re.compile(r"bytes=(\d+)-(\d*)$")


class Object:
    """What a path has, and how it is answered."""

    def __init__(self, content, **behaviour):
        self.content = content
        self.etag = f'"{hashlib.md5(content).hexdigest()}"'
        self.ranges = True  # ranges are answered as such
        self.chunked = False  # no length is given
        self.status = None  # every answer is this error
        self.errors = 0  # as many answers are an error
        self.error_status = 503
        self.text = b""  # the body of an error
        self.cut_after = None  # the connection of one in `cut_every` answers ends after this many bytes
        self.cut_every = 1
        self.location = None  # a redirect
        self.changes_after = None  # requests; then it has another ETag and content
        self.ignores_conditions = False
        self.bytes_per_second = None
        self.delay = 0
        self.fails = 0.0  # the share of requests that fail in some way
        vars(self).update(behaviour)
        self.requests = 0


class Server:
    def __init__(self):
        self.objects = {}
        self.requests = []  # the path and headers of each
        self.lock = threading.Lock()
        self.random = random.Random(1)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self)

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def put(self, path, content, **behaviour):
        """Returns its URL."""
        self.objects["/" + path] = Object(content, **behaviour)
        return f"http://127.0.0.1:{self.port}/{path}"

    def answer(self, to):
        with self.lock:
            self.requests.append((to.path, dict(to.headers)))
            found = self.objects.get(to.path.split("?")[0])
            if found is not None:
                found.requests += 1
                number, chance = found.requests, self.random.random()
        if found is None:
            return self.send_error(to, 404, b"<Error><Code>NoSuchKey</Code><Message>The key does not exist.</Message></Error>")
        time.sleep(found.delay)
        if found.status or number <= found.errors:
            return self.send_error(to, found.status or found.error_status, found.text)
        if chance < found.fails / 3:
            return self.send_error(to, 503, b"")
        if chance < found.fails * 2 / 3:
            to.close_connection = True
            return None
        cuts = chance < found.fails or (found.cut_after is not None and number % found.cut_every == 0)
        if found.location:
            to.send_response(302)
            to.send_header("Location", found.location)
            to.send_header("Content-Length", "0")
            return to.end_headers()
        content, etag = found.content, found.etag
        if found.changes_after is not None and number > found.changes_after:
            content, etag = content[::-1], '"other"'
        if to.headers.get("If-Match", etag) != etag and not found.ignores_conditions:
            return self.send_error(to, 412, b"")
        asked = RANGE.match(to.headers.get("Range", "")) if found.ranges else None
        begin, end = 0, len(content)
        if asked and int(asked[1]) >= len(content):
            to.send_response(416)
            to.send_header("Content-Range", f"bytes */{len(content)}")
            to.send_header("Content-Length", "0")
            return to.end_headers()
        if asked:
            begin, end = int(asked[1]), min(len(content), int(asked[2] or len(content)) + 1)
            to.send_response(206)
            to.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        else:
            to.send_response(200)
        if etag:
            to.send_header("ETag", etag)
        to.send_header("Transfer-Encoding", "chunked") if found.chunked else to.send_header("Content-Length", str(end - begin))
        to.end_headers()
        cut_at = (found.cut_after if found.cut_after is not None else (end - begin) // 2) if cuts else None
        self.send_body(to, memoryview(content)[begin:end], found, cut_at)
        return None

    def send_body(self, to, body, found, cut_at):
        step = 1 << 16
        started = time.monotonic()
        for at in range(0, len(body), step):
            part = body[at : at + step]
            if cut_at is not None and at + len(part) > cut_at:
                part = part[: max(0, cut_at - at)]
            if found.chunked:
                to.wfile.write(b"%x\r\n" % len(part) + part + b"\r\n" if part else b"")
            else:
                to.wfile.write(part)
            if cut_at is not None and at + step > cut_at:
                to.close_connection = True
                return
            if found.bytes_per_second:
                time.sleep(max(0, (at + len(part)) / found.bytes_per_second - (time.monotonic() - started)))
        if found.chunked:
            to.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def send_error(to, status, text):
        to.send_response(status)
        to.send_header("Content-Length", str(len(text)))
        to.end_headers()
        to.wfile.write(text)
