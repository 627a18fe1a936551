# Purpose: runs the marked tests in traced processes, and reports them to pytest as if they had run in place.
"""The part of the plugin that is active with --memtrace."""
from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
from typing import Any, Optional

import pytest

from ..command import CommandError, run_command
from .traced_process import Outcome, plain_nodeid, run_traced
from .verdict import broken_budgets, budgets_of, fail_over_budget, failure

_PHASES = ("setup", "call", "teardown")
_LONGEST_NAME = 100


def _report_of(item: Any, when: str, outcome: str, longrepr: Any = None) -> Any:
    return pytest.TestReport(nodeid=item.nodeid, location=item.location, keywords={name: 1 for name in item.keywords},
                             outcome=outcome, longrepr=longrepr, when=when)


def _reports_from(item: Any, outcome: Outcome) -> list[Any]:
    """Returns the reports of the child, with the types that JSON does not have."""
    reports = []
    for data in outcome.of_kind("report"):
        report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
        report.nodeid, report.location = item.nodeid, item.location
        report.sections = [tuple(section) for section in report.sections]
        report.user_properties = [tuple(one) for one in report.user_properties]
        if isinstance(report.longrepr, list):  # of a skip: file, line and reason
            report.longrepr = tuple(report.longrepr)
        reports.append(report)
    return reports


def _replay_warnings(config: Any, outcome: Outcome) -> None:
    for value in outcome.of_kind("warning"):
        category = getattr(sys.modules.get(value["module"]), value["category"], UserWarning)
        known = isinstance(category, type) and issubclass(category, Warning)
        message = warnings.WarningMessage(value["text"], category if known else UserWarning, value["filename"],
                                          value["lineno"])
        config.hook.pytest_warning_recorded.call_historic(kwargs={
            "warning_message": message, "when": value["when"], "nodeid": value["nodeid"],
            "location": value["location"] and tuple(value["location"])})


def _end_of(status: int) -> str:
    if status >= 0:
        return f"its process ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    return f"its process was killed by signal {-status} ({name})"


class TracedTests:
    """Runs each test with the marker in a process of its own."""

    def __init__(self, config: Any, missing: Optional[str], out: Optional[str]) -> None:
        self._config = config
        self._missing = missing  # why this platform cannot trace
        self._out = out  # where traces are kept
        self._count = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Optional[bool]:
        if item.get_closest_marker("memtrace") is None:
            return None
        option = self._config.option
        if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = self._reports(item)
        for report in [*reports, *self._teardown_of_others(item, nextitem, reports[-1])]:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _teardown_of_others(self, item: Any, nextitem: Any, last: Any) -> list[Any]:
        """Ends the fixtures of earlier tests that live here and that the next test does not use, as a test in place
        does. Their output goes to the last report. Returns a report if a fixture fails."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.item_capture("teardown", item) if capture else contextlib.nullcontext():
            call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem),
                                             when="teardown", reraise=(pytest.exit.Exception, KeyboardInterrupt))
        report = pytest.TestReport.from_item_and_call(item, call)
        if report.failed:
            return [report]
        last.sections = [*last.sections, *report.sections]
        return []

    def _reports(self, item: Any) -> list[Any]:
        if self._missing is not None:
            file, line = str(item.path), (item.location[1] or 0) + 1
            return [_report_of(item, "setup", "skipped", (file, line, f"Skipped: {self._missing}")),
                    _report_of(item, "teardown", "passed")]
        scratch = tempfile.mkdtemp(prefix="memtrace-pytest-")
        try:
            return self._traced(item, scratch)
        except (CommandError, ValueError) as error:
            text = f"memtrace: {error}"
            return [_report_of(item, "setup", "failed", failure(item, text, text)),
                    _report_of(item, "teardown", "passed")]
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _trace_directory(self, item: Any, scratch: str) -> str:
        """Returns an empty directory for the traces of the test: kept if the user named a directory."""
        name = re.sub(r"[^\w.\-\[\]]+", "-", plain_nodeid(item))[-_LONGEST_NAME:].strip("-") if self._out else "traces"
        wanted = path = os.path.join(self._out or scratch, name)
        again = 1
        while True:
            try:
                os.makedirs(path)
                return path
            except FileExistsError:  # an earlier run of this test
                again += 1
                path = f"{wanted}.{again}"

    def _basetemp(self, scratch: str) -> str:
        """Returns a directory of its own for the child's tmp_path, which is kept and removed with those of this run."""
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is None:  # -p no:tmpdir
            return os.path.join(scratch, "tmp")
        self._count += 1
        return str(factory.getbasetemp() / f"memtrace-{self._count}")

    def _traced(self, item: Any, scratch: str) -> list[Any]:
        budgets = budgets_of(item)
        out = self._trace_directory(item, scratch)
        try:
            outcome = run_traced(item, out, scratch, self._basetemp(scratch))
        except pytest.fail.Exception as error:  # a limit of time, by a plugin that interrupts this process
            return [_report_of(item, "call", "failed", failure(item, str(error), str(error))),
                    _report_of(item, "teardown", "passed")]
        _replay_warnings(self._config, outcome)
        for value in outcome.of_kind("exit"):
            pytest.exit(value["reason"], value["status"])
        reports = _reports_from(item, outcome)
        if not reports or reports[-1].when != "teardown":
            reports += self._crash(item, outcome, out, [report.when for report in reports])
        elif budgets:
            self._judge(item, reports, out, budgets)
        return reports

    def _crash(self, item: Any, outcome: Outcome, out: str, seen: list[str]) -> list[Any]:
        """Returns the reports of a test whose process ended in the middle of it."""
        when = next((phase for phase in _PHASES if phase not in seen), "teardown")
        message = f"the test has no result: {_end_of(outcome.status)} in {when}"
        failed = _report_of(item, when, "failed", failure(item, message, message))
        for text in outcome.of_kind("collection failed"):
            failed.sections.append(("collection in the traced process", text))
        if outcome.output.strip():
            failed.sections.append(("output of the traced process", outcome.output))
        try:
            failed.sections.append(("memtrace postmortem", run_command("postmortem", out)))
        except CommandError:
            pass  # it left no trace: it ended before it ran a test
        return [failed] if when == "teardown" else [failed, _report_of(item, "teardown", "passed")]

    def _judge(self, item: Any, reports: list[Any], out: str, budgets: tuple[str, ...]) -> None:
        """Fails the test if it breaks a budget. A test that failed by itself has its own reason."""
        call = next((report for report in reports if report.when == "call"), None)
        if call is None:
            return
        strict = call.failed and str(call.longrepr).startswith("[XPASS(strict)]")
        if not call.passed and not strict:
            return
        try:
            broken = broken_budgets(out, budgets)
        except CommandError as error:
            call.outcome = "failed"
            call.longrepr = failure(item, str(error), str(error))
            return
        if broken is None:
            return
        fail_over_budget(item, call, broken)
        if self._out:
            call.sections.append(("memtrace", f"the trace: {out}"))
