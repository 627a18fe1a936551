"""What the start of a process costs: beside an empty preload object, `true` 1,000 times, and a `make` of 60 C files.

usage: start.py --library LIBMEMTRACE [--starts 1000] [--makes 7] [--imports 0] [--python PYTHON]
Each round runs every variant once, every other round in the opposite order. CPU is user + sys of the process and its
children. Page faults are minor ones. The first variant is the base of the ratios: the empty object, for imports bare.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

FILES = 60
FUNCTIONS = 8
MAKEFILE = """OBJECTS = $(patsubst %.c,%.o,$(wildcard part*.c))
program: main.o parts.a
\tgcc -o $@ main.o parts.a
parts.a: $(OBJECTS)
\tar rcs $@ $^
%.o: %.c
\tgcc -O1 -c -o $@ $<
clean:
\trm -f *.o parts.a program
"""


def write_project(folder):
    for file in range(FILES):
        lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
        for number in range(FUNCTIONS):
            lines.append(f"int part{file}_{number}(int n, const char* text) {{ int sum = 0; for (int i = 0; i < n; i++) "
                         f"sum += text[i % {number + 3}] * {file}; if (sum > 100) printf(\"%d\\n\", sum); return sum; }}")
        (folder / f"part{file}.c").write_text("\n".join(lines) + "\n", encoding="ascii")
    (folder / "main.c").write_text("int main(void) { return 0; }\n", encoding="ascii")
    (folder / "Makefile").write_text(MAKEFILE, encoding="ascii")


def run(command, library, out):
    """Returns the wall time, the CPU time and the page faults of one run."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMTRACE")}
    environment.pop("LD_PRELOAD", None)
    environment.update(MEMTRACE_OUT=f"{out}/%j", OMP_NUM_THREADS="1")
    if library is not None:
        environment["LD_PRELOAD"] = str(library)
    began = time.perf_counter()
    child = os.posix_spawnp(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull,
                                                                             os.O_WRONLY, 0)])
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"start: {' '.join(command)} failed under {library}: status {status}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_minflt


def compare(title, command, variants, rounds, out, prepare=None):
    got = {name: [] for name in variants}
    for turn in range(rounds):
        for name in list(variants)[::1 if turn % 2 else -1]:
            if prepare is not None:
                prepare()
            got[name].append(run(command, variants[name], out))
    base = list(variants)[0]
    print(f"\n{title}: {rounds} rounds, load average {os.getloadavg()[0]:.1f}")
    for name, runs in got.items():
        wall, cpu, faults = (statistics.median(column) for column in zip(*runs))
        by_round = sorted(one[1] / other[1] for one, other in zip(runs, got[base]))
        all_cpu = sum(one[1] for one in runs) / sum(one[1] for one in got[base])
        all_wall = wall / statistics.median(one[0] for one in got[base])
        print(f"  {name:12} wall {wall * 1e3:.3f} ms, CPU {cpu * 1e3:.3f} ms, {faults:.0f} page faults; to {base}: wall "
              f"{all_wall:.3f}, CPU {all_cpu:.3f}, CPU of each round {statistics.median(by_round):.3f} "
              f"({by_round[0]:.3f}..{by_round[-1]:.3f})")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--library", required=True, type=pathlib.Path)
    options.add_argument("--starts", type=int, default=1000)
    options.add_argument("--makes", type=int, default=7)
    options.add_argument("--imports", type=int, default=0)
    options.add_argument("--python", default=sys.executable, help="has PyTorch, for --imports")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "empty.c").write_text("", encoding="ascii")
        empty = folder / "empty.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", empty, folder / "empty.c"], check=True)
        library = chosen.library.resolve(strict=True)
        variants = {"empty object": empty, "memtrace": library, "empty again": empty, "bare": None}
        if chosen.starts:
            compare("true", ["true"], variants, chosen.starts, folder)
        if chosen.makes:
            project = folder / "project"
            project.mkdir()
            write_project(project)
            make = ["make", "-s", "-C", str(project)]
            compare("make", make, variants, chosen.makes, folder,
                    lambda: subprocess.run([*make, "clean"], check=True))
        if chosen.imports:
            bare = {"bare": None, "memtrace": library, "bare again": None}
            compare("import torch", [chosen.python, "-c", "import torch"], bare, chosen.imports, folder)


if __name__ == "__main__":
    main()
