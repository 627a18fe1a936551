"""Purpose: tests that memory of the backward pass has the line of the forward call, not that of `backward()`."""
import collections
import unittest

import harness

MIB = harness.MIB


class BackwardLines(harness.Case):
    def lines_of(self, mark):
        with open(harness.program("backward_lines.py"), encoding="utf-8") as file:
            return [number for number, text in enumerate(file, 1) if f"# {mark}" in text]

    def gradients_of(self, way, threads=1):
        """Returns the MiB of each user line that backward allocated, as they are at the peak."""
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
                line = next(frame["line"] for frame in row["site"]["frames"]
                            if frame["file"] == harness.program("backward_lines.py"))
                found[line] += row["bytes"] // MIB
        return found

    def check(self, way, threads=1):
        found = self.gradients_of(way, threads)
        lines = [line for seed in range(threads) for line in self.lines_of(f"FORWARD {seed}")]
        self.assertEqual(found, {line: 16 + 4 for line in lines})
        text = self.report_text("--all")
        for line in lines:
            self.assertRegex(text, rf"gradient +\d.* backward 0 +backward_lines.py:{line}\s+(2 blocks: )?backward of torch.matmul")

    def test_of_a_forward_call(self):
        self.check("plain")

    def test_of_a_forward_call_that_ran_again(self):
        self.check("checkpoint")

    def test_threads_with_equal_numbers_of_nodes(self):
        self.check("threads", threads=2)

    # The node of a view takes no stack of a later line: no line is better than a wrong one.
    def test_of_a_view(self):
        found = self.gradients_of("view")
        (of_w,), (backward,) = self.lines_of("FORWARD OF W"), self.lines_of("BACKWARD")
        self.assertEqual((found[backward], found[of_w]), (16, 4), found)
        self.assertEqual(sum(found.values()), 20)


if __name__ == "__main__":
    unittest.main()
