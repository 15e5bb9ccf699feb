#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A receiver of profiles for tests/host/push.t, on loopback, as strict as it can be.

receiver.py DIR [PORT [CERTIFICATE KEY]]

writes its port into DIR/port, each request into DIR/requests (a JSON object a line) and each body
into DIR/body.N.  What it answers is in DIR/how: ok, STATUS (a number), late, half (of the status
line), cut (of the text after a good status), close, never.  A request that is not what
Pyroscope's documentation says is answered by 418, and DIR/wrong says why.
"""
import gzip
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse

folder = sys.argv[1]
lock = threading.Lock()


def at(name):
    return os.path.join(folder, name)


def count():
    try:
        with open(at("requests"), encoding="ascii") as f:
            return len(f.readlines())
    except FileNotFoundError:
        return 0


def wrong_with(method, url, headers, body):
    """What is wrong with a request, or nothing"""
    query = urllib.parse.parse_qsl(url.query, keep_blank_values=True, strict_parsing=True)
    names = [name for name, _ in query]
    given = dict(query)
    if method != "POST":
        return "method " + method
    if url.path not in ("/ingest", "/under/ingest"):
        return "path " + url.path
    if sorted(names) != ["format", "from", "name", "until"]:
        return "query " + url.query
    if given["format"] != "pprof" or not given["name"]:
        return "query " + url.query
    if not (given["from"].isdigit() and given["until"].isdigit() and
            len(given["from"]) == 10 and int(given["from"]) < int(given["until"])):
        return "times " + url.query
    if headers.get_all("Content-Type") != ["application/octet-stream"]:
        return "content type"
    if len(headers.get_all("Idempotency-Key", [])) != 1:
        return "key"
    if headers.get("Expect") or headers.get("Transfer-Encoding"):
        return "a body that is not sent at once"
    if not headers.get("User-Agent", "").startswith("stackbuf/"):
        return "user agent"
    try:
        gzip.decompress(body)
    except (OSError, EOFError) as error:
        return "body: " + str(error)
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, text=b"", cut=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text) + 100 * cut))
        if status // 100 == 3:
            self.send_header("Location", "/elsewhere")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()
        self.close_connection = True

    def handle_any(self):
        with open(at("how"), encoding="ascii") as f:
            how = f.read().strip()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        wrong = wrong_with(self.command, url, self.headers, body)
        with lock:
            number = count()
            with open(at("body.%d" % number), "wb") as f:
                f.write(body)
            with open(at("requests"), "a", encoding="ascii") as f:
                f.write(json.dumps({
                    "method": self.command, "path": url.path, "number": number, "how": how,
                    "query": dict(urllib.parse.parse_qsl(url.query)),
                    "key": self.headers.get("Idempotency-Key"),
                    "token": self.headers.get("Authorization")}) + "\n")
            if wrong:
                with open(at("wrong"), "a", encoding="ascii") as f:
                    f.write(wrong + "\n")
        if wrong:
            self.answer(418, wrong.encode())
        elif how == "ok":
            self.answer(200)
        elif how.isdigit():
            self.answer(int(how), b"no \x1b[1m" + str(self.headers.get("Authorization")).encode() + b"\nmore")
        elif how == "late":
            time.sleep(1)
            self.answer(200)
        elif how == "cut":
            self.answer(200, b"half of th", cut=True)
        elif how == "half":
            self.wfile.write(b"HTTP/1.1 20")
            self.close_connection = True
        elif how == "close":
            self.close_connection = True
        elif how == "never":
            time.sleep(600)

    do_POST = do_GET = do_PUT = do_HEAD = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(at("port.new"), "w", encoding="ascii") as out:
    out.write(str(server.server_address[1]) + "\n")
os.rename(at("port.new"), at("port"))
server.serve_forever()
