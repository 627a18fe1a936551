"""Purpose: tests the phase `gc` and the finding about reference cycles, against what the program counts itself."""
import ast
import os
import re
import unittest

import harness

BATCH = 4 * harness.MIB


class Collector(harness.Case):
    def run_cycles(self, *words):
        """Returns the bytes that each collection freed, by the program, and the process of the report."""
        command = [harness.torch_python(), harness.program("cycles.py"), *words]
        done = self.run_in("traced", command, self.environment(MEMTRACE_QUIET="1", OMP_NUM_THREADS="1"))
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        said = re.fullmatch(r"(\[.*\]) (\d+)\n", done.stdout.decode())
        self.assertEqual(said[2], "0", "the program sees a callback of the collector")
        return ast.literal_eval(said[1]), self.only_process(self.report("--all-steps"))

    def test_phase_and_finding(self):
        freed, process = self.run_cycles()
        rows = [row for row in process["phases"] if row["path"][-1] == "gc" and row["tensor"]["net"] != 0]
        self.assertEqual([-row["tensor"]["net"] for row in rows], freed)
        self.assertEqual(freed, [7 * BATCH, 8 * BATCH, 8 * BATCH, 8 * BATCH])
        found = {finding["id"]: finding for finding in process["findings"]}
        self.assertEqual(list(found), ["freed-by-gc"])
        # At the highest point, the batch of the present step is in use, and those before are in cycles. They are seven
        # in step 7, and eight in steps 15, 23 and 31. The line also makes small objects.
        peak = next(one for one in process["peaks"] if (one["memory"], one["measure"]) == ("host", "live"))
        in_cycles = 7 if peak["step"] == 7 else 8
        self.assertAlmostEqual(found["freed-by-gc"]["bytes"], in_cycles * BATCH, delta=BATCH / 20, msg=peak["step"])
        with open(harness.program("cycles.py"), encoding="utf-8") as file:
            line = 1 + [text.strip().startswith("sample = Sample(") for text in file].index(True)
        self.assertIn(f"cycles.py:{line}", found["freed-by-gc"]["title"])

    @harness.only_in_long
    def test_without_cycles(self):
        freed, process = self.run_cycles("--mended")
        self.assertEqual(freed, [0, 0, 0, 0])
        self.assertEqual(process["findings"], [])
        self.assertEqual([row for row in process["phases"] if row["path"][-1] == "gc" and row["tensor"]["net"] != 0], [])

    def test_as_many_models_live_as_without_memtrace(self):
        """memtrace walks over models to label them. A collection meanwhile would find dead ones in use."""
        program = os.path.join(harness.ROOT, "tests", "mysteries", "programs", "leaks", "model_refers_to_itself.py")
        command = [harness.torch_python(), "-W", "ignore", program]
        bare = self.bare(command, {"OMP_NUM_THREADS": "1"})
        traced = self.run_in("traced", command, self.environment(MEMTRACE_QUIET="1", OMP_NUM_THREADS="1"))
        self.assertEqual(traced.stdout, bare.stdout)


if __name__ == "__main__":
    unittest.main()
