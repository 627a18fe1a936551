"""Purpose: two ranks of PyTorch's real CUDA wheel on the CUDA node, each with a GPU of its own (docs/cuda-node.md).
Truth: each rank's counters of PyTorch. The values that the ranks get prove that the stand-in for NCCL moves data."""
import json
import unittest

import cuda_node
import harness

BY_CUPTI = {"MEMTRACE_CUPTI": "on"}


def rows_at_peak(process, memory, role):
    return [row for entry in process["peaks"] if (entry["memory"], entry["measure"]) == (memory, "tensor")
            for row in entry["at_peak"] if row["role"] == role]


class Ranks(cuda_node.Case):
    def train(self, how, more=None):
        """Compares the peaks of both ranks with PyTorch's counters. Returns what rank 0 and rank 1 printed, and their processes."""
        command = [cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", "-m", "torch.distributed.run", "--standalone",
                   "--nproc-per-node", "2", harness.program("two_ranks.py"), how]
        done, report = self.trace(command, {**harness.RECORD_ALL, "OMP_NUM_THREADS": "1", **(more or {})})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        said = sorted(map(json.loads, done.stdout.splitlines()), key=lambda truth: truth["rank"])
        processes = sorted((process for process in report["processes"] if process["rank"] is not None),
                           key=lambda process: process["rank"])
        self.assertEqual([(process["rank"], process["pid"]) for process in processes],
                         [(truth["rank"], truth["pid"]) for truth in said])
        self.assertEqual((report["job"]["launcher"], report["job"]["world_size"]), ("torchrun", 2))
        for truth, process in zip(said, processes):
            self.assert_peaks(truth, process)
        return list(zip(said, processes))

    def assert_peaks(self, truth, process):
        own = f"cuda:{truth['rank']}"
        self.assert_nothing_lost(process)
        self.assertEqual({entry["memory"] for entry in process["peaks"]}, {"host", own})
        self.assertEqual((harness.peak(process, own, "tensor"), harness.peak(process, own, "reserved")),
                         (truth["allocated"], truth["reserved"]), own)
        self.assertNotIn("device-context", {finding["id"] for finding in process["findings"]})

    def assert_collectives(self, rank0, rank1):
        ones = {name: value for name, value in rank0["reductions"].items() if name.startswith("ones")}
        self.assertEqual((len(ones), set(ones.values())), (8, {2}))
        # Of 2 and 5.
        self.assertEqual({name: value for name, value in rank0["reductions"].items() if name not in ones},
                         {"PRODUCT": 10, "MIN": 2, "MAX": 5, "AVG": 3.5, "scaled": 3.5})
        self.assertEqual(rank1["reductions"], rank0["reductions"])
        # Rank 0 has 10 and 11, rank 1 has 20 and 21.
        self.assertEqual(rank0["movements"], {"all_gather": [10, 20], "reduce_scatter": [30], "all_to_all": [10, 20],
                                              "both send": [20], "rank 0 sends": [10], "broadcast of rank 1": [20, 21]})
        self.assertEqual(rank1["movements"], {"all_gather": [10, 20], "reduce_scatter": [32], "all_to_all": [11, 21],
                                              "both send": [10], "rank 0 sends": [10], "broadcast of rank 1": [20, 21],
                                              "reduce to rank 1": [30]})
        self.assertEqual([rank["groups"] for rank in (rank0, rank1)],
                         [{"both": 3, "rank 1 alone": 1}, {"both": 3, "rank 1 alone": 2}])
        self.assertNotEqual(rank0["parameters"]["own"], rank1["parameters"]["own"])
        self.assertEqual([rank["parameters"]["of DDP"] for rank in (rank0, rank1)], [rank0["parameters"]["own"]] * 2)

    def data_parallel(self, more=None):
        ranks = self.train("ddp", more)
        self.assert_collectives(*[truth for truth, _ in ranks])
        for truth, process in ranks:
            self.assertEqual(truth["buckets"], 3)
            self.assert_buckets(truth, process)

    def assert_buckets(self, truth, process):
        """DDP makes its first bucket with the model, and replaces it by three in the forward pass of the second step. A thread of
        NCCL may still hold the first one then: the counter of PyTorch is higher in such a run."""
        sizes = {}
        for row in rows_at_peak(process, f"cuda:{truth['rank']}", "comm"):
            sizes[row["born_phase"]] = sizes.get(row["born_phase"], 0) + row["bytes"]
        self.assertEqual(set(sizes.values()), {truth["bytes in buckets"]})
        self.assertLessEqual(set(sizes), {"load", "forward"})

    def sharded(self, more=None):
        for truth, process in self.train("fsdp", more):
            held = sum(row["bytes"] for row in rows_at_peak(process, f"cuda:{truth['rank']}", "parameter"))
            self.assertEqual(held, truth["own part"])

    @harness.only_in_long
    def test_ddp(self):
        self.data_parallel()

    def test_fsdp(self):
        self.sharded()

    @harness.only_in_long
    def test_ddp_by_cupti(self):
        self.data_parallel(BY_CUPTI)

    @harness.only_in_long
    def test_fsdp_by_cupti(self):
        self.sharded(BY_CUPTI)


def nccl_at_peak(process, memory):
    """Returns the bytes of each row's name, of the memory that NCCL took."""
    held = {}
    for entry in process["peaks"]:
        for row in entry["at_peak"] if (entry["memory"], entry["measure"]) == (memory, "live") else ():
            if row["role"] == "comm":
                held[row.get("name")] = held.get(row.get("name"), 0) + row["bytes"]
    return held


class Groups(cuda_node.Case):
    """NCCL's memory by process group. Most of it is taken by a thread of NCCL (tests/cuda_node/nccl_memory.h)."""

    def run_groups(self, how, more=None):
        command = [cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", "-m", "torch.distributed.run", "--standalone",
                   "--nproc-per-node", "2", harness.program("two_groups.py"), how]
        done, report = self.trace(command, {**harness.RECORD_ALL, "OMP_NUM_THREADS": "1", "NCCL_BUFFSIZE": str(7 << 20), **(more or {})})
        said = {}
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        for truth in map(json.loads, done.stdout.splitlines()):
            said[truth["rank"]] = truth["groups"]
        processes = {process["rank"]: process for process in report["processes"] if process["rank"] is not None}
        self.assertEqual((sorted(said), sorted(processes)), ([0, 1], [0, 1]))
        for rank, groups in said.items():
            self.assert_nothing_lost(processes[rank])
            ranks = {"default_pg": "ranks 0-1", "tp": "ranks 0-1", "pp": f"rank {rank}"}
            self.assertEqual(nccl_at_peak(processes[rank], f"cuda:{rank}"),
                             {f'NCCL, group "{name}" ({ranks[name]})': held for name, held in groups.items()})
        # What touches torch.distributed touches names that warn. The program has touched none.
        self.assertNotIn(b"FutureWarning", done.stderr)

    def test_communicators_made_at_the_first_collective(self):
        self.run_groups("lazy")

    @harness.only_in_long
    def test_communicators_split_at_once(self):
        self.run_groups("eager")

    @harness.only_in_long
    def test_by_cupti(self):
        self.run_groups("lazy", BY_CUPTI)


if __name__ == "__main__":
    unittest.main()
