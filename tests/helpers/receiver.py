#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A receiver of profiles for tests/host/diff.t, on loopback, as strict as it can be.

receiver.py DIR

writes its port into DIR/port, and each request into DIR/requests (a JSON object a line).  It answers
by the status in DIR/how.  A request that is not what Pyroscope's documentation says of folded stacks
is answered by 418, and DIR/wrong says why.
"""
import http.server
import json
import os
import re
import sys
import urllib.parse

directory = sys.argv[1]


def at(name):
    return os.path.join(directory, name)


def wrong_with(url, query, body):
    """What is wrong with a request, or nothing"""
    if url.path != "/ingest" or sorted(query) != ["format", "from", "name", "until"]:
        return "request " + url.geturl()
    if query["format"] != "folded" or not re.fullmatch(r"\w+\{host=[\w.-]+\}", query["name"]):
        return "name or format " + url.query
    if not all(re.fullmatch("[0-9]{10}", query[key]) for key in ("from", "until")) or \
            query["from"] > query["until"]:
        return "times " + url.query
    for line in body.splitlines():
        if not re.fullmatch(r"\S.* [1-9][0-9]*", line):
            return "line " + line
    return None if body.endswith("\n") else "no whole lines"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
        wrong = wrong_with(url, query, body)
        with open(at("how"), encoding="ascii") as f:
            status = 418 if wrong else int(f.read())
        if wrong:
            with open(at("wrong"), "a", encoding="utf-8") as f:
                f.write(wrong + "\n")
        with open(at("requests"), "a", encoding="ascii") as f:
            f.write(json.dumps({"query": query, "body": body, "status": status}) + "\n")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(at("port.new"), "w", encoding="ascii") as out:
    out.write("%d\n" % server.server_address[1])
os.rename(at("port.new"), at("port"))
server.serve_forever()
