"""Purpose: tests that rollout, sleep, wake and weight_sync of an engine are phases with the bytes that they move.

The truth is the size of the tensors. The engine is a double of vLLM.
"""
import unittest

import harness


class Rollouts(harness.Case):
    def test_an_engine_in_the_process(self):
        done, report = self.trace([harness.torch_python(), harness.program("engine.py")],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        process = self.only_process(report)
        self.assert_nothing_lost(process)
        rounds, weights, cache, samples = (int(word) for word in done.stdout.split())
        rows = {row["phase"]: row for row in process["phases"] if row["memory"] == "host"}
        for name, net, transient in (("rollout", samples, 0), ("sleep", -weights - cache, 0), ("wake", weights + cache, 0),
                                     ("weight_sync", 0, weights)):
            with self.subTest(name):
                row = rows[name]
                self.assertEqual((row["count"], row["path"]), (rounds, [name]))
                self.assertEqual(row["tensor"]["net"], rounds * net)
                self.assertEqual(row["tensor"]["transient"], transient)
        self.assertIsNone(process["cycles"], "a process with marks has no guess")


if __name__ == "__main__":
    unittest.main()
