"""Job: a job that begins anew where it died for memory says so, and what it died of can be read."""
import os
import subprocess
import sys
import time
import unittest

import cgroup
import harness

MIB = harness.MIB
CODE = ("import sys, time\n"
        "held = []\n"
        "for i in range(int(sys.argv[1])):\n"
        "    held.append(b'x' * (1 << 20)); time.sleep(0.002)\n")


class Attempts(harness.Case):
    """The same command each time but for how much it may take."""

    def start(self, mib, group, run=False, expect=0):
        # The limit decides how it ends, for another argument is another command.
        command = [sys.executable, "-c", CODE, str(mib)]
        before = [harness.COMMAND, "run", "-o", self.out, "--"] if run else []
        environment = harness.bare_environment(MEMTRACE_SKIP="") if run else self.environment()
        done = self.run_in("traced", before + command, environment, preexec_fn=group.enter)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr.decode().splitlines()

    def postmortem(self, *options):
        return subprocess.run([harness.COMMAND, "postmortem", self.out, *options], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, env=harness.bare_environment(), timeout=100)

    def recording(self):
        return f"memtrace: recording to {self.out}"

    def test_again_in_the_same_group(self):
        """The group's own counter is the witness."""
        with cgroup.Group("attempts", 150 * MIB) as group:
            self.assertEqual(self.start(300, group, expect=-9), [self.recording()])
            self.assertEqual(self.start(300, group, expect=-9), [
                self.recording(),
                f"memtrace: attempt 1 here was killed for memory: memtrace postmortem --attempt 1 {self.out}"])
            group.write("memory.limit_in_bytes", 900 * MIB)
            self.assertEqual(self.start(300, group), [
                self.recording(),
                f"memtrace: attempt 2 here was killed for memory: memtrace postmortem --attempt 2 {self.out}"])
            self.assertEqual(self.start(300, group), [self.recording()], "the one before ended well")
        starts = [os.path.basename(path).rsplit("-", 1)[1] for path in self.trace_files()]
        self.assertEqual(len(starts), 4)
        report = self.report()
        self.assertEqual((report["job"]["attempt"], len(report["processes"])), (4, 1), "the newest alone")
        for number, end in ((1, "Killed for memory"), (2, "Killed for memory"), (3, "exited with 0")):
            done = self.postmortem("--attempt", str(number))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(end, done.stdout.decode())
        done = self.postmortem("--attempt", "5")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr, rb"^memtrace: --attempt 5: no trace of it in .*; that has attempts 1 to 4\n$")

    def test_in_a_new_group(self):
        """As a container that is started again: its counters are new, and what was left of the limit is told."""
        with cgroup.Group("attempts", 150 * MIB) as group:
            self.start(300, group, expect=-9)
        with cgroup.Group("again", 900 * MIB) as group:
            lines = self.start(300, group)
        self.assertEqual(lines[0], self.recording())
        self.assertRegex(lines[1], r"^memtrace: attempt 1 here was killed with \d+ of 150 MiB left: "
                                   rf"memtrace postmortem --attempt 1 {self.out}$")
        self.assertEqual(len(lines), 2)

    def test_killed_far_from_a_limit(self):
        """kill -9 is no death for memory, and another command is another job."""
        with cgroup.Group("attempts", 2048 * MIB) as group:
            with subprocess.Popen([sys.executable, "-c", CODE, "3000"], env=self.environment(), cwd=self.scratch,
                                  stderr=subprocess.DEVNULL, preexec_fn=group.enter) as process:
                until = time.monotonic() + 60
                while not self.ring_files() and time.monotonic() < until:
                    time.sleep(0.01)
                process.kill()
        with cgroup.Group("attempts", 900 * MIB) as group:
            self.assertEqual(self.start(3000, group, expect=-9), [self.recording()])
            self.assertEqual(self.start(50, group), [self.recording()])

    def test_at_once(self):
        """Two that run at the same time in one directory, as the tasks of an srun, are one attempt."""
        with cgroup.Group("attempts", 2048 * MIB) as group:
            wait = CODE + "sys.stdin.read()\n"
            processes = []
            for number in (1, 2):
                processes.append(subprocess.Popen([sys.executable, "-c", wait, "60"], env=self.environment(),
                                                  cwd=self.scratch, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                                  preexec_fn=group.enter))
                until = time.monotonic() + 60
                while len(self.trace_files()) < number and time.monotonic() < until:
                    time.sleep(0.01)
            said = [process.communicate(b"", timeout=60)[1].decode().splitlines() for process in processes]
        self.assertEqual(said, [[self.recording()], []])
        self.assertEqual(len(self.report()["processes"]), 2)

    def test_with_run(self):
        """The watcher is not told of by the trace, nor does it count as another command."""
        with cgroup.Group("attempts", 150 * MIB) as group:
            lines = self.start(300, group, run=True, expect=137)
            self.assertTrue(lines[1].startswith("Killed for memory"), lines)
            lines = self.start(300, group, run=True, expect=137)
        self.assertEqual(lines[1],
                         f"memtrace: attempt 1 here was killed for memory: memtrace postmortem --attempt 1 {self.out}")
        self.assertTrue(lines[2].startswith("Killed for memory"), lines)


if __name__ == "__main__":
    unittest.main()
