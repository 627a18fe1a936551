"""Purpose: tests reports of the memory snapshots that PyTorch writes: made by hand with known sums, and real ones
beside PyTorch's counters.
"""
import copy
import os
import pickle
import re
import subprocess
import unittest

import harness
from harness import MIB
from snapshots import LIBRARY, PROTOCOLS, USER, Snapshot, Snapshots, frames, real, training

VIEWER = """import importlib.util, os, runpy
torch = os.path.dirname(importlib.util.find_spec("torch").origin)
runpy.run_path(os.path.join(torch, "cuda", "_memory_viz.py"), run_name="__main__")"""


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

    def test_pinned_memory(self):
        """4 MiB are freed to the allocator's cache, and 3 of them reused; 8 MiB are given back to the driver. The history
        begins after the first 4 MiB."""
        snapshot = training()
        snapshot.event("free_requested", 0, 4 * MIB, device="host")
        snapshot.event("segment_alloc", 16 * MIB, 8 * MIB, 40, device="host")
        snapshot.event("alloc", 16 * MIB, 8 * MIB, 40, device="host")
        snapshot.event("alloc", 0, 4 * MIB, 50, device="host")
        snapshot.free(16 * MIB, 8 * MIB, device="host")
        snapshot.event("segment_free", 16 * MIB, 8 * MIB, device="host")
        snapshot.segment(0, 4 * MIB, [(0, 4 * MIB)], device="host")
        process = self.process_of(snapshot)
        self.assertEqual(self.peak(process), 18 * MIB)
        self.assertEqual(self.peak(process, "live", "host"), 12 * MIB)
        self.assertEqual(self.peak(process, "reserved", "host"), 12 * MIB)
        self.assertEqual(process["trace"]["torch_snapshot"], {"events": 8 + 7, "older": 2})
        self.assertEqual(process["trace"]["unknown_deaths"], 0)
        rows = next(row for row in process["peaks"] if row["memory"] == "host" and row["measure"] == "live")["at_peak"]
        self.assertEqual([(row["kind"], row["bytes"] // MIB) for row in rows], [("pinned", 8), ("pinned", 4)])
        text = self.report_text(path=os.path.join(self.scratch, "snapshot.pickle"))
        self.assertIn("Of host memory, it has what PyTorch's pinned allocator took.", " ".join(text.split()))

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

    def test_pinned_memory_equals_pytorchs_counters(self):
        content, stats, of_host = real("pinned", "host_stats")
        for history in (True, False):
            snapshot = pickle.loads(content)
            if not history:
                snapshot["device_traces"] = snapshot["host_traces"] = []
            process = self.process_of(snapshot)
            of = "peak" if history else "current"
            self.assertEqual(self.peak(process), stats[f"allocated_bytes.all.{of}"])
            self.assertEqual(self.peak(process, "reserved"), stats[f"reserved_bytes.all.{of}"])
            self.assertEqual(self.peak(process, "live", "host"), of_host[f"allocated_bytes.{of}"])
            self.assertEqual(self.peak(process, "reserved", "host"), of_host[f"allocated_bytes.{of}"])

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


if __name__ == "__main__":
    unittest.main()
