"""Purpose: tests what a job has on a shared file system: few files, seldom written, and all of it after a kill."""
import ctypes
import glob
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import cgroup
import harness
import rawtrace
import shared_files

LIBC = ctypes.CDLL(None, use_errno=True)
DETACH = 2
PAGE = 4096


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.temporary = os.path.join(self.scratch, "temporary")
        os.mkdir(self.temporary)
        self.host = os.path.join(self.out, os.uname().nodename)

    def settings(self, **more):
        return {**harness.RECORD_ALL, "TMPDIR": self.temporary, "MEMTRACE_SHARED": "3600", **more}

    def local_files(self, suffix):
        return glob.glob(os.path.join(self.temporary, f"memtrace-{os.geteuid()}", "shared", "**", "*" + suffix),
                         recursive=True)

    def victim(self, *options):
        page = os.path.join(self.scratch, "page")
        with open(page, "wb") as file:
            file.write(bytes(PAGE))
        return [harness.victim("counting_victim"), page, "--size", "8192", *options]

    def counted(self):
        with open(os.path.join(self.scratch, "page"), "rb") as file:
            return struct.unpack("<Q", file.read(8))[0]

    def births(self, path, size=8192):
        """Returns the number of heap blocks of this size in a trace, from the tests' own reader."""
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0, "sequence numbers are missing")
        heap = rawtrace.KINDS.index("heap")
        return sum(record.type == "birth" and record.kind == heap and record.words[2] == size for record in records)

    def copies(self):
        return sorted(glob.glob(os.path.join(self.host, "*.memtrace")))

    def only_process_elsewhere(self):
        """Returns the process as another host reports it, which has no local files."""
        moved = os.path.join(self.scratch, "elsewhere")
        shutil.copytree(self.out, moved)
        return self.only_process(self.report(path=moved))

    def kill_at(self, command, settings, delay):
        """Runs the command, kills the victim `delay` seconds after its first block. Returns when the command has
        ended."""
        with subprocess.Popen(command, env=self.environment(**settings), cwd=self.scratch) as process:
            self.addCleanup(process.kill)
            until = time.monotonic() + 60
            while self.counted() == 0:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.001)
            time.sleep(delay)
            os.kill(self.pid_of_victim(process), signal.SIGKILL)
        return process.returncode

    def pid_of_victim(self, process):
        children = subprocess.run(["pgrep", "-P", str(process.pid), "counting_victim"[:15]], capture_output=True,
                                  check=False).stdout.split()
        return int(children[0]) if children else process.pid

    def assert_whole(self):
        """Checks the copy against the victim's own count, without any local file."""
        self.assertEqual(len(self.copies()), 1)
        shared_files.unpack(self.host)
        self.assertIn(self.births(self.copies()[0]) - self.counted(), (0, 1))


class End(Case):
    def test_an_orderly_end(self):
        subprocess.run(self.victim("--count", "5000", "--pattern", "free"), env=self.environment(**self.settings()),
                       check=True, timeout=60)
        self.assertEqual(max(shared_files.files_of_processes(self.out).values()), 1)
        process = self.only_process_elsewhere()
        self.assert_nothing_lost(process)
        self.assertEqual(process["end"]["how"], "exit")
        self.assertEqual(self.births(self.copies()[0]), 5000)
        self.assertEqual(self.local_files(".memtrace") + self.local_files(".rings"), [])

    def test_a_forked_child_that_is_the_first_to_record(self):
        """Its parent is too small to be recorded, so the child makes the job's file, and copies it."""
        program = "import os\nif os.fork() == 0:\n    held = bytearray(60 << 20)\n    os._exit(0)\nos.wait()\n"
        settings = {**self.settings(), "MEMTRACE_MIN_PEAK": "32M"}
        subprocess.run([sys.executable, "-c", program], env=self.environment(**settings), check=True, timeout=60)
        self.assertEqual(len(self.copies()), 1)
        self.assertTrue(os.path.exists(os.path.join(self.host, "job")))

    def test_windows_arrive_too(self):
        subprocess.run(self.victim("--count", "400000", "--pattern", "free"),
                       env=self.environment(**self.settings(MEMTRACE_MAX_TRACE="2M")), check=True, timeout=120)
        self.assertEqual(max(shared_files.files_of_processes(self.out).values()), 2)
        process = self.only_process_elsewhere()
        self.assert_nothing_lost(process)
        packed = os.path.join(self.scratch, "job.memtrace-pack")
        subprocess.run([harness.COMMAND, "pack", self.out, "-o", packed], check=True, env=harness.bare_environment())
        self.assertEqual(self.only_process(self.report(path=packed))["peaks"], process["peaks"])
        shared_files.unpack(self.host)
        self.assertTrue(glob.glob(os.path.join(self.host, "*.window-*")))
        self.assertTrue(glob.glob(os.path.join(self.host, "*.coarse")))


class Refused(Case):
    """The program does not notice that a copy fails. One line says so, and the local files are read."""

    def assert_said(self, text, reason):
        lines = text.decode().splitlines()
        self.assertRegex(lines[0], "^memtrace: recording to ")
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(lines[1].startswith(f"memtrace: cannot write in {self.host} ({reason}): the traces stay in "
                                            f"{self.temporary}/memtrace-"), lines[1])
        self.assertTrue(lines[1].endswith("; memtrace tries again at the next copy"), lines[1])

    def make(self, what):
        if what == "file for the job":
            with open(self.out, "wb"):
                return "not a directory"
        os.mkdir(self.out)
        if what == "file for the host":
            with open(self.host, "wb"):
                return "not a directory"
        if what == "dangling link":
            os.symlink(os.path.join(self.scratch, "nowhere"), self.host)
            return "no such directory"
        os.makedirs(os.path.join(self.host, "job"))
        return ""  # the trace is copied nevertheless

    def test_what_is_in_the_way(self):
        for what in ("file for the job", "file for the host", "dangling link", "directory for the file of the job"):
            with self.subTest(what):
                self.setUp()
                reason = self.make(what)
                done = self.run_in("traced", self.victim("--count", "20000", "--pattern", "free"),
                                   self.environment(**self.settings(MEMTRACE_QUIET="")))
                self.assertEqual((done.returncode, done.stdout), (0, b""))
                local = self.local_files(".memtrace")
                if not reason:
                    self.assertEqual((len(self.copies()), local), (1, []))
                    continue
                self.assert_said(done.stderr, reason)
                self.assertEqual(self.births(local[0]), 20000)
                if what != "file for the job":
                    self.assert_nothing_lost(self.only_process(self.report_here()))

    def test_a_directory_that_vanishes(self):
        run = subprocess.Popen(self.victim("--pause", "100", "--pattern", "free"), stderr=subprocess.PIPE,
                               env=self.environment(**self.settings(MEMTRACE_SHARED="1", MEMTRACE_QUIET="")))
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        first = run.stderr.readline()
        until = time.monotonic() + 60
        while not self.copies():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        shutil.rmtree(self.out)
        self.assertTrue(select.select([run.stderr], [], [], 60)[0], "no line about the copy")
        self.assert_said(first + run.stderr.readline(), "no such directory")
        run.kill()
        run.wait()
        self.assert_nothing_lost(self.only_process(self.report_here()))

    def report_here(self):
        done = subprocess.run([harness.COMMAND, "report", "--format", "json", self.out], capture_output=True, check=False,
                              env=harness.bare_environment(TMPDIR=self.temporary))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)


class Killed(Case):
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


class NearLimit(Case):
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


class Running(Case):
    def start(self, **settings):
        process = subprocess.Popen(self.victim("--pause", "100000", "--pattern", "free"),
                                   env=self.environment(**self.settings(**settings)))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, what, seconds=60):
        until = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def command(self, *words):
        done = subprocess.run([harness.COMMAND, *words], env=harness.bare_environment(TMPDIR=self.temporary),
                              capture_output=True, check=False, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_copy_each_two_seconds_if_the_disk_goes_with_the_job(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm cannot be written")
        memory = tempfile.mkdtemp(prefix="memtrace-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, memory)
        self.start(MEMTRACE_SPOOL=memory, MEMTRACE_SHARED="on")
        self.wait_for(self.copies)
        for _ in range(2):
            size = os.path.getsize(self.copies()[0])
            # Elsewhere the second copy comes after 30 s.
            self.wait_for(lambda before=size: os.path.getsize(self.copies()[0]) > before, 20)

    def test_commands_on_this_host_read_the_local_files(self):
        process = self.start()
        self.wait_for(self.copies)
        before = os.path.getsize(self.copies()[0])
        count = self.counted() + 1000
        self.wait_for(lambda: self.counted() >= count)
        # One pass later, the local trace has these blocks. The copy is an hour from its next part.
        self.wait_for(lambda: self.births_in(self.report_here()) >= count)
        self.assertEqual(os.path.getsize(self.copies()[0]), before)
        self.assertIn(f"pid {process.pid}", self.command("top", "--once", str(process.pid)))
        self.assertIn(f"pid {process.pid}", self.command("top", "--once", self.out))

    def report_here(self):
        return json.loads(self.command("report", "--format", "json", "--all", self.out))["processes"][0]

    def births_in(self, process):
        return sum(row["allocations"] for row in process["phases"] if row["memory"] == "host" and row["step"] != "steady")

    def test_arm(self):
        process = self.start(MEMTRACE="armed")
        armed = os.path.join(self.temporary, f"memtrace-{os.geteuid()}", "shared")
        self.wait_for(lambda: glob.glob(armed + "/**/*.armed", recursive=True))
        self.assertIn(f"pid {process.pid} records to {self.out}/", self.command("arm", "--job", self.out))
        self.wait_for(self.copies)


class Stopped(Case):
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


class Calls(Case):
    def count(self, processes, seconds, **settings):
        """Returns the calls on the job's directory and the processes that left a trace."""
        log = os.path.join(self.scratch, "calls")
        environment = self.environment(**{**self.settings(), "MEMTRACE_MIN_PEAK": "32M", **settings})
        shared_files.count_calls(["python3", harness.program("many_processes.py"), str(processes), str(seconds)],
                                 environment, log, cwd=self.scratch, timeout=500)
        calls = shared_files.calls_on(log, os.path.realpath(self.out))
        print({name: calls[name] for name in sorted(calls)}, flush=True)
        files = shared_files.files_of_processes(self.out)
        self.assertGreaterEqual(len(files), processes)
        return calls, files

    def assert_few(self, calls, files, copies):
        self.assertLessEqual(max(files.values()), 2)
        metadata = sum(count for name, count in calls.items() if name in shared_files.METADATA)
        # Each process: a directory, then an open for each copy, and one more for a new file. The first one makes the
        # directories and the job's file.
        self.assertLessEqual(metadata, len(files) * (2 + copies) + 40, calls)
        self.assertLessEqual(calls["pwrite64"], len(files) * copies + 1)
        self.assertEqual(calls["writev"] + calls["write"], 0)

    def test_eight_processes(self):
        calls, files = self.count(8, 2)
        self.assert_few(calls, files, copies=2)

    @harness.only_in_long
    def test_sixty_four_processes(self):
        calls, files = self.count(64, 30, MEMTRACE_SHARED="30")
        self.assert_few(calls, files, copies=3)


class Fuse(Case):
    """The file system decides: FUSE counts as shared. No setting asks for it."""

    def fuse(self, *options):
        path = os.path.join(self.scratch, "fuse")
        os.mkdir(path)
        server = subprocess.Popen(["python3", harness.program("fuse.py"), path, *options], stderr=subprocess.PIPE)
        self.addCleanup(server.wait)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.kill)
        self.addCleanup(LIBC.umount2, path.encode(), DETACH)
        while not os.path.ismount(path):
            if server.poll() is not None:
                self.skipTest(f"no FUSE here: {server.stderr.read().decode()}")
            time.sleep(0.01)
        self.out = os.path.join(path, "out")
        self.host = os.path.join(self.out, os.uname().nodename)
        return server

    def settings(self, **more):
        return {**super().settings(**more), "MEMTRACE_SHARED": ""}

    def test_a_shared_file_system(self):
        self.fuse()
        subprocess.run(self.victim("--count", "5000", "--pattern", "free"), env=self.environment(**self.settings()),
                       check=True, timeout=60)
        process = self.only_process_elsewhere()
        self.assert_nothing_lost(process)
        self.assertEqual(self.births(self.copies()[0]), 5000)

    def test_a_server_that_does_not_answer(self):
        """The program runs on. It cannot end before the kernel gives up the call of the background thread."""
        server = self.fuse("--delay", "3600")
        with subprocess.Popen(self.victim("--count", "200000", "--pattern", "free"),
                              env=self.environment(**self.settings())) as process:
            self.addCleanup(process.kill)
            self.addCleanup(server.kill)
            until = time.monotonic() + 60
            while self.counted() < 200000:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            server.kill()
            self.assertEqual(process.wait(60), 0)
        local = self.local_files(".memtrace")
        self.assertEqual(len(local), 1)
        process = self.only_process(self.report(path=os.path.dirname(local[0])))
        self.assert_nothing_lost(process)
        self.assertEqual(self.births(local[0]), 200000)

    def test_a_job_that_is_told_to_write_there(self):
        self.fuse()
        subprocess.run(self.victim("--count", "100"), check=True, timeout=60,
                       env=self.environment(**{**self.settings(), "MEMTRACE_SHARED": "off"}))
        self.assertEqual(len(self.trace_files()), 1)
        self.assertEqual(self.local_files(".memtrace") + self.local_files(".copied"), [])


if __name__ == "__main__":
    unittest.main()
