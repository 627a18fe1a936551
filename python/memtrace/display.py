# Purpose: what a notebook shows of a trace: a compact table, and the page of HTML in a frame.
# Imported by trace.py.
"""HTML for notebooks. Texts of the trace are escaped: a program may give a phase any name."""
from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .cell_lines import files_of_cells, in_cells
from .model import Finding, Peak, Phase, Process

if TYPE_CHECKING:
    from .trace import Trace

_MIB = 1 << 20
_MOST_LINES = 8  # of what was alive at the peak
_PHASE_NAMES = {"step": "update"}  # as in the text of the report: it cannot be taken for the number of a step


class Page:
    """The page of a report. A notebook shows it in a frame that cannot reach the notebook."""

    def __init__(self, text: str, height: int) -> None:
        self.html = text
        self.height = height

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" width="100%" '
                f'height="{self.height:d}" style="border:0" title="memtrace"></iframe>')


def table_of(trace: Trace) -> str:
    """Returns the leading process as HTML: its end, its findings, its phases and the lines at its peak. In the
    kernel that it is about, lines have the numbers of cells."""
    process = trace.process
    peak, phases = _leading_peak(process)
    tensors = peak is not None and peak.measure == "tensor"
    used = f" pid {process.pid}, {_end(process)}{_highest(peak)}"
    parts = [f"<p><b>{html.escape(_program(process))}</b>{html.escape(used)}</p>"]
    parts += [_finding(finding) for finding in trace.findings]
    if phases:
        parts.append(_table(f"{'Tensors' if tensors else 'Allocated'} by phase, MiB",
                            ("phase", "step", "entry", "peak", "exit", "kept", "temporary"),
                            [_phase(phase, tensors) for phase in phases]))
    if peak is not None:
        parts.append(_table("Alive at the peak, MiB", ("role", "bytes", "since", "line"), _alive(peak)))
    others = len(trace.processes) - 1
    if others:
        parts.append(f"<p>{others} more process{'es' if others > 1 else ''}: <code>Trace.processes</code></p>")
    return in_cells(f'<div class="memtrace">{"".join(parts)}</div>', files_of_cells())


def _leading_peak(process: Process) -> tuple[Peak | None, list[Phase]]:
    """Returns the peak of tensors where they are at least half of the memory, as the text of the report has it."""
    memory = process.findings[0].memory if process.findings else "host"
    peaks = {peak.measure: peak for peak in process.peaks if peak.memory == memory}
    live, tensor = peaks.get("live"), peaks.get("tensor")
    chosen = tensor if live is not None and tensor is not None and 2 * tensor.bytes >= live.bytes - live.reserved_untouched else live
    return chosen, [phase for phase in process.phases if phase.memory == memory and phase.peak_live is not None]


def _program(process: Process) -> str:
    arguments = [text.rpartition("/")[2] for text in process.argv]
    return next((text for text in arguments if text.endswith(".py")), arguments[0] if arguments else process.exe)


def _end(process: Process) -> str:
    end = process.end
    how = end.how.replace("_", " ") + (f" {end.code}" if end.code else "")
    return f"{how} after {process.duration:.1f} s"


def _highest(peak: Peak | None) -> str:
    if peak is None:
        return ""
    step = "" if peak.step is None else f" {peak.step}"
    what = "tensors" if peak.measure == "tensor" else "allocated"
    return f"; {what} {_mib(peak.bytes)} MiB at most, in {_since(peak.phase, None)}{step}"


def _finding(finding: Finding) -> str:
    line = f" <code>{html.escape(finding.line)}</code>" if finding.line else ""
    remedy = f"<br>{html.escape(finding.remedy)}" if finding.remedy else ""
    return f"<p><b>{html.escape(finding.title)}</b>{line}{remedy}</p>"


def _phase(phase: Phase, tensors: bool) -> tuple[str, ...]:
    levels = phase.tensor if tensors and phase.tensor is not None else phase
    step = "typical" if phase.step == "steady" else "" if phase.step is None else str(phase.step)
    name = "/".join(_PHASE_NAMES.get(part, part) for part in phase.path)
    return (name, step, *(_mib(value) for value in (levels.entry_live, levels.peak_live, levels.exit_live, levels.net,
                                                   levels.transient)))


def _alive(peak: Peak) -> list[tuple[str, ...]]:
    shown = peak.at_peak[:_MOST_LINES]
    rows = [(row.name or (row.role if row.role != "unknown" else row.kind), _mib(row.bytes),
             _since(row.born_phase, row.born_step), row.line) for row in shown]
    rest = peak.bytes - sum(row.bytes for row in shown)
    return [*rows, *([("the rest", _mib(rest), "", "")] if rest else []), ("total", _mib(peak.bytes), "", "")]


def _since(phase: str | None, step: int | None) -> str:
    name = "" if phase is None else _PHASE_NAMES.get(phase, phase)
    return name if step is None else f"{name} {step}"


def _mib(value: int | None) -> str:
    return "" if value is None else f"{value / _MIB:,.2f}"


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    first = "".join(f"<th>{html.escape(text)}</th>" for text in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(title)}</caption><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"
