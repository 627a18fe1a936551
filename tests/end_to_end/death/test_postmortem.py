"""Purpose: tests the post-mortem of a program that loads a checkpoint twice, at each limit that kills it.

Truth: the kernel's log, PyTorch's own figures (shared/workloads/README.md), and the program's known actions.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import cgroup
import deaths
import harness

TENSOR = 25 * harness.MIB
HALF = TENSOR // 2


class CpuOom(deaths.Case):
    """cpu_oom.py: 24 tensors of 12.5 MiB, built, loaded, and converted to 25 MiB each, one after the other."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="memtrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.checkpoint = os.path.join(cls.folder, "ckpt_bf16.pt")
        subprocess.run([harness.torch_python(), harness.workload("cpu_oom.py"), "--file", cls.checkpoint, "--make"],
                       env=harness.bare_environment(), check=True, capture_output=True)

    def command(self, *options):
        return [harness.torch_python(), harness.workload("cpu_oom.py"), "--file", self.checkpoint, *options]

    def line_of(self, code):
        with open(harness.workload("cpu_oom.py"), encoding="utf-8") as file:
            return next(f"cpu_oom.py:{number}" for number, line in enumerate(file, 1) if code in line)

    def kill_at(self, limit):
        """Runs it in its own group until the kernel kills it. Returns the group, and its line in the kernel's
        log."""
        group = self.group(limit)
        done = self.run_in("traced", group.inside(self.command("--log")), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr.decode(errors="replace"))
        self.assertEqual(group.kills(), 1)
        self.log = done.stderr.decode(errors="replace")
        self.said = done.stdout.decode(errors="replace")
        return group, cgroup.last_kill(group.path)

    def assert_explained(self, limit, group, kill):
        process = self.only_process(self.postmortem())
        self.assert_nothing_lost(process)
        self.assertEqual(process["end"]["how"], "oom_kill")
        line, pid = kill
        self.assertEqual(process["pid"], pid)
        evidence = "\n".join(process["end"]["evidence"])
        self.assertIn(line.partition("Killed process")[2].strip(), evidence)
        self.assertIn("CONSTRAINT_MEMCG", evidence)
        self.assertIn(group.path, evidence)
        death = process["death"]
        self.assertEqual(death["phase"], "load")
        self.assertEqual(death["limit"], int(limit[:-1]) * harness.MIB)
        self.assertEqual(death["rss"]["anon"] // 1024, int(re.search(r"anon-rss:(\d+)kB", line)[1]))
        found = self.findings(process)
        self.assertEqual(found["oom-kill"]["confidence"], "certain")
        self.assertIn("assign=True", found["second-copy-on-load"]["remedy"])
        return process

    def converted(self):
        """Returns the number of tensors that the program began to convert, by its own output."""
        return self.log.count("to fp32 tensor")

    def assert_tensors(self, process, line):
        """Live tensor bytes must match the program's own log and the kernel's figures."""
        live, begun = process["death"]["tensor"], self.converted()
        if begun:  # the state dict, the converted tensors, the unconverted ones, and the one being filled
            truth = 24 * HALF + (begun - 1) * TENSOR + (24 - begun + 1) * HALF + TENSOR
        else:  # the model, and the tensors that have become resident since
            at_kill = int(re.search(r"anon-rss:(\d+)kB", line)[1]) * 1024
            init = float(re.search(r"init +anon +([0-9.]+)", self.said)[1]) * harness.MIB
            truth = 24 * HALF + at_kill - init
        self.assertLessEqual(abs(live - truth), TENSOR, f"{live / harness.MIB} live, {truth / harness.MIB} measured")

    def assert_killed_while_filling(self, process):
        filling = process["death"]["filling"]
        sites = deaths.lines_of(filling["site"])
        if self.converted():
            self.assertEqual(filling["bytes"] // harness.MIB, 25)
            self.assertIn(self.line_of("t.to(torch.float32)"), sites)
        else:
            self.assertEqual(filling["bytes"] * 2 // harness.MIB, 25)
            self.assertIn(self.line_of("torch.load(args.file)"), sites)
        if filling["touched"] is not None:
            self.assertLessEqual(filling["touched"], filling["bytes"])

    def test_limits(self):
        for limit in ("900M", "600M", "500M", "700M", "800M", "850M", "1000M"):
            with self.subTest(limit=limit):
                shutil.rmtree(self.out, ignore_errors=True)
                group, kill = self.kill_at(limit)
                process = self.assert_explained(limit, group, kill)
                self.assert_tensors(process, kill[0])
                state = self.held(process, "staging")
                self.assertEqual(state, 24 * HALF if self.converted() else process["death"]["tensor"] - 24 * HALF)
                self.assertEqual(self.held(process, "parameter"), process["death"]["tensor"] - state)
                self.assert_killed_while_filling(process)
                text = self.postmortem_text()
                self.assertTrue(text.startswith("Killed for memory (certain) in load: a state dict"), text)
                self.assertIn("events lost: 0" if "events lost" in text else "lost: 0", text)
                self.assertEqual(text, self.postmortem_text(), "the second reading says something else")

    def test_while_the_model_is_built(self):
        """There is no second copy yet, so the report does not mention one."""
        _, kill = self.kill_at("400M")
        process = self.only_process(self.postmortem())
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assertEqual(list(self.findings(process)), ["oom-kill"])
        self.assertIn(self.line_of("torch.nn.Linear("), deaths.lines_of(process["death"]["filling"]["site"]))
        self.assertIsNotNone(kill)

    def test_fixed(self):
        group = self.group("900M")
        done = self.run_in("traced", group.inside(self.command("--fixed")), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, 0)
        process = self.only_process(self.postmortem())
        self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
        self.assertIsNone(process["death"])
        self.assertEqual(process["findings"], [])
        self.assertEqual(glob.glob(os.path.join(self.out, "*.evidence")), [])

    def test_the_recorder_does_not_bring_the_kill_a_tensor_forward(self):
        """Compares the tensor bytes that the program gets before it is killed, without memtrace and with it."""
        held = []
        for environment in (harness.bare_environment(), self.environment(MEMTRACE_QUIET="1")):
            group = self.group("900M")
            done = self.run_in("traced", group.inside(self.command("--log")), environment)
            self.assertEqual(done.returncode, -signal.SIGKILL)
            begun = done.stderr.count(b"to fp32 tensor")
            held.append((begun - 1) * TENSOR + (24 - begun + 1) * HALF + TENSOR)
        self.assertLess(held[0] - held[1], TENSOR)


if __name__ == "__main__":
    unittest.main()
