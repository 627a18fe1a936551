"""Purpose: tests that the workers of a loader get a joint finding for their memory, and that a small loader
gets none."""
import os
import unittest

import harness

MIB = harness.MIB
ITEM = 16 * MIB


class Loaders(harness.Case):
    def findings(self, *words):
        done, report = self.trace([harness.torch_python(), harness.program("ahead.py"), *words],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        self.assertEqual([process["kind"] for process in report["processes"]], ["main", "worker", "worker"])
        self.assertEqual([finding for process in report["processes"] for finding in process["findings"]], [])
        self.workers = [process["pid"] for process in report["processes"] if process["kind"] == "worker"]
        text = " ".join(self.report_text().split())
        for finding in report["findings"]:
            self.assertIn(f"Fix {finding['remedy']} No help {finding['no_remedy']}", text)
        return report["findings"]

    def test_far_ahead(self):
        """Two workers, four batches each; the parent has one or two more."""
        [finding] = self.findings("4", "parent")
        self.assertEqual(finding["id"], "loader-prefetch")
        self.assertGreaterEqual(finding["bytes"], 8 * ITEM)
        self.assertLessEqual(finding["bytes"], 10 * ITEM)
        self.assertIn("_utils/collate.py", str(finding["site"]))
        self.assertTrue(self.report_text().startswith(finding["title"]))
        worker = next(path for path in self.trace_files() if f"-{self.workers[0]}-" in os.path.basename(path))
        self.assertEqual(self.report(path=worker)["findings"], [], "without the parent, no batch is seen to be taken")

    def test_a_little_ahead(self):
        self.assertEqual(self.findings("1", "parent"), [])

    def test_data_in_each_worker(self):
        [finding] = self.findings("1", "worker")
        self.assertEqual(finding["id"], "worker-copies")
        self.assertAlmostEqual(finding["bytes"], 2 * 64 * MIB, delta=MIB)
        self.assertIn("ahead.py", str(finding["site"]))


if __name__ == "__main__":
    unittest.main()
