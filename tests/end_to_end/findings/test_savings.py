"""Purpose: tests that what the report says a change would save is what the changed program saves."""
import re
import unittest

import harness

MIB = harness.MIB
PROGRAM = harness.program("savings.py")
# Two runs differ by small blocks, and by an arena of Python if these fill one more: 48 bytes more than its MiB.
BETWEEN_RUNS = MIB + MIB // 16


def line_of(text):
    with open(PROGRAM, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


class Savings(harness.Case):
    def run_program(self, how):
        """Returns the process and the text of its report, as one line."""
        self.new_scratch()
        done, report = self.trace([harness.torch_python(), PROGRAM, how],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return process, " ".join(self.report_text().split())

    def test_the_next_peak_bounds_what_one_copy_saves(self):
        before, text = self.run_program("copies")
        after, _ = self.run_program("copies-fixed")
        truth = harness.peak(before) - harness.peak(after)
        self.assertAlmostEqual(truth, 10 * MIB, delta=BETWEEN_RUNS)
        said = re.search(r"The next peak is ([\d.]+) MiB, outside training, at savings\.py:(\d+)\. "
                         r"A change that lowers only the first one saves ([\d.]+) MiB at most", text)
        self.assertTrue(said, text)
        self.assertEqual(int(said[2]), line_of("# the next peak"))
        self.assertAlmostEqual(float(said[1]), harness.peak(after) / MIB, delta=BETWEEN_RUNS / MIB)
        self.assertAlmostEqual(float(said[3]), truth / MIB, delta=BETWEEN_RUNS / MIB)

    def test_rows_outside_training_tell_their_time_and_their_copies(self):
        _, text = self.run_program("copies")
        self.assertRegex(text, r"heap 60\.0\d [\d.]+ [\d.]+ s savings\.py:%d" % line_of("# a second copy"))

    def test_an_evaluation_that_is_kept_is_one_cause(self):
        before, text = self.run_program("evaluated")
        (finding,) = before["findings"]
        after, _ = self.run_program("evaluated-fixed")
        self.assertEqual(after["findings"], [])
        self.assertEqual(finding["id"], "graph-kept-in-eval")
        # Each batch keeps its input, three results of ReLU and the difference, 1 MiB each: 10 MiB a step.
        self.assertIn("memory grows by 10.00 MiB every step", finding["title"])
        # Two results of ReLU and the difference are the graphs' own. The inputs and the last results may be held elsewhere.
        self.assertTrue(16 * 6 * MIB <= finding["bytes"] <= (16 * 10 + 1) * MIB + 4096, finding["bytes"])
        truth = harness.peak(before, measure="tensor") - harness.peak(after, measure="tensor")
        self.assertEqual(finding["saving"]["measure"], "tensor")
        self.assertTrue(16 * 6 * MIB - 6 * MIB <= finding["saving"]["bytes"] <= truth, (truth, finding["saving"]))
        said = re.search(r"-([\d.]+) MiB at least, and -([\d.]+) MiB if nothing else holds their inputs and outputs",
                         finding["remedy"])
        self.assertEqual(said[1], f"{finding['saving']['bytes'] / MIB:.2f}")
        # Here nothing else does. A layer keeps its input and its output, both batches of a step input and difference.
        self.assertTrue(truth - (2 + 2 * 2) * MIB <= float(said[2]) * MIB <= truth, (truth, finding["remedy"]))
        self.assertRegex(text, r"memory grows: each begins 10\.0\d MiB higher than the step before")


if __name__ == "__main__":
    unittest.main()
