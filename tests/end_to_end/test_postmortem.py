"""Job: processes that the kernel killed for memory are explained, and no other end is called that.

Truth: the kernel's log, PyTorch's own figures (shared/workloads/README.md), and what the program does, by hand.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import cgroup
import harness

TENSOR = 25 * harness.MIB
HALF = TENSOR // 2


class Case(harness.Case):
    def group(self, limit=None, below=None, name="memtrace-test"):
        group = cgroup.Group(name, limit, below)
        self.addCleanup(group.remove)
        return group

    def postmortem_text(self, *options, path=None, status=0):
        done = subprocess.run([harness.COMMAND, "postmortem", path or self.out, *options],
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        text = done.stdout.decode(errors="replace")
        if "json" not in options:
            self.assertLessEqual(max([len(line) for line in text.splitlines()], default=0), 100, text)
        return text

    def postmortem(self, *options, path=None):
        document = json.loads(self.postmortem_text("--format", "json", *options, path=path))
        self.assertEqual(document["schema"], "memtrace.postmortem/1")
        return document

    def findings(self, process):
        return {finding["id"]: finding for finding in process["findings"]}

    def held(self, process, role):
        return sum(row["bytes"] for row in process["death"]["held_tensor"] if row["role"] == role)


def lines_of(site):
    return [f"{os.path.basename(frame['file'])}:{frame['line']}" for frame in site["frames"] if frame["lang"] == "python"]


class CpuOom(Case):
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
        """Run it in a group of its own until the kernel ends it; the group, and its line in the kernel's log."""
        group = self.group(limit)
        done = self.run_in("traced", group.inside(self.command("--log")), self.environment(MEMTRACE_QUIET="1"))
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr.decode(errors="replace"))
        self.assertEqual(group.kills(), 1)
        self.log = done.stderr.decode(errors="replace")
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
        """How many tensors the program says that it began to convert."""
        return self.log.count("to fp32 tensor")

    def test_900M(self):
        group, kill = self.kill_at("900M")
        process = self.assert_explained("900M", group, kill)
        death, begun = process["death"], self.converted()
        self.assertGreater(begun, 0)
        # The state dict, what is converted, what is not yet, and the one that is being filled.
        truth = 24 * HALF + (begun - 1) * TENSOR + (24 - begun + 1) * HALF + TENSOR
        self.assertLessEqual(abs(death["tensor"] - truth), TENSOR)
        self.assertEqual(self.held(process, "staging"), 24 * HALF)
        self.assertEqual(self.held(process, "parameter"), death["tensor"] - 24 * HALF)
        self.assertEqual(death["filling"]["bytes"] // harness.MIB, 25)
        self.assertIn(self.line_of("t.to(torch.float32)"), lines_of(death["filling"]["site"]))
        text = self.postmortem_text()
        self.assertTrue(text.startswith("Killed for memory (certain) in load"), text)


if __name__ == "__main__":
    unittest.main()
