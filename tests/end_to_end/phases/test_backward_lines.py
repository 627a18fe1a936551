"""Purpose: tests that memory of the backward pass has the line of the forward call, not that of `backward()`."""
import collections
import unittest

import harness

MIB = harness.MIB


class BackwardLines(harness.Case):
    def check(self, way, threads=1):
        done, report = self.trace([harness.torch_python(), harness.program("backward_lines.py"), way],
                                  {"MEMTRACE_QUIET": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        peak = next(peak for peak in process["peaks"] if (peak["memory"], peak["measure"]) == ("host", "tensor"))
        self.assertEqual(peak["bytes"] // MIB, threads * 2 * (16 + 4) + 256)
        found = collections.Counter()
        for row in peak["at_peak"]:
            if row["born_phase"] == "backward" and row["bytes"] >= MIB:
                line = next(frame["line"] for frame in row["site"]["frames"] if frame["lang"] == "python")
                found[line] += row["bytes"] // MIB
        with open(harness.program("backward_lines.py"), encoding="utf-8") as file:
            lines = [number for number, text in enumerate(file, 1) if "# FORWARD" in text][:threads]
        self.assertEqual(found, {line: 16 + 4 for line in lines})
        text = self.report_text("--all")
        for line in lines:
            self.assertRegex(text, rf"gradient +\d.* backward 0 +backward_lines.py:{line} +backward of torch.matmul")

    def test_of_a_forward_call(self):
        self.check("plain")

    def test_of_a_forward_call_that_ran_again(self):
        self.check("checkpoint")

    def test_threads_with_equal_numbers_of_nodes(self):
        self.check("threads", threads=2)


if __name__ == "__main__":
    unittest.main()
