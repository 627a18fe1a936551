"""Purpose: runs a command bare or under memtrace, in its own directory, and reads its traces."""
import glob
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build", "dev"))
LIBRARY = os.path.join(BUILD, "preload", "libmemtrace.so")
COMMAND = os.environ.get("MEMTRACE_COMMAND") or next(
    (path for path in (os.path.join(BUILD, *at, "memtrace") for at in (("analyzer",), ("analyzer", "cli"), ("bin",)))
     if os.path.isfile(path)), os.path.join(BUILD, "analyzer", "memtrace"))
VICTIMS = os.path.join(BUILD, "tests", "victims")
FAKES = os.path.join(BUILD, "tests", "fakes")
PROGRAMS = os.path.join(HERE, "programs")
WORKLOADS = os.path.join(ROOT, "..", "shared", "workloads")
MIB = 1 << 20
CACHE = os.environ.get("MEMTRACE_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "memtrace")
TORCH_PYTHON = os.path.join(CACHE, "venv", "bin", "python")

# Every process records from its first block, and no name is skipped.
RECORD_ALL = {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_QUIET": "1", "MEMTRACE_SKIP": ""}


def victim(name):
    return os.path.join(VICTIMS, name)


def program(name):
    """Returns the path of the program, which is in one of the folders of support/programs."""
    found = glob.glob(os.path.join(PROGRAMS, "*", name))
    if len(found) != 1:
        raise LookupError(f"{PROGRAMS}/*/{name}: there must be one such file, and there are {len(found)}")
    return found[0]


def existing(path, why):
    """Returns the path. Skips the test if there is nothing."""
    if not os.path.exists(path):
        raise unittest.SkipTest(f"no {path}: {why}")
    return path


def workload(name):
    """Returns the path of a program with known figures, kept beside the repository."""
    return existing(os.path.normpath(os.path.join(WORKLOADS, name)), "it lies beside the repository")


def torch_python():
    return existing(TORCH_PYTHON, "a Python with PyTorch: run scripts/setup")


def packages(name):
    """Returns the folder of packages that scripts/setup installs apart from PyTorch's."""
    return existing(os.path.join(CACHE, name), "scripts/setup installs it where pip can reach the packages")


def chance(seed):
    """Returns a source of random numbers. Prints its seed: MEMTRACE_TEST_SEED, or `seed` by default."""
    seed = int(os.environ.get("MEMTRACE_TEST_SEED", seed))
    print(f"seed {seed}; MEMTRACE_TEST_SEED sets another", flush=True)
    return random.Random(seed)


# True in scripts/test --long, which tries more programs and settings.
ALL = os.environ.get("MEMTRACE_TEST_SETTINGS") == "all"
only_in_long = unittest.skipUnless(ALL, "only in scripts/test --long, or if MEMTRACE_TEST_SETTINGS=all")

# Threads of OpenMP that wait for work spin by default. A training run took twice the CPU time beside other tests.
IDLE_THREADS_SLEEP = {} if ALL else {"OMP_WAIT_POLICY": "PASSIVE"}


def bare_environment(**more):
    kept = {key: value for key, value in os.environ.items()
            if key not in ("LD_PRELOAD", "BUILD_DIR") and not key.startswith("MEMTRACE")}
    return {**kept, **IDLE_THREADS_SLEEP, **more}


def resolve_sites(value, sites):
    """Gives each row of a compact report its whole site."""
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(part, dict) and part.keys() == {"id"}:
                value[key] = sites[part["id"]]
            elif key != "sites":
                resolve_sites(part, sites)
    elif isinstance(value, list):
        for part in value:
            resolve_sites(part, sites)


class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        if not os.path.exists(LIBRARY):
            self.fail(f"{LIBRARY} is not built: cmake --preset dev && cmake --build --preset dev; or name the folder of "
                      "another build in BUILD_DIR")
        self.new_scratch()

    def new_scratch(self):
        """Gives the next run an empty directory of its own."""
        self.scratch = tempfile.mkdtemp(prefix="memtrace-test-")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.out = os.path.join(self.scratch, "out")

    def environment(self, **more):
        return bare_environment(LD_PRELOAD=LIBRARY, MEMTRACE_OUT=self.out, **more)

    def run_in(self, folder, command, environment, **options):
        cwd = os.path.join(self.scratch, folder)
        os.makedirs(cwd, exist_ok=True)
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "timeout": 300, **options}
        return subprocess.run(command, cwd=cwd, env=environment, check=False, **options)

    def bare(self, command, environment=None, **options):
        return self.run_in("bare", command, bare_environment(**(environment or {})), **options)

    def trace(self, command, environment=None, **options):
        """Returns the completed process and the report of its job, or None if there is no trace."""
        done = self.run_in("traced", command, self.environment(**(environment or {})), **options)
        return done, self.report()

    def trace_files(self):
        return sorted(glob.glob(os.path.join(self.out, "*.memtrace")))

    def ring_files(self):
        return sorted(glob.glob(os.path.join(self.out, "*.rings")))

    def report_text(self, *options, path=None):
        done = subprocess.run([COMMAND, "report", path or self.out, *options], env=bare_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, f"memtrace report: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")

    def report(self, *options, path=None):
        if path is None and not self.trace_files():
            return None
        # A report whose rows repeat their sites is 20 times as long, and means the same (Report.CompactHasTheSame...).
        report = json.loads(self.report_text("--format", "json", "--compact", *options, path=path))
        self.assertEqual(report["schema"], "memtrace.report/1")
        for process in report["processes"]:
            resolve_sites(process, process.get("sites", {}))
        return report

    def only_process(self, report):
        self.assertIsNotNone(report, "nothing was recorded")
        self.assertEqual([process["pid"] for process in report["processes"]].__len__(), 1)
        return report["processes"][0]

    def assert_on(self, screen, file, lines, sizes):
        """Checks that a text has each line of the file, and each size in MiB within 2 %."""
        figures = [float(figure) for figure in re.findall(r"\d+\.\d+", screen)]
        for line in lines:
            self.assertRegex(screen, rf"{re.escape(file)}:{line}\b")
        for size in sizes:
            self.assertTrue(any(abs(figure - size) <= 0.02 * size for figure in figures), (size, screen))

    def assert_nothing_lost(self, process):
        trace = process["trace"]
        self.assertEqual(trace["lost_events"], 0, f"lost: {trace['lost_reasons']}")


def peak(process, memory="host", measure="live"):
    """Returns the highest level of a measure, or 0 if the process has none."""
    return max((entry["bytes"] for entry in process["peaks"]
                if entry["memory"] == memory and entry["measure"] == measure), default=0)


def phase_row(process, phase, step, memory="host"):
    rows = [row for row in process["phases"]
            if row["memory"] == memory and row["path"] == [phase] and row["step"] == step]
    if len(rows) != 1:
        known = sorted({(row["memory"], "/".join(row["path"]), str(row["step"])) for row in process["phases"]})
        raise AssertionError(f"{len(rows)} rows for {memory} {phase} {step}; there are {known}")
    return rows[0]
