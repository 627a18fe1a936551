"""Purpose: opens the pages of real programs in Chromium, and compares them with the JSON, to the byte.

Each test prints a line of figures: the size of the page, the time to make it, and when the browser had it ready.
"""

import json
import os
import shutil
import signal
import subprocess
import unittest

import cgroup
import cuda_node
import harness
import real_page
from browser import needs_browser
from real_page import ENTER, ESCAPE, TAB

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MEMTRACE_QUIET": "1"}


class Case(real_page.Case):
    def run_traced(self, command, status=0, **environment):
        done = self.run_in("traced", command, self.environment(**{**ONE_THREAD, **environment}))
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))

    def generate(self, *size):
        """Writes a synthetic training. Returns the figures that its generator knows."""
        os.makedirs(self.out)
        generator = os.path.join(harness.BUILD, "tests", "bench_trace", "memtrace_bench_trace")
        made = subprocess.run([generator, os.path.join(self.out, "t.memtrace"), *size], capture_output=True,
                              check=True, timeout=100)
        return json.loads(made.stdout)


@needs_browser
class Programs(Case):
    def test_a_training(self):
        self.run_traced([harness.torch_python(), harness.program("little_model.py")])
        self.check("report", self.out)

    @harness.only_in_long
    def test_falcon_adamw(self):
        self.run_traced([harness.torch_python(), harness.workload("falcon_adamw.py"), "--opt", "foreach"])
        report = self.check("report", self.out)
        self.assertIn("foreach-temporaries", [one["id"] for one in report["processes"][0]["findings"]])
        self.keyboard_tasks()

    @harness.only_in_long
    def test_a_leak(self):
        self.run_traced([harness.torch_python(), harness.workload("everyday/gpt_logits_leak.py")])
        report = self.check("report", self.out)
        self.assertIn("leak-per-step", [one["id"] for one in report["processes"][0]["findings"]])

    @harness.only_in_long
    def test_workers_that_map_a_data_set(self):
        file = os.path.join(self.scratch, "tokens.arrow")
        self.run_traced([harness.torch_python(), harness.workload("hf_datasets_mmap.py"), "--file", file, "--rows",
                         "65536"], PYTHONPATH=harness.packages("datasets"))
        report = self.check("report", self.out)
        self.assertGreaterEqual(len(report["processes"]), 5)

    @harness.only_in_long
    def test_a_kill_for_memory(self):
        file = os.path.join(self.scratch, "ckpt_bf16.pt")
        command = [harness.torch_python(), harness.workload("cpu_oom.py"), "--file", file]
        subprocess.run([*command, "--make"], env=harness.bare_environment(), check=True, capture_output=True)
        with cgroup.Group("memtrace-test", "900M") as group:
            self.run_traced(group.inside(command), -signal.SIGKILL)
        self.check("report", self.out)
        self.assertIsNotNone(self.data.documents["postmortem"])
        self.assertEqual(self.page.count("#tab-postmortem"), 1)

    def keyboard_tasks(self):
        """Five tasks without a pointer: from a finding to its moment, walk and zoom, search, read the table, open a
        stack."""
        self.page.open(self.path, "findings")
        self.page.run("(document.querySelector('#tab-findings').focus(), 0)")
        self.reach(".show")
        self.press(ENTER)
        self.assertEqual(self.page.run("memtrace.state().tab"), "timeline")
        mark = next(one for one in self.data.page["processes"][0]["marks"] if one["finding"] == 0)
        self.assertEqual(self.page.run("memtrace.state().at"), mark["t"])

        self.press("0", "]")
        whole, step = self.page.run("memtrace.end()"), self.shown_stretch()
        self.assertLess(step, whole)
        self.press("W")
        self.assertLess(self.shown_stretch(), step)
        self.press("0", "p")
        self.assertEqual(self.shown_stretch(), whole)

        self.press("/", *"adam")
        self.page.wait("/frames, .* % of live/.test(document.querySelector('.search').textContent)")
        self.press(ENTER)
        self.assertIn("adam", self.page.run("document.querySelector('.selection').innerText").lower())
        self.press(ESCAPE, ESCAPE, "t")  # empties the search, leaves it
        self.assertGreater(self.page.count(".twins tbody tr"), 5)

        self.page.open(self.path, "peaks")
        self.page.run("(document.querySelector('#tab-peaks').focus(), 0)")
        self.reach("#peak .opener")
        self.press(ENTER)
        self.assertGreater(self.page.count("#peak .frames"), 0)
        self.assertEqual(self.page.console(), [])

    def reach(self, selector):
        for _ in range(60):
            self.press(TAB)
            if self.page.run("document.activeElement.matches(arguments[0])", selector):
                return
        self.fail(f"Tab does not reach {selector}")

    def shown_stretch(self):
        return self.page.run("memtrace.state().to - memtrace.state().from")


@needs_browser
class Generated(Case):
    def test_a_million_events(self):
        made = self.generate("15M")
        report = self.check("report", self.out)
        self.assertGreater(report["processes"][0]["trace"]["events"], 900_000)
        self.assertEqual(harness.peak(report["processes"][0], measure="tensor"), made["tensor"])

    @harness.only_in_long
    def test_two_weeks(self):
        made = self.generate("64M", "1000")
        report = self.check("report", self.out)
        self.assertGreater(report["processes"][0]["duration"], 7 * 24 * 3600)
        self.assertEqual(harness.peak(report["processes"][0], measure="tensor"), made["tensor"])


@needs_browser
class Differences(Case):
    def test_two_runs(self):
        sides = []
        for width in ("6", "9"):
            self.out = os.path.join(self.scratch, f"out-{width}")
            code = f"held = [bytearray(8 << 20) for _ in range({width})]"
            self.run_traced(["/usr/bin/python3", "-c", code])
            sides.append(self.out)
        self.make("diff", *sides)
        diff = self.json_of("diff", *sides)
        self.assertTrue(self.data.documents["diff"] == diff, "not what memtrace diff prints")
        # One of the runs may have one more of Python's arenas, which are 1 MiB each.
        self.assertAlmostEqual(diff["total"], 24 << 20, delta=2 << 20)
        self.check_differences("diff", diff)
        self.check_surroundings()


@needs_browser
class OnTheNode(cuda_node.Case, Case):
    @harness.only_in_long
    def test_a_cuda_run(self):
        training = os.path.join(harness.ROOT, "scripts", "gpu_check_train.py")
        done, _ = self.trace([cuda_node.NODE, "env", "LD_PRELOAD=" + harness.LIBRARY, "python", training], ONE_THREAD)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        report = self.check("report", self.out)
        self.assertGreater(harness.peak(report["processes"][0], "cuda:0", "tensor"), 0)


if __name__ == "__main__":
    unittest.main()
