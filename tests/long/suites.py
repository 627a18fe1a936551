"""Purpose: test suites of others, bare and traced: the same names passed, failed and skipped.

usage: suites.py [--only GLOB] [--table FILE]
A name whose outcome differs between two bare runs is flaky, and not compared. Exit status 1: a name differs, or a
traced process was recorded with a loss. BUILD_DIR and MEMTRACE_CACHE as for the end-to-end tests.
"""
import argparse
import collections
import dataclasses
import fnmatch
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end_to_end", "support"))
import harness  # noqa: E402

SYSTEM_PYTHON = "/usr/bin/python3"
PYTEST = os.path.join(harness.CACHE, "pytest")
LIMIT = 1500  # seconds of one run
CPYTHON = ("test_os", "test_subprocess", "test_threading", "test_signal", "test_mmap", "test_ctypes", "test_asyncio",
           "test_multiprocessing_fork", "test_multiprocessing_forkserver", "test_multiprocessing_spawn",
           "test_faulthandler", "test_posix", "test_fork1", "test_concurrent_futures", "test_socket", "test_gc")
# Of numpy's tests those that allocate most, share memory, use threads or start processes.
NUMPY = ("_core mem_overlap", "_core mem_policy", "_core memmap", "_core multithreading", "_core indexing", "_core dlpack",
         "_core shape_base", "_core nditer", "_core regression", "lib io", "lib format", "linalg linalg",
         "random generator_mt19937", "fft pocketfft", "ma core")


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    command: tuple  # RESULT stands for the file of the outcomes
    needs: str      # a path without which it is skipped
    read: object
    environment: tuple = ()


def outcome(case):
    for kind in ("failure", "error", "skipped"):
        if case.find(kind) is not None:
            return "skipped" if kind == "skipped" else "failed"
    return "passed"


def read_junit(path):
    """Outcomes by name. A name that comes more than once has all of its outcomes."""
    found = collections.defaultdict(list)
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        found[f"{case.get('classname') or ''}.{case.get('name')}".strip(".")].append(outcome(case))
    return {name: "+".join(sorted(outcomes)) for name, outcomes in found.items()}


def read_lines(path):
    """Outcomes that carry what was computed after their first word."""
    with open(path, encoding="utf-8") as file:
        return dict(json.loads(line) for line in file)


def all_suites():
    for name in CPYTHON:
        # test_socket waits for a VM's host without end where that is one that does not answer.
        yield Suite(f"CPython {name}", (SYSTEM_PYTHON, "-m", "test", "--junit-xml", "RESULT", "--timeout", "600",
                                        "--ignore", "*VSOCK*", name),
                    os.path.join("/usr/lib/python3.11/test/", "test_os.py"), read_junit)
    site = next(iter(glob.glob(os.path.join(harness.CACHE, "venv/lib/python3*/site-packages"))), "/absent")
    for name in NUMPY:
        package, module = name.split()
        path = os.path.join(site, "numpy", package, "tests", f"test_{module}.py")
        yield Suite(f"numpy.{name}",
                    (harness.TORCH_PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", site,
                     "--junit-xml", "RESULT", path), path, read_junit,
                    # Tests that need much memory ask how much there is, which differs from run to run.
                    (("PYTHONPATH", PYTEST), ("NPY_AVAILABLE_MEM", "2 GB")))
    yield Suite("torch OpInfo samples", (harness.TORCH_PYTHON, os.path.join(HERE, "torch_ops.py"), "RESULT"),
                os.path.join(site, "torch/testing/_internal/opinfo/core.py"), read_lines, (("PYTHONPATH", PYTEST),))
    for name, needs in (("glib", "/usr/share/installed-tests/glib"), ("stress-ng", "/usr/bin/stress-ng")):
        yield Suite(f"native {name}", (SYSTEM_PYTHON, os.path.join(HERE, "native.py"), name, "RESULT"), needs, read_lines)


@dataclasses.dataclass
class Run:
    outcomes: dict
    status: int
    errors: str
    seconds: float
    report: object = None


def run(suite, traced):
    scratch = tempfile.mkdtemp(prefix="memtrace-long-")
    result, out = os.path.join(scratch, "result"), os.path.join(scratch, "out")
    work = os.path.join(scratch, "work")
    os.mkdir(work)
    environment = harness.bare_environment(PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0", HOME=scratch, TMPDIR=work,
                                           **dict(suite.environment))
    if traced:
        environment.update(LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=out, **harness.RECORD_ALL)
    started = time.monotonic()
    try:
        command = [result if word == "RESULT" else word for word in suite.command]
        with subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                said, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said, _ = process.communicate()
        outcomes = suite.read(result) if os.path.exists(result) else {}
        return Run(outcomes, process.returncode, said.decode(errors="replace"), time.monotonic() - started,
                   report(out) if traced else None)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def report(out):
    done = subprocess.run([harness.COMMAND, "report", out, "--format", "json"], stdin=subprocess.DEVNULL,
                          env=harness.bare_environment(), capture_output=True, check=False)
    if done.returncode != 0:
        return {"processes": [], "error": done.stderr.decode(errors="replace")}
    return json.loads(done.stdout)


def losses(found):
    """Of the traced processes: how many there are, how many lost events, and the reasons."""
    reasons = collections.Counter()
    with_losses = 0
    for process in found["processes"]:
        with_losses += process["trace"]["lost_events"] != 0
        reasons.update(process["trace"]["lost_reasons"])
    return len(found["processes"]), with_losses, dict(reasons)


@dataclasses.dataclass
class Row:
    name: str
    counts: collections.Counter
    flaky: list
    differ: list
    processes: int
    with_losses: int
    reasons: dict
    bare: float
    traced: float
    note: str = ""


def compare(suite):
    first, second, traced = run(suite, False), run(suite, False), run(suite, True)
    names = set(first.outcomes) | set(second.outcomes)
    flaky = sorted(name for name in names if first.outcomes.get(name) != second.outcomes.get(name))
    differ = sorted(f"{name}: {first.outcomes.get(name)} bare, {traced.outcomes.get(name)} traced"
                    for name in names | set(traced.outcomes)
                    if name not in flaky and traced.outcomes.get(name) != first.outcomes.get(name))
    note = ""
    if not first.outcomes:
        note = f"no outcomes: {first.errors[-200:]}"
        differ.append("no outcomes")
    elif not flaky and traced.status != first.status:
        note = f"status {first.status} bare, {traced.status} traced"
        differ.append(note)
    if "error" in traced.report:
        note = traced.report["error"]
    if differ:
        print(traced.errors[-4000:], file=sys.stderr)
    counts = collections.Counter(said.split()[0].rstrip(",") for said in first.outcomes.values())
    return Row(suite.name, counts, flaky, differ, *losses(traced.report), first.seconds, traced.seconds, note)


def table(rows):
    yield "| suite | passed | failed | skipped | flaky bare | differ traced | processes | with losses | s bare, traced |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(row.reasons.items()))
        lost = f"{row.with_losses} ({reasons})" if reasons else "0"
        counts = " | ".join(str(row.counts[kind]) for kind in ("passed", "failed", "skipped"))
        yield (f"| {row.name} | {counts} | {len(row.flaky)} | {len(row.differ)} | {row.processes} | {lost} | "
               f"{row.bare:.0f}, {row.traced:.0f} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--only", default="*", help="a glob of suite names")
    arguments.add_argument("--table", help="write the table to this file as well")
    options = arguments.parse_args()
    rows, wrong = [], 0
    for suite in all_suites():
        if not fnmatch.fnmatch(suite.name, options.only):
            continue
        if not os.path.exists(suite.needs):
            print(f"{suite.name}: skipped, {suite.needs} is not there: run scripts/setup --long", flush=True)
            continue
        row = compare(suite)
        rows.append(row)
        wrong += bool(row.differ)
        print(f"{row.name}: {dict(row.counts)}, flaky {row.flaky}, {row.processes} processes, losses {row.reasons}, "
              f"{row.bare:.0f} and {row.traced:.0f} s {row.note}", flush=True)
        for line in row.differ:
            print(f"  differs: {line}", flush=True)
    text = "\n".join(table(rows))
    print(text)
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
