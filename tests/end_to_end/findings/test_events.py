"""Purpose: tests that memory which each evaluation, each save or each tenth step leaves is found. The finding has its
line, its rate and what it costs at the peak. The run which keeps nothing has none.

The truth is the size of what the program keeps, and the peak of the run that keeps nothing.
"""
import unittest

import harness

MIB = harness.MIB


class Events(harness.Case):
    def found(self, how):
        self.new_scratch()
        done, report = self.trace([harness.torch_python(), harness.program("events.py"), how],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return process, process["findings"]

    def only(self, findings, line):
        self.assertEqual([one["id"] for one in findings], ["leak-per-event"])
        with open(harness.program("events.py"), encoding="utf-8") as file:
            number = next(number for number, text in enumerate(file, 1) if line in text)
        self.assertIn(f"events.py:{number}", findings[0]["title"])
        return findings[0]

    def test_what_is_kept(self):
        process, findings = self.found("clean")
        self.assertEqual(findings, [])
        tensors = harness.peak(process, measure="tensor")

        # 15 evaluations, after steps 3, 7, ... 59; the peak is in a later step.
        process, findings = self.found("evaluation")
        leak = self.only(findings, "history.append(torch.cat(logits))")
        self.assertEqual(leak["bytes"] // MIB, 3)
        self.assertIn("with each evaluation", leak["title"])
        self.assertEqual(leak["confidence"], "certain")
        held = harness.peak(process, measure="tensor") - tensors
        self.assertGreater(held, 14 * 3 * MIB)
        self.assertEqual(leak["saving"], {"measure": "tensor", "bytes": held})

        _, findings = self.found("save")
        leak = self.only(findings, "torch.save(model.state_dict(), buffer)")
        self.assertAlmostEqual(leak["bytes"], MIB, delta=MIB / 4)
        self.assertIn("with each save", leak["title"])

        process, findings = self.found("tenth")
        leak = self.only(findings, "logits.detach().clone()")
        self.assertEqual(leak["bytes"] // MIB, 1)
        self.assertIn("every 10 steps", leak["title"])
        self.assertEqual(leak["saving"]["bytes"], harness.peak(process, measure="tensor") - tensors)

    @harness.only_in_long
    def test_the_last_evaluation(self):
        self.assertEqual(self.found("last")[1], [])


if __name__ == "__main__":
    unittest.main()
