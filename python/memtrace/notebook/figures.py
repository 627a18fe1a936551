# Purpose: the figures of one cell: takes them from the report of the running kernel, and adds the variables.
# Imported by cells.py.
"""What a cell kept, its highest point and what was temporary. The command measures; here lines and variables meet."""
from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from typing import Optional

from ..cell_lines import in_cells
from ..model import Finding, Levels, Phase, Row, Snapshot
from ..trace import Trace
from ..trace import open as open_trace
from .variables import Held, Storage

_ROWS = 100  # of what was alive; the rest is one figure
_LEAST_BLOCK = 1 << 10  # the counts of steps of an optimizer are smaller
_LEAST = 1 << 16  # bytes of a line that is listed
_PHASES = {"step": "update"}  # as in the text of the report


# Memory, site, role, and the birth, because each row of a listing may be below its least one.
Key = tuple[str, str, str, str, str]


@dataclasses.dataclass(frozen=True)
class Level:
    """A memory during the cell, in bytes."""

    name: str
    before: int
    highest: int
    after: int
    kept: int
    temporary: int


@dataclasses.dataclass(frozen=True)
class Line:
    bytes: int
    line: str
    role: str
    held_by: str = ""


@dataclasses.dataclass(frozen=True)
class CellFigures:
    name: str
    levels: list[Level]
    highest_in: str  # "": no phase inside the cell has the cell's highest point
    kept: list[Line]
    kept_elsewhere: int  # bytes of libraries, small blocks and lines below the limit
    temporary: list[Line]
    variables: list[tuple[str, int]]  # what they hold since this cell
    let_go: int  # bytes that variables held before the cell and no longer hold
    unheld: int  # bytes of tensors that the cell kept and no variable holds
    graphs: list[str]
    complete: bool
    findings: list[Finding]


@dataclasses.dataclass
class _Sites:
    """Bytes and blocks of the rows of a listing."""

    rows: dict[Key, Row]
    asked: Counter[Key]
    blocks: Counter[Key]
    least: int  # what the listing lacks has no more bytes; 0: it has all


def _by_site(rows: list[tuple[str, Row]]) -> _Sites:
    # A listing has the largest places. Rows of one place differ by module; those without a site are sums of the rest.
    places: Counter[tuple[str, ...]] = Counter()
    listed = [row for _, row in rows if row.site is not None]
    for row in listed:
        site = row.site.id if row.site is not None else ""
        places[site, row.kind, row.role, row.how, str(row.born_phase), str(row.born_step)] += row.bytes
    least = min(places.values(), default=0) if len(listed) >= _ROWS else 0
    out = _Sites({}, Counter(), Counter(), least)
    for memory, row in rows:
        if row.how != "measured":  # an estimate: two of them differ although nothing changed
            continue
        site = row.site.id if row.site is not None else ""
        key = (memory, site, row.role, str(row.born_phase), str(row.born_step))
        out.rows[key] = row
        out.asked[key] += row.asked
        out.blocks[key] += row.blocks
    return out


def line_of(row: Row, files: dict[str, int]) -> str:
    """Returns the line of the user's code, as `cell 3, line 2` or train.py:48; "" if only libraries have one."""
    frame = row.site.own if row.site is not None else None
    if frame is None:
        return ""
    if frame.file in files:
        return f"cell {files[frame.file]}, line {frame.line}"
    return row.line if frame.own else ""


def _report(path: str, cell: str) -> tuple[Trace, list[Phase], list[Phase]]:
    """Returns the trace, the phase of the cell in each memory, and the phases inside it. By default a report has steps of
    interest alone: if the cell is not there, it began in another one."""
    trace = open_trace(path, top=_ROWS)
    phases = _phases(trace, cell)
    if not any(phase.path[-1] == cell for phase in phases):
        snapshots = trace.document["processes"][0]["snapshots"]
        begun = next((one["step"] for one in snapshots if one["name"] == "before " + cell), None)
        if isinstance(begun, int):
            phases += _phases(open_trace(path, top=_ROWS, steps=(begun, begun)), cell)
    whole = [phase for phase in phases if phase.path[-1] == cell]
    if not whole:
        raise LookupError(cell)
    memories = dict.fromkeys(phase.memory for phase in whole)
    return (trace, [_joined_parts(cell, [one for one in whole if one.memory == memory]) for memory in memories],
            [phase for phase in phases if phase.path[-1] != cell])


def _phases(trace: Trace, cell: str) -> list[Phase]:
    return [phase for phase in trace.phases if cell in phase.path and phase.peak_live is not None]


def _joined_parts(cell: str, parts: list[Phase]) -> Phase:
    """Returns the whole phase of a cell. It has two parts if `load` began in an earlier cell and ended in this one: the
    first part is then inside `load`."""
    parts = sorted(parts, key=lambda one: -one.path.index(cell))
    first, last, highest = parts[0], parts[-1], max(parts, key=lambda one: one.peak_live or 0)
    entry, left, peak = first.entry_live or 0, last.exit_live or 0, highest.peak_live or 0
    tensors = [one.tensor for one in parts if one.tensor is not None]
    return dataclasses.replace(
        highest, entry_live=entry, exit_live=left, net=left - entry, transient=peak - max(entry, left),
        tensor=_joined_levels(tensors) if len(tensors) == len(parts) else highest.tensor)


def _joined_levels(parts: list[Levels]) -> Levels:
    highest = max(parts, key=lambda one: one.peak_live)
    entry, left = parts[0].entry_live, parts[-1].exit_live
    return dataclasses.replace(highest, entry_live=entry, exit_live=left, net=left - entry,
                               transient=highest.peak_live - max(entry, left))


def _levels(whole: list[Phase]) -> list[Level]:
    out = []
    for phase in whole:
        where = "" if phase.memory == "host" else f" on {phase.memory}"
        tensors = phase.tensor
        if tensors is not None and (tensors.peak_live or tensors.entry_live):
            out.append(Level("tensors" + where, tensors.entry_live, tensors.peak_live, tensors.exit_live, tensors.net,
                             tensors.transient))
        out.append(Level("allocated" + where, phase.entry_live or 0, phase.peak_live or 0, phase.exit_live or 0,
                         phase.net or 0, phase.transient or 0))
    return out


def _peak(phase: Phase) -> int:
    tensors = phase.tensor
    return tensors.peak_live if tensors is not None and tensors.peak_live else phase.peak_live or 0


def _tensors_at_most(phase: Phase) -> int:
    return phase.tensor.peak_live if phase.tensor is not None else 0


def _highest_in(own: Phase, inside: list[Phase]) -> Optional[Phase]:
    """Returns the innermost phase inside the cell whose highest point is that of the cell."""
    found = [one for one in inside if one.memory == own.memory and _peak(one) == _peak(own)]
    return max(found, key=lambda one: len(one.path), default=None)


def _phase_name(phase: Phase, cell: str) -> str:
    name = "/".join(_PHASES.get(part, part) for part in phase.path[phase.path.index(cell) + 1:])
    return f"{name} {phase.step}" if isinstance(phase.step, int) else name


def _rows_at(snapshots: tuple[Snapshot, ...], name: str) -> list[tuple[str, Row]]:
    return [(one.memory, row) for one in snapshots if one.name == name for row in one.at]


class _Holders:
    """The variables of blocks, by size and role: the report has no addresses."""

    def __init__(self, storages: list[Storage]) -> None:
        self._storages = storages
        self._sums: Counter[tuple[str, str]] = Counter()  # of a variable, by role
        self._blocks: Counter[tuple[str, str]] = Counter()
        for storage in storages:
            if storage.bytes >= _LEAST_BLOCK:
                self._sums[storage.names[0], storage.role] += storage.bytes
                self._blocks[storage.names[0], storage.role] += 1

    def of(self, asked: int, blocks: int, role: str) -> list[str]:
        """Returns the variables that may hold these blocks: several, if they have blocks of the same size."""
        if blocks <= 0 or asked <= 0:
            return []
        found = [one for one in self._storages if one.bytes * blocks == asked]
        same_role = [one.names[0] for one in found if one.role == role]
        if found:
            return same_role or [one.names[0] for one in found]
        # All blocks of a variable, or an equal share of them, as the first moments of an optimizer.
        return [name for (name, kind), count in self._blocks.items() if kind in ("", role) and count % blocks == 0
                and asked * (count // blocks) == self._sums[name, kind]]


def _change(key: Key, before: _Sites, after: _Sites, cell: str, line: str) -> int:
    """Returns by how many bytes the blocks changed. A listing has the largest rows alone: a row that only one of them has
    may be below the least of the other."""
    change = after.asked[key] - before.asked[key]
    if key not in after.rows:
        return change if before.asked[key] > after.least else 0
    is_new = after.rows[key].born_phase == cell or line.startswith(cell + ",")
    return change if key in before.rows or is_new or after.asked[key] > before.least else 0


def _kept(before: _Sites, after: _Sites, holders: _Holders, cell: str, files: dict[str, int]) -> list[Line]:
    bytes_of: Counter[tuple[str, str]] = Counter()
    names: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key in {*before.rows, *after.rows}:
        line = line_of(after.rows.get(key) or before.rows[key], files)
        change = _change(key, before, after, cell, line) if line else 0
        if change:
            bytes_of[line, key[2]] += change
            names[line, key[2]].update(holders.of(change, after.blocks[key] - before.blocks[key], key[2]))
    listed = [Line(size, line, role, _joined(names[line, role])) for (line, role), size in bytes_of.items()
              if abs(size) >= _LEAST]
    return sorted(listed, key=lambda one: (-abs(one.bytes), one.line))


def _joined(names: set[str]) -> str:
    """Several variables hold blocks of the same size: each of them may be the one."""
    return " or ".join(sorted(names)[:4]) + (" or more" if len(names) > 4 else "")


def _temporary(own: Phase, after: _Sites, files: dict[str, int]) -> list[Line]:
    """Returns the lines whose blocks were alive at the highest point and not at the end."""
    tensors = own.tensor
    rows = tensors.at_peak if tensors is not None and tensors.peak_live else own.at_peak
    at_peak = _by_site([(own.memory, row) for row in rows])
    left: Counter[str] = Counter()  # a block that dies has another role than one that stays
    for key, size in after.asked.items():
        if key[0] == own.memory:
            left[key[1]] += size
    listed = frozenset(left)
    found: Counter[tuple[str, str]] = Counter()
    for key, size in sorted(at_peak.asked.items()):
        if key[1] not in listed and size <= after.least:  # it may be alive, and too small for the listing of the end
            continue
        gone = size - min(size, left[key[1]])
        left[key[1]] -= size - gone
        line = line_of(at_peak.rows[key], files) or at_peak.rows[key].line
        if gone > 0 and line:
            found[line, key[2]] += gone
    return sorted((Line(size, line, role) for (line, role), size in found.items() if size >= _LEAST),
                  key=lambda one: (-one.bytes, one.line))


def _variables(new: list[Storage]) -> list[tuple[str, int]]:
    held: Counter[str] = Counter()
    for storage in new:
        held[storage.names[0]] += storage.bytes
    return [(name, size) for name, size in held.most_common() if size >= _LEAST]


def _findings(trace: Trace, inside: list[Phase], files: dict[str, int]) -> list[Finding]:
    """Returns the findings about a phase of this cell, with lines of cells."""
    known = {(phase.path[-1], phase.step) for phase in inside}
    return [dataclasses.replace(one, title=in_cells(one.title, files), remedy=in_cells(one.remedy, files))
            for one in trace.findings if (one.phase, one.step) in known]


def _missing(storages: Held, others: Held) -> list[Storage]:
    return [storage for key, storage in storages.storages.items() if key not in others.storages]


def _unheld(whole: list[Phase], new: list[Storage], gone: list[Storage]) -> int:
    """Returns the bytes of tensors that the cell kept and no variable holds."""
    kept = sum(phase.tensor.net for phase in whole if phase.tensor is not None)
    held = sum(one.bytes for one in new if one.is_tensor) - sum(one.bytes for one in gone if one.is_tensor)
    return max(0, kept - held)


def cell_figures(path: str, cell: str, before: Held, after: Held,
                 files: dict[str, int]) -> tuple[CellFigures, Trace]:
    """Returns the figures of a cell that has ended, and the trace that they are from. Raises CommandError, or LookupError
    if the trace lacks the cell."""
    trace, whole, inside = _report(path, cell)
    whole.sort(key=_tensors_at_most, reverse=True)  # a model on a GPU: its memory leads
    own = whole[0]
    new, gone = _missing(after, before), _missing(before, after)
    at_begin = _by_site(_rows_at(trace.snapshots, "before " + cell))
    at_end = _by_site(_rows_at(trace.snapshots, "after " + cell))
    kept = _kept(at_begin, at_end, _Holders(new), cell, files)
    highest = _highest_in(own, inside)
    figures = CellFigures(
        name=cell, levels=_levels(whole), highest_in="" if highest is None else _phase_name(highest, cell), kept=kept,
        kept_elsewhere=sum(phase.net or 0 for phase in whole) - sum(line.bytes for line in kept),
        temporary=_temporary(own, at_end, files), variables=_variables(new),
        let_go=sum(one.bytes for one in gone), unheld=_unheld(whole, new, gone),
        graphs=[name for name, graph in after.graphs.items() if before.graphs.get(name) != graph],
        complete=before.complete and after.complete, findings=_findings(trace, inside, files))
    return figures, trace
