# Purpose: finds in a document of the command what a tool asks for.
"""Reads a document in JSON. It selects rows, and computes nothing that the command did not."""
from __future__ import annotations

from typing import Any

from .answers import Answer, page
from .rows import Row, alive_row, finding_row, frame_row, peak_row, phase_row, place, some

PARTS = ("findings", "peaks", "phases", "ledger", "snapshots", "processes")


class Reading:
    """One document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def _process(self, number: int) -> Row:
        processes = self.document.get("processes") or []
        if not 0 <= number < len(processes):
            raise LookupError(f"process: {number} is not there; this trace has 0 to {len(processes) - 1}")
        process: Row = processes[number]
        return process

    def part(self, part: str, number: int, offset: int) -> Answer:
        """Returns one part of a report."""
        if part not in PARTS:
            raise LookupError(f"part: {ascii(part[:40])} is not one of {', '.join(PARTS)}")
        process = self._process(number)
        sites = process.get("sites") or {}
        if part == "processes":
            keys = ("pid", "host", "exe", "kind", "rank", "duration", "end")
            return page({}, [{"process": at, **some(one, keys)} for at, one in enumerate(self.document["processes"])], offset)
        if part == "findings":
            found = [*process.get("findings", ()), *self.document.get("findings", ())]
            rows = [finding_row(one, sites) for one in found]
        elif part == "phases":
            rows = [phase_row(one) for one in process["phases"]]
        elif part == "peaks":
            rows = [peak_row(one) for one in process["peaks"]]
        elif part == "snapshots":
            rows = [some(one, ("name", "t", "memory", "phase", "step", "bytes")) for one in process.get("snapshots", ())]
        else:
            rows = list(process["ledger"])
        head = {**some(process, ("pid", "exe", "argv", "kind", "rank", "duration", "end")), "part": part}
        if len(self.document["processes"]) > 1:
            head["processes"] = len(self.document["processes"])
        return page(head, rows, offset)

    def death(self, offset: int) -> Answer:
        """Returns the end of the leading process, its last allocations and the causes."""
        process = self._process(0)
        sites = process.get("sites") or {}
        death = dict(process.get("death") or {})
        last = [{**some(one, ("t", "bytes")), **place(one, sites)} for one in death.pop("last", None) or []]
        if death.get("filling"):
            death["filling"] = {**some(death["filling"], ("bytes", "touched")), **place(death["filling"], sites)}
        held = death.pop("held", None) or []
        for key in ("held_tensor", "growth"):  # a second measure of the same blocks, and the points of a chart
            death.pop(key, None)
        rows = [{"finding": finding_row(one, sites)} for one in process.get("findings", ())]
        rows += [{"last_allocation": one} for one in last]
        rows += [{"held_at_the_end": alive_row(one, sites)} for one in held]
        return page({**some(process, ("pid", "exe", "rank", "end")), "death": death}, rows, offset)

    def rows_of(self, keys: tuple[str, ...], offset: int) -> Answer:
        """Returns the document's rows, with these of its fields."""
        rows = [{**{key: value for key, value in row.items() if key != "site" and value is not None}, **place(row, {})}
                for row in self.document.get("rows", ())]
        return page(some(self.document, keys), rows, offset)

    def alive(self, at: str, phase: str, memory: str, measure: str, number: int, offset: int) -> Answer:
        """Returns what was alive at an instant."""
        if measure not in ("live", "tensor"):
            raise LookupError("measure: give live or tensor")
        process = self._process(number)
        sites = process.get("sites") or {}
        if at == "peak":
            found, key = [one for one in process["peaks"] if (one["memory"], one["measure"]) == (memory, measure)], "at_peak"
        elif at == "steady" or (at.isascii() and at.isdigit()):
            found, key = self._phases(process, at, phase, memory, measure), "at_peak"
        else:
            found, key = [one for one in process.get("snapshots", ()) if (one["name"], one["memory"]) == (at, memory)], "at"
        if not found:
            raise LookupError(f"nothing for at={ascii(at[:60])}, phase={ascii(phase[:60])}, memory={ascii(memory[:20])}; "
                              "report with part phases, peaks or snapshots lists what there is")
        chosen = found[0]
        head = {**some(chosen, ("memory", "measure", "bytes", "t", "phase", "step", "name", "peak_live")), "at": at}
        return page(head, [alive_row(row, sites) for row in chosen.get(key) or ()], offset)

    @staticmethod
    def _phases(process: Row, at: str, phase: str, memory: str, measure: str) -> list[Row]:
        """Returns the phases of a step with their highest point, the highest first."""
        step = at if at == "steady" else int(at)
        out = []
        for one in process["phases"]:
            levels = one if measure == "live" else one.get("tensor") or {}
            fits = one["memory"] == memory and one["step"] == step and phase in ("", one["phase"])
            if fits and levels.get("peak_live") is not None:
                out.append({**some(one, ("memory", "phase", "step")), "measure": measure,
                            **some(levels, ("peak_live", "at_peak"))})
        return sorted(out, key=lambda one: -int(one["peak_live"]))

    def site(self, identifier: str, number: int, offset: int) -> Answer:
        """Returns the stack of a site."""
        process = self._process(number)
        found = (process.get("sites") or {}).get(identifier)
        if found is None:
            raise LookupError(f"site: {ascii(identifier[:60])} is not in this report; give an id of another answer")
        return page({"site": identifier}, [frame_row(one) for one in found["frames"]], offset)
