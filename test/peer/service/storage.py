"""The object storage: a second port that knows nothing of keys and takes only what a signed URL allows.

A request with an Authorization header, or with any header that a plain download does not need, is refused and strange.
"""

import gzip
import hashlib
import hmac
import http.server
import re
import threading
import time
import urllib.parse

from .strict import strange

SECRET = b"only the storage knows this"
PLAIN = {"host", "user-agent", "accept", "accept-encoding", "connection", "range", "if-range", "if-match"}
address = ""
objects = {}  # path to (bytes, headers)
faults = {"cut": 0, "expire": 0, "busy": 0}  # how many of the next requests fail in this way
_lock = threading.Lock()


def _signature(path, expires):
    return hmac.new(SECRET, ("GET\n%s\n%d" % (path, expires)).encode(), "sha256").hexdigest()


def sign(run, index):
    """A new URL for one file. Its signature covers the method GET only."""
    path, expires = "/exports/%s/%d" % (run, index), int(time.time()) + 600
    if _taken("expire"):
        expires -= 3600
    query = {"X-Amz-Expires": expires, "X-Amz-Signature": _signature(path, expires)}
    return address + path + "?" + urllib.parse.urlencode(query)


def fill(row):
    """Stores the files of a completed download, and gives their number and the number of records."""
    file = row.request["file"]
    if "nothing" in row.request.get("include", ()):
        return 0, 0
    count = 3 if file.get("max_size_mb", 1024) == 1 else 1
    for index in range(count):
        lines = ['{"event":"e%d","run":"%s","part":%d}\n' % (n, row.id, index) for n in range(5000)]
        data = "".join(lines).encode()
        headers = {}
        if file.get("compression") == "gzip":
            data = gzip.compress(data, mtime=0)
            headers["Content-Encoding"] = "gzip"
        headers["ETag"] = '"%s"' % hashlib.md5(data).hexdigest()
        objects["/exports/%s/%d" % (row.id, index)] = (data, headers)
    return count, count * 5000


def _taken(fault):
    with _lock:
        if faults[fault] <= 0:
            return False
        faults[fault] -= 1
        return True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_):
        pass

    def _refuse(self, status, code):
        body = ('<?xml version="1.0"?><Error><Code>%s</Code></Error>' % code).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _other(self):
        strange("storage", "method " + self.command)
        self._refuse(403, "SignatureDoesNotMatch")
        self.close_connection = True

    do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = _other

    def do_GET(self):
        unexpected = sorted(name for name in self.headers if name.lower() not in PLAIN)
        if unexpected:
            strange("storage", "headers: " + ", ".join(unexpected))
            return self._refuse(400, "InvalidArgument")
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        expires = int(query.get("X-Amz-Expires", "0"))
        if not hmac.compare_digest(query.get("X-Amz-Signature", ""), _signature(url.path, expires)):
            strange("storage", "a bad signature")
            return self._refuse(403, "SignatureDoesNotMatch")
        if expires < time.time():
            return self._refuse(403, "AccessDenied")
        if _taken("busy"):
            return self._refuse(503, "SlowDown")
        if url.path not in objects:
            return self._refuse(404, "NoSuchKey")
        self._send(*objects[url.path])

    def _send(self, data, headers):
        start, end = self._range(len(data), headers["ETag"])
        if start is None:
            return self._refuse(416, "InvalidRange")
        whole = start == 0 and end == len(data)
        part = data[start:end]
        self.send_response(200 if whole and not self.headers.get("Range") else 206)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.headers.get("Range"):
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, end - 1, len(data)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if _taken("cut"):
            self.wfile.write(part[: len(part) // 2])
            self.close_connection = True
            return
        self.wfile.write(part)

    def _range(self, size, tag):
        asked = self.headers.get("Range")
        if asked is None or self.headers.get("If-Range", tag) != tag:
            return 0, size
        found = re.match(r"^bytes=(\d+)-(\d*)$", asked)
        if not found:
            strange("storage", "range %r" % asked)
            return None, None
        start, end = int(found[1]), int(found[2] or size - 1) + 1
        if start >= size or start >= end:
            return None, None
        return start, min(end, size)


def listing():
    """What is stored, so that a test can compare what it got."""
    return [{"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for path, (data, _) in sorted(objects.items())]


def set_faults(wanted):
    with _lock:
        faults.update({name: wanted.get(name, 0) for name in faults})


def start():
    global address
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = "http://127.0.0.1:%d" % server.server_port
    return address
