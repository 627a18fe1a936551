"""The tools that scripts/bench compares: how each is put around a program, and how to ask it what it recorded."""
import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import typing

SETUP = "scripts/bench --setup"
# Allocations that a program's own count leaves out: those of libc while it starts, and for its threads.
UNCOUNTED = 200


class Nothing(Exception):
    """A run that was to be recorded, and was not, or not rightly."""


@dataclasses.dataclass
class Recorded:
    """What a tool says it recorded. Allocations are as it counts them; records only where it counts those."""
    allocations: typing.Optional[int] = None
    records: typing.Optional[int] = None
    lost: int = 0
    coarsened: int = 0

    def words(self):
        said = [f"{self.allocations:,} allocations"] if self.allocations is not None else []
        said += [f"{self.records:,} records"] if self.records is not None else []
        said += [f"{self.lost:,} lost"] if self.lost else []
        said += [f"{self.coarsened:,} coarsened"] if self.coarsened else []
        return ", ".join(said)


class Tool:
    """Bare, and what all tools have in common."""
    name = "bare"
    title = "bare"
    slow = False
    at_most = None  # rounds, for one that takes minutes
    in_process = True  # whether all its work is CPU time of the program itself

    def missing(self):
        return None

    def fits(self, program):
        return True

    def environment(self, program, folder):
        return {}

    def command(self, command, program, folder):
        return command

    def files(self, folder):
        return []

    def recorded(self, program, folder, files, output):
        return None


class Again(Tool):
    name = "again"
    title = "bare again"


class Memtrace(Tool):
    def __init__(self, library, command, name="memtrace", title="**memtrace**", **settings):
        self.library, self.reader, self.settings = library, command, settings
        self.name, self.title, self.slow = name, title, bool(settings)

    def environment(self, program, folder):
        small = {"MEMTRACE_MIN_PEAK": "0"} if program.small else {}
        return {"LD_PRELOAD": self.library, "MEMTRACE_OUT": os.path.join(folder, "trace"), "MEMTRACE_QUIET": "1",
                **small, **program.memtrace, **self.settings}

    def files(self, folder):
        return glob.glob(os.path.join(folder, "trace", "*"))

    def recording(self, folder):
        return os.path.join(folder, "trace")

    def recorded(self, program, folder, files, output):
        done = subprocess.run([self.reader, "report", self.recording(folder), "--format", "json"],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            raise Nothing(f"memtrace report: {done.stderr.decode(errors='replace').strip()}")
        processes = json.loads(done.stdout)["processes"]
        traces = [process["trace"] for process in processes]
        if program.tensors and not any(peak["bytes"] for process in processes for peak in process["peaks"]
                                       if peak["measure"] == "tensor"):
            raise Nothing("no tensor")
        # With phases in steps, rows of the report overlap; without, there is one for each process.
        rows = [row for process in processes for row in process["phases"] if "allocations" in row]
        plain = all(row["path"] == ["other"] and row["memory"] == "host" for row in rows)
        return Recorded(sum(row["allocations"] for row in rows) if rows and plain else None,
                        *[sum(trace[key] for trace in traces) for key in ("events", "lost_events", "coarsened_events")])


class Heaptrack(Tool):
    slow = True
    in_process = False

    def __init__(self, raw):
        self.raw = raw
        self.name = "heaptrack-raw" if raw else "heaptrack"
        self.title = "heaptrack --raw" if raw else "heaptrack"

    def missing(self):
        return None if shutil.which("heaptrack") else f"heaptrack is missing: {SETUP}"

    def command(self, command, program, folder):
        return ["heaptrack", *(["--raw"] if self.raw else []), "-o", os.path.join(folder, "heaptrack"), *command]

    def files(self, folder):
        return glob.glob(os.path.join(folder, "heaptrack*"))

    def recorded(self, program, folder, files, output):
        if self.raw:
            allocations = sum(raw_allocations(path) for path in files)
        else:
            allocations = sum(int(count) for count in re.findall(r"^\s*allocations:\s+(\d+)", output, re.M))
        return Recorded(allocations)


def raw_allocations(path):
    """Lines of heaptrack's raw file that begin with a plus: one for each allocation."""
    unpack = "zstd" if path.endswith(".zst") else "gzip"
    with subprocess.Popen([unpack, "-dc", path], stdout=subprocess.PIPE) as unpacked:
        done = subprocess.run(["grep", "-c", "^+"], stdin=unpacked.stdout, capture_output=True, check=False)
    return int(done.stdout or 0)


class Memray(Tool):
    slow = True

    def __init__(self, venv, native):
        self.venv, self.native = venv, native
        self.name = "memray-native" if native else "memray"
        self.title = "memray --native" if native else "memray"

    def beside(self):
        return glob.glob(os.path.join(self.venv or "", "lib", "python3*", "site-packages", "memray"))

    def missing(self):
        return None if self.beside() else f"memray is missing: {SETUP}"

    def fits(self, program):
        return program.python

    def environment(self, program, folder):
        # It is imported into the very interpreter of the other runs, from beside it: nothing is added to theirs.
        return {"PYTHONPATH": os.path.dirname(self.beside()[0])}

    def command(self, command, program, folder):
        options = ["--native"] * self.native + ["--follow-fork"] * program.workers
        return [command[0], "-m", "memray", "run", "-q", *options, "-o", os.path.join(folder, "memray.bin"),
                *command[1:]]

    def files(self, folder):
        return glob.glob(os.path.join(folder, "memray.bin*"))

    def recorded(self, program, folder, files, output):
        reader = "import memray, sys\nprint(sum(memray.FileReader(p).metadata.total_allocations for p in sys.argv[1:]))"
        done = subprocess.run([sys.executable, "-c", reader, *files], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, env={**os.environ, **self.environment(program, folder)})
        if done.returncode != 0:
            raise Nothing(f"memray cannot read its file: {done.stderr.strip()[-300:]}")
        return Recorded(records=int(done.stdout))


class Gperftools(Tool):
    name = "gperftools"
    title = "gperftools' heap profiler"
    slow = True
    at_most = 1

    def library(self):
        found = glob.glob("/usr/lib/*/libtcmalloc.so.4") + glob.glob("/usr/lib*/libtcmalloc.so.4")
        return found[0] if found else None

    def missing(self):
        return None if self.library() else f"gperftools is missing: {SETUP}"

    def environment(self, program, folder):
        return {"LD_PRELOAD": self.library(), "HEAPPROFILE": os.path.join(folder, "heap")}

    def files(self, folder):
        return glob.glob(os.path.join(folder, "heap*.heap"))

    def recorded(self, program, folder, files, output):
        """The totals in the first line of each process's last profile."""
        last = {}
        for path in sorted(files):
            with open(path, encoding="ascii", errors="replace") as file:
                found = re.match(r"heap profile:.*\[\s*(\d+):", file.readline())
            last[re.sub(r"\.\d+\.heap$", "", path)] = int(found.group(1)) if found else 0
        return Recorded(sum(last.values()))


def check(program, recorded, own=None):
    """Raises Nothing unless a fair amount was recorded, and all that the program itself says it allocated."""
    found = max(recorded.allocations or 0, recorded.records or 0)
    if found < program.least:
        raise Nothing(f"{recorded.words() or 'nothing'}, where at least {program.least:,} were expected")
    if own is None or recorded.allocations is None:
        return
    missed = own - recorded.allocations
    if missed > recorded.lost or -missed > UNCOUNTED:
        raise Nothing(f"{recorded.words()}, and the program made {own:,}")


def known(library, command, memray):
    """Recording every block, memtrace may write as much as the others do, who have no bound."""
    every = {"MEMTRACE_EXACT_MIN": "1", "MEMTRACE_MAX_TRACE": "32G", "MEMTRACE_MAX_NODE": "64G"}
    return [
        Tool(), Again(), Memtrace(library, command),
        Memtrace(library, command, "memtrace-python", "**memtrace**, every block, Python stacks",
                 MEMTRACE_STACKS="python", **every),
        Memtrace(library, command, "memtrace-native", "**memtrace**, every block, native stacks",
                 MEMTRACE_STACKS="native", **every),
        Heaptrack(raw=True), Heaptrack(raw=False), Memray(memray, native=False), Memray(memray, native=True),
        Gperftools(),
    ]
