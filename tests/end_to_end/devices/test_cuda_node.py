"""Purpose: runs the jobs of scripts/gpu_check with PyTorch's real CUDA wheel on a machine without a GPU: its allocator is
the real one, the libraries below it are our stand-ins (docs/cuda-node.md). Truth: PyTorch's own counters."""
import json
import os
import subprocess
import unittest

import cuda_node
import harness

JOBS = os.path.join(harness.ROOT, "scripts", "gpu", "run.py")
SECONDS = int(os.environ.get("MEMTRACE_TEST_SECONDS", "800"))

# Each change: what differs in how memory is taken, once; test_cuda_allocator.py has more. --long runs the others too.
IN_EACH_CHANGE = ("profiler", "expandable segments, by CUPTI", "pinned by registration", "two cards", "ipc")
IN_LONG = (
    "reset, by CUPTI", "graph", "mempool", "retry",
    "train", "train, by CUPTI", "expandable segments", "cudaMallocAsync", "history", "segments", "reset", "pinned",
    "held by another tool", "another tool comes later", "loader", "checkpointing", "accumulation", "autocast", "bf16",
    "empty cache", "compile", "streams", "convolution", "ddp", "fsdp", "transformers", "to and back", "context",
    "out of memory", "largest, foreach", "largest, fused", "largest, forloop")


def wrong_rows(job):
    return [f"{row['check']}: PyTorch {row['truth']}, memtrace {row['found']}: {row['verdict']}"
            for row in job["rows"] if row["ok"] is False]


class Node(cuda_node.Case):
    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.scratch, "tree")
        subprocess.run(["cmake", "--install", harness.BUILD, "--prefix", self.tree], check=True, capture_output=True)

    def run_jobs(self, names, more):
        out = os.path.join(self.scratch, "out")
        os.makedirs(out)
        done = subprocess.run([cuda_node.NODE, "python", JOBS, self.tree, out, str(SECONDS), *names], capture_output=True, text=True,
                              check=False, env=harness.bare_environment(**more), timeout=SECONDS + 60)
        try:
            with open(os.path.join(out, "gpu_check.json"), encoding="utf-8") as file:
                jobs = json.load(file)["jobs"]
        except OSError:
            self.fail(f"exit {done.returncode}: {done.stderr[-2000:]}")
        return {job["job"]: job for job in jobs}

    def assert_jobs(self, names, **more):
        jobs = self.run_jobs(names, more)
        for name in names:
            with self.subTest(name):
                self.assertIn(name, jobs)
                self.assertEqual(wrong_rows(jobs[name]), [])
                self.assertTrue(any(row["ok"] for row in jobs[name]["rows"]), "nothing was compared")
        return jobs

    def test_jobs(self):
        self.assert_jobs(IN_EACH_CHANGE)

    @harness.only_in_long
    def test_more_jobs(self):
        self.assert_jobs(IN_LONG)

    @harness.only_in_long
    def test_triton(self):
        """torch.compile with kernels that Triton's own compiler makes."""
        jobs = self.assert_jobs(["compile"], PYTHONPATH=harness.packages("triton"))
        backends = [row["truth"] for row in jobs["compile"]["rows"] if row["check"] == "torch.compile's backend"]
        self.assertRegex(backends[0], r"inductor, [1-9]\d* kernels")


if __name__ == "__main__":
    unittest.main()
