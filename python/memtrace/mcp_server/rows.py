# Purpose: the rows of the command's documents as short rows: a stack becomes its line and its id.
"""Short rows. Texts of a trace stay values: nothing here reads them as anything but data."""
from __future__ import annotations

import os
import re
from typing import Any

Row = dict[str, Any]

_ROW = ("bytes", "asked", "blocks", "kind", "role", "module", "born_phase", "born_step", "how", "name")
_FINDING = ("id", "title", "memory", "phase", "step", "bytes", "bytes_at_peak", "bytes_at_end", "confidence", "evidence",
            "remedy")
_PHASE = ("memory", "path", "step", "count", "entry_live", "exit_live", "peak_live", "transient", "net", "allocated",
          "freed", "allocations")
_PEAK = ("memory", "measure", "bytes", "t", "phase", "step")


def some(row: Row, keys: tuple[str, ...]) -> Row:
    """Returns the entries of `row` with these keys, without those that say nothing."""
    return {key: row[key] for key in keys if row.get(key) is not None}


def line_of(site: Row) -> str:
    """Returns file:line of the program's innermost frame, else of the innermost Python frame; "" if there is none."""
    frames = site.get("frames") or []
    python = [frame for frame in frames if frame.get("lang") == "python" and frame.get("file")]
    own = [frame for frame in python if frame.get("own")]
    best = (own or python)[:1]
    return f"{best[0]['file']}:{best[0]['line']}" if best else ""


def place(row: Row, sites: Row) -> Row:
    """Returns the line and the id of the row's site."""
    site: Row = row.get("site") or {}
    identifier = site.get("id")
    if identifier is None:
        return {}
    whole: Row = sites[identifier] if identifier in sites else site
    return {"line": line_of(whole), "site": identifier}


def alive_row(row: Row, sites: Row) -> Row:
    """Returns a row of what was alive."""
    return {**some(row, _ROW), **place(row, sites)}


def line_in(title: str, site: Row) -> str:
    """Returns file:line of the innermost frame that the title names, or ""."""
    for frame in site.get("frames") or []:
        if frame.get("file") and re.search(rf"(?<![\w.]){re.escape(os.path.basename(frame['file']))}:{frame['line']}\b", title):
            return f"{frame['file']}:{frame['line']}"
    return ""


def finding_row(finding: Row, sites: Row) -> Row:
    """Returns a cause. Its line is that of the title: a graph is made at many lines, and a cause names the call of them."""
    where = place(finding, sites)
    if where:
        site = sites.get(where["site"]) or finding["site"]
        where["line"] = line_in(finding.get("title") or "", site) or where["line"]
    return {**some(finding, _FINDING), **where}


def phase_row(phase: Row) -> Row:
    """Returns the figures of a phase, and those of its tensors."""
    return {**some(phase, _PHASE), **({"tensor": some(phase["tensor"], _PHASE)} if phase.get("tensor") else {})}


def peak_row(peak: Row) -> Row:
    """Returns a highest point."""
    return some(peak, _PEAK)


def frame_row(frame: Row) -> Row:
    """Returns a frame of a stack."""
    return {key: value for key, value in frame.items() if value not in (None, "", 0)}
