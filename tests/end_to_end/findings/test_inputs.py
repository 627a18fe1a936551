"""Purpose: tests that a peak which a large batch makes is found, and that its saving is that of a run without the larger
batches.
"""
import re
import unittest

import harness


class Inputs(harness.Case):
    def found(self, how):
        self.new_scratch()
        done, report = self.trace([harness.torch_python(), harness.program("lengths.py"), how],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        return harness.peak(process, measure="tensor"), process["findings"]

    def test_padded_batches(self):
        peak, findings = self.found("varied")
        self.assertEqual([one["id"] for one in findings], ["input-driven-peak"])
        finding = findings[0]
        with open(harness.program("lengths.py"), encoding="utf-8") as file:
            number = next(number for number, text in enumerate(file, 1) if "model(words)" in text)
        self.assertIn(f"lengths.py:{number}", finding["title"])
        usual = re.search(r"90th percentile (\d+) bytes", finding["evidence"][0])[1]
        without, _ = self.found(usual)
        self.assertEqual(finding["saving"], {"measure": "tensor", "bytes": peak - without})
        self.assertGreater(peak - without, peak / 20)

    @harness.only_in_long
    def test_equal_batches(self):
        self.assertEqual(self.found("equal")[1], [])


if __name__ == "__main__":
    unittest.main()
