# Purpose: the tables of a report as flat rows, and as frames of pandas and polars.
# Imported by trace.py.
"""Flat tables of a trace."""
from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .model import Finding, Ledger, Phase, Process, Row

if TYPE_CHECKING:
    from .trace import Trace

_OF_PROCESS = {"pid": int, "rank": int}
_LEVELS = {name: int for name in ("entry_live", "exit_live", "peak_live", "transient", "net")}
_OF_ROW = {"bytes": int, "asked": int, "blocks": int, "kind": str, "role": str, "name": str, "module": str, "line": str,
           "born_phase": str, "born_step": int, "lifetime": float, "how": str}

# The columns of each table, and the types of their values. Each value may be None.
COLUMNS: dict[str, dict[str, type]] = {
    "phases": {**_OF_PROCESS, "memory": str, "phase": str, "path": str, "step": int, "steady": bool, "count": int,
               **_LEVELS, "allocated": int, "freed": int, "allocations": int,
               **{"tensor_" + name: int for name in _LEVELS}},
    "peak": {**_OF_PROCESS, "memory": str, "measure": str, **_OF_ROW},
    "ledger": {**_OF_PROCESS, "scope": str, "memory": str, "at": str, "t": float, "name": str, "bytes": int, "how": str,
               "total": int, "residual": int},
    "findings": {**_OF_PROCESS, "id": str, "title": str, "memory": str, "phase": str, "step": int, "bytes": int,
                 "confidence": str, "remedy": str, "line": str},
    "snapshots": {**_OF_PROCESS, "snapshot": str, "t": float, "memory": str, **_OF_ROW},
}


def rows(trace: Trace, table: str) -> list[dict[str, Any]]:
    """Returns the rows of a table of all processes. Each row has the same keys."""
    if table not in COLUMNS:
        raise ValueError(f"memtrace: no table {table!r}; the tables are {', '.join(COLUMNS)}")
    found = [{**_of_process(process), **row} for process in trace.processes for row in _rows_of(process, table)]
    if table == "findings":  # about several processes
        of_one = sum(len(process.findings) for process in trace.processes)
        found += [{"pid": None, "rank": None, **_finding(finding)} for finding in trace.findings[of_one:]]
    return found


def _of_process(process: Process) -> dict[str, Any]:
    return {"pid": process.pid, "rank": process.rank}


def _rows_of(process: Process, table: str) -> Iterator[dict[str, Any]]:
    if table == "phases":
        yield from map(_phase, process.phases)
    elif table == "peak":
        for peak in process.peaks:
            for row in peak.at_peak:
                yield {"memory": peak.memory, "measure": peak.measure, **_row(row)}
    elif table == "ledger":
        for ledger in process.ledger:
            yield from _ledger(ledger)
    elif table == "findings":
        yield from map(_finding, process.findings)
    else:
        for snapshot in process.snapshots:
            for row in snapshot.at:
                yield {"snapshot": snapshot.name, "t": snapshot.t, "memory": snapshot.memory, **_row(row)}


def _step(step: object) -> Any:
    return step if isinstance(step, int) else None


def _phase(phase: Phase) -> dict[str, Any]:
    return {"memory": phase.memory, "phase": phase.phase, "path": "/".join(phase.path), "step": _step(phase.step),
            "steady": phase.step == "steady", "count": phase.count, **{name: getattr(phase, name) for name in _LEVELS},
            "allocated": phase.allocated, "freed": phase.freed, "allocations": phase.allocations,
            **{"tensor_" + name: getattr(phase.tensor, name, None) for name in _LEVELS}}


def _row(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _OF_ROW}


def _ledger(ledger: Ledger) -> Iterator[dict[str, Any]]:
    for row in ledger.rows:
        yield {"scope": ledger.scope, "memory": ledger.memory, "at": ledger.at, "t": ledger.t, "name": row.name,
               "bytes": row.bytes, "how": row.how, "total": ledger.total, "residual": ledger.residual}


def _finding(finding: Finding) -> dict[str, Any]:
    return {"id": finding.id, "title": finding.title, "memory": finding.memory, "phase": finding.phase,
            "step": _step(finding.step), "bytes": finding.bytes, "confidence": finding.confidence,
            "remedy": finding.remedy, "line": finding.line}


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        text = f"Trace.to_{name} needs {name}, which is not installed: pip install {name}"
        raise ImportError(text, name=name) from error


def to_pandas(trace: Trace, table: str) -> Any:
    """Returns a table as a frame of pandas, whose columns may have missing values."""
    pandas = _module("pandas")
    found = rows(trace, table)
    kinds = {int: "Int64", float: "Float64", str: "string", bool: "boolean"}
    return pandas.DataFrame({name: pandas.array([row[name] for row in found], dtype=kinds[kind])
                             for name, kind in COLUMNS[table].items()})


def to_polars(trace: Trace, table: str) -> Any:
    """Returns a table as a frame of polars."""
    polars = _module("polars")
    kinds = {int: polars.Int64, float: polars.Float64, str: polars.String, bool: polars.Boolean}
    return polars.DataFrame(rows(trace, table), schema={name: kinds[kind] for name, kind in COLUMNS[table].items()},
                            orient="row")
