"""Purpose: memtrace, memray, heaptrack, Fil and PyTorch's profiler, each used as its documents tell a user: how it is
put around a program, and what it shows first."""
import glob
import json
import os
import re
import subprocess
import sys

import judge
import screens

HERE = os.path.dirname(os.path.abspath(__file__))
WRAPPERS = os.path.join(HERE, "wrappers")
SETUP = "scripts/compare --setup"
LIMIT = 600  # seconds

ASK_MEMRAY = """
import json, sys, memray
out = []
for path in sys.argv[2:]:
    try:
        reader = memray.FileReader(path)
        native = sys.argv[1] == "native"
        records = list(reader.get_high_watermark_allocation_records(merge_threads=True))
    except OSError:
        continue
    stacks = [((one.hybrid_stack_trace() if native else one.stack_trace())[::-1], one.size) for one in records]
    out.append([([(file, line, function) for function, file, line in frames], size) for frames, size in stacks])
print(json.dumps(out))
"""


def output_of(command, environment=None):
    """Returns what the command printed on stdout, or "" if it failed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT,
                          env=environment, errors="replace")
    return done.stdout if done.returncode == 0 else ""


def largest(found):
    """Returns the stacks of the process with the most memory."""
    return max(found, key=lambda stacks: sum(size for _, size in stacks), default=[])


class Tool:
    name = title = ""
    outside = False  # the tool is put around a launcher, not around each rank

    def missing(self):
        """Returns why the tool cannot be run here, or None."""
        return None

    def fits(self, question):
        return question.python

    def command(self, command, question, folder):
        return command

    def environment(self):
        return {}

    def files(self, folder):
        return []

    def screen(self, question, folder, output):
        """Returns what the tool shows first, or None if nothing can be read. `output`: what the program printed."""
        raise NotImplementedError


class Memtrace(Tool):
    name = title = "memtrace"
    outside = True

    def __init__(self, library, command):
        self.library, self.reader = library, command

    def missing(self):
        return None if os.path.exists(self.library) else f"{self.library} is not built"

    def fits(self, question):
        return True

    def command(self, command, question, folder):
        settings = [f"LD_PRELOAD={self.library}", f"MEMTRACE_OUT={folder}/memtrace-out", "MEMTRACE_QUIET=1"]
        return ["env", *settings, *command]

    def files(self, folder):
        return glob.glob(os.path.join(folder, "memtrace-out", "*"))

    def screen(self, question, folder, output):
        show = [self.reader, "postmortem" if question.killed else "report", os.path.join(folder, "memtrace-out")]
        text, document = output_of(show), output_of([*show, "--format", "json"])
        if not text or not document:
            return None
        shown, report = judge.first_screen(text), json.loads(document)
        findings = report["findings"] + [one for process in report["processes"][:1] for one in process["findings"]]
        row = re.search(r"^\S.*, MiB\b.*\n +(\S.*)$", shown, re.M)  # the first of the lines that held the peak
        first = findings[0]["title"] if findings else " ".join(row[1].split()) if row else ""
        places = screens.of_text(shown, "").places
        return screens.Screen(places, judge.figures(shown), first, judge.leading_finding(report) or "")


class Memray(Tool):
    def __init__(self, packages, native=False):
        self.packages, self.native = packages, native
        self.name = "memray-native" if native else "memray"
        self.title = "memray --native" if native else "memray"

    def missing(self):
        return None if os.path.isdir(os.path.join(self.packages or "", "memray")) else f"memray is missing: {SETUP}"

    def command(self, command, question, folder):
        return [command[0], "-m", "memray", "run", "-q", *["--native"] * self.native, *command[1:]]

    def environment(self):
        return {"PYTHONPATH": self.packages}

    def files(self, folder):
        return glob.glob(os.path.join(folder, "memray-*.bin"))

    def screen(self, question, folder, output):
        stacks = "native" if self.native else "python"
        asked = output_of([sys.executable, "-c", ASK_MEMRAY, stacks, *self.files(folder)],
                          {**os.environ, "PYTHONPATH": self.packages})
        found = json.loads(asked) if asked else []
        return screens.of_stacks([([tuple(frame) for frame in frames], size) for frames, size in largest(found)])


class Heaptrack(Tool):
    name = title = "heaptrack"

    def missing(self):
        return None if output_of(["heaptrack", "--version"]) else f"heaptrack is missing: {SETUP}"

    def fits(self, question):
        return not question.cuda

    def command(self, command, question, folder):
        return ["heaptrack", *command]

    def files(self, folder):
        return glob.glob(os.path.join(folder, "heaptrack.*"))

    def screen(self, question, folder, output):
        found = [self.peaks(path) for path in self.files(folder)]
        return max((one for one in found if one), key=lambda one: max(one.figures, default=0), default=None)

    def peaks(self, path):
        """Returns the list of those that held most at the peak."""
        text = output_of(["heaptrack_print", "-a", "0", "-T", "0", path])
        start = text.find("PEAK MEMORY CONSUMERS\n")
        if start < 0:
            return None
        lines = text[start:].splitlines()[1:]
        if not lines or " peak memory consumed " not in lines[0]:
            return None
        place = re.sub(r"/\S*/", "", lines[2].strip())
        first = f"{lines[1].strip()} {place}, {lines[0].split()[0]}B"
        screen = screens.of_text("\n".join(lines), first)
        graph = screens.of_stacks(self.stacks(path))
        screen.figures += graph.figures if graph else []
        return screen

    def stacks(self, path):
        """Returns the stacks of its flame graph of the peak, which has functions and no lines."""
        folded = f"{path}.folded"
        output_of(["heaptrack_print", "-p", "0", "-a", "0", "-T", "0", "--flamegraph-cost-type", "peak", "-F", folded,
                   path])
        out = []
        if os.path.exists(folded):
            with open(folded, encoding="utf-8", errors="replace") as file:
                for line in file:
                    frames, _, size = line.strip().rpartition(" ")
                    out.append(([("", 0, frame) for frame in frames.split(";") if frame], int(size)))
        return out


class Fil(Tool):
    name = title = "Fil"

    def __init__(self, packages):
        self.packages = packages

    def missing(self):
        return None if os.path.isdir(os.path.join(self.packages, "filprofiler")) else f"Fil is missing: {SETUP}"

    def command(self, command, question, folder):
        return [command[0], "-m", "filprofiler", "--no-browser", "run", *command[1:]]

    def environment(self):
        return {"PYTHONPATH": self.packages}

    def fits(self, question):
        return question.python and not question.cuda

    def files(self, folder):
        found = glob.glob(os.path.join(folder, "fil-result", "**"), recursive=True)
        return [path for path in found if os.path.isfile(path)]

    def screen(self, question, folder, output):
        found = [self.stacks(path) for path in self.files(folder) if path.endswith(".prof")]
        screen = screens.of_stacks(largest(found))
        if screen and any("out-of-memory" in path for path in self.files(folder)):
            screen.cause = "out of memory"
        return screen

    def stacks(self, path):
        """Returns the stacks of a flame graph. The file beside it has one a line: `FILE:LINE (FUNCTION);... BYTES`."""
        out = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                frames, _, size = line.strip().rpartition(" ")
                found = [re.match(r"(.*):(\d+) \((.*)\)$", frame) for frame in frames.split(";")]
                out.append(([(one[1], int(one[2]), one[3]) for one in found if one], int(size)))
        return out


class Profiler(Tool):
    name, title = "torch.profiler", "torch.profiler"

    def fits(self, question):
        return question.python and question.torch

    def command(self, command, question, folder):
        return [command[0], os.path.join(WRAPPERS, "with_profiler.py"), *command[1:]]

    def screen(self, question, folder, output):
        table = output[output.find("-------"):] if "-------" in output else ""
        rows = [line for line in table.splitlines() if line.strip() and not line.startswith("--")]
        if len(rows) < 2:
            return None
        column = 1 + [cell.strip() for cell in re.split(r"\s{2,}", rows[0].strip())].index(
            "Self CUDA Mem" if question.cuda else "Self CPU Mem")
        cells = re.split(r"\s{2,}", rows[1].strip())
        return screens.of_text(table, f"{cells[0]}, {cells[column - 1]}", binary=True)
