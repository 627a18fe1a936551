"""Purpose: tests that the workers of a loader get a joint finding for their memory, and that a small loader
gets none."""
import os
import unittest

import harness

MIB = harness.MIB
ITEM = 15 * MIB


class Loaders(harness.Case):
    def findings(self, *words):
        done, report = self.trace([harness.torch_python(), harness.program("loader_methods.py"), "fork", *words],
                                  {"MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        self.assertEqual([process["kind"] for process in report["processes"]], ["main", "worker", "worker"])
        self.assertEqual([finding for process in report["processes"] for finding in process["findings"]], [])
        self.workers = [process["pid"] for process in report["processes"] if process["kind"] == "worker"]
        text = " ".join(self.report_text().split())
        self.assertEqual("No finding: " in text, not report["findings"])
        self.assertEqual("No finding about this process alone: " in text, bool(report["findings"]))
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
        self.assertIn("loader_methods.py", str(finding["site"]))


class Methods(harness.Case):
    """The workers of a loader are those of the process that has the loader, however they are started."""

    def run_loader(self, method, *words, prefix=(), status=0):
        program = harness.program("loader_methods.py")
        command = [*prefix, harness.torch_python(), program, method, *words]
        done = self.run_in("traced", command,
                           self.environment(MEMTRACE_QUIET="1", OMP_NUM_THREADS="1", PYTHONPATH=os.path.dirname(program)))
        self.assertEqual(done.returncode == 0, status == 0, done.stderr.decode(errors="replace"))
        main, *self.workers = [int(pid) for pid in done.stdout.split()]
        report = self.report()
        processes = {process["pid"]: process for process in report["processes"]}
        self.assertEqual(processes[main]["kind"], "main")
        if "objects" not in words:  # else the server has them, and its peak is the highest
            self.assertEqual(report["processes"][0]["pid"], main, "the process with the loader leads")
        for pid in self.workers:
            self.assertEqual((processes[pid]["kind"], processes[pid]["worker_of"]), ("worker", main))
            self.assertEqual(processes[pid]["ppid"] == main, method != "forkserver")
        others = [process["kind"] for pid, process in processes.items() if pid not in (main, *self.workers)]
        self.assertLessEqual(set(others), {"child"}, "the forkserver")
        self.assertEqual([finding for process in report["processes"] for finding in process["findings"]], [])
        return report["findings"]

    def check_far_ahead(self, method):
        [finding] = self.run_loader(method, "4", "parent")
        self.assertEqual(finding["id"], "loader-prefetch")
        self.assertGreaterEqual(finding["bytes"], 8 * ITEM)
        self.assertLessEqual(finding["bytes"], 10 * ITEM)

    def check_data_in_each_worker(self, method):
        [finding] = self.run_loader(method, "1", "worker")
        self.assertEqual(finding["id"], "worker-copies")
        self.assertAlmostEqual(finding["bytes"], 2 * 64 * MIB, delta=MIB)
        self.assertIn("loader_methods.py", str(finding["site"]))
        return finding

    def check_full_shm(self, method):
        """A /dev/shm of 40 MiB takes two batches: one of 16 MiB of each worker, and no third."""
        inner = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=40m none /dev/shm && exec \"$@\"", "sh"]
        finding = self.run_loader(method, "4", "worker", prefix=inner, status=1)[0]
        self.assertEqual(finding["id"], "shm-full")
        self.assertEqual(finding["bytes"], ITEM)

    def test_far_ahead_by_forkserver(self):
        self.check_far_ahead("forkserver")

    def test_data_in_each_spawned_worker(self):
        finding = self.check_data_in_each_worker("spawn")
        self.assertIn("one tensor in the dataset", finding["remedy"])

    @harness.only_in_long
    def test_far_ahead_by_spawn(self):
        self.check_far_ahead("spawn")

    @harness.only_in_long
    def test_a_little_ahead(self):
        for method in ("forkserver", "spawn"):
            with self.subTest(method):
                self.new_scratch()
                self.assertEqual(self.run_loader(method, "1", "parent"), [])

    @harness.only_in_long
    def test_data_in_each_worker_of_a_forkserver(self):
        self.check_data_in_each_worker("forkserver")

    @harness.only_in_long
    def test_a_full_shm(self):
        for method in ("fork", "forkserver", "spawn"):
            with self.subTest(method):
                self.new_scratch()
                self.check_full_shm(method)

    @harness.only_in_long
    def test_objects_of_a_forkserver_are_copied_by_reading_them(self):
        for method in ("fork", "forkserver"):
            with self.subTest(method):
                self.new_scratch()
                [finding] = self.run_loader(method, "1", "objects")
                self.assertEqual(finding["id"], "copy-on-write-growth")
                strings = 2_000_000 * 72
                self.assertGreater(finding["bytes"], strings)
                self.assertLess(finding["bytes"], 3 * strings)


if __name__ == "__main__":
    unittest.main()
