"""How many bytes each tool leaves of a program, if it records every block.

usage: trace_bytes.py --library LIBMEMTRACE --command MEMTRACE --memray VENV [PROGRAM...]
VENV is an environment with memray (`scripts/bench --setup` makes one). Prints one table for each program of scripts/bench
(default: train-small). memtrace is measured twice: the traces that a run leaves, and what
`memtrace run --pack FILE --only-packed` leaves. The bytes are divided by the allocations and frees that heaptrack counts.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import programs
import run
import tools


class Packed(tools.Memtrace):
    """The same recording, and then the traces go into one packed file."""
    def environment(self, program, folder):
        kept = super().environment(program, folder)
        return {name: value for name, value in kept.items() if name not in ("LD_PRELOAD", "MEMTRACE_OUT")}

    def command(self, command, program, folder):
        return [self.reader, "run", "-o", os.path.join(folder, "trace"), "--pack", self.recording(folder),
                "--only-packed", "--", *command]

    def recording(self, folder):
        return os.path.join(folder, "packed.zst")

    def files(self, folder):
        return [self.recording(folder), *super().files(folder)]


class Heaptrack(tools.Heaptrack):
    """Keeps what heaptrack counted: the truth for all tools."""
    blocks = 0

    def recorded(self, program, folder, files, output):
        counted = super().recorded(program, folder, files, output)
        leaked = [int(line.split()[-1]) for line in output.splitlines() if line.strip().startswith("leaked allocations:")]
        self.blocks = 2 * counted.allocations - sum(leaked)
        return counted


def known(library, reader, memray):
    every = {"MEMTRACE_EXACT_MIN": "1", "MEMTRACE_MAX_TRACE": "32G", "MEMTRACE_MAX_NODE": "64G"}
    out = [Heaptrack(raw=False), tools.Heaptrack(raw=True)]
    for stacks in ("python", "native"):
        for kind, words in ((tools.Memtrace, "traces"), (Packed, "packed")):
            out.append(kind(library, reader, f"memtrace-{stacks}-{words}", f"memtrace, {stacks} stacks, {words}",
                            MEMTRACE_STACKS=stacks, **every))
    return [*out, tools.Memray(memray, native=False), tools.Memray(memray, native=True)]


def print_table(program, given):
    with tempfile.TemporaryDirectory() as scratch:
        place = programs.Place(os.path.join(scratch, "run"), os.path.join(scratch, "shared"))
        os.makedirs(place.shared)
        run.compile_helpers(place.shared)
        program.prepare(place)
        first, *others = [tool for tool in known(given.library, given.command, given.memray) if tool.fits(program)]
        print(f"\n{program.title}\n\n| tool | bytes | for each allocation and free |\n| --- | ---: | ---: |")
        for tool in (first, *others):
            try:
                row = run.measure(tool, program, place)
            except (run.Failed, tools.Nothing) as error:
                print(f"| {tool.title} | {error} | - |", flush=True)
                continue
            each = f"{row['written'] / first.blocks:.2f}" if first.blocks else "-"
            print(f"| {tool.title} | {row['written']:,} | {each} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--memray", required=True)
    parser.add_argument("program", nargs="*", default=["train-small"])
    given = parser.parse_args()
    named = {program.name: program for program in programs.known()}
    unknown = [name for name in given.program if name not in named]
    if unknown:
        sys.exit(f"trace_bytes.py: no program {unknown[0]}; there are {', '.join(named)}")
    for name in given.program:
        print_table(named[name], given)


if __name__ == "__main__":
    main()
