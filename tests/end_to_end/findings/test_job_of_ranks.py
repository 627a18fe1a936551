"""Purpose: tests that the first screen of a job names the rank that failed first and the rank that differs from its stage.

Truth: the program gives one rank 96 MiB more, and kills one. Its first stage has 128 MiB more by design.
"""
import json
import os
import socket
import subprocess
import unittest

import harness

MIB = harness.MIB
COPY, PAGES = 96 * MIB, 8192  # a block of malloc has a page more than was asked for
DIFFERENT, DIES = 1, 2


class Job(harness.Case):
    def run_job(self, launcher, world, *arguments, **environment):
        """Runs the program with a launcher, and returns the report. The launcher must see that a rank failed."""
        command = [harness.torch_python(), "-m", *launcher, harness.program("stages.py"), str(DIFFERENT), str(DIES), *arguments]
        done, report = self.trace([harness.COMMAND, "run", "-o", self.out, "--", *command],
                                  {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **environment})
        self.assertNotEqual(done.returncode, 0)
        ranks = [process for process in report["processes"] if process["kind"] == "rank"]
        self.assertEqual(sorted(rank["rank"] for rank in ranks), list(range(world)), done.stderr.decode(errors="replace")[-3000:])
        return report

    def run_ranks(self, world, *arguments):
        """Runs the program in forked ranks, so that PyTorch is imported once, and returns the report."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        done, report = self.trace([harness.torch_python(), harness.program("forked_stages.py"), str(DIFFERENT), str(DIES), *arguments],
                                  {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                                   "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"})
        self.assertEqual(done.returncode, 1, done.stderr.decode(errors="replace")[-3000:])
        ranks = [process for process in report["processes"] if process["kind"] == "rank"]
        self.assertEqual(sorted(rank["rank"] for rank in ranks), list(range(world)))
        return report

    def assert_named(self, report, world):
        """The rank that differs and the rank that died first are on the first screen, and no other rank is."""
        (outlier,) = report["outliers"]
        self.assertEqual((outlier["rank"], outlier["coordinates"], outlier["others"]["count"]),
                         (DIFFERENT, {"pp": 0, "dp": DIFFERENT}, world // 2 - 1))
        self.assertAlmostEqual(outlier["bytes"] - outlier["others"]["median"], COPY, delta=3 * MIB)
        self.assertEqual(outlier["rows"][0]["others"], 0)
        self.assertAlmostEqual(outlier["rows"][0]["bytes"], COPY, delta=PAGES)
        first = report["first_to_fail"]
        self.assertEqual([rank["rank"] for rank in first["first"]], [DIES])
        self.assertEqual(1 + len(first["followed"]) + first["did_not_fail"], world)
        screen = "\n".join(self.report_text().splitlines()[:24])
        stage, place = divmod(DIES, world // 2)
        self.assertRegex(screen, rf"\ARank {DIES} \(pp {stage}, dp {place}\) failed first: (killed by SIGKILL|no record of its end)")
        self.assertRegex(screen, rf"(?m)^Rank {DIFFERENT} differs \(pp 0, dp {DIFFERENT}; pid \d+\)")
        self.assertRegex(screen, r"Most of the difference: [^\n]*stages\.py:25 by torch\.ones, 96\.00 MiB here and 0\.00 MiB there")
        self.assertEqual(screen.count("differs"), 1)
        return screen

    def assert_difference_of_two(self, one, other):
        """`diff --rank` has rows that add up to the difference, and the copy is the first."""
        done = subprocess.run([harness.COMMAND, "diff", "--rank", str(one), "--rank", str(other), "--format", "json", self.out],
                              check=True, capture_output=True)
        found = json.loads(done.stdout)
        self.assertEqual(sum(row["change"] for row in found["rows"]), found["total"])
        self.assertEqual([side["name"] for side in found["sides"]], [f"rank {one}", f"rank {other}"])
        self.assertAlmostEqual(found["rows"][0]["change"], COPY, delta=PAGES)

    def assert_coordinates(self, report, width):
        for process in report["processes"]:
            wanted = None if process["kind"] != "rank" else {"pp": process["rank"] // width, "dp": process["rank"] % width}
            self.assertEqual(process["coordinates"], wanted)


class FourRanks(Job):
    def test_with_a_mesh(self):
        report = self.run_ranks(4, "mesh")
        self.assert_coordinates(report, 2)
        self.assert_named(report, 4)
        self.assert_difference_of_two(0, DIFFERENT)
        done = subprocess.run([harness.COMMAND, "diff", "--rank", "0", "--rank", "9", self.out], check=False, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"--rank 9: this job has no trace of it; it has 4 ranks between 0 and 3", done.stderr)


@harness.only_in_long
class Launched(Job):
    def test_torchrun_with_a_mesh(self):
        report = self.run_job(["torch.distributed.run", "--standalone", "--nproc-per-node", "4"], 4, "mesh")
        self.assert_coordinates(report, 2)
        self.assert_named(report, 4)


@harness.only_in_long
class EightRanks(Job):
    GRID = {"MEMTRACE_RANKS": "pp=2,dp=4"}

    def test_torchrun(self):
        report = self.run_job(["torch.distributed.run", "--standalone", "--nproc-per-node", "8"], 8, **self.GRID)
        self.assert_coordinates(report, 4)
        self.assert_named(report, 8)

    def test_deepspeed(self):
        self.assert_named(self.run_job(["deepspeed.launcher.runner", "--num_gpus", "8", "--no_local_rank"], 8, **self.GRID,
                                       DS_ACCELERATOR="cpu", PYTHONPATH=harness.packages("deepspeed")), 8)

    def test_accelerate(self):
        launcher = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "8", "--num_machines", "1"]
        self.assert_named(self.run_job(launcher, 8, **self.GRID, ACCELERATE_USE_CPU="true",
                                       PYTHONPATH=harness.packages("accelerate")), 8)


@harness.only_in_long
class Grids(harness.Case):
    """The coordinates are those that the engine states."""

    def assert_grid(self, engine):
        folder = os.path.join(self.scratch, "traced")
        os.mkdir(folder)
        ranks = []
        for rank in range(2):
            environment = self.environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                                           DS_ACCELERATOR="cpu", PYTHONPATH=harness.packages(engine), PYTHONWARNINGS="ignore",
                                           OMP_NUM_THREADS="1", MEMTRACE_JOB=f"job;{self.out}")
            ranks.append(subprocess.Popen([harness.torch_python(), harness.program("grids.py"), engine], cwd=folder,
                                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        stated = {}
        for process in ranks:
            output, _ = process.communicate(timeout=300)
            (line,) = [line for line in output.splitlines() if line.startswith("place ")]
            rank, stage, replica = map(int, line.split()[1:])
            stated[rank] = (stage, replica)
        self.assertEqual({stage for stage, _ in stated.values()}, {0, 1})
        found = {process["rank"]: process["coordinates"] for process in self.report()["processes"] if process["kind"] == "rank"}
        self.assertEqual({rank: (place["pp"], place["dp"]) for rank, place in found.items()}, stated)

    def test_deepspeed(self):
        self.assert_grid("deepspeed")

    def test_megatron(self):
        self.assert_grid("megatron")


if __name__ == "__main__":
    unittest.main()
