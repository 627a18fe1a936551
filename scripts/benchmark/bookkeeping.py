"""What the bookkeeping of roles takes of the steps of a training run: the real code, timed where it runs.

usage: bookkeeping.py --library LIBMEMTRACE [--size small] [--steps 200] [--rounds 5], by the Python of scripts/setup
The wrappers' globals are the dict that the library's Python lives in; the functions of roles.py and copies.py that the
wrappers call are put behind a clock there. What the clock itself takes is in the figure, what the tracer takes besides
is not.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

OF_ROLES = ("_report_parameters", "_label_gradients", "_label_states", "_label_engine", "_within_means", "_is_known")


def timed(call, spent):
    depth = 0

    def wrapper(*args):
        nonlocal depth
        began = time.perf_counter_ns()
        depth += 1
        try:
            return call(*args)
        finally:
            depth -= 1
            if depth == 0:
                spent[0] += time.perf_counter_ns() - began
                spent[1] += 1

    return wrapper


def measure(size, steps):
    """In the traced process: ns in each function, between the first step that counts and the last."""
    import torch

    inside = torch.nn.Module.__call__.__globals__
    if "_label_gradients" not in inside:
        sys.exit("bookkeeping: PyTorch is not wrapped here: is the library preloaded, with MEMTRACE_PHASES=auto?")
    spent = {name: [0, 0] for name in OF_ROLES}
    for name in OF_ROLES:
        inside[name] = timed(inside[name], spent[name])
    import train

    marks = []
    step = torch.optim.AdamW.step

    def counted(self, *args, **kwargs):
        marks.append((time.perf_counter_ns(), {name: list(value) for name, value in spent.items()}))
        return step(self, *args, **kwargs)

    torch.optim.AdamW.step = counted
    sys.argv = ["train", size, str(steps)]
    train.main()
    warm = train.SIZES[size][2]
    (began, before), (ended, after) = marks[warm], marks[-1]
    print("bookkeeping: " + json.dumps({
        "step_ns": (ended - began) / (len(marks) - 1 - warm),
        **{name: (after[name][0] - before[name][0]) / (len(marks) - 1 - warm) for name in OF_ROLES}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--size", default="small")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        return measure(arguments.size, arguments.steps)
    shares = []
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(
                [sys.executable, os.path.abspath(__file__), "--inside", "--library", arguments.library,
                 "--size", arguments.size, "--steps", str(arguments.steps)],
                env={**os.environ, "LD_PRELOAD": os.path.abspath(arguments.library), "MEMTRACE_OUT": out,
                     "MEMTRACE_QUIET": "1"}, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("bookkeeping: ")]
        if not lines:
            sys.exit("bookkeeping: the run failed: " + done.stderr[-2000:])
        figures = json.loads(lines[-1].partition(": ")[2])
        step = figures.pop("step_ns")
        shares.append(sum(figures.values()) / step)
        parts = ", ".join(f"{name.strip('_')} {value / 1000:.1f}" for name, value in figures.items() if value >= 50)
        print(f"step {step / 1e6:.2f} ms, roles {100 * shares[-1]:.3f} % of it; us a step: {parts}", flush=True)
    print(f"median {100 * statistics.median(shares):.3f} % ({100 * min(shares):.3f}..{100 * max(shares):.3f})")


if __name__ == "__main__":
    main()
