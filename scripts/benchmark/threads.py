#!/usr/bin/env python3
"""What an event costs with 1, 8 and 64 threads that allocate and free at once.

usage: threads.py LIBMEMTRACE... [--rounds 7]
Several libraries are compared with each other, for example of two commits. Each round runs bare, each library and bare
again, in turn, and every other round in the opposite order. A figure is CPU of the whole process, with memtrace's thread,
divided by the blocks born and freed: the median, with the least and the greatest. Native and Python stacks are off: they
cost a thread the same, however many there are. pair.c is compiled with cc.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = (1, 8, 64)
# Bytes of a block, the smallest block that is recorded, pairs.
CASES = {"64 bytes, counted": (64, "4096", 6_000_000), "64 bytes, recorded": (64, "1", 1_000_000),
         "8 KiB, recorded": (8192, "4096", 1_000_000)}


def environment(library, exact, folder):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMTRACE") and key != "LD_PRELOAD"}
    if library is None:
        return kept
    return {**kept, "LD_PRELOAD": os.path.abspath(library), "MEMTRACE_OUT": os.path.join(folder, "trace"),
            "MEMTRACE_MIN_PEAK": "0", "MEMTRACE_EXACT_MIN": exact, "MEMTRACE_STACKS": "none", "MEMTRACE_QUIET": "1",
            "MEMTRACE_MAX_TRACE": "8G", "MEMTRACE_MAX_NODE": "16G"}


def cost(pair, threads, case, library, folder):
    """Returns the ns of CPU for each birth and each death."""
    size, exact, count = CASES[case]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run = subprocess.Popen([pair, str(threads), str(count), str(size)], env=environment(library, exact, folder),
                           stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode != 0:
        raise SystemExit(f"threads.py: pair ended with {run.returncode} under {library}")
    return (used.ru_utime + used.ru_stime) / (2 * count) * 1e9


def cell(costs):
    return f"{statistics.median(costs):.1f} ({min(costs):.1f}..{max(costs):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBMEMTRACE")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    runs = [("bare", None), *((library, library) for library in options.libraries), ("bare again", None)]
    costs = {}
    with tempfile.TemporaryDirectory(prefix="memtrace-threads-") as scratch:
        pair = os.path.join(scratch, "pair")
        subprocess.run(["cc", "-O2", "-pthread", os.path.join(HERE, "pair.c"), "-o", pair], check=True)
        for turn in range(options.rounds):
            for case in CASES:
                for threads in THREADS:
                    for name, library in runs if turn % 2 == 0 else runs[::-1]:
                        costs.setdefault((case, threads, name), []).append(
                            cost(pair, threads, case, library, os.path.join(scratch, "out")))
    print(f"| ns of CPU for each event | threads | {' | '.join(name for name, _ in runs)} |")
    print("| --- | ---: |" + " ---: |" * len(runs))
    for case in CASES:
        for threads in THREADS:
            print(f"| {case} | {threads} | {' | '.join(cell(costs[case, threads, name]) for name, _ in runs)} |")


if __name__ == "__main__":
    main()
