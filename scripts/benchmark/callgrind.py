"""Instructions of a malloc and its free, by callgrind: unlike times, they repeat.

memtrace is counted as it is before it opens a trace (MEMTRACE_MIN_PEAK not reached): valgrind cannot run its background
thread, a clone with a descriptor table of its own. What the hooks do is the same, but records go to private memory.
"""
import dataclasses
import os
import re
import shutil
import subprocess

import programs
import tools

TOOLS = ("bare", "memtrace", "memtrace-python", "memtrace-native")
SIZES = ("64", "1024", "8192", "0")
COUNTS = (10_000, 30_000)


def missing():
    return None if shutil.which("valgrind") else "valgrind is missing: scripts/bench --setup"


def instructions(place, tool, size, count):
    shutil.rmtree(place.folder, ignore_errors=True)
    os.makedirs(place.folder)
    pair = dataclasses.replace(programs.pairs(1, int(size)), small=False)
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={place.folder}/callgrind.out",
         place.input("pair"), "1", str(count), size],
        env={**os.environ, **tool.environment(pair, place.folder)}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, errors="replace", check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise tools.Nothing(f"callgrind failed under {tool.name}: {done.stderr[-300:]}")
    return int(found.group(1))


def table(place, known):
    """The difference between two counts, so that starting and ending are left out."""
    lines = ["\n#### Instructions of malloc and free: `instructions`\n",
             f"| bytes | {' | '.join(tool.title for tool in known)} |", "| --- |" + " ---: |" * len(known)]
    for size in SIZES:
        cells = []
        for tool in known:
            first, second = (instructions(place, tool, size, count) for count in COUNTS)
            cells.append(f"{(second - first) / (COUNTS[1] - COUNTS[0]):,.0f}")
        lines.append(f"| {'10,000 live, 16 to 528' if size == '0' else size} | {' | '.join(cells)} |")
    shutil.rmtree(place.folder, ignore_errors=True)
    return "\n".join(lines)
