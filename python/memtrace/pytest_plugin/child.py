# Purpose: the traced process of a test: runs pytest for this test alone, and writes its reports to a file.
# Run by traced_process.py as a script, under the preloaded library. Not imported.
"""Runs one test, with the options of the pytest that asked for it."""
from __future__ import annotations

import json
import pickle
import sys
from typing import IO, Any, Iterator

_REQUEST = open(sys.argv[1], "rb")  # pylint: disable=consider-using-with
# What is imported below is what the asking process imported.
sys.path[:], sys.argv[:] = pickle.load(_REQUEST)

import pytest  # pylint: disable=wrong-import-position


class _Reports:
    """Marks the phases of the test, and writes what pytest reports: a JSON document for each line."""

    def __init__(self, config: Any, nodeid: str, file: IO[str]) -> None:
        self._config = config
        self._nodeid = nodeid
        self._file = file

    def _write(self, kind: str, value: Any) -> None:
        # What JSON does not know, a property of a user's class for example, becomes its text.
        self._file.write(json.dumps({"kind": kind, "value": value}, default=repr) + "\n")
        self._file.flush()  # the test may kill this process

    @staticmethod
    def _phase(name: str) -> Iterator[None]:
        # Late: pytest warns of a plugin's package that is imported before pytest loads it.
        from memtrace.marks import phase

        with phase(name):
            yield

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        # They would replace what the asking pytest remembers of all its tests.
        for name in ("lfplugin", "nfplugin"):
            plugin = config.pluginmanager.get_plugin(name)
            if plugin is not None:
                config.pluginmanager.unregister(plugin)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: Any) -> None:
        items[:] = [item for item in items if item.nodeid == self._nodeid][:1]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        yield from self._phase("setup")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        yield from self._phase("test")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        yield from self._phase("teardown")

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._write("report", self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._write("collection failed", report.longreprtext)

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        if excinfo.errisinstance(pytest.exit.Exception):
            self._write("exit", {"reason": str(excinfo.value.msg), "status": excinfo.value.returncode})

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        category = warning_message.category
        self._write("warning", {
            "module": category.__module__, "category": category.__qualname__, "text": str(warning_message.message),
            "filename": warning_message.filename, "lineno": warning_message.lineno, "when": when, "nodeid": nodeid,
            "location": location})


def main() -> None:
    """Runs the test of the request, which traced_process.py wrote."""
    with _REQUEST:
        wanted = pickle.load(_REQUEST)
    options = {name: pickle.loads(value) for name, value in wanted["options"].items()}
    config: Any = pytest.Config.fromdictargs(options, [wanted["argument"]])
    if wanted["workerinput"] is not None:  # the fixtures of pytest-xdist read it
        config.workerinput = wanted["workerinput"]
        config.workeroutput = {}
    with open(wanted["reports"], "w", encoding="utf-8") as file:
        config.pluginmanager.register(_Reports(config, wanted["nodeid"], file), "memtrace-reports")
        try:
            config.hook.pytest_cmdline_main(config=config)
        finally:
            config._ensure_unconfigure()


main()
