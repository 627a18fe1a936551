"""What memtrace costs the steps of a program, on a machine whose speed changes.

usage: pinned.py --library LIBMEMTRACE [--beside LIBRARY] [--rounds 7] [--set NAME=VALUE] PROGRAM [ARGUMENT...]
Runs the program twice at once, bare and under memtrace, each pinned to a core of its own, then again with the cores
swapped. So both have the same minute of the machine. A ratio is the geometric mean of the two. memtrace's thread has the
core of its program. PROGRAM prints its CPU time as scripts/benchmark/train.py does: steps_cpu=SECONDS.
`--beside`: a second library, for example of an older version.
"""
import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

from table import spread


def start(command, library, settings, core, out):
    known = {key: value for key, value in os.environ.items() if not key.startswith("MEMTRACE_")}
    known["OMP_NUM_THREADS"] = "1"
    if library:
        known.update(settings, LD_PRELOAD=library, MEMTRACE_QUIET="1", MEMTRACE_OUT=out)
    return subprocess.Popen(["taskset", "-c", str(core), *command], env=known, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)


def cpu(process):
    found = re.search(r"steps_cpu=([0-9.]+)", process.communicate()[0])
    if process.returncode != 0 or not found:
        sys.exit(f"pinned.py: the program ended with {process.returncode} and printed no steps_cpu=SECONDS")
    return float(found[1])


def ratio(command, library, settings, scratch):
    """Of the CPU time of the steps, under `library` to bare."""
    product = 1.0
    for cores in ((0, 1), (1, 0)):
        out = os.path.join(scratch, "out")
        traced, bare = start(command, library, settings, cores[0], out), start(command, "", {}, cores[1], out)
        product *= cpu(traced) / cpu(bare)
        shutil.rmtree(out, ignore_errors=True)
    return math.sqrt(product)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--beside")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if os.cpu_count() < 2 or not arguments.command:
        parser.error("needs a program, and two cores")
    settings = dict(one.split("=", 1) for one in arguments.set)
    libraries = {"memtrace": os.path.abspath(arguments.library), "bare again": ""}
    if arguments.beside:
        libraries["beside"] = os.path.abspath(arguments.beside)
    found = {name: [] for name in libraries}
    print(f"Load average before: {os.getloadavg()[0]:.1f}.", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.rounds):
            for name in libraries if number % 2 == 0 else reversed(libraries):
                found[name].append(ratio(arguments.command, libraries[name], settings, scratch))
    for name, values in found.items():
        print(f"{name}: {spread(values)} of bare CPU")
    print(f"Load average after: {os.getloadavg()[0]:.1f}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
