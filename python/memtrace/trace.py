# Purpose: opens a trace: runs `memtrace report`, and gives its result as typed objects.
# Imported by memtrace.open.
"""The report of a trace, as Python objects."""
from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Optional, Union

from . import display, tables
from .command import CommandError, run_command
from .model import Finding, Job, Ledger, Peak, Phase, Process, Reader, Site, Snapshot, read_job

if TYPE_CHECKING:
    import pandas
    import polars

SCHEMA = "memtrace.report/1"


class Trace:
    """A trace, a directory of traces, a packed file or a memory snapshot of PyTorch.

    The command runs when the first field is read, and its result is kept. Open a running process again to read it
    again."""

    def __init__(self, path: Optional[str], options: tuple[str, ...] = ()) -> None:
        self.path = path
        self._options = options

    def __repr__(self) -> str:
        return f"<memtrace.Trace of {self.path or 'the newest job'}>"

    def _report(self, *options: str) -> str:
        return run_command("report", *([] if self.path is None else [self.path]), *options)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON of `memtrace report --format json --compact`, as it is."""
        text = self._report("--format", "json", "--compact", *self._options)
        try:
            document: dict[str, Any] = json.loads(text)
            schema = document["schema"]
        except (ValueError, TypeError, KeyError) as error:
            raise CommandError("memtrace report --format json wrote no report; the command on PATH is another "
                               "project's") from error
        if schema != SCHEMA:
            raise CommandError(f"memtrace report wrote {schema}, and this package reads {SCHEMA}; install one version "
                               "of libmemtrace")
        return document

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """The processes of the job. The first leads the report."""
        return tuple(Reader(process.get("sites", {})).process(process) for process in self.document["processes"])

    @cached_property
    def job(self) -> Job:
        return read_job(self.document["job"])

    @property
    def process(self) -> Process:
        """The process that leads the report."""
        return self.processes[0]

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the leading process."""
        return self.process.phases

    @property
    def peaks(self) -> tuple[Peak, ...]:
        """The peaks of the leading process: one for each memory and measure."""
        return self.process.peaks

    @property
    def ledger(self) -> tuple[Ledger, ...]:
        """The ledgers of the leading process."""
        return self.process.ledger

    @property
    def sites(self) -> dict[str, Site]:
        """The stacks of the leading process, by their ids."""
        return self.process.sites

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """What was alive at each memtrace.snapshot of the leading process."""
        return self.process.snapshots

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about each process, then those about several."""
        several = Reader({})
        return (*(finding for process in self.processes for finding in process.findings),
                *map(several.finding, self.document["findings"]))

    def peak(self, memory: str = "host", measure: str = "live") -> Peak:
        """Returns a peak of the leading process. Raises KeyError if it has none of this measure."""
        return self.process.peak(memory, measure)

    def rows(self, table: str = "phases") -> list[dict[str, Any]]:
        """Returns a table as flat rows: "phases", "peak", "ledger", "findings" or "snapshots"."""
        return tables.rows(self, table)

    def to_pandas(self, table: str = "phases") -> pandas.DataFrame:
        """Returns a table as a frame of pandas. Raises ImportError if pandas is not installed."""
        return tables.to_pandas(self, table)

    def to_polars(self, table: str = "phases") -> polars.DataFrame:
        """Returns a table as a frame of polars. Raises ImportError if polars is not installed."""
        return tables.to_polars(self, table)

    def text(self) -> str:
        """Returns the report as text."""
        return self._report(*self._options)

    def html(self) -> str:
        """Returns the report as a page of HTML that needs no network."""
        return self._report("--format", "html")

    def page(self, height: int = 700) -> display.Page:
        """Returns the page of HTML for a cell of a notebook, `height` pixels high."""
        return display.Page(self.html(), height)

    def _repr_html_(self) -> str:
        return display.table_of(self)


def open(path: Union[str, os.PathLike[str], None] = None, *, steps: Optional[tuple[int, int]] = None,
         all_steps: bool = False, top: Optional[int] = None) -> Trace:
    """Opens a trace, a directory of traces, a packed file or a memory snapshot of PyTorch; the newest job by default.

    steps: show the steps of this range one by one, the last included. all_steps: show each step. top: the rows of what
    was alive at a peak, 20 by default."""
    options: list[str] = []
    if steps is not None:
        options += ["--steps", f"{steps[0]}:{steps[1]}"]
    if all_steps:
        options.append("--all-steps")
    if top is not None:
        options += ["--top", str(top)]
    name = None if path is None else os.fspath(path)
    if name is not None and not os.path.exists(name):
        raise FileNotFoundError(f"memtrace.open: {name}: no such file or directory; give a trace or a folder of traces")
    return Trace(name, tuple(options))
