"""Purpose: tests that a rank with more memory than the other ranks is named with the cause, and that equal
ranks are not."""
import collections
import subprocess
import sys
import time
import unittest

import harness

MIB = harness.MIB


class Ranks(harness.Case):
    def outliers(self, mib):
        done, report = self.trace([sys.executable, harness.program("uneven.py"), str(mib)], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(p["rank"] for p in report["processes"] if p["rank"] is not None), [0, 1, 2])
        return report["outliers"]

    def test_one_that_has_more(self):
        [outlier] = self.outliers(90)
        self.assertEqual((outlier["rank"], outlier["memory"], outlier["others"]["count"]), (2, "host", 2))
        # Python may have an arena of 1 MiB more in one process than in another.
        self.assertAlmostEqual(outlier["bytes"] - outlier["others"]["median"], 90 * MIB, delta=MIB * 17 / 16)
        self.assertAlmostEqual(outlier["row"]["bytes"], 90 * MIB, delta=MIB / 8)
        self.assertEqual(outlier["row"]["others"], 0)
        self.assertEqual(outlier["row"]["site"]["frames"][0]["function"], "gathered")
        more = (outlier["bytes"] - outlier["others"]["median"]) / MIB
        self.assertRegex(self.report_text(), r"^Rank 2 differs \(pid \d+\): 1\d\d\.\d+ MiB at most on host, the other 2\sranks\s"
                                             rf"\d+\.\d+ MiB[^:]*:\s\+{more:.2f} MiB")

    def test_the_grid_of_the_user(self):
        command = [sys.executable, harness.program("uneven.py"), "0"]
        done, report = self.trace([harness.COMMAND, "run", "--ranks", "pp=3,dp=1", "-o", self.out, "--", *command],
                                  harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({p["rank"]: p["coordinates"] for p in report["processes"]},
                         {None: None, **{rank: {"pp": rank, "dp": 0} for rank in range(3)}})
        self.assertIn("of 3 (pp ", self.report_text())
        self.new_scratch()
        self.trace(command, {**harness.RECORD_ALL, "MEMTRACE_RANKS": "dp=2"})
        done = subprocess.run([harness.COMMAND, "report", self.out], check=True, capture_output=True)
        self.assertEqual(done.stderr.count(b"MEMTRACE_RANKS=dp=2: the grid has 2 ranks, the job has 3: it is not used"), 1)

    def test_like_ones(self):
        self.assertEqual(self.outliers(0), [])

    def test_a_little_more(self):
        self.assertEqual(self.outliers(40), [])


class Variables(harness.Case):
    def test_each_launcher_names_the_rank(self):
        for launcher, variables in (("slurm", {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NTASKS": "4"}),
                                    ("mpirun", {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                                                "OMPI_COMM_WORLD_SIZE": "4"}),
                                    ("mpirun", {"PMI_RANK": "3", "MPI_LOCALRANKID": "1", "PMI_SIZE": "4"}),
                                    ("mpirun", {"PMIX_RANK": "3", "PMI_LOCAL_RANK": "1", "PMI_SIZE": "4"}),
                                    ("pals", {"PALS_RANKID": "3", "PALS_LOCAL_RANKID": "1", "PMI_SIZE": "4"})):
            with self.subTest(variables=variables):
                self.new_scratch()
                done, report = self.trace([sys.executable, "-c", "held = bytearray(48 << 20)"], variables)
                self.assertEqual(done.returncode, 0, done.stderr)
                (process,) = report["processes"]
                self.assertEqual((process["rank"], process["local_rank"], process["kind"], report["job"]["launcher"],
                                  report["job"]["world_size"]), (3, 1, "rank", launcher, 4))


class Spawned(harness.Case):
    """torch.multiprocessing.spawn passes the rank as an argument: no environment has it."""

    def test_rank_that_leaks(self):
        done, report = self.trace([harness.torch_python(), harness.program("spawned.py"), "3"], harness.RECORD_ALL)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        kinds = collections.Counter(p["kind"] for p in report["processes"])
        # The child is multiprocessing's resource tracker. RECORD_ALL keeps processes of any size.
        self.assertEqual(kinds, {"main": 1, "child": 1, "rank": 3, "worker": 3})
        self.assertEqual(sorted(p["rank"] for p in report["processes"] if p["kind"] == "rank"), [0, 1, 2])
        text = self.report_text()
        self.assertRegex(text, r"^Rank 1 differs")
        self.assertRegex("\n".join(text.splitlines()[:14]), r"16\.00 MiB every step,\s+at\s+\S*spawned\.py:28")


class Workers(harness.Case):
    """Loader workers inherit RANK. A worker of a rank claimed as much as the rank: 72 processes claimed 18 of 4 GiB,
    so these 36 would claim 9."""

    RANKS, WORKERS = 4, 8

    def test_every_rank_is_recorded_beside_its_workers(self):
        python, script = harness.torch_python(), harness.program("rank_with_workers.py")
        ranks = []
        for rank in harness.chance(1).sample(range(self.RANKS), self.RANKS):
            environment = self.environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(self.RANKS),
                                           MEMTRACE_JOB=f"job;{self.out}")
            ranks.append(subprocess.Popen([python, script, str(self.WORKERS), "12"], stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, cwd=self.scratch, env=environment))
            time.sleep(0.3 * (rank % 3))  # some ranks have their workers before other ranks begin
        for rank in ranks:
            output, _ = rank.communicate(timeout=600)
            self.assertEqual((output, rank.returncode), (b"done\n", 0))
        processes = self.report()["processes"]
        kinds = collections.Counter((p["kind"], p["end"]["how"], p["trace"]["lost_events"]) for p in processes)
        self.assertEqual(kinds, {("rank", "exit", 0): self.RANKS, ("worker", "exit", 0): self.RANKS * self.WORKERS})
        self.assertEqual({p["pid"] for p in processes if p["kind"] == "rank"}, {rank.pid for rank in ranks})
        self.assertNotIn("MEMTRACE_MAX_NODE", self.report_text())


if __name__ == "__main__":
    unittest.main()
