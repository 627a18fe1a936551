"""Purpose: DeepSpeed's ZeRO with its optimizer in pinned host memory, and accelerate, on the CUDA node (docs/cuda-node.md).
Truth: PyTorch's counters of the GPU and of pinned memory, and the sizes of the tensors that the engine holds."""
import glob
import json
import os
import socket
import subprocess
import unittest

import cuda_node
import harness

PROGRAM = harness.program("zero_cuda.py")
TRACED = {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_QUIET": "1", "OMP_NUM_THREADS": "1"}


def rounding(truth):
    """Returns what PyTorch's pinned allocator adds to the engine's tensors: it takes powers of two."""
    return sum((1 << (size - 1).bit_length()) - size for sizes in truth["host"].values() for size in sizes["pinned"])


def pinned_at_peak(process):
    """Returns the pinned bytes of each role at the host's peak."""
    out = {}
    for entry in process["peaks"]:
        if (entry["memory"], entry["measure"]) == ("host", "live"):
            for row in entry["at_peak"]:
                if row["kind"] == "pinned":
                    out[row["role"]] = out.get(row["role"], 0) + row["bytes"]
    return out


class Case(cuda_node.Case):
    def printed(self, command, more):
        """Runs the command traced. Returns what each rank printed with its process of the report."""
        done, report = self.trace([cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, *command], {**TRACED, **more})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b'{"')]
        processes = {process["pid"]: process for process in report["processes"]}
        return [(truth, processes[truth["pid"]]) for truth in sorted(said, key=lambda truth: truth.get("rank", 0))]

    def assert_peaks(self, truth, process):
        self.assert_nothing_lost(process)
        card = f"cuda:{truth.get('rank', 0)}"
        found = [harness.peak(process, memory, measure)
                 for memory, measure in ((card, "tensor"), (card, "reserved"), ("host", "reserved"))]
        self.assertEqual(found, [truth["allocated"], truth["reserved"], truth["pinned"]])

    def explain(self, memory, *options, path=None):
        done = subprocess.run([harness.COMMAND, "explain", path or self.out, "--memory", memory, *options],
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def explained(self, memory, path=None):
        """Returns the explanation, and the bytes asked for of each role that are kept."""
        out = json.loads(self.explain(memory, "--format", "json", path=path))
        self.assertEqual(out["unaccounted"], 0)
        sums = {}
        for row in out["rows"]:
            if row["state"] == "live":
                sums[row["role"]] = sums.get(row["role"], 0) + row["asked"]
        return out, sums


class ZeRO(Case):
    def setUp(self):
        super().setUp()
        packages = harness.packages("deepspeed")
        # Of its own: what DeepSpeed compiled for PyTorch without CUDA is linked to other libraries.
        extensions = os.path.join(harness.CACHE, "torch_extensions_cuda")
        # No toolkit: DeepSpeed's CPU Adam is C++ alone.
        self.more = {"PYTHONPATH": packages, "TORCH_EXTENSIONS_DIR": extensions, "CUDA_HOME": os.path.join(self.scratch, "none"),
                     "PATH": os.pathsep.join([os.path.join(packages, "bin"), os.environ["PATH"]])}
        self.compile(extensions)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.more["MASTER_PORT"] = str(free.getsockname()[1])

    def compile(self, extensions):
        """DeepSpeed compiles its CPU Adam in the first run, which must not be in a trace."""
        if glob.glob(os.path.join(extensions, "**", "cpu_adam.so"), recursive=True):
            return
        # A run that was killed while it compiled leaves the lock, and the next one would wait for it for ever.
        for lock in glob.glob(os.path.join(extensions, "**", "lock"), recursive=True):
            os.remove(lock)
        os.makedirs(extensions, exist_ok=True)
        load = "from deepspeed.ops.op_builder import CPUAdamBuilder; CPUAdamBuilder().load()"
        done = self.bare([cuda_node.NODE, "python", "-c", load], self.more, timeout=800)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-2000:])

    def train(self, stage, accumulation=1, ranks=1):
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)] if ranks > 1 else []
        runs = self.printed(["python", *start, PROGRAM, str(stage), str(accumulation)], self.more)
        self.assertEqual(len(runs), ranks)
        for truth, process in runs:
            self.assert_peaks(truth, process)
            self.assert_pinned(truth, process)
        return runs

    def assert_pinned(self, truth, process):
        """The engine's pinned tensors by role, and what rounding adds. A few blocks of some bytes belong to scalars."""
        pinned = pinned_at_peak(process)
        self.assertLess(pinned.pop("unknown", 0), 100)
        held = {role: sum(sizes["pinned"]) for role, sizes in truth["host"].items() if sizes["pinned"]}
        self.assertEqual(pinned, {**held, "rounding": rounding(truth)})
        self.assertEqual([finding["bytes"] for finding in process["findings"] if finding["id"] == "pinned-rounding"],
                         [rounding(truth)])

    def assert_explained(self, truth, theory):
        """The host's rows are the engine's tensors, to the byte. Returns the explanation and the bytes of each role."""
        (path,) = glob.glob(os.path.join(self.out, f"*-{truth['pid']}-*.memtrace"))
        out, found = self.explained("host", path)
        self.assertLess(found.pop("unknown", 0), 100)
        held = {role: sum(sizes["pinned"] + sizes["pageable"]) for role, sizes in truth["host"].items()}
        self.assertEqual(found, {**held, "rounding": rounding(truth)})
        self.assertAlmostEqual(out["theory"], theory)
        _, on_gpu = self.explained(f"cuda:{truth['rank']}", path)
        self.assertEqual((on_gpu["parameter"], on_gpu.get("gathered", 0)), (truth["parameters on the GPU"], 0))
        text = self.explain("host", path=path)
        self.assertNotIn("No row has the parameters", text)
        self.assertLess(text.count(" meanwhile"), 5, text)
        return out, found

    def assert_table(self, stage, table, accumulation=1, ranks=1, theory=16):
        """`table`: bytes per parameter of each role in the host's memory, by hand."""
        for truth, _ in self.train(stage, accumulation, ranks):
            out, found = self.assert_explained(truth, theory)
            count = out["parameters"]["count"]
            self.assertEqual(count, truth["parameters"] // (ranks if stage == 3 else 1))
            self.assertEqual({role: round(size / count, 6) for role, size in found.items()},
                             {role: round(size, 6) for role, size in table.items()})
            parts = {part["name"]: part["kept"] for part in out["parts_of_step"]}
            for name in ("unscale_and_clip_grads", "adam_update"):  # +4 each, a thread says; not with this version
                self.assertLess(abs(parts[name]), 0.02)

    # P is 17 Mi. 4 bytes of each are 68 MiB, of which the pinned allocator makes 128; 2 are 34, of which it makes 64.

    @harness.only_in_long
    def test_second_stage(self):
        # 27 bytes, as the thread says: the copy buffer, the buffer for one layer's gradient, and rounding.
        self.assert_table(2, {"master": 4, "gradient": 4, "optimizer_state": 8, "staging": 2 + 2 / 17,
                              "rounding": (60 + 60 + 30) / 17})

    @harness.only_in_long
    def test_second_stage_with_accumulation(self):
        # As above, and each layer's gradient in bf16, whose size is a power of two.
        self.assert_table(2, {"master": 4, "gradient": 4 + 2, "optimizer_state": 8, "staging": 2 + 2 / 17,
                              "rounding": (60 + 60 + 30) / 17}, accumulation=2)

    @harness.only_in_long
    def test_third_stage(self):
        # The master is pageable. Gradients are in fp32 and in bf16.
        self.assert_table(3, {"master": 4, "gradient": 4 + 2, "optimizer_state": 8, "rounding": (60 + 30) / 17})

    @harness.only_in_long
    def test_second_stage_of_two_ranks(self):
        # Each rank has half of all but the buffer for one layer's gradient; P is the whole model.
        self.assert_table(2, {"master": 2, "gradient": 2, "optimizer_state": 4, "staging": 1 + 2 / 17,
                              "rounding": (30 + 30 + 15) / 17}, ranks=2, theory=8)

    @harness.only_in_long
    def test_third_stage_of_two_ranks(self):
        # P is the rank's own half.
        self.assert_table(3, {"master": 4, "gradient": 4 + 2, "optimizer_state": 8, "rounding": (60 + 30) / 17}, ranks=2)


class Accelerate(Case):
    @harness.only_in_long
    def test_accumulation_in_bf16(self):
        more = {"PYTHONPATH": harness.packages("accelerate")}
        ((truth, process),) = self.printed(["python", harness.program("accelerated_cuda.py")], more)
        self.assert_peaks(truth, process)
        out, sums = self.explained("cuda:0")
        self.assertEqual({role: sums[role] for role in truth["kept"]}, truth["kept"])
        self.assertEqual((out["parameters"]["count"], out["theory"]), (truth["parameters"], 16))


if __name__ == "__main__":
    unittest.main()
