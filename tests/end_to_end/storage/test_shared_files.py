"""Purpose: tests what a job has on a shared file system: few files, seldom written."""
import ctypes
import glob
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import shared_files

LIBC = ctypes.CDLL(None, use_errno=True)
DETACH = 2


class End(shared_files.SharedCase):
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


class Refused(shared_files.SharedCase):
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


class Running(shared_files.SharedCase):
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


class Calls(shared_files.SharedCase):
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


class Fuse(shared_files.SharedCase):
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

    def test_a_server_that_opens_files_slowly(self):
        """The time of an open is not that of a copy: a pass that counted it never copied more than the trace."""
        self.fuse("--delay-open", "0.15")
        self.kill_at(self.victim("--pause", "1000"), {**self.settings(), "MEMTRACE_SHARED": "3600"}, 0.5)
        minute_ago = time.time() - 60  # memtrace takes the files of a process that wrote none for 10 s
        for path in self.local_files(""):
            if os.path.isfile(path):
                os.utime(path, (minute_ago, minute_ago))
        self.victim()  # its count begins again
        process = subprocess.Popen(self.victim("--pause", "100000", "--pattern", "free"),
                                   env=self.environment(**{**self.settings(), "MEMTRACE_SHARED": "1"}))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until = time.monotonic() + 20
        while not glob.glob(os.path.join(self.host, "*.rest")):
            self.assertLess(time.monotonic(), until, "the files of the killed process are not copied")
            self.assertIsNone(process.poll())
            time.sleep(0.1)

    def test_a_job_that_is_told_to_write_there(self):
        self.fuse()
        subprocess.run(self.victim("--count", "100"), check=True, timeout=60,
                       env=self.environment(**{**self.settings(), "MEMTRACE_SHARED": "off"}))
        self.assertEqual(len(self.trace_files()), 1)
        self.assertEqual(self.local_files(".memtrace") + self.local_files(".copied"), [])


if __name__ == "__main__":
    unittest.main()
