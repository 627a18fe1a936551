"""Purpose: tests that partly resident tensors are distinguished, with the phase that wrote to them first.

The truth is the program's own: the part of each tensor that it writes to, and the step.
"""
import json
import subprocess
import unittest

import harness

MIB = harness.MIB


class Touched(harness.Case):
    def explained(self):
        done = subprocess.run([harness.COMMAND, "explain", self.out, "--format", "json"], capture_output=True,
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def row_of(self, rows, function):
        found = [row for row in rows if row["kept"] and row["site"] is not None
                 and any(frame["function"] == function for frame in row["site"]["frames"])]
        self.assertEqual(len(found), 1, f"{function}: {found}")
        return found[0]

    def test_made_early_and_written_to_later(self):
        done, report = self.trace([harness.torch_python(), harness.program("touched.py")],
                                  {**harness.RECORD_ALL, "OMP_NUM_THREADS": "1"})
        process = self.only_process(report)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.explained()["rows"]
        for function, asked, resident, step in (("late", 40, 40, 2), ("half", 24, 12, 2), ("never", 20, 0, None),
                                                ("at_once", 16, 16, None)):
            row = self.row_of(rows, function)
            self.assertEqual(row["asked"], asked * MIB)
            self.assertAlmostEqual(row["resident"], resident * MIB, delta=MIB / 4, msg=function)
            later = row["came_later"]
            self.assertEqual(later and (later["phase"], later["step"]), step and ("step", step), function)
        # The report has the same rows.
        self.assertEqual([row["resident"] for row in process["bytes_per_parameter"]], [row["resident"] for row in rows])
        text = subprocess.run([harness.COMMAND, "explain", self.out], capture_output=True, check=True,
                              env=harness.bare_environment()).stdout.decode()
        self.assertRegex(text, r"! 40\.00 MiB of it came into memory only in step 2")
        self.assertRegex(text, r"of 20\.00 MiB given, 20\.00 MiB never came into memory|of 20\.00 MiB given, 19\.\d+ MiB never")


if __name__ == "__main__":
    unittest.main()
