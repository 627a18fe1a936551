"""Purpose: tests a job that is restarted after it died for memory: the report says so, and the cause of death
can be read."""
import os
import resource
import shutil
import signal
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
    """Runs one command each time, with different limits."""

    def start(self, mib, group, run=False, expect=0, out=True):
        # The limit decides how it ends, because other arguments would be another command.
        command = [sys.executable, "-c", CODE, str(mib)]
        before = [harness.COMMAND, "run", *(["-o", self.out] if out else []), "--"] if run else []
        environment = harness.bare_environment(MEMTRACE_SKIP="") if run else self.environment()
        if not out:
            environment.pop("MEMTRACE_OUT", None)
        done = self.run_in("traced", before + command, environment, preexec_fn=group.enter)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr.decode().splitlines()

    def postmortem(self, *options, path=None):
        return subprocess.run([harness.COMMAND, "postmortem", path or self.out, *options], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, env=harness.bare_environment(), timeout=100)

    def recording(self):
        return f"memtrace: recording to {self.out}"

    def test_again_in_the_same_group(self):
        """The group's own counter is the evidence."""
        with cgroup.Group("attempts", 150 * MIB) as group:
            self.assertEqual(self.start(300, group, expect=-9), [self.recording()])
            self.assertEqual(self.start(300, group, expect=-9), [
                self.recording(),
                f"memtrace: attempt 1 here was killed for memory: memtrace postmortem --attempt 1 {self.out}"])
            group.write(group.version.LIMIT, 900 * MIB)
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
        """Like a restarted container: its counters are new, and the report names the limit."""
        with cgroup.Group("attempts", 150 * MIB) as group:
            self.start(300, group, expect=-9)
        with cgroup.Group("again", 900 * MIB) as group:
            lines = self.start(300, group)
        self.assertEqual(lines[0], self.recording())
        self.assertRegex(lines[1], r"^memtrace: attempt 1 here was killed with \d+ of 150 MiB left: "
                                   rf"memtrace postmortem --attempt 1 {self.out}$")
        self.assertEqual(len(lines), 2)

    def test_where_each_job_has_a_directory_of_its_own(self):
        """As by default, memtrace-out/JOB: the attempts are side by side, and a start elsewhere is another job.
        """
        place = os.path.join(self.scratch, "traced", "memtrace-out")
        for run in (False, True):
            with self.subTest(run=run), cgroup.Group("attempts", 150 * MIB) as group:
                shutil.rmtree(place, ignore_errors=True)
                kill = 137 if run else -9
                first = [line for line in self.start(300, group, run=run, expect=kill, out=False) if "memtrace:" in line]
                self.assertRegex(first[0], rf"^memtrace: recording to {place}/[-0-9]+$")
                self.assertEqual(len(first), 1)
                self.start(50, group, out=False)  # another command
                said = self.start(300, group, run=run, expect=kill, out=False)
                self.assertRegex(said[0], rf"^memtrace: recording to {place}/[-0-9]+$")
                self.assertEqual(said[1], "memtrace: attempt 1 here was killed for memory: "
                                          f"memtrace postmortem --attempt 1 {place}")
                group.write(group.version.LIMIT, 900 * MIB)
                said = self.start(300, group, run=run, out=False)
                self.assertEqual(said[1:], ["memtrace: attempt 2 here was killed for memory: "
                                            f"memtrace postmortem --attempt 2 {place}"])
                for number, end in ((1, "Killed for memory"), (2, "Killed for memory"), (3, "exited with 0")):
                    done = self.postmortem("--attempt", str(number), path=place)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    text = done.stdout.decode()
                    self.assertIn(end, text)
                    if number > 1:
                        self.assertIn(f"attempt {number} ", " ".join(text.splitlines()[:3]))
                done = self.postmortem("--attempt", "4", path=place)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertRegex(done.stderr, rb"^memtrace: --attempt 4: no trace of it in .*; that has attempts 1 to 3\n$")

    def test_an_attempt_that_gave_up(self):
        """A MemoryError or an uncaught std::bad_alloc: neither is a kill, but both ended the job."""
        def limit(mib):
            return lambda: resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB))
        python = [sys.executable, "-c", CODE, "300"]
        for command, failed, status in ((python, 1, 1), ([harness.victim("bad_alloc")], 32, -signal.SIGABRT)):
            with self.subTest(command=command):
                shutil.rmtree(self.out, ignore_errors=True)
                done = self.run_in("traced", command, self.environment(), preexec_fn=limit(250))
                self.assertEqual(done.returncode, status)
                done = self.run_in("traced", command, self.environment(), preexec_fn=limit(4096))
                self.assertEqual(done.stderr.decode().splitlines()[:2], [
                    self.recording(), f"memtrace: attempt 1 here gave up: an allocation of {failed} MiB had failed: "
                                      f"memtrace postmortem --attempt 1 {self.out}"])
                done = self.postmortem("--attempt", "1")
                self.assertIn("RLIMIT_AS", " ".join(done.stdout.decode().splitlines()[:2]))

    def test_killed_far_from_a_limit(self):
        """kill -9 is not a death for memory, and another command is another job."""
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
        """Two that run at the same time in one directory, like the tasks of an srun, are one attempt."""
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
        """The watcher is not in the trace, and it does not count as another command."""
        with cgroup.Group("attempts", 150 * MIB) as group:
            lines = self.start(300, group, run=True, expect=137)
            self.assertTrue(lines[1].startswith("Killed for memory"), lines)
            lines = self.start(300, group, run=True, expect=137)
        self.assertEqual(lines[1],
                         f"memtrace: attempt 1 here was killed for memory: memtrace postmortem --attempt 1 {self.out}")
        self.assertTrue(lines[2].startswith("Killed for memory"), lines)


if __name__ == "__main__":
    unittest.main()
