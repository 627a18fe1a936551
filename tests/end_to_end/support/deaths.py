"""Purpose: runs a program until it dies, in its own cgroup, and reads its post-mortem."""
import json
import os
import subprocess

import cgroup
import harness


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
