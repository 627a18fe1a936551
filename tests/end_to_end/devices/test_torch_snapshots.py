"""Purpose: tests reports of the memory snapshots that PyTorch writes: made by hand with known sums, real ones beside
PyTorch's counters, and damaged ones.

The files in torch_snapshots/ are of small trainings on an NVIDIA H200 (torch 2.11); paths are replaced. Beside each are
the figures of torch.cuda.memory_stats() at that moment.
"""
import copy
import json
import lzma
import os
import pickle
import re
import resource
import subprocess
import unittest

import harness
from harness import MIB

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = os.path.join(HERE, "torch_snapshots")
START = 1_700_000_000_000_000  # us
PROTOCOLS = (2, 3, 4, 5)
MOST_MEMORY = 3 << 30  # bytes of address space: the budget of a small file is 1 GiB
USER = "/home/user/train.py"
VIEWER = """import importlib.util, os, runpy
torch = os.path.dirname(importlib.util.find_spec("torch").origin)
runpy.run_path(os.path.join(torch, "cuda", "_memory_viz.py"), run_name="__main__")"""
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
        self.now = START

    def event(self, action, at, size, line=None, device=0):
        while len(self.traces) <= device:
            self.traces.append([])
        self.now += 1000
        self.traces[device].append({"action": action, "addr": BASE + at, "size": size, "stream": 0, "time_us": self.now,
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
        self.segments.append({
            "device": device, "address": BASE + at, "total_size": size, "stream": 0, "segment_type": "large",
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
            "blocks": [{"address": BASE + at + block[0], "size": block[1], "requested_size": block[1],
                        "state": block[2] if len(block) > 2 else "active_allocated", "frames": frames(90)}
                       for block in blocks], **more})

    def value(self):
        return {"segments": self.segments, "device_traces": self.traces, "external_annotations": self.annotations,
                "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.0},
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


def real(name):
    with lzma.open(os.path.join(REAL, name + ".pickle.xz")) as file:
        content = file.read()
    with open(os.path.join(REAL, name + ".json"), encoding="utf-8") as file:
        return content, json.load(file)["stats"]


def changed(value, chance):
    """The snapshot with its segments, blocks and keys in another order, some left out, freed, moved or renamed."""
    segments = [one for one in value["segments"] if chance.random() < 0.9] or value["segments"][:1]
    chance.shuffle(segments)
    up = chance.randrange(1 << 20) << 21
    for segment in segments:
        segment["address"] += up
        segment["frames"] = []
        for block in segment["blocks"]:
            block["address"] += up
            if chance.random() < 0.2:
                block["state"] = chance.choice(("inactive", "active_allocated"))
            for frame in block.get("frames", []):
                if chance.random() < 0.1:
                    frame["name"], frame["line"] = chance.choice(("f", "<lambda>", "\u00e4" * 9)), chance.randrange(1 << 20)
        if chance.random() < 0.3:
            chance.shuffle(segment["blocks"])
    value["segments"] = segments
    items = list(value.items())
    chance.shuffle(items)
    return dict(items)


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


class ByHand(Snapshots):
    def test_sums_of_all_protocols(self):
        for protocol in PROTOCOLS:
            process = self.process_of(training(), protocol)
            self.assertEqual(self.peak(process), 18 * MIB, protocol)
            self.assertEqual(self.peak(process, "reserved"), 20 * MIB)
            self.assertEqual(self.peak(process, "live"), 20 * MIB)
            self.assertEqual(process["trace"]["torch_snapshot"], {"events": 8, "older": 0})
            levels = {row["path"][0]: row["tensor"] for row in process["phases"]
                      if row["memory"] == "cuda:0" and "tensor" in row}
            shown = {name: [row[key] // MIB for key in ("entry_live", "peak_live", "exit_live")]
                     for name, row in levels.items()}
            self.assertEqual(shown, {"forward": [4, 10, 10], "backward": [10, 18, 12]})
            rows = next(row for row in process["peaks"]
                        if row["memory"] == "cuda:0" and row["measure"] == "tensor")["at_peak"]
            self.assertEqual([[row["bytes"] // MIB, row["born_phase"]] + [
                f"{frame['function']} {frame['file']}:{frame['line']}" for frame in row["site"]["frames"]] for row in rows],
                [[size, phase, f"forward {LIBRARY}:134", f"main {USER}:{line}"]
                 for size, phase, line in ((8, "backward", 30), (6, "forward", 20), (4, "other", 10))])

    def test_equal_reports_of_all_protocols(self):
        texts = set()
        for protocol in PROTOCOLS:
            snapshot = training().value()
            del snapshot["of a newer version"]
            texts.add(self.report_text(path=self.write(pickle.dumps(snapshot, protocol))))
        self.assertEqual(len(texts), 1)
        (text,) = texts
        self.assertIn("PyTorch's memory snapshot after 10 ms", text)
        self.assertIn("Its history has 8 events, from the first allocation on.", text)
        self.assertIn("A snapshot has no host memory.", text)
        self.assertNotIn("events: ", text)  # those of the trace that it becomes

    def test_the_name_does_not_matter(self):
        snapshot = self.write(pickle.dumps(training().value()), "rank0.bin")
        self.assertIn("rank0.bin  PyTorch's memory snapshot", self.report_text(path=snapshot))

    def test_without_history(self):
        snapshot = Snapshot()
        snapshot.segment(0, 20 * MIB, [(0, 4 * MIB), (4 * MIB, 3 * MIB, "inactive"), (7 * MIB, 2 * MIB),
                                       (9 * MIB, MIB, "active_awaiting_free"), (10 * MIB, 10 * MIB, "inactive")])
        snapshot.segment(40 * MIB, 2 * MIB, [(0, 512), (512, 2 * MIB - 512, "inactive")])
        process = self.process_of(snapshot)
        self.assertEqual(self.peak(process), 6 * MIB + 512)
        self.assertEqual(self.peak(process, "reserved"), 22 * MIB)
        self.assertEqual(process["trace"]["torch_snapshot"], {"events": 0, "older": 5})
        text = self.report_text(path=os.path.join(self.scratch, "snapshot.pickle"))
        self.assertIn("This snapshot has no history, only the state when it was taken.", text)
        self.assertIn("cuda:0: tensors 6.00 MiB at most, when it was taken", text)

    def test_a_history_that_begins_late(self):
        """What the first 3 events made is older: 4 MiB are alive at the end, 6 MiB die in the history."""
        snapshot = training()
        events = snapshot.traces[0]
        snapshot.traces[0] = events[3:]
        process = self.process_of(snapshot)
        self.assertEqual(self.peak(process), 18 * MIB)
        self.assertEqual(process["trace"]["torch_snapshot"], {"events": 5, "older": 3})
        self.assertNotIn("forward", {row["phase"] for row in process["phases"]})  # ended before the first event
        row = harness.phase_row(process, "backward", 0, "cuda:0")["tensor"]
        self.assertEqual((row["entry_live"], row["exit_live"]), (10 * MIB, 12 * MIB))
        text = self.report_text(path=os.path.join(self.scratch, "snapshot.pickle"))
        self.assertIn("Its history has 5 events, and earlier ones are missing: 3 blocks and segments are older.",
                      " ".join(text.split()))

    def test_expandable_segments(self):
        """Of 80 MiB, 40 are given back from the middle of the range. With 60 more, 100 are mapped."""
        snapshot = Snapshot()
        snapshot.event("segment_map", 0, 80 * MIB)
        snapshot.event("alloc", 0, 70 * MIB, 10)
        snapshot.free(0, 70 * MIB)
        snapshot.event("segment_unmap", 20 * MIB, 40 * MIB)
        snapshot.event("segment_map", 200 * MIB, 60 * MIB)
        snapshot.event("alloc", 200 * MIB, 1000, 20)
        snapshot.segment(0, 20 * MIB, [(0, 20 * MIB, "inactive")], is_expandable=True)
        snapshot.segment(60 * MIB, 20 * MIB, [(0, 20 * MIB, "inactive")], is_expandable=True)
        snapshot.segment(200 * MIB, 60 * MIB, [(0, 1024)], is_expandable=True)
        process = self.process_of(snapshot)
        self.assertEqual(self.peak(process, "reserved"), 100 * MIB)
        self.assertEqual(self.peak(process, "live"), 100 * MIB)
        self.assertEqual(self.peak(process), 70 * MIB)
        self.assertEqual(process["trace"]["unknown_deaths"], 0)
        self.assertEqual(process["trace"]["torch_snapshot"]["older"], 0)

    def test_a_block_that_waits_for_a_stream(self):
        """It is not allocated any more, but its bytes cannot be used: the next block takes all of the rest, 7.5 MiB."""
        snapshot = Snapshot()
        snapshot.event("segment_alloc", 0, 20 * MIB)
        snapshot.event("alloc", 0, 4 * MIB, 10)
        snapshot.event("alloc", 4 * MIB + 15 * MIB // 2, MIB, 20)
        snapshot.event("free_requested", 4 * MIB + 15 * MIB // 2, MIB)
        snapshot.event("alloc", 4 * MIB, 7 * MIB, 30)
        snapshot.event("free_completed", 4 * MIB + 15 * MIB // 2, MIB)
        snapshot.event("free_requested", 4 * MIB, 7 * MIB)
        snapshot.segment(0, 20 * MIB, [(0, 4 * MIB), (4 * MIB, 15 * MIB // 2, "active_awaiting_free"),
                                       (4 * MIB + 15 * MIB // 2, 17 * MIB // 2, "inactive")])
        self.assertEqual(self.peak(self.process_of(snapshot)), 4 * MIB + 15 * MIB // 2)

    def test_two_devices(self):
        snapshot = Snapshot()
        for device, size in ((1, 8), (0, 2)):
            snapshot.event("segment_alloc", 0, 20 * MIB, device=device)
            snapshot.event("alloc", 0, size * MIB, 10, device=device)
            snapshot.segment(0, 20 * MIB, [(0, size * MIB)], device=device)
        process = self.process_of(snapshot)
        self.assertEqual([self.peak(process, memory=f"cuda:{device}") // MIB for device in (0, 1)], [2, 8])

    def test_out_of_memory(self):
        snapshot = training()
        snapshot.now += 1000
        snapshot.traces[0].append({"action": "oom", "device_free": 3 * MIB, "size": 100 * MIB, "stream": 0,
                                   "time_us": snapshot.now, "frames": frames(70)})
        process = self.process_of(snapshot)
        self.assertEqual([finding["id"] for finding in process["findings"]], ["cuda-oom"])
        text = self.report_text(path=os.path.join(self.scratch, "snapshot.pickle"))
        self.assertIn("an allocation of 100.00 MiB at user/train.py:70 failed on cuda:0", text)

    def test_native_frames_have_their_names(self):
        snapshot = training()
        snapshot.traces[0][1]["frames"] = [{"name": "std::fill(int)", "filename": "??", "line": 0},
                                           {"name": "at::_ops::relu::call(at::Tensor const&)", "filename": "??", "line": 0},
                                           {"name": "load(char*)", "filename": "load.cpp", "line": 7}] + frames(10)
        process = self.process_of(snapshot)
        rows = next(row for row in process["peaks"]
                    if row["memory"] == "cuda:0" and row["measure"] == "tensor")["at_peak"]
        (row,) = [row for row in rows if row["bytes"] == 4 * MIB]
        self.assertEqual([frame["function"] for frame in row["site"]["frames"]],
                         ["std::fill(int)", "at::_ops::relu::call(at::Tensor const&)", "load(char*)", "forward", "main"])
        self.assertIn("torch.relu, torch/nn/",
                      self.report_text("--all", path=os.path.join(self.scratch, "snapshot.pickle")))

    def test_values_of_older_versions(self):
        """Without addresses of blocks, times, requested sizes and annotations."""
        snapshot = training().value()
        del snapshot["external_annotations"]
        for event in snapshot["device_traces"][0]:
            del event["time_us"]
        for segment in snapshot["segments"]:
            del segment["is_expandable"]
            for block in segment["blocks"]:
                del block["address"], block["requested_size"]
        self.assertEqual(self.peak(self.process_of(snapshot)), 18 * MIB)


class Real(Snapshots):
    def test_peaks_equal_pytorchs_counters(self):
        for name in ("train", "all", "expandable", "oom"):
            content, stats = real(name)
            process = self.only_process(self.report(path=self.write(content)))
            self.assertEqual(self.peak(process), stats["allocated_bytes.all.peak"], name)
            self.assertEqual(self.peak(process, "reserved"), stats["reserved_bytes.all.peak"], name)
            self.assertEqual(process["trace"]["unknown_deaths"], 0)
            self.assertEqual(process["trace"]["torch_snapshot"]["older"], 0)
            rows = {row["path"][0] for row in process["phases"] if "tensor" in row}
            self.assertTrue({"forward 0", "backward 0", "step 0", "forward 1", "backward 1", "step 1"} <= rows, rows)

    def test_the_state_equals_pytorchs_counters(self):
        for name in ("train", "all", "expandable", "oom"):
            content, stats = real(name)
            snapshot = pickle.loads(content)
            snapshot["device_traces"] = []
            process = self.process_of(snapshot)
            self.assertEqual(self.peak(process), stats["allocated_bytes.all.current"], name)
            self.assertEqual(self.peak(process, "reserved"), stats["reserved_bytes.all.current"], name)
            rows = next(row for row in process["peaks"]
                        if row["memory"] == "cuda:0" and row["measure"] == "tensor")["at_peak"]
            self.assertEqual(sum(row["blocks"] for row in rows), stats["allocation.all.current"], name)

    def test_equals_pytorchs_own_viewer(self):
        """The totals of the state, as `_memory_viz.py stats` prints them."""
        for name in ("train", "all", "expandable", "oom"):
            content, stats = real(name)
            done = subprocess.run([harness.torch_python(), "-c", VIEWER, "stats", self.write(content)],
                                  capture_output=True, text=True, check=True, timeout=120)
            said = dict(re.findall(r"^(total_reserved|total_allocated): ([\d.]+)", done.stdout, re.M))
            process = self.process_of({**pickle.loads(content), "device_traces": []})
            self.assertEqual(said["total_reserved"], f"{self.peak(process, 'reserved') / MIB:.1f}", name)
            # The viewer counts what was requested, as PyTorch's counters do beside allocated_bytes.
            rounding = stats["allocated_bytes.all.current"] - stats["requested_bytes.all.current"]
            self.assertEqual(said["total_allocated"], f"{(self.peak(process) - rounding) / MIB:.1f}", name)

    def test_any_end_of_the_history_gives_the_same_levels(self):
        """Of a history that begins later, the later levels are equal: what is older is found from the rest."""
        content, stats = real("train")
        whole = pickle.loads(content)
        for first in (1, 100, 500, 900):
            part = copy.copy(whole)
            part["device_traces"] = [whole["device_traces"][0][first:]]
            process = self.process_of(part)
            self.assertEqual(process["trace"]["unknown_deaths"], 0)
            peak = self.peak(process)
            if first <= 500:  # the peak is in backward 1
                self.assertAlmostEqual(peak / stats["allocated_bytes.all.peak"], 1, delta=0.01)

    def run_command(self, *arguments):
        done = subprocess.run([harness.COMMAND, *arguments], capture_output=True, check=True, timeout=120,
                              env=harness.bare_environment())
        return done.stdout.decode()

    def test_a_device_that_ran_out(self):
        content, stats = real("oom")
        path = self.write(content)
        self.assertIn("an allocation of 1024.00 GiB at gpu/snaps.py:26 failed on cuda:0", self.report_text(path=path))
        text = self.run_command("postmortem", path)
        self.assertIn("Out of memory outside of all annotations: an allocation of 1024.00 GiB", text)
        self.assertRegex(text, rf"\n  total +{stats['allocated_bytes.all.current'] / MIB:.2f} 100.0\n")
        self.assertNotIn("pid 0", text)
        self.assertNotIn("kernel's log", text)

    def test_frames_that_recorded_the_history_name_no_site(self):
        text = self.report_text("--all", path=self.write(real("all")[0]))
        self.assertIn("torch.nll_loss_backward", text)
        self.assertNotIn("torch::unwind", text)

    def test_difference_of_two(self):
        first, second = (self.write(real(name)[0], name + ".pickle") for name in ("train", "expandable"))
        text = self.run_command("diff", first, second)
        peaks = [real(name)[1]["allocated_bytes.all.peak"] / MIB for name in ("train", "expandable")]
        self.assertIn(f"cuda:0: {peaks[0] - peaks[1]:.2f} MiB less of tensors at the peak", text)
        self.assertIn("a: train.pickle, in backward 1", text)

    def test_packed(self):
        """The packed file has the trace that the snapshot became."""
        path = self.write(real("all")[0])
        packed = os.path.join(self.scratch, "packed.zst")
        self.run_command("pack", path, "-o", packed)
        self.assertEqual(self.report_text("--all", path=packed), self.report_text("--all", path=path))


class Hostile(Snapshots):
    def test_other_pickles(self):
        self.assert_refused(pickle.dumps([1, 2]), r'expected PyTorch\'s memory snapshot.* but the pickle holds a list$')
        self.assert_refused(pickle.dumps({"a": 1}), r"the pickle holds a dict without a list of that name$")
        self.assert_refused(pickle.dumps({"segments": 3}), r"without a list of that name$")
        self.assert_refused(pickle.dumps({"segments": [{"address": "x"}]}),
                            r"expected a number as the address of a segment, but found a text$")
        self.assert_refused(pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1}]]}),
                            r"expected a number as the size of an event, but found None$")
        self.assert_refused(pickle.dumps({"segments": [{"address": 1, "total_size": 1, "device": 1 << 40}]}),
                            r"expected a device below")

    def test_objects_are_not_loaded(self):
        made = os.path.join(self.scratch, "made")

        class Runs:
            def __reduce__(self):
                return os.mkdir, (made,)
        for protocol in PROTOCOLS:
            self.assert_refused(pickle.dumps({"segments": [Runs()]}, protocol),
                                "holds an object of class posix.mkdir, which memtrace does not load")
        self.assertFalse(os.path.exists(made))

    def test_truncated_at_every_byte(self):
        content = pickle.dumps(training().value())
        for size in range(2, len(content), 1 if harness.ALL else 17):
            done = self.run_on(self.write(content[:size]))
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), (size, done))

    def test_lists_that_are_used_many_times(self):
        """1,000 traces of the same 1,000 events, and a segment 10,000 times with the same 10,000 blocks."""
        value = training().value()
        value["device_traces"] = [value["device_traces"][0] * 100] * 200
        self.assert_refused(pickle.dumps(value), "expected at most one use of each list in a snapshot")
        value = training().value()
        value["segments"][0]["blocks"] *= 10_000
        value["segments"] *= 10_000
        self.assert_refused(pickle.dumps(value), "expected at most one use of each list in a snapshot")

    def test_deep_and_long(self):
        deep = b"\x80\x04" + b"]" * 1_000_000 + b"a" * 999_999 + b"."
        self.assert_refused(deep, "but the pickle holds a list$")
        self.assert_refused(b"\x80\x04" + b"]" * 60_000_000 + b".", "holds more than|MiB")

    def test_values_at_their_limits(self):
        """Sums of such sizes wrap around; the command ends as always."""
        most = (1 << 63) - 1
        snapshot = training()
        for at in (0, most - BASE):
            for action in ("segment_alloc", "alloc", "free_requested", "free_completed", "segment_free", "segment_map",
                           "segment_unmap", "oom"):
                snapshot.event(action, at, most)
        snapshot.segment(0, most, [(0, most), (most - BASE, most)])
        snapshot.now = most - 1000
        snapshot.event("alloc", 5, 5)
        done = self.run_on(self.write(pickle.dumps(snapshot.value())))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_mutated(self):
        chance = harness.chance(54)
        contents = [pickle.dumps(training().value(), protocol) for protocol in PROTOCOLS[1:]]
        contents.append(real("expandable")[0])
        for _ in range(10_000 if harness.ALL else 500):
            content = bytearray(chance.choice(contents))
            for _ in range(chance.choice((1, 1, 2, 5))):
                at = chance.randrange(2, len(content))
                kind = chance.randrange(4)
                if kind == 0:
                    content[at] = chance.randrange(256)
                elif kind == 1:
                    content[at] ^= 1 << chance.randrange(8)
                elif kind == 2:
                    del content[at:at + chance.randrange(1, 20)]
                else:
                    content[at:at] = content[(start := chance.randrange(2, len(content))):start + chance.randrange(1, 40)]
            path = self.write(bytes(content))
            done = self.run_on(path, "--format", "json")
            if done.returncode not in (0, 2) or (done.returncode == 2) != (done.stderr.count(b"\n") == 1):
                kept = os.path.join("/tmp", "memtrace-mutated.pickle")
                with open(kept, "wb") as file:
                    file.write(content)
                self.fail(f"{kept}: status {done.returncode}: {done.stderr[-300:]}")
            if done.returncode == 0:
                json.loads(done.stdout)

    def test_values_and_order_changed(self):
        """Other values in another order are as good a snapshot: its totals are those of Python's unpickler."""
        chance = harness.chance(55)
        contents = [real(name)[0] for name in ("train", "all", "expandable", "oom")]
        for number in range(1000 if harness.ALL else 50):
            snapshot = {**pickle.loads(chance.choice(contents)), "device_traces": [[]]}
            content = pickle.dumps(changed(snapshot, chance), chance.choice(PROTOCOLS[1:]))
            done = self.run_on(self.write(content), "--format", "json")
            self.assertEqual((done.returncode, done.stderr), (0, b""), number)
            segments = pickle.loads(content)["segments"]
            process = self.only_process(json.loads(done.stdout))
            self.assertEqual(self.peak(process, "reserved"), sum(one["total_size"] for one in segments), number)
            self.assertEqual(self.peak(process), sum(block["size"] for one in segments for block in one["blocks"]
                                                     if block["state"] == "active_allocated"), number)


if __name__ == "__main__":
    unittest.main()
