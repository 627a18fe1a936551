"""Purpose: tests that the report of many ranks depends on their traces alone, and takes little memory.

Truth: the report of each trace alone, made by the same generator as the recorder's own traces.
"""
import json
import os
import subprocess
import tempfile
import unittest

import harness

GENERATOR = os.path.join(harness.BUILD, "tests", "bench_trace", "memtrace_bench_trace")
SIZE = "100K"
# Of a process in a job, what the other processes decide: its kind, and the memory of all of them together.
OF_JOB = {"kind", "ledger"}


@unittest.skipUnless(os.path.exists(GENERATOR), f"no {GENERATOR}: build memtrace_bench_trace")
class ManyRanks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def make(self, name, ranks):
        """Writes the traces of so many ranks, and returns their directory."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        for rank in range(ranks):
            subprocess.run([GENERATOR, os.path.join(folder, f"r{rank:03}.memtrace"), SIZE, "0", str(rank), str(ranks)],
                           check=True, stdout=subprocess.DEVNULL)
        return folder

    def report(self, *arguments):
        """Returns stdout and stderr of a report, and the most memory that it took, in bytes."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            pid = os.posix_spawn(harness.COMMAND, [harness.COMMAND, "report", *arguments], os.environ,
                                 file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
            _, status, usage = os.wait4(pid, 0)
            out.seek(0), errors.seek(0)
            said = errors.read().decode()
            self.assertEqual(os.waitstatus_to_exitcode(status), 0, said)
            return out.read(), said, usage.ru_maxrss << 10

    def test_output_does_not_depend_on_the_number_of_threads(self):
        folder = self.make("job", 12)
        with open(os.path.join(folder, "r005.memtrace"), "r+b") as damaged:
            damaged.truncate(60_000)
        with open(os.path.join(folder, "r007.memtrace"), "r+b") as unreadable:
            unreadable.truncate(10)
        for form in ("text", "json"):
            out, said, _ = self.report("--format", form, "--jobs", "1", folder)
            self.assertEqual(said.count("\n"), 1, said)
            self.assertIn("r007.memtrace", said)
            for jobs in ("2", "5"):
                self.assertEqual(self.report("--format", form, "--jobs", jobs, folder)[:2], (out, said), f"{form}, {jobs} threads")
        processes = {process["rank"]: process for process in json.loads(out)["processes"]}
        self.assertEqual(sorted(processes), [rank for rank in range(12) if rank != 7])
        for rank in (0, 5, 11):
            alone, _, _ = self.report("--format", "json", os.path.join(folder, f"r{rank:03}.memtrace"))
            (process,) = json.loads(alone)["processes"]
            for key in process.keys() - OF_JOB:
                self.assertEqual(processes[rank][key], process[key], f"rank {rank}: {key}")

    def test_json_is_written_rank_by_rank(self):
        few, _, least = self.report("--format", "json", "--jobs", "1", self.make("few", 8))
        many, _, most = self.report("--format", "json", "--jobs", "1", self.make("many", 24))
        self.assertGreater(len(many) - len(few), 20 * harness.MIB)
        self.assertLess(most - least, 8 * harness.MIB)


if __name__ == "__main__":
    unittest.main()
