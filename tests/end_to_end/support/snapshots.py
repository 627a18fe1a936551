"""Purpose: memory snapshots of PyTorch, for tests: made by hand, and real ones.

The files in devices/torch_snapshots/ are of small trainings on an NVIDIA H200 (torch 2.11); paths are replaced. Beside
each are the figures of torch.cuda.memory_stats() at that moment. pinned.pickle is of the CUDA node (torch 2.15), with
those of torch.cuda.host_memory_stats().
"""
import json
import lzma
import os
import pickle
import resource
import subprocess

import harness
from harness import MIB

REAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "devices", "torch_snapshots")
START = 1_700_000_000_000_000  # us
PROTOCOLS = (2, 3, 4, 5)
MOST_MEMORY = 3 << 30  # bytes of address space: the budget of a small file is 1 GiB
USER = "/home/user/train.py"
LIBRARY = "/home/user/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py"
BASE = 0x7F4000000000


def frames(line):
    return [{"name": "forward", "filename": LIBRARY, "line": 134}, {"name": "main", "filename": USER, "line": line}]


class Snapshot:
    """A snapshot like PyTorch's, of which the caller makes the events."""

    def __init__(self):
        self.traces = [[]]
        self.segments = []
        self.annotations = []
        self.host_trace = []
        self.host_segments = []
        self.now = START

    def event(self, action, at, size, line=None, device=0):
        """`device`: "host" for pinned memory."""
        while device != "host" and len(self.traces) <= device:
            self.traces.append([])
        trace = self.host_trace if device == "host" else self.traces[device]
        self.now += 1000
        trace.append({"action": action, "addr": BASE + at, "size": size, "stream": 0, "time_us": self.now,
                                    "compile_context": "N/A", "user_metadata": "",
                                    "frames": [] if line is None else frames(line)})

    def free(self, at, size, device=0):
        self.event("free_requested", at, size, device=device)
        self.event("free_completed", at, size, device=device)

    def mark(self, stage, name):
        self.now += 1000
        self.annotations.append({"stage": stage, "name": name, "device": 0, "time_us": self.now})

    def segment(self, at, size, blocks, device=0, **more):
        """`blocks`: pairs of the offset in the segment and the size; a third item is the state."""
        segments = self.host_segments if device == "host" else self.segments
        segments.append({
            "device": -1 if device == "host" else device, "address": BASE + at, "total_size": size, "stream": 0, "segment_type": "large",
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
            "blocks": [{"address": BASE + at + block[0], "size": block[1], "requested_size": block[1],
                        "state": block[2] if len(block) > 2 else "active_allocated", "frames": frames(90)}
                       for block in blocks], **more})

    def value(self):
        out = {"segments": self.segments, "device_traces": self.traces, "external_annotations": self.annotations}
        if self.host_trace or self.host_segments:
            out |= {"host_segments": self.host_segments, "host_traces": self.host_trace}
        return {**out, "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.0},
                "of a newer version": [1, 2.5, None, True, b"bytes", -1]}


def training():
    """One segment of 20 MiB, and two phases: 4 MiB stay, and 6 and 8 MiB come and go in turn."""
    out = Snapshot()
    out.event("segment_alloc", 0, 20 * MIB, 10)
    out.event("alloc", 0, 4 * MIB, 10)
    out.mark("START", "forward")
    out.event("alloc", 4 * MIB, 6 * MIB, 20)
    out.mark("END", "forward")
    out.mark("START", "backward")
    out.event("alloc", 10 * MIB, 8 * MIB, 30)
    out.free(4 * MIB, 6 * MIB)
    out.mark("END", "backward")
    out.free(10 * MIB, 8 * MIB)
    out.segment(0, 20 * MIB, [(0, 4 * MIB), (4 * MIB, 16 * MIB, "inactive")])
    return out


def real(name, *more):
    """Returns the pickle, the figures of memory_stats(), and those under the keys `more`."""
    with lzma.open(os.path.join(REAL, name + ".pickle.xz")) as file:
        content = file.read()
    with open(os.path.join(REAL, name + ".json"), encoding="utf-8") as file:
        known = json.load(file)
    return content, *(known[key] for key in ("stats", *more))


class Snapshots(harness.Case):
    def write(self, content, name="snapshot.pickle"):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def process_of(self, snapshot, protocol=4, *options):
        value = snapshot.value() if isinstance(snapshot, Snapshot) else snapshot
        if protocol == 2 and isinstance(snapshot, Snapshot):
            del value["of a newer version"]  # bytes are a call of a function there
        path = self.write(pickle.dumps(value, protocol))
        return self.only_process(self.report("--top", "100", *options, path=path))

    def peak(self, process, measure="tensor", memory="cuda:0"):
        return harness.peak(process, memory, measure)

    def run_on(self, path, *options):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        return subprocess.run([harness.COMMAND, "report", path, *options], capture_output=True, check=False, timeout=120,
                              preexec_fn=limit, env=harness.bare_environment())

    def assert_refused(self, content, says):
        done = self.run_on(self.write(content))
        self.assertEqual(done.returncode, 2, done)
        self.assertRegex(done.stderr.decode(), says)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertEqual(done.stdout, b"")
