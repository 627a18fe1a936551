# Purpose: the types of a report. Their fields have the names of the JSON of `memtrace report`.
# Imported by trace.py.
"""What a report consists of. Sizes are bytes, times are seconds from the start of the process."""
from __future__ import annotations

import dataclasses
from typing import Any, Optional, TypeVar, Union

Record = TypeVar("Record")
Step = Union[int, str, None]  # a number; "steady": a typical step; None: outside steps


@dataclasses.dataclass(frozen=True)
class Frame:
    function: str
    file: str
    line: int
    module: str
    lang: str  # "python" or "native"
    own: bool = False  # the program's own, not a library's


@dataclasses.dataclass(frozen=True)
class Site:
    """A stack that allocated, innermost frame first."""

    id: str
    frames: tuple[Frame, ...]

    @property
    def own(self) -> Optional[Frame]:
        """The innermost frame of the program itself, else of Python."""
        python = [frame for frame in self.frames if frame.lang == "python"]
        return next((frame for frame in python if frame.own), python[0] if python else None)

    @property
    def line(self) -> str:
        """The file's name and the line of `own`, as train.py:48; without one, the innermost function."""
        frame = self.own
        if frame is not None:
            return f"{frame.file.rpartition('/')[2]}:{frame.line}"
        return self.frames[0].function if self.frames else ""


@dataclasses.dataclass(frozen=True)
class Row:
    """Blocks that were alive at an instant, and have the same role, site and birth."""

    bytes: int
    asked: int
    blocks: int
    kind: str
    role: str
    module: Optional[str]
    site: Optional[Site]
    born_phase: Optional[str]
    born_step: Optional[int]
    lifetime: Optional[float]
    how: str  # "measured" or "sampled"
    name: Optional[str] = None

    @property
    def line(self) -> str:
        return self.site.line if self.site is not None else ""


@dataclasses.dataclass(frozen=True)
class Levels:
    """Levels of tensors in a phase."""

    entry_live: int
    exit_live: int
    peak_live: int
    transient: int
    net: int
    at_peak: tuple[Row, ...] = ()


@dataclasses.dataclass(frozen=True)
class Phase:
    """A phase in one step, or in a typical step. The phase `other` has no levels."""

    memory: str
    phase: str
    path: tuple[str, ...]
    step: Step
    count: int
    allocated: int
    freed: int
    allocations: int
    entry_live: Optional[int] = None
    exit_live: Optional[int] = None
    peak_live: Optional[int] = None
    transient: Optional[int] = None
    net: Optional[int] = None
    tensor: Optional[Levels] = None
    at_peak: tuple[Row, ...] = ()


@dataclasses.dataclass(frozen=True)
class Peak:
    """The highest point of a measure: "live", "tensor", "reserved", "used" or "rss"."""

    memory: str
    measure: str
    bytes: int
    t: Optional[float]
    phase: str
    step: Step
    at_peak: tuple[Row, ...]
    reserved_untouched: int = 0  # of "live": mappings that were hardly touched, which headlines leave out


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What was alive at a call of memtrace.snapshot."""

    name: str
    t: float
    memory: str
    bytes: int
    at: tuple[Row, ...]


@dataclasses.dataclass(frozen=True)
class LedgerRow:
    name: str
    bytes: int
    how: str


@dataclasses.dataclass(frozen=True)
class Ledger:
    """Where the resident memory of a process, a family, a cgroup, a node or a device went."""

    scope: str
    memory: str
    at: str
    total: int
    rows: tuple[LedgerRow, ...]
    residual: int
    t: Optional[float] = None
    high_water: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """A cause, its evidence and its remedy."""

    id: str
    title: str
    memory: str
    phase: Optional[str]
    step: Step
    bytes: int
    confidence: str  # "certain" or "likely"
    evidence: tuple[str, ...]
    remedy: str
    site: Optional[Site]

    @property
    def line(self) -> str:
        return self.site.line if self.site is not None else ""


@dataclasses.dataclass(frozen=True)
class End:
    """How a process ended: "exit", "signal", "oom_kill", "running" and so on."""

    how: str
    code: Optional[int]
    evidence: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Parameters:
    count: int
    trainable: int
    bytes: int
    tensors: int
    by_dtype: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    ppid: int
    host: str
    exe: str
    argv: tuple[str, ...]
    kind: str  # "main", "worker", "rank" or "child"
    rank: Optional[int]
    local_rank: Optional[int]
    start_unix: float
    duration: float
    end: End
    parameters: Optional[Parameters]
    phases: tuple[Phase, ...]
    peaks: tuple[Peak, ...]
    ledger: tuple[Ledger, ...]
    findings: tuple[Finding, ...]
    sites: dict[str, Site]
    snapshots: tuple[Snapshot, ...] = ()
    # Of a rank: its place on each axis of the grid of ranks, as {"pp": 0, "dp": 1}. None: there is no known grid.
    coordinates: Optional[dict[str, int]] = None

    def peak(self, memory: str = "host", measure: str = "live") -> Peak:
        """Returns the peak of this measure. Raises KeyError if the process has none."""
        for peak in self.peaks:
            if (peak.memory, peak.measure) == (memory, measure):
                return peak
        known = ", ".join(f"{peak.memory} {peak.measure}" for peak in self.peaks)
        raise KeyError(f"process {self.pid} has no peak of {memory} {measure}; it has {known}")


@dataclasses.dataclass(frozen=True)
class Job:
    id: str
    attempt: int
    launcher: Optional[str]
    world_size: int


class Reader:
    """Makes the types from the JSON of a process. Keys that a newer command adds are ignored."""

    def __init__(self, sites: dict[str, Any]) -> None:
        self.sites = {name: self._new_site(value) for name, value in sites.items()}

    def process(self, data: dict[str, Any]) -> Process:
        parameters = data.get("parameters")
        return _record(
            Process, data, argv=tuple(data["argv"]), end=_record(End, data["end"], evidence=_texts(data["end"])),
            parameters=None if parameters is None else _record(Parameters, parameters),
            phases=tuple(map(self.phase, data["phases"])), peaks=tuple(map(self.peak, data["peaks"])),
            ledger=tuple(map(self.ledger, data["ledger"])), findings=tuple(map(self.finding, data["findings"])),
            sites=self.sites, snapshots=tuple(map(self.snapshot, data.get("snapshots", ()))))

    def phase(self, data: dict[str, Any]) -> Phase:
        tensor = data.get("tensor")
        levels = None if tensor is None else _record(Levels, tensor, at_peak=self.rows(tensor["at_peak"]))
        return _record(Phase, data, path=tuple(data["path"]), tensor=levels, at_peak=self.rows(data.get("at_peak", ())))

    def peak(self, data: dict[str, Any]) -> Peak:
        return _record(Peak, data, at_peak=self.rows(data["at_peak"]))

    def snapshot(self, data: dict[str, Any]) -> Snapshot:
        return _record(Snapshot, data, at=self.rows(data["at"]))

    @staticmethod
    def ledger(data: dict[str, Any]) -> Ledger:
        return _record(Ledger, data, rows=tuple(_record(LedgerRow, row) for row in data["rows"]))

    def finding(self, data: dict[str, Any]) -> Finding:
        return _record(Finding, data, evidence=_texts(data), site=self.site(data["site"]))

    def rows(self, data: Any) -> tuple[Row, ...]:
        return tuple(_record(Row, row, site=self.site(row["site"])) for row in data)

    def site(self, data: Optional[dict[str, Any]]) -> Optional[Site]:
        if data is None:
            return None
        known = self.sites.get(data["id"])
        return known if known is not None else self._new_site(data)

    @staticmethod
    def _new_site(data: dict[str, Any]) -> Site:
        return Site(data["id"], tuple(_record(Frame, frame) for frame in data["frames"]))


def read_job(data: dict[str, Any]) -> Job:
    return _record(Job, data)


def _texts(data: dict[str, Any]) -> tuple[str, ...]:
    return tuple(data["evidence"])


def _record(kind: type[Record], data: dict[str, Any], **parts: Any) -> Record:
    """Returns a record with the values of its fields. A field without a default must be in the data."""
    values = dict(parts)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in values:
            continue
        if field.name in data or field.default is dataclasses.MISSING:
            values[field.name] = data[field.name]
    return kind(**values)
