# Purpose: compares the trace of a test with its budgets, and puts the result into the report of the test.
"""Asks `memtrace check` about a test."""
from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from ..command import CommandError, find_command

_ANNOTATION = re.compile(r"::error (?:file=(?P<file>[^,]*),line=(?P<line>\d+),)?title=memory budget::(?P<text>.*)")


@dataclass(frozen=True)
class BrokenBudgets:
    """Why a test fails."""

    text: str  # for people
    message: str  # its first line
    file: str  # the line that holds the most; "" if it is not known
    line: int


def budgets_of(item: Any) -> tuple[str, ...]:
    """Returns the budgets of a test. Markers of a class or module count only if the test has no marker of its own.

    Raises ValueError if a marker has something else than texts."""
    nearest = None
    budgets: list[str] = []
    for node, mark in item.iter_markers_with_node("memtrace"):
        if nearest is not None and node is not nearest:
            break
        nearest = node
        if mark.kwargs or not all(isinstance(budget, str) for budget in mark.args):
            raise ValueError('the marker memtrace takes budgets only, as in memtrace("peak(host) <= 64MiB")')
        budgets.extend(mark.args)
    return tuple(budgets)


def _unescaped(text: str) -> str:
    for code, letter in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def broken_budgets(out: str, budgets: tuple[str, ...]) -> BrokenBudgets | None:
    """Returns what `memtrace check` found; None if all budgets are kept. Raises CommandError if it cannot compare."""
    options = [option for budget in budgets for option in ("--max", budget)]
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "COLUMNS")}
    arguments = ("check", out, *options, "--format", "github")
    # In a directory that has no files: so the annotations have whole paths.
    done = subprocess.run([find_command(), *arguments], env=environment, stdin=subprocess.DEVNULL, cwd=out,
                          capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode not in (0, 1):
        raise CommandError(done.stderr.strip() or f"memtrace check: exit status {done.returncode}", arguments,
                           done.returncode)
    if done.returncode == 0:
        return None
    lines = done.stdout.splitlines()
    found = [match for match in map(_ANNOTATION.fullmatch, lines) if match]
    text = "\n".join(line for line in lines if not line.startswith("::error "))
    if not found:
        return BrokenBudgets(text, "a memory budget is broken", "", 0)
    first = found[0]
    return BrokenBudgets(text, _unescaped(first["text"]), _unescaped(first["file"] or ""), int(first["line"] or 0))


def failure(item: Any, message: str, text: str, file: str = "", line: int = 0) -> Any:
    """Returns the failure of a test as pytest represents an exception: at the given line. If that line is in no file,
    as those of the import system, it is at the test."""
    if not os.path.isfile(file):
        file, line = str(item.path), (item.location[1] or 0) + 1
    traceback = ReprTraceback([ReprEntryNative([text + "\n"])], None, style="native")
    return ReprExceptionInfo(reprtraceback=traceback, reprcrash=ReprFileLocation(file, line, message))


def fail_over_budget(item: Any, report: Any, broken: BrokenBudgets) -> None:
    """Fails the report of a test that passed. A test that is expected to fail has then failed as expected."""
    expected = item.get_closest_marker("xfail")
    strict = report.failed and str(report.longrepr).startswith("[XPASS(strict)]")
    if strict or hasattr(report, "wasxfail"):
        if expected is None or expected.kwargs.get("raises") is None:
            report.wasxfail = getattr(report, "wasxfail", str(report.longrepr)[len("[XPASS(strict)] "):])
            report.outcome = "skipped"
            report.longrepr = failure(item, broken.message, broken.text, broken.file, broken.line)
            return
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    report.outcome = "failed"
    report.longrepr = failure(item, broken.message, broken.text, broken.file, broken.line)
