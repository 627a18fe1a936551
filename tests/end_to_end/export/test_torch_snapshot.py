"""Purpose: tests the exported memory snapshots with PyTorch's own viewer, and by reading them back."""
import os
import pickle
import re
import subprocess
import unittest

import exports
import harness
from harness import MIB

VIEWER = """
import importlib.util, os, runpy
torch = os.path.dirname(importlib.util.find_spec("torch").origin)
runpy.run_path(os.path.join(torch, "cuda", "_memory_viz.py"), run_name="__main__")"""


class TorchSnapshot(exports.ExportCase):
    def viewer(self, *arguments):
        done = subprocess.run([harness.torch_python(), "-c", VIEWER, *arguments], capture_output=True, text=True,
                              check=False, cwd=self.scratch, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_state(self, content, expected):
        """The blocks add up to the peak, lie side by side in their segments, and follow from the history."""
        active = sum(block["size"] for segment in content["segments"] for block in segment["blocks"]
                     if block["state"] == "active_allocated")
        self.assertEqual(active, expected)
        for segment in content["segments"]:
            at = segment["address"]
            for block in segment["blocks"]:
                self.assertEqual(block["address"], at)
                at += block["size"]
            self.assertEqual(at, segment["address"] + segment["total_size"])
        level = {"alloc": 0, "segment_alloc": 0}
        for event in (event for trace in content["device_traces"] for event in trace):
            if event["action"] in level:
                level[event["action"]] += event["size"]
            elif event["action"] in ("free_completed", "segment_free"):
                level["alloc" if event["action"] == "free_completed" else "segment_alloc"] -= event["size"]
        self.assertEqual(level["alloc"], expected)
        self.assertEqual(level["segment_alloc"], sum(segment["total_size"] for segment in content["segments"]))

    def test_the_viewer_and_memtrace_read_the_peak(self):
        for name, traces in self.kinds():
            with self.subTest(name):
                process = self.report(path=traces)["processes"][0]
                memory, measure, _ = exports.leading_peak(process)
                expected = harness.peak(process, memory, measure)
                path = self.export("torch-snapshot", of=traces)
                with open(path, "rb") as file:
                    content = pickle.load(file)
                self.check_state(content, expected)
                said = dict(re.findall(r"^(total_\w+): ([\d.]+\w+)", self.viewer("stats", path), re.M))
                self.assertEqual(said["total_allocated"], f"{expected / MIB:.1f}MiB")
                back = self.only_process(self.report(path=path))
                self.assertEqual(harness.peak(back, "cuda:0", "tensor"), expected)

    def test_the_viewer_draws_a_training(self):
        self.trace_training()
        path = self.export("torch-snapshot")
        for drawing in ("trace_plot", "segment_plot"):
            page = os.path.join(self.scratch, f"{drawing}.html")
            self.viewer(drawing, path, "-o", page)
            self.assertGreater(os.path.getsize(page), MIB)
        back = self.report_text(path=path)
        for line in (3, 6, 7):
            self.assertIn(f"train.py:{line}", back)
        with open(path, "rb") as file:
            names = [mark["name"] for mark in pickle.load(file)["external_annotations"]]
        without_gc = [name for name in names if name != "gc"]  # a collection may come at any time
        self.assertEqual(without_gc[:4], ["load", "load", "forward", "forward"])


if __name__ == "__main__":
    unittest.main()
