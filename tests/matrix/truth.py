"""Purpose: reads the level of tensor bytes in each marked phase from a trace of PyTorch's profiler.

The profiler has an event for each block of PyTorch's CPU allocator: the bytes, negative if freed, and its own total.
"""
import bisect
import json


class Wrong(Exception):
    """The profiler's figures contradict each other, so they are not the truth."""


def read(path):
    """Returns entry, peak and exit of each occurrence of each phase: {name: [(entry, peak, exit)]}."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    memory = sorted((event["ts"], event["args"]["Ev Idx"], event["args"]) for event in events
                    if event.get("name") == "[memory]" and event["args"]["Device Type"] == 0)
    times, levels = [], [0]
    for at, _, said in memory:
        times.append(at)
        levels.append(levels[-1] + said["Bytes"])
        if levels[-1] != said["Total Allocated"]:
            raise Wrong(f"at {at}: the blocks add up to {levels[-1]}, and PyTorch says {said['Total Allocated']}")
    marks = sorted((event["ts"], event["ts"] + event["dur"], event["name"][len("phase:"):]) for event in events
                   if event.get("name", "").startswith("phase:") and event.get("cat") == "user_annotation")
    phases = {}
    for begin, end, name in marks:
        first, last = bisect.bisect_left(times, begin), bisect.bisect_right(times, end)
        phases.setdefault(name, []).append((levels[first], max(levels[first:last + 1]), levels[last]))
    return phases
