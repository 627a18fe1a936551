"""Purpose: programs without PyTorch that repeat themselves, or do not: repeats.py NAME.

Prints the number of cycles and the bytes that each leaves.
"""
import json
import sys
import threading
import urllib.request

CYCLES = 40


def pipeline(keep, window=CYCLES):
    """Normalizes tables. With `keep`, it stores each one of the last `window`."""
    import numpy as np

    random, kept, total = np.random.default_rng(0), {}, 0.0
    for number in range(CYCLES):
        table = random.standard_normal((800, 200))
        centred = table - table.mean(axis=0)
        normal = centred / table.std(axis=0)  # KEPT
        if keep:
            kept[number % window] = normal
        total += float(normal.sum())
    print(CYCLES, 800 * 200 * 8 if keep and window == CYCLES else 0, total < 1)


def serve(keep):
    """Answers requests over HTTP. With `keep`, it logs the bodies."""
    import http.server

    log = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))  # LOGGED
            if keep:
                log.append(body)
            answer = json.dumps([2 * value for value in json.loads(body)]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    question = json.dumps(list(range(60_000))).encode()
    for _ in range(CYCLES):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", question) as answer:
            answer.read()
    server.shutdown()
    print(CYCLES, len(question) if keep else 0)


def collect():
    """Reads what it needs, and sums it up."""
    import numpy as np

    rows = [np.full(160_000, float(number)) for number in range(CYCLES)]
    print(CYCLES, 160_000 * 8, sum(float(row[0]) for row in rows) > 0)


def three():
    """A loop of three: too few to be cycles."""
    import numpy as np

    kept = []
    for _ in range(3):
        table = np.ones(1 << 20)
        kept.append(table * 2 + 1)
    print(3, 0)


def train(keep):
    """Trains with JAX, on the CPU. With `keep`, it stores the activations."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(weights, batch):
        hidden = jnp.tanh(batch @ weights)
        return weights - 1e-4 * (batch.T @ hidden), hidden

    weights, kept = jnp.ones((512, 512)), []
    for number in range(CYCLES):
        weights, hidden = step(weights, jnp.ones((1024, 512)) * number)
        if keep:
            kept.append(hidden)
    weights.block_until_ready()
    print(CYCLES, 1024 * 512 * 4 if keep else 0)


PROGRAMS = {
    "pipeline": lambda: pipeline(False), "pipeline_keeps": lambda: pipeline(True),
    "pipeline_window": lambda: pipeline(True, 5), "server": lambda: serve(False), "server_keeps": lambda: serve(True),
    "collect": collect, "three": three, "jax": lambda: train(False), "jax_keeps": lambda: train(True),
}
PROGRAMS[sys.argv[1]]()
