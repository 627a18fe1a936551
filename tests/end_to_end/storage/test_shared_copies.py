"""Purpose: tests that the traces of a job reach a shared file system after a kill, near a limit, and after a stop."""
import os
import shutil
import signal
import subprocess
import time
import unittest

import cgroup
import harness
import rawtrace
import shared_files

PAGE = 4096


class Killed(shared_files.SharedCase):
    def test_memtrace_run_copies_what_a_kill_left(self):
        chance = harness.chance(91)
        for i in range(5 if harness.ALL else 2):
            with self.subTest(round=i):
                self.setUp()
                command = [harness.COMMAND, "run", "--", *self.victim("--pause", "1")]
                self.assertEqual(self.kill_at(command, self.settings(), chance.uniform(0, 0.3)), 137)
                self.assertLessEqual(max(shared_files.files_of_processes(self.out).values()), 2)
                process = self.only_process_elsewhere()
                self.assert_nothing_lost(process)
                self.assertEqual(process["end"]["code"], signal.SIGKILL, "as `memtrace run` saw it")
                self.assert_whole()
                self.assertEqual(self.local_files(".memtrace"), [])

    def test_a_kill_for_memory_is_explained_and_its_evidence_is_copied(self):
        page = os.path.join(self.scratch, "page")
        with open(page, "wb") as file:
            file.write(bytes(PAGE))
        with cgroup.Group("shared", 200 << 20) as group:
            done = self.run_in("traced", [harness.COMMAND, "run", "--", harness.victim("glutton"), page],
                               self.environment(**self.settings(MEMTRACE_QUIET="")), preexec_fn=group.enter)
            self.assertEqual(group.kills(), 1)
        self.assertEqual(done.returncode, 137)
        self.assertIn(b"Killed for memory", done.stderr)
        self.assertNotIn(self.temporary.encode(), done.stderr.split(b"\n", 1)[1], "only the first line names it")
        self.assertEqual(max(shared_files.files_of_processes(self.out).values()), 2)
        process = self.only_process_elsewhere()
        self.assertEqual(process["end"]["how"], "oom_kill")
        self.assert_nothing_lost(process)

    def test_the_next_process_copies_what_a_kill_left(self):
        self.kill_at(self.victim("--pause", "1"), self.settings(), 0.2)
        counted = self.counted()
        left = self.local_files(".memtrace")
        self.assertEqual(len(left), 1)
        # Before, this host reads the local files.
        process = self.only_process(self.report(path=self.out))
        self.assert_nothing_lost(process)
        # As after 10 s without a word of the process, which could be in another pid namespace.
        for path in left:
            os.utime(path, (time.time() - 60, time.time() - 60))
        subprocess.run(self.victim("--count", "10", "--pattern", "free"), env=self.environment(**self.settings()),
                       check=True, timeout=60)
        self.assertEqual(self.local_files(".memtrace"), [])
        self.assertEqual(max(shared_files.files_of_processes(self.out).values()), 2)
        shared_files.unpack(self.host)
        first = os.path.join(self.host, os.path.basename(left[0]))
        self.assertIn(self.births(first) - counted, (0, 1))

    def test_a_long_trace_is_copied_in_parts(self):
        """The rings and the samples of the process that copies wait for one part at most."""
        self.kill_at(self.victim("--pause", "1"), self.settings(), 0.2)
        (left,) = self.local_files(".memtrace")
        stem = os.path.basename(left)[:-len(".memtrace")]
        chance = harness.chance(24)
        with open(left, "ab") as file:
            file.write(chance.randbytes(30 << 20))
        with open(left[:-len("memtrace")] + "window-0", "wb") as file:
            file.write(chance.randbytes(15 << 20))
        with open(left, "rb") as file:
            whole = file.read()
        os.utime(left, (time.time() - 60, time.time() - 60))
        os.utime(left[:-len("memtrace")] + "window-0", (time.time() - 60, time.time() - 60))
        log = os.path.join(self.scratch, "calls")
        environment = self.environment(**self.settings())
        with shared_files.traced_calls(self.victim("--pause", "100000", "--pattern", "free"), environment, log) as run:
            self.addCleanup(run.kill)
            until, copy = time.monotonic() + 120, os.path.join(self.host, stem + ".memtrace")
            while os.path.exists(left):
                self.assertLess(time.monotonic(), until)
                if os.path.exists(copy):
                    with open(copy, "rb") as file:
                        part = file.read()
                    self.assertTrue(whole.startswith(part), "the copy is a prefix at each time")
                time.sleep(0.05)
            subprocess.run(["pkill", "-KILL", "-P", str(run.pid)], check=False)
            run.wait(60)
        parts = shared_files.bytes_between_opens(log, os.path.join(os.path.realpath(self.host), stem))
        self.assertGreaterEqual(sum(parts), (45 << 20))
        self.assertLessEqual(max(parts), 16 * 256 << 10)
        with open(copy, "rb") as file:
            self.assertEqual(file.read(), whole)
        shared_files.unpack(self.host)
        self.assertEqual(os.path.getsize(os.path.join(self.host, stem + ".window-0")), 15 << 20)

    def test_a_copy_of_all_files_is_not_written_over(self):
        """A process that copied may be killed while it removes the local files: then what is left of them is not all."""
        for again in (self.victim("--count", "10", "--pattern", "free"),
                      [harness.COMMAND, "run", "--quiet", "--shared", "3600", "-o", self.out, "--", "/bin/true"]):
            with self.subTest(again[0]):
                shutil.rmtree(self.out, ignore_errors=True)
                self.kill_at(self.victim("--pause", "1"), self.settings(), 0.2)
                (left,) = self.local_files(".memtrace")
                with open(left, "rb") as file:
                    trace = file.read()
                minute_ago = (time.time() - 60, time.time() - 60)
                os.utime(left, minute_ago)
                taker = self.victim("--count", "10", "--pattern", "free")
                subprocess.run(taker, env=self.environment(**self.settings()), check=True, timeout=60)
                rest = os.path.join(self.host, os.path.basename(left)[:-len("memtrace")] + "rest")
                with open(rest, "rb") as file:
                    whole = file.read()
                with open(left, "wb") as file: # as if the taker had been killed before it removed this file
                    file.write(trace)
                os.utime(left, minute_ago)
                subprocess.run(again, env=self.environment(**self.settings()), check=True, timeout=60)
                self.assertEqual(self.local_files(".memtrace"), [])
                with open(rest, "rb") as file:
                    self.assertEqual(file.read(), whole)
                shutil.rmtree(self.temporary)
                os.mkdir(self.temporary)

    def test_the_line_about_the_attempt_before(self):
        self.kill_at(self.victim("--pause", "1"), self.settings(), 0.2)
        subprocess.run(self.victim("--count", "10"), env=self.environment(**self.settings()), check=True, timeout=60)
        with open(self.local_files("job-2")[0], encoding="utf-8") as file:
            self.assertIn("attempt=2", file.read())
        for number in ("1", "2"):
            done = subprocess.run([harness.COMMAND, "postmortem", "--attempt", number, self.out], check=False,
                                  env=harness.bare_environment(TMPDIR=self.temporary), capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def report(self, *options, path=None):
        os.environ["TMPDIR"] = self.temporary
        self.addCleanup(os.environ.pop, "TMPDIR", None)
        return super().report(*options, path=path)


class NearLimit(shared_files.SharedCase):
    def test_a_copy_at_once(self):
        with subprocess.Popen(["python3", harness.program("near_limit.py")], env=self.environment(**self.settings()),
                              cwd=self.scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            until = time.monotonic() + 60
            while not self.copies():
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            before = os.path.getsize(self.copies()[0])
            process.stdin.write(b"\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), b"near\n")
            # The next regular copy is due in an hour.
            while self.large_births() == 0:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            self.assertGreater(os.path.getsize(self.copies()[0]), before)
            process.kill()

    def large_births(self):
        return sum(record.type == "birth" and 3_333_000 < record.words[2] < 3_400_000
                   for record in rawtrace.segments(self.copies()[0]))


class Stopped(shared_files.SharedCase):
    """`memtrace arm --steps` ends the recording, and the program forks before the trace is copied."""

    def start(self):
        run = subprocess.Popen([harness.victim("obeys")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                               env=self.environment(**{**self.settings(), "MEMTRACE": "armed"}))
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        self.do(run, b"t 1\n")
        done = subprocess.run([harness.COMMAND, "arm", str(run.pid), "--steps", "1000", "--wait", "0"], check=False,
                              env=harness.bare_environment(TMPDIR=self.temporary), capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.do(run, b"t 3000\n")
        (local,) = self.local_files(".memtrace")
        self.assertEqual(self.local_files(".rings"), [], "the recording has ended")
        return run, os.path.getsize(local)

    def do(self, run, line):
        run.stdin.write(line)
        self.assertTrue(run.stdout.readline())

    def assert_copied(self, size):
        self.assertEqual(self.local_files(".memtrace"), [])
        self.assertEqual([os.path.getsize(path) for path in self.copies()], [size])
        process = self.only_process_elsewhere()
        self.assert_nothing_lost(process)
        self.assertEqual(process["end"]["how"], "stopped")

    def test_the_copy_goes_on_after_a_fork(self):
        run, size = self.start()
        until = time.monotonic() + 30
        while self.local_files(".memtrace"):
            self.assertLess(time.monotonic(), until)
            self.do(run, b"t 1\n")
            time.sleep(0.02)
        for _ in range(20):  # no thread comes back afterwards
            self.do(run, b"t 1\n")
            time.sleep(0.02)
        self.assertEqual(len(os.listdir(f"/proc/{run.pid}/task")), 1)
        self.assertEqual(run.communicate(b"q\n")[1], None)
        self.assertEqual(run.returncode, 0)
        self.assert_copied(size)

    def test_the_end_of_the_process_waits_for_the_copy(self):
        run, size = self.start()
        run.communicate(b"q\n")
        self.assertEqual(run.returncode, 0)
        self.assert_copied(size)


if __name__ == "__main__":
    unittest.main()
