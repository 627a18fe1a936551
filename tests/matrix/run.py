#!/usr/bin/env python3
"""Purpose: runs memtrace with several versions of CPython and PyTorch, and compares with what these say themselves.

usage: run.py [--again] [COMBINATION...]     as 3.11-2.13.0; without one: all, and docs/versions.md is written
  --again   run also the combinations that passed with this build
Prints a row for each combination. Exits with 1 if a check failed. What cannot be had is skipped with its reason. A run
that was interrupted goes on: environments are kept in memtrace's cache, and so are the rows of combinations that passed,
until the build or a check changes. BUILD_DIR: the build to test.
"""
import datetime
import glob
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "end_to_end", "support")]

import checks  # noqa: E402
import environments  # noqa: E402
import harness  # noqa: E402
import interpreters  # noqa: E402
import rawtrace  # noqa: E402
import truth  # noqa: E402

# Each version of CPython and each of PyTorch once at least. Where a PyTorch has no wheel for a Python, another is taken.
COMBINATIONS = (("3.11", "2.6.0"), ("3.11", "2.9.1"), ("3.11", "2.11.0"), ("3.11", "2.13.0"), ("3.11", "2.15.0"),
                ("3.9", "2.6.0"), ("3.10", "2.11.0"), ("3.12", "2.9.1"), ("3.13", "2.15.0"), ("3.14", "2.15.0"),
                ("3.13t", "2.15.0"), ("3.14t", "2.15.0"))
HEAD = """# Versions of CPython and PyTorch

`scripts/test --matrix` trains a small model with each combination, bare and under memtrace, and compares memtrace's
report with what PyTorch and CPython say themselves. This page is written by it. It is not part of `scripts/test`, which
makes the same checks with the PyTorch that `scripts/setup` installs.

| check | truth | figure |
| --- | --- | --- |
| phases | the marks of the program: load, data, forward, loss, backward, recompute, step, zero_grad, eval, save | phases found |
| tensors | the allocator's events of PyTorch's profiler: the peak in each phase; entry and exit where the edges are the same | largest difference, bytes |
| roles | PyTorch's sizes of parameters, buffers, gradients and optimizer states at the peak; activations by the profiler | largest difference, bytes |
| lines | the line of the program that holds the peak; the line of the forward call for gradients; the finding about `foreach` | bytes that another line has |
| frames | `sys._getframe` for functions, generators, coroutines, comprehensions, properties and classes: file, function, line | equal chains |
| killed | the level of tensors when a run kills itself by SIGKILL; signal, phase and step, by the post-mortem | difference, bytes |
| output | exit status, stdout with the names of all imported modules, and stderr: bare and traced | same |
| trace | no event was lost, and each wrapper found the function of PyTorch that it wraps | complete |
"""
END = """
## Where versions differ in the code

| what | where |
| --- | --- |
| CPython: offsets of frames, code objects and strings | `preload/stack/python_layouts.h` |
| PyTorch's libraries: mangled names of the functions that are hooked or called | `preload/hooks/cuda/torch_symbols.h`, and the hooks again in `preload/hooks/exports.map` |
| CPython and PyTorch in the traced interpreter: what a version lacks or does otherwise | `preload/python/versions.py` |
| the modules of PyTorch and its kin that are wrapped | `_PATCHES` in `preload/python/patches.py` |
| the analyzer: names of files and functions of PyTorch and its kin | `analyzer/frameworks/function_names.h` and `.cpp` |

If a wrapper does not find its function, the report says so, and the program goes on without that
phase. If a layout is not the interpreter's, stacks are native alone, and the report says so.

To add a version, add it to `COMBINATIONS` in `tests/matrix/run.py`, and run `scripts/test --matrix`.
"""


class Failed(Exception):
    """A run that should have ended otherwise."""


def run(command, expected, **environment):
    kept = {key: value for key, value in harness.bare_environment().items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, env={**kept, "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", **environment}, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    if done.returncode != expected:
        raise Failed(f"{command[-3:]}: status {done.returncode}, expected {expected}\n{done.stderr[-2000:]}")
    return done


def first_process(command, out, *options):
    said = json.loads(run([harness.COMMAND, command, out, "--format", "json", *options], 0).stdout)
    process = said["processes"][0]
    harness.resolve_sites(process, process.get("sites", {}))
    return process


def notes_of(out):
    """Returns the notes of the only trace, each as key=value."""
    [path] = glob.glob(os.path.join(out, "*.memtrace"))
    records, _ = rawtrace.read(path)
    texts = rawtrace.texts(records)
    return [texts[record.words[0] & 0xFFFFFFFF] for record in records if record.type == "note"]


def run_all(environment, folder):
    """Runs the program bare, profiled, traced and killed, and returns what came out."""
    program = environment.command(checks.PROGRAM)
    whole, killed, profile = (os.path.join(folder, name) for name in ("whole", "killed", "profile.json"))
    memtrace = [harness.COMMAND, "run", "--quiet", "-o"]
    bare = run(program, 0)
    run([*program, "--truth", profile], 0)
    traced = run([*memtrace, whole, "--", *program], 0)
    run([*memtrace, killed, "--", *program, "--die"], 137)
    return checks.Run(truth=truth.read(profile), said=json.loads(traced.stdout), bare=bare, traced=traced,
                      notes=notes_of(whole),
                      whole=first_process("report", whole), report=first_process("report", whole, "--steps", "0:3"),
                      death=first_process("postmortem", killed))


def check_all(results):
    """Returns the cells of the row, and all that is wrong."""
    cells, wrong = [], []
    for name, check in checks.CHECKS.items():
        cell, faults = check(results)
        cells.append(cell + (" **wrong**" if faults else ""))
        wrong += [f"{name}: {fault}" for fault in faults]
    return cells, wrong


def try_combination(python, torch, cache, shared):
    """Returns the cells of the row, and all that is wrong. Raises Unavailable."""
    environment = environments.get(python, torch, cache, shared)
    folder = tempfile.mkdtemp(prefix="run-", dir=cache)  # the cache has the same path in each root
    began = time.monotonic()
    try:
        results = run_all(environment, folder)
        cells, wrong = check_all(results)
    except (Failed, truth.Wrong, json.JSONDecodeError, KeyError, IndexError) as error:
        return [python, torch, "", "**did not run**"] + [""] * len(checks.CHECKS), [f"{type(error).__name__}: {error}"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    cuda = results.said["cuda"]
    where = os.path.basename(environment.interpreter.root) if environment.interpreter.root else "host"
    return [results.said["python"], results.said["torch"], f"CUDA {cuda}" if cuda else "CPU", where, *cells,
            f"{time.monotonic() - began:.0f}"], wrong


def fingerprint():
    """Returns a hash of what a row depends on: the build and the checks."""
    said = hashlib.sha256()
    for path in (harness.LIBRARY, harness.COMMAND, checks.PROGRAM, checks.__file__, truth.__file__):
        with open(path, "rb") as file:
            said.update(hashlib.sha256(file.read()).digest())
    return said.hexdigest()


def row_of(python, torch, cache, shared, key, again):
    """As try_combination, but takes the row of an earlier run if the combination passed with this build."""
    path = os.path.join(cache, f"{python}-torch{torch}.row.json")
    if not again and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        if kept["key"] == key:
            return kept["cells"], []
    cells, wrong = try_combination(python, torch, cache, shared)
    if not wrong:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"key": key, "cells": cells}, file)
    return cells, wrong


def table(rows):
    names = ("CPython", "PyTorch", "build", "system", *checks.CHECKS, "s")
    return "".join("| " + " | ".join(row) + " |\n" for row in [names, ["---"] * len(names), *rows])


def write_page(path, rows, skipped, seconds):
    machine = f"{platform.freedesktop_os_release().get('PRETTY_NAME', 'Linux')}, {os.cpu_count()} cores at a load of {os.getloadavg()[2]:.0f}"
    with open(path, "w", encoding="utf-8") as page:
        print(HEAD, file=page)
        print(f"Last run: {datetime.date.today()}, {machine}; {seconds:.0f} s without the installation of environments.",
              file=page)
        print("A build for CUDA ran without a GPU.\n", file=page)
        print(table(rows), file=page)
        print("Skipped:\n" if skipped else "No combination was skipped.", file=page)
        for name, why in skipped:
            print(f"- {name}: {why}", file=page)
        print(END, end="", file=page)


def run_each(chosen, again):
    """Returns the rows of the table, what was skipped and why, and the names of what failed."""
    cache = os.path.join(harness.CACHE, "matrix")
    shared = [cache, ROOT, *(place for place in os.environ.get("PIP_FIND_LINKS", "").split() if os.path.isdir(place))]
    rows, skipped, failed = [], [], []
    key = fingerprint()
    for python, torch in chosen:
        name = f"CPython {python}, PyTorch {torch}"
        try:
            cells, wrong = row_of(python, torch, cache, shared, key, again)
        except interpreters.Unavailable as why:
            skipped.append((name, str(why)))
            print(f"skipped: {name}: {why}", flush=True)
            continue
        rows.append(cells)
        failed += [name] if wrong else []
        print(f"{'FAILED' if wrong else 'passed'}: {name}", flush=True)
        for fault in wrong:
            print(f"  {fault}", flush=True)
    return rows, skipped, failed


def main():
    began = time.monotonic()
    known = ["-".join(pair) for pair in COMBINATIONS]
    again, names = "--again" in sys.argv, [name for name in sys.argv[1:] if name != "--again"]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"run.py: no combination {unknown[0]}; there are {', '.join(known)}")
    chosen = [pair for pair in COMBINATIONS if not names or "-".join(pair) in names]
    rows, skipped, failed = run_each(chosen, again)
    print("\n" + table(rows), end="")
    if not names:
        write_page(os.path.join(ROOT, "docs", "versions.md"), rows, skipped, sum(float(row[-1] or 0) for row in rows))
    print(f"\n{'FAILED: ' + '; '.join(failed) if failed else 'passed'}: {len(rows)} combinations, {len(skipped)} skipped; "
          f"{time.monotonic() - began:.0f} s")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
