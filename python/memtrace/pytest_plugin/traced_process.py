# Purpose: starts the traced process of a test, waits for it, and returns what it reported.
"""Runs child.py under the preloaded library."""
from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from ..command import run_command

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")

# Of all tests of a run, or of its output: the asking process has done it, or does it with the reports.
_OFF = {"memtrace": False, "keyword": "", "markexpr": "", "deselect": None, "collectonly": False, "pyargs": False,
        "maxfail": 0, "lf": False, "last_failed": False, "failedfirst": False, "newfirst": False, "stepwise": False,
        "stepwise_skip": False, "cacheclear": False, "xmlpath": None, "log_file": os.devnull, "pastebin": None,
        "usepdb": False, "dist": "no", "tx": [], "numprocesses": None, "maxprocesses": None, "distload": False,
        "looponfail": False, "loadgroup": False, "no_cov": True, "cov_source": [], "htmlpath": None,
        "json_report": False, "report_log": None}

# Of the run of memtrace that the asking process may be part of.
_OF_ANOTHER_RUN = ("MEMTRACE_JOB", "MEMTRACE_RUN", "MEMTRACE_FOUNDED", "MEMTRACE_ONLY")


@dataclass
class Outcome:
    """What the traced process of a test left behind."""

    status: int  # as of subprocess: negative if a signal ended it
    messages: list[dict[str, Any]]  # what child.py wrote
    output: str  # what pytest did not capture

    def of_kind(self, kind: str) -> list[Any]:
        """Returns the values of these messages, in their order."""
        return [message["value"] for message in self.messages if message["kind"] == kind]


def _picklable(values: dict[str, Any]) -> dict[str, bytes]:
    found = {}
    for name, value in values.items():
        try:
            found[name] = pickle.dumps(value)
        except Exception:  # pylint: disable=broad-exception-caught # an option of a plugin, of any class
            continue  # the child has its default
    return found


def plain_nodeid(item: Any) -> str:
    """Returns the id that a run without workers gives the test: --dist loadgroup appends @GROUP."""
    nodeid: str = item.nodeid
    groups = {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default"))
              for mark in item.iter_markers("xdist_group")}
    return nodeid.removesuffix("@" + "_".join(sorted(groups))) if groups else nodeid


def _request(item: Any, scratch: str, basetemp: str) -> dict[str, Any]:
    config = item.config
    options = {**vars(config.option), **_OFF, "basetemp": basetemp, "rootdir": str(config.rootpath),
               "plugins": [*config.option.plugins, "no:terminal"]}
    options.pop("file_or_dir", None)
    if config.inipath is not None:
        options["inifilename"] = str(config.inipath)
    nodeid = plain_nodeid(item)
    file, colons, name = nodeid.partition("::")
    return {"options": _picklable(options), "nodeid": nodeid, "reports": os.path.join(scratch, "reports"),
            "argument": str(config.rootpath / file) + colons + name,
            "workerinput": getattr(config, "workerinput", None)}


def _environment(out: str) -> dict[str, str]:
    """Returns the environment of the traced process. Raises CommandError if it cannot be traced."""
    printed = run_command("env", "-o", out, "--min-peak", "0", "--skip", "", "--quiet", "--format", "json")
    variables: dict[str, str] = json.loads(printed)["variables"]
    environment = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_RUN}
    others = [name for name in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
              if os.path.basename(name) != "libmemtrace.so"]
    return {**environment, **variables, "LD_PRELOAD": ":".join([variables["LD_PRELOAD"], *others])}


def _messages(path: str) -> list[dict[str, Any]]:
    """Returns what the process wrote until it ended, perhaps in the middle of a line."""
    found = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    found.append(json.loads(line))
    except FileNotFoundError:
        pass
    return found


def run_traced(item: Any, out: str, scratch: str, basetemp: str) -> Outcome:
    """Runs the test in a process whose traces are in `out`. Raises CommandError if it cannot be traced."""
    request = os.path.join(scratch, "request")
    wanted = _request(item, scratch, basetemp)
    with open(request, "wb") as file:
        pickle.dump((sys.path, sys.argv), file)
        pickle.dump(wanted, file)
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *flags, _CHILD, request]
    uncaptured = item.config.option.capture == "no"
    # Not a pipe: a process that the test leaves behind would hold it open.
    with open(os.path.join(scratch, "output"), "w+b") as output:
        to = None if uncaptured else output
        with subprocess.Popen(command, env=_environment(out), cwd=str(item.config.invocation_params.dir),
                              stdin=None if uncaptured else subprocess.DEVNULL, stdout=to, stderr=to) as process:
            try:
                status = process.wait()
            except BaseException:  # an interrupt, or the alarm of another plugin
                process.kill()
                raise
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Outcome(status, _messages(wanted["reports"]), text)
