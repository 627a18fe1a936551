"""Purpose: a web service that answers each question from a cache.

Thread: mixmoe/HibiAPI#380
Question: An instance took 4 GB of memory at 1000 requests a day.
Answer: The service caches its answers in memory by default. It needs a cache with a limit, or one outside of the process.
Finding: leak-per-event
Pattern: the client is in the same process, and hashes stand for what the service looks up.
"""
import collections
import hashlib
import http.server
import json
import sys
import threading
import urllib.request

CAPACITY = 4 if "--mended" in sys.argv else 1_000_000
REQUESTS, VALUES = 60, 12_000
INDEX = bytearray(range(256)) * (40 << 12)  # what the service looks up: 40 MiB


class Handler(http.server.BaseHTTPRequestHandler):
    cache = collections.OrderedDict()

    def do_GET(self):
        if self.path not in self.cache:
            self.cache[self.path] = self.answer()
        while len(self.cache) > CAPACITY:
            self.cache.popitem(last=False)
        body = self.cache[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        values = [hashlib.sha256(INDEX[number:number + 64]).hexdigest() for number in range(VALUES)]
        return json.dumps(values).encode()  # CAUSE

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    for number in range(REQUESTS):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{number}") as answer:
            answer.read()
    server.shutdown()
    print("truth", 2 + VALUES * 66 + (VALUES - 1) * 2)


main()
