# Purpose: makes each cell a phase, and shows the figures of a cell that begins with %%memtrace.
# Imported by load_ipython_extension.
"""The events of IPython, and the line `%%memtrace`.

`%%memtrace` is taken off before the cell is compiled, so the cell runs as without it. Its last expression is shown, it
may await, and its lines keep their numbers."""
from __future__ import annotations

import dataclasses
import glob
import os
import re
import socket
import threading
from typing import Any, Optional

from ..command import CommandError
from ..marks import is_recording, phase, snapshot
from .cell_report import CellReport, Unrecorded
from .figures import cell_figures
from .variables import Held, held_by_variables

_LINE = re.compile(r"%%memtrace(?:[ \t]+(?P<options>[^\n]*))?(?:\n|$)")
_OPTIONS = ("--page",)

NOT_TRACED = ("memtrace does not record this kernel, so it has no figures. In a terminal: memtrace jupyter install. Then "
              "choose the kernel \"memtrace\" in Jupyter (Kernel, Change Kernel) and run the notebook again.")


@dataclasses.dataclass
class _Cell:
    """A cell that runs."""

    name: str
    phase: phase
    shown: bool
    page: bool
    before: Optional[Held]


def options_of(cell: str) -> Optional[list[str]]:
    """Returns the options of the line %%memtrace; None if the cell does not begin with it."""
    found = _LINE.match(cell.lstrip())
    return (found["options"] or "").split() if found else None


def without_magic(lines: list[str]) -> list[str]:
    """A transformer of cells: replaces the line %%memtrace with a comment."""
    options = options_of("".join(lines))
    if options is None:
        return lines
    unknown = [word for word in options if word not in _OPTIONS]
    if unknown:
        raise SyntaxError(f"%%memtrace: no option {unknown[0]!r}; it has {', '.join(_OPTIONS)}")
    first = next(number for number, line in enumerate(lines) if line.strip())
    # Another magic of the cell must be in its first line.
    another = first + 1 < len(lines) and lines[first + 1].startswith("%%")
    return lines[first + 1:] if another else [*lines[:first], "# " + lines[first].lstrip(), *lines[first + 1:]]


class Cells:
    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running = threading.local()  # a kernel may run cells in several threads
        self._hidden = frozenset(shell.user_ns_hidden)

    def attach(self) -> None:
        self._shell.events.register("pre_run_cell", self._begin)
        self._shell.events.register("post_run_cell", self._end)
        self._shell.input_transformers_cleanup.append(without_magic)
        if not is_recording():
            print(NOT_TRACED)

    def detach(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._end)
        self._shell.input_transformers_cleanup.remove(without_magic)

    def _begin(self, info: Any) -> None:
        if not info.store_history:  # a callback of a widget, or of Jupyter itself
            return
        options = options_of(info.raw_cell or "")
        shown = options is not None and all(word in _OPTIONS for word in options)
        before = held_by_variables(self._shell.user_ns, self._hidden) if shown and is_recording() else None
        # Versions of IPython differ in when they count. `In` has the cells before this one, and an empty text.
        name = f"cell {len(self._shell.history_manager.input_hist_parsed)}"
        cell = _Cell(name, phase(name), shown, shown and "--page" in (options or []), before)
        self._running.cell = cell
        cell.phase.__enter__()
        if before is not None:
            snapshot("before " + name)

    def _end(self, _result: Any) -> None:
        cell: Optional[_Cell] = getattr(self._running, "cell", None)
        self._running.cell = None
        if cell is None:
            return
        if cell.before is not None:
            snapshot("after " + cell.name)
        cell.phase.__exit__(None, None, None)
        if cell.shown:
            self._show(cell)

    def _show(self, cell: _Cell) -> None:
        from IPython.display import display

        display(self._report(cell))

    def _report(self, cell: _Cell) -> Any:
        if cell.before is None:
            return Unrecorded(NOT_TRACED)
        after = held_by_variables(self._shell.user_ns, self._hidden)
        path = trace_of_this_process()
        if path is None:
            return Unrecorded(f"memtrace: no trace of this kernel (pid {os.getpid()}) was found; do not change "
                              "MEMTRACE_* in a cell, and restart the kernel")
        files = dict(getattr(self._shell.compile, "_filename_map", {}))
        try:
            figures, trace = cell_figures(path, cell.name, cell.before, after, files)
        except CommandError as error:
            return Unrecorded(f"memtrace: {error}")
        except LookupError:
            return Unrecorded(f"memtrace: the trace has no figures of {cell.name}; restart the kernel, with more of "
                              "--max-trace in memtrace jupyter install")
        return CellReport(figures, trace.page() if cell.page else None)


def trace_of_this_process() -> Optional[str]:
    """Returns the trace that this process writes; None if it cannot be found. The job's variable has the pattern of its
    directory, as children need it."""
    job, _, pattern = os.environ.get("MEMTRACE_JOB", "").partition(";")
    for name, value in (("%j", job), ("%h", socket.gethostname()), ("%p", str(os.getpid()))):
        pattern = pattern.replace(name, value)
    found = glob.glob(os.path.join(glob.escape(pattern), f"*-{os.getpid()}-*.memtrace"))
    return max(found, key=os.path.getmtime, default=None)
