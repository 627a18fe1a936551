"""The checks of scripts/gpu_check: what a report says against what the program measured itself.

Each takes a Run and yields Rows. A row that has no verdict is a figure for the eye, such as an overhead.
"""
import os
import statistics
import sys
from dataclasses import dataclass
from typing import Optional

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import gpu_check_compare as compare  # noqa: E402

MIB = 1 << 20
MEMORY = compare.MEMORY


@dataclass
class Row:
    check: str
    truth: object
    found: object
    ok: Optional[bool]
    verdict: str


@dataclass
class Run:
    truth: dict
    report: Optional[dict] = None
    bare: Optional[dict] = None
    postmortem: Optional[dict] = None

    @property
    def process(self):
        return compare.find_process(self.report, self.truth["pid"])


def equal(check, truth, found):
    """Equal. Two zeros are not evidence where something was to be counted: use `none` where zero is the truth."""
    if isinstance(truth, str):
        return Row(check, truth, found, truth == found, "equal" if truth == found else "DIFFERS")
    return Row(check, truth, found, *compare.verdict(truth, found))


def some(check, truth, found):
    """Equal, and not 0: what counts nothing checks nothing."""
    row = equal(check, truth, found)
    return row if truth else Row(check, truth, found, False, "NOTHING WAS COUNTED")


def within(check, truth, found, room):
    if found is None or truth is None:
        return Row(check, truth, found, False, "DIFFERS: not known")
    ok = abs(truth - found) <= room
    return Row(check, truth, found, ok, f"within {room:,}" if ok else f"DIFFERS by {found - truth:+,}")


def holds(check, truth, found, ok):
    return Row(check, truth, found, bool(ok), "holds" if ok else "DOES NOT HOLD")


def figure(check, truth, found, text=""):
    return Row(check, truth, found, None, text)


def source(run):
    trace = run.process["trace"]
    yield figure("device memory is seen by", None, trace.get("device_source"), trace.get("cupti") or "")


def exact(run):
    """Peaks of tensors and segments, of the whole run and of each phase, to the byte."""
    known = {**run.truth, "phases": [row for row in run.truth.get("phases", []) if row["step"] is not None]}
    for row in compare.compare(run.report, known, run.bare):
        yield Row(*row)
    for row in run.truth.get("phases", []):
        if row["step"] is None and row["phase"] == "load":
            found = compare.tensor_level(run.process, "load", None, "peak_live")
            yield equal("load: peak tensor", row["peak"], found)
    yield from source(run)


def exact_async(run):
    """cudaMallocAsync in the place of the caching allocator: its blocks are the driver's."""
    yield some("peak live of the allocator = max_memory_allocated", run.truth["max_memory_allocated"],
               compare.live_of_allocator(run.process))
    yield equal("events lost", 0, run.process["trace"]["lost_events"])
    yield from source(run)


def at_peak(run, measure, memory=MEMORY):
    rows = [entry["at_peak"] for entry in run.process["peaks"]
            if entry["memory"] == memory and entry["measure"] == measure]
    return rows[0] if rows else []


def totals(run):
    """The peaks of the whole run, to the byte."""
    yield some("peak tensor = max_memory_allocated", run.truth["max_memory_allocated"], compare.peak(run.process, "tensor"))
    yield some("peak reserved = max_memory_reserved", run.truth["max_memory_reserved"],
               compare.peak(run.process, "reserved"))
    if "parameters" in run.truth:
        yield some("parameters", run.truth["parameters"], (run.process.get("parameters") or {}).get("count"))
    yield equal("events lost", 0, run.process["trace"].get("lost_events"))
    if "backend" in run.truth:
        yield figure("torch.compile's backend", run.truth["backend"], None)
    rows = at_peak(run, "tensor")
    whole = sum(row["bytes"] for row in rows)
    unknown = sum(row["bytes"] for row in rows if row.get("role") in (None, "unknown"))
    yield figure("bytes at the peak without a role", whole, unknown, f"{unknown / whole:.1%}" if whole else "")
    yield figure("findings", None, ", ".join(sorted({finding["id"] for finding in run.process["findings"]})))
    yield from source(run)


def cards(run):
    """The peaks of each card."""
    if "missing" in run.truth:
        yield figure("not run: there is no second card", run.truth["missing"], None)
        return
    yield from totals(run)
    for card, truth in run.truth["cards"].items():
        for measure, counter in (("tensor", "max_memory_allocated"), ("reserved", "max_memory_reserved")):
            yield some(f"{card}: peak {measure}", truth[counter], compare.peak(run.process, measure, card))


def shared(run):
    """Both processes: what one borrows of the other is not its own."""
    yield from totals(run)
    other = run.truth["other"]
    process = compare.find_process(run.report, other["pid"])
    for measure, counter in (("tensor", "max_memory_allocated"), ("reserved", "max_memory_reserved")):
        yield some(f"the other process: peak {measure}", other[counter], compare.peak(process, measure))


def retried(run):
    yield from totals(run)
    yield some("requests that came through after the cache was emptied", 1, run.truth["retries"] - run.truth["ooms"])
    found = [finding for finding in run.process["findings"] if finding["id"] == "allocation-retried"]
    yield holds("allocation-retried is found", run.truth["retries"], len(found), found)


def to_and_back(run):
    yield from totals(run)
    live = compare.peak(run.process, "live") or 0
    host = max((entry["bytes"] for entry in run.process["peaks"]
                if entry["memory"] == "host" and entry["measure"] == "tensor"), default=None)
    yield some("peak tensor of host", run.truth["host_bytes"], host)
    yield figure("live on the GPU", run.truth["max_memory_reserved"], live)


def history(run):
    yield from exact(run)
    rows = at_peak(run, "tensor")
    yield equal("blocks at the peak, as _record_memory_history has them", run.truth["history"]["blocks"],
                sum(row["blocks"] for row in rows))
    yield within("their bytes, rounded to 512", run.truth["history"]["bytes"], sum(row["bytes"] for row in rows),
                 run.truth["history"]["bytes"] // 50)  # a block that was not split is larger than was asked for


def backward_lines(run):
    """Blocks that backward allocates name their forward call, though the engine's thread has no Python frame."""
    yield from exact(run)
    rows = [row for row in at_peak(run, "tensor") if row["born_phase"] == "backward" and row["site"]]
    known = [row for row in rows
             if "(backward of this forward call)" in (frame["function"] for frame in row["site"]["frames"])]
    size = sum(row["bytes"] for row in rows)
    found = sum(row["bytes"] for row in known)
    yield holds("backward: blocks at the peak whose forward call is known", size, found, 0 < 0.9 * size <= found)


def temporaries(expected):
    def check(run):
        yield from exact(run)
        sizes = [finding["bytes"] for finding in run.process["findings"]
                 if finding["id"] == "foreach-temporaries" and finding["memory"] == MEMORY]
        size = run.truth["parameter_bytes"]
        if expected:
            yield within("foreach-temporaries: one copy of the parameters", size, max(sizes, default=0), size // 20)
        else:
            yield equal("foreach-temporaries: none", 0, max(sizes, default=0))
        peaks = {row["phase"]: row["peak"] for row in run.truth["phases"]}
        yield figure("peak of the step, in copies of the parameters", round(peaks["step"] / size, 3), None)
    return check


def profiler(run):
    yield from backward_lines(run)
    yield some("kernels that torch.profiler saw: bare, and traced", run.bare["kernels"], run.truth["kernels"])
    yield equal("warnings and errors that it printed: bare, and traced", run.bare["complaints"], run.truth["complaints"])


def callbacks(run):
    """The same by CUPTI's callbacks."""
    yield from exact(run)
    yield equal("CUPTI is the source", "cupti", run.process["trace"].get("device_source"))


def hooks(run):
    yield from exact(run)
    yield equal("the hooks are the source", "hooks", run.process["trace"].get("device_source"))


def whole(run):
    """Programs of another framework: what its own pool says that it holds."""
    if "missing" in run.truth:
        yield figure("not run: there is no package", run.truth["missing"], None)
        return
    yield some("peak live of its allocator = " + run.truth["counter"], run.truth["bytes"],
               sum(row["bytes"] for row in at_peak(run, "live") if compare.asked_by(row, run.truth["library"])))
    yield equal("events lost", 0, run.process["trace"].get("lost_events"))
    yield from source(run)


def held(run):
    yield from exact(run)
    yield holds("CUPTI is held by another: the trace says so", run.truth["holder"],
                run.process["trace"].get("cupti"), "held" in (run.process["trace"].get("cupti") or ""))
    yield equal("the hooks are the source", "hooks", run.process["trace"].get("device_source"))


def used_by(truth, of, used):
    # Where there is no nvidia-smi, this process is taken for the only one on the card.
    expected = truth["process"] if of == "process" and truth["process"] else truth["card"]
    return within(f"used, of the {of or 'card'}", expected, used, 2 * MIB if of == "card" else 8 * MIB)


def context(run):
    process = run.process
    rows = [row for row in process["phases"] if row["memory"] == MEMORY and row["path"] == ["probe"]]
    used = max((row["used"]["exit"] for row in rows if (row.get("used") or {}).get("exit") is not None), default=None)
    of = next((entry.get("of") for entry in process["peaks"]
               if entry["memory"] == MEMORY and entry["measure"] == "used"), None)
    yield used_by(run.truth, of, used)
    ledger = next((entry for entry in process["ledger"] if entry["memory"] == MEMORY), None)
    residual = ledger["residual"] if ledger else None
    yield holds("what no allocation accounts for (context, code)", None, residual,
                residual is not None and 50 * MIB < residual < 4096 * MIB)
    device = next((entry for entry in process["devices"] if entry["memory"] == MEMORY), {})
    yield equal("the device's name", run.truth["name"], device.get("name"))
    if run.truth["uuid"]:
        yield equal("its uuid", run.truth["uuid"].removeprefix("GPU-"), (device.get("uuid") or "").removeprefix("GPU-"))
    yield within("its size", run.truth["total"], device.get("total"), run.truth["total"] // 50)
    yield from source(run)


def segments(run):
    """By segment, as torch.cuda.memory_snapshot() has them where the allocator held most."""
    peak = next((entry for entry in run.process["peaks"]
                 if entry["memory"] == MEMORY and entry["measure"] == "reserved"), {})
    found = peak.get("segments") or {}
    yield equal("peak reserved", run.truth["reserved"], peak.get("bytes"))
    for what in ("count", "bytes", "unused"):
        yield equal(f"segments: {what}", run.truth[what], found.get(what))
    ids = sorted({finding["id"] for finding in run.process["findings"]})
    yield holds("it is found", "device-fragmentation", ", ".join(ids), "device-fragmentation" in ids)


def reset(run):
    """What was born in a context dies with it, and once. At its end the runtime may release what is left."""
    flows = {flow: sum(row[flow] for row in run.process["phases"] if row["memory"] == MEMORY)
             for flow in ("allocated", "freed")}
    yield equal("allocated", run.truth["allocated"], flows["allocated"])
    yield holds("freed by cudaDeviceReset", run.truth["freed"], flows["freed"],
                flows["freed"] in (run.truth["freed"], run.truth["allocated"]))


def pinned(run):
    rows = [row for row in at_peak(run, "live", "host") if row["kind"] in ("pinned", "registered")]
    yield figure("pinned bytes asked for, and rounded up", run.truth["asked"], run.truth["rounded"])
    # malloc gives a registered block a few bytes more than it was asked for.
    size = sum(row["asked"] if row["kind"] == "registered" else row["bytes"] for row in rows)
    yield equal("pinned bytes at the host's peak = the powers of two", run.truth["rounded"], size)
    yield some("the same = host_memory_stats", run.truth["stats"], size)


def oom(run):
    findings = [finding for process in run.postmortem["processes"] for finding in process["findings"]]
    ids = sorted({finding["id"] for finding in findings})
    yield holds("memtrace postmortem names it", "cuda-oom", ", ".join(ids), "cuda-oom" in ids)


def loader(run):
    yield equal("the sum of what was loaded: bare, and traced", run.bare["total"], run.truth["total"])
    yield equal("peak tensor = max_memory_allocated", run.truth["max_memory_allocated"],
                compare.peak(run.process, "tensor"))
    kinds = {row["kind"] for row in run.process["peaks"][0]["at_peak"]}
    yield figure("kinds at the host's peak", None, ", ".join(sorted(kinds)))


def another_tool(run):
    """One that subscribes to CUPTI after memtrace has begun gets what it gets without memtrace."""
    yield from exact(run)
    yield equal("another tool's subscription: bare, and traced", run.bare["later"], run.truth["later"])


def overhead(name, key, unit, processor=None):
    """Figures alone: the median of each way and the range of its runs, and the ratio to the median of bare."""
    def check(runs):
        for one, what in ((key, name), (processor, name + ", CPU")):
            if not one:
                continue
            bare = statistics.median(runs["bare"][one])
            for way in ("bare", "auto", "on", "bare-again"):
                took = [value * unit[0] for value in runs[way][one]]
                called = way.replace("-", " ") if way.startswith("bare") else f"MEMTRACE_CUPTI={way}"
                text = f"{statistics.median(took):.2f} {unit[1]}"
                yield figure(f"{what}, {called}", f"{min(took):.2f} to {max(took):.2f}", text,
                             f"{statistics.median(took) / unit[0] / bare:.3f}")
    return check
