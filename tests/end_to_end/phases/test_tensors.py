"""Purpose: compares tensor bytes per phase of a real training run with figures measured without memtrace.

The table is from shared/workloads/README.md, in MiB.
"""
import json
import re
import shutil
import subprocess
import unittest

import harness

P = 231.05
TOLERANCE = 0.0101  # the table has two decimals


def mib(size):
    return size / harness.MIB


def adam_lines():
    """Returns the lines where _multi_tensor_adam of the installed PyTorch takes its square roots."""
    found = subprocess.run([harness.torch_python(), "-c", "import torch.optim.adam as adam; print(adam.__file__)"],
                           capture_output=True, text=True, check=True)
    with open(found.stdout.strip(), encoding="utf-8") as file:
        return [number for number, line in enumerate(file, 1)
                if re.search(r"torch\._foreach_sqrt\(device_exp_avg_sqs\)", line)]


class Falcon(harness.Case):
    def run_falcon(self, *options, steps=2, **settings):
        """The rows that the tests compare are of steps 0 and 1."""
        command = [harness.torch_python(), harness.workload("falcon_adamw.py"), "--steps", str(steps), *options]
        environment = self.environment(OMP_NUM_THREADS="1", MEMTRACE_QUIET="1", **settings)
        done = self.run_in("traced", command, environment)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        self.assertNotIn(b"memtrace:", done.stderr)  # transformers has warnings of its own
        process = self.only_process(self.report())
        if "MEMTRACE_EXACT_MIN" not in settings and "MEMTRACE_SAMPLE" not in settings:
            self.assert_nothing_lost(process)
        self.assertEqual(process["trace"]["lost_reasons"], {})
        return process

    def assert_rows(self, process, forward, backward, before, peak, after, transient):
        step = harness.phase_row(process, "step", 0)["tensor"]
        found = [harness.phase_row(process, "forward", 0)["tensor"]["peak_live"],
                 harness.phase_row(process, "backward", 0)["tensor"]["peak_live"],
                 step["entry_live"], step["peak_live"], step["exit_live"],
                 harness.phase_row(process, "step", 1)["tensor"]["transient"]]
        wanted = [forward, backward, before, peak, after, transient]
        self.assertTrue(all(abs(mib(f) - w) <= TOLERANCE for f, w in zip(found, wanted)),
                        f"found {[round(mib(f), 3) for f in found]}, measured {wanted}")

    def test_foreach(self):
        process = self.run_falcon("--opt", "foreach", steps=3)
        self.assert_rows(process, 514.22, 558.11, 462.11, 1155.27, 924.22, 231.05)
        self.assertEqual(process["parameters"]["count"], 60_569_088)
        lines = self.report_text().splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith("1. "))
        first = " ".join(lines[at : at + 3])
        self.assertIn("_foreach_sqrt", first)
        found = re.search(r"adam\.py:(\d+)", first)
        self.assertTrue(found, first)
        self.assertIn(int(found[1]), adam_lines())
        self.assertIn("The optimizer's temporaries set the peak", first)
        self.assertIn("1.000 P", first)
        self.assertIn("foreach-temporaries", [finding["id"] for finding in process["findings"]])
        self.assert_states_are_new()

    def assert_states_are_new(self):
        """Checks the memory that forward finds in step 1 but not in step 0: the two states of each parameter.
        """
        done = subprocess.run([harness.COMMAND, "diff", self.out, "--steps", "0:1", "--phases", "forward",
                               "--format", "json"], capture_output=True, check=True, timeout=300)
        diff = json.loads(done.stdout)
        self.assertEqual(diff["total"], sum(row["change"] for row in diff["rows"]))
        # Python's arenas of 1 MiB, of one site, are in the diff, too.
        states = [row for row in diff["rows"] if mib(row["change"]) > 16]
        self.assertEqual([row["role"] for row in states], ["optimizer_state"] * len(states))
        self.assertEqual({(row["bytes_a"], row["phase"]) for row in states}, {(0, "step")})
        # As malloc gave them: some bytes more for each of several hundred tensors.
        self.assertAlmostEqual(sum(mib(row["bytes_b"]) for row in states), 2 * P, delta=0.3)

    @harness.only_in_long
    def test_forloop(self):
        self.assert_rows(self.run_falcon("--opt", "forloop"), 514.22, 558.11, 462.11, 1020.22, 924.22, 96.00)

    def test_fused(self):
        process = self.run_falcon("--opt", "fused")
        self.assert_rows(process, 514.22, 558.11, 462.11, 924.22, 924.22, 0.00)
        self.assertNotIn("foreach-temporaries", [finding["id"] for finding in process["findings"]])
        self.assertNotIn("_foreach_sqrt", self.report_text())

    @harness.only_in_long
    def test_bf16(self):
        self.assert_rows(self.run_falcon("--dtype", "bf16"), 347.12, 363.11, 231.06, 577.64, 462.11, 115.53)

    @harness.only_in_long
    def test_checkpointing(self):
        self.assert_rows(self.run_falcon("--checkpointing"), 310.30, 558.11, 462.11, 1155.27, 924.22, 231.05)

    @harness.only_in_long
    def test_accumulation(self):
        # The row's peak is the highest of its occurrences in the step: the second micro-step's.
        self.assert_rows(self.run_falcon("--accum", "2"), 745.28, 777.27, 462.11, 1155.27, 924.22, 231.05)

    # Tensors are exact for all sampling settings.
    SETTINGS = ({"SAMPLE": "1"}, {"SAMPLE": "4K"}, {"SAMPLE": "16M"}, {"EXACT_MIN": "1"}, {"EXACT_MIN": "1G"},
                {"STACKS": "none"}, {"STACKS": "python"}, {"STACKS": "native"},
                {"SAMPLE": "16M", "EXACT_MIN": "1G", "STACKS": "none"})

    @harness.only_in_long
    def test_settings(self):
        for settings in self.SETTINGS:
            with self.subTest(**settings):
                shutil.rmtree(self.out, ignore_errors=True)
                process = self.run_falcon(**{"MEMTRACE_" + name: value for name, value in settings.items()})
                self.assert_rows(process, 514.22, 558.11, 462.11, 1155.27, 924.22, 231.05)


class Demo(harness.Case):
    def test_report_of_a_run_that_goes_on(self):
        program = "import time, mmap\nb = b'x' * (64 << 20)\nprint('ready', flush=True)\ntime.sleep(60)"
        with subprocess.Popen(["python3", "-c", program], env=self.environment(MEMTRACE_QUIET="1"),
                              stdout=subprocess.PIPE, cwd=self.scratch) as process:
            process.stdout.readline()
            report = self.report()
            process.kill()
        self.assertEqual(report["processes"][0]["end"]["how"], "running")
        self.assertGreater(harness.peak(report["processes"][0]), 64 * harness.MIB)


if __name__ == "__main__":
    unittest.main()
