"""Purpose: tests that memory which every step leaves behind is found with its line, and that freed memory is
not."""
import unittest

import harness

# Python requests arenas of 1 MiB, each enough for four steps. The compiler of a first import leaves some of
# them free. With 40 steps, the first steps then requested none: the growth read 13 % low, or was not found.
STEPS = 120
KEPT = 1024 * 256 + 1024 * 8  # bytes objects from Python's arenas, and the list that holds them


class Leak(harness.Case):
    def leaks(self, how):
        command = [harness.torch_python(), harness.program("leak.py"), str(STEPS), how]
        done, report = self.trace(command, {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        self.assertGreater(harness.peak(process), 300 * harness.MIB)
        return [finding for finding in process["findings"] if finding["id"] == "leak-per-step"]

    def test_a_list_that_grows(self):
        (leak,) = self.leaks("leak")
        self.assertAlmostEqual(leak["bytes"], KEPT, delta=KEPT / 10)
        with open(harness.program("leak.py"), encoding="utf-8") as file:
            line = next(number for number, text in enumerate(file, 1) if "bytes(222)" in text)
        self.assertIn(f"leak.py:{line}", leak["title"])

    def test_a_list_of_the_last_three(self):
        self.assertEqual(self.leaks("window"), [])

    def test_a_clean_run(self):
        self.assertEqual(self.leaks("clean"), [])


if __name__ == "__main__":
    unittest.main()
