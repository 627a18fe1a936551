"""Purpose: tests that memtrace guesses the cycles of programs without PyTorch, and finds what each cycle leaves.

The truth is the number of cycles that the program ran, and the size of what it keeps in each.
"""
import importlib.util
import os
import unittest

import harness


class Cycles(harness.Case):
    def run_one(self, name, **environment):
        self.new_scratch()
        done, report = self.trace([harness.torch_python(), harness.program("repeats.py"), name],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1", "MEMTRACE_MIN_PEAK": "1M", **environment})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        cycles, kept = (int(word) for word in done.stdout.split()[:2])
        return process, cycles, kept

    def check_cycles(self, process, cycles, fewer=1):
        guess = process["cycles"]
        self.assertEqual(guess["found"], "from the pattern of allocations")
        self.assertAlmostEqual(guess["count"], cycles - 1, delta=fewer)  # the last one has no end
        return guess

    def check_leak(self, name, line):
        process, cycles, kept = self.run_one(name)
        guess = self.check_cycles(process, cycles)
        self.assertAlmostEqual(guess["typical"]["net"], kept, delta=0.03 * kept)
        self.assertEqual([one["id"] for one in process["findings"]], ["leak-per-event"])
        leak = process["findings"][0]
        self.assertAlmostEqual(leak["bytes"], kept, delta=0.03 * kept)
        self.assertEqual(leak["confidence"], "likely")
        self.assertTrue([one for one in leak["evidence"] if "found from the pattern of allocations" in one], leak)
        with open(harness.program("repeats.py"), encoding="utf-8") as file:
            number = next(number for number, text in enumerate(file, 1) if text.rstrip().endswith("# " + line))
        self.assertIn(f"repeats.py:{number}", leak["title"])
        text = self.report_text()
        self.assertIn("A guess, found from the pattern of allocations: the program repeats itself", text)

    def test_a_pipeline_that_keeps_tables(self):
        self.check_leak("pipeline_keeps", "KEPT")

    def test_a_server_that_logs_bodies(self):
        self.check_leak("server_keeps", "LOGGED")

    def test_a_window_is_no_leak(self):
        process, cycles, _ = self.run_one("pipeline_window")
        self.assertEqual(process["findings"], [])
        self.check_cycles(process, cycles)

    def test_three_are_no_cycles(self):
        process, _, _ = self.run_one("three")
        self.assertEqual(process["findings"], [])
        self.assertIsNone(process["cycles"])
        self.assertNotIn("repeats itself", self.report_text())

    @harness.only_in_long
    def test_programs_that_keep_nothing(self):
        for name in ("pipeline", "server", "collect"):
            with self.subTest(name):
                process, cycles, _ = self.run_one(name)
                self.assertEqual(process["findings"], [])
                if name != "collect":  # its loop may take less time than its end
                    self.check_cycles(process, cycles)

    @harness.only_in_long
    def test_jax(self):
        """XLA allocates on threads of its own, which have no line of Python."""
        if importlib.util.find_spec("jax") is None and "JAX_PATH" not in os.environ:
            self.skipTest("no jax here: JAX_PATH may name the folder of its packages")
        environment = {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.environ.get("JAX_PATH", "")}
        process, cycles, _ = self.run_one("jax", **environment)
        self.assertEqual(process["findings"], [])
        self.check_cycles(process, cycles, 4)  # the program is ahead of these threads
        process, cycles, kept = self.run_one("jax_keeps", **environment)
        self.check_cycles(process, cycles, 4)
        self.assertEqual([one["id"] for one in process["findings"]], ["leak-per-event"])
        self.assertAlmostEqual(process["findings"][0]["bytes"], kept, delta=0.03 * kept)


if __name__ == "__main__":
    unittest.main()
