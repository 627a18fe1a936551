"""Purpose: tests disk failures: the program is not affected, the trace can be read, losses are counted."""
import ctypes
import glob
import os
import re
import resource
import shutil
import subprocess
import time
import unittest

import harness

MIB = harness.MIB
LIBC = ctypes.CDLL(None, use_errno=True)
BIND, REMOUNT, READ_ONLY, DETACH = 4096, 32, 1, 2
NOBODY = 65534
ROUND = 20_000  # blocks of programs/held_memory/blocks.py
# Of the files of a job where they are asked for: test_shared_files.py is about the way of copies.
SETTINGS = {"MEMTRACE_MIN_PEAK": "0", "MEMTRACE_SKIP": "", "MEMTRACE_STACKS": "none", "MEMTRACE_SHARED": "off"}


class Rounds:
    """Runs programs/held_memory/blocks.py, one round at a time."""

    def __init__(self, rounds, environment, cwd, **options):
        self.process = subprocess.Popen(["python3", harness.program("blocks.py"), str(rounds)], env=environment, cwd=cwd,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.said = b""

    def wait_for_round(self):
        self.said += self.process.stdout.readline()

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def rounds(self, count):
        for _ in range(count):
            self.go_on()
            self.wait_for_round()

    def end(self):
        rest, errors = self.process.communicate()
        return self.process.returncode, self.said + rest, errors


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder("temporary")

    def folder(self, name):
        path = os.path.join(self.scratch, name)
        os.mkdir(path)
        return path

    def unmounted(self, path):
        LIBC.umount2(path.encode(), DETACH)

    def mount(self, source, path, kind, flags=0, data=b""):
        """Mounts, or skips the test if that is not allowed."""
        if LIBC.mount(source.encode(), path.encode(), kind, flags, data) != 0:
            self.skipTest(f"no mount of {kind or source} here: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(self.unmounted, path)

    def in_memory(self, size):
        path = self.folder("memory")
        self.mount("memtrace-test", path, b"tmpfs", data=f"size={size}".encode())
        return path

    def ext4(self, mebibytes):
        """Makes a small ext4 in a file."""
        image, path = os.path.join(self.scratch, "image"), self.folder("ext4")
        with open(image, "wb") as file:
            file.truncate(mebibytes * MIB)
        for command in (["mkfs.ext4", "-q", "-m", "0", image], ["mount", "-o", "loop", image, path]):
            try:
                subprocess.run(command, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest(f"no small ext4 here: {error}")
        self.addCleanup(self.unmounted, path)
        return path

    def fuse(self, *options):
        path = self.folder("fuse")
        server = subprocess.Popen(["python3", harness.program("fuse.py"), path, *options], stderr=subprocess.PIPE)
        self.addCleanup(server.wait)
        self.addCleanup(server.stderr.close)
        self.addCleanup(self.unmounted, path)
        while not os.path.ismount(path):
            if server.poll() is not None:
                self.skipTest(f"no FUSE here: {server.stderr.read().decode()}")
            time.sleep(0.01)
        return path

    def start(self, rounds=3, settings=None, **options):
        cwd = os.path.join(self.scratch, "traced")
        os.makedirs(cwd, exist_ok=True)
        environment = self.environment(**{**SETTINGS, "TMPDIR": self.temporary, **(settings or {})})
        return Rounds(rounds, environment, cwd, **options)

    def check(self, outcome, rounds, *lines):
        """Checks that status and output are the program's own, and that stderr has these lines in addition, in
        order."""
        code, said, errors = outcome
        self.assertEqual(code, 7)
        self.assertEqual(said, b"".join(b"round %d\n" % number for number in range(rounds)))
        own = [line for line in errors.decode().splitlines() if line.startswith("memtrace: ")]
        self.assertEqual(errors.decode().replace("".join(line + "\n" for line in own), ""), "to stderr\n")
        self.assertEqual(len(own), len(lines), own)
        for line, pattern in zip(own, lines):
            self.assertRegex(line, pattern)

    def run_rounds(self, rounds=3, settings=None, **options):
        program = self.start(rounds, settings, **options)
        program.wait_for_round()
        program.rounds(rounds - 1)
        program.go_on()
        return program.end()

    def process(self, path=None):
        return self.only_process(self.report("--all", path=path))

    def births(self, process):
        """Returns the births of the blocks of blocks.py, found by their size."""
        return sum(row["allocations"] for row in process["phases"] if row["memory"] == "host" and row["step"] != "steady")

    def elsewhere(self, uid):
        jobs = glob.glob(os.path.join(self.temporary, f"memtrace-{uid}", "*"))
        self.assertEqual(len(jobs), 1, jobs)
        return jobs[0]

    def check_elsewhere(self, outcome, reason, uid=os.getuid()):
        job = self.elsewhere(uid)
        self.check(outcome, 3, re.escape(f"memtrace: recording to {job} (cannot write in {self.out}: {reason})") + "$")
        process = self.process(job)
        self.assert_nothing_lost(process)
        self.assertGreaterEqual(self.births(process), 3 * ROUND)
        self.assertEqual(process["end"]["how"], "exit")


class WhereNothingCanBeWritten(Case):
    def test_read_only(self):
        path = self.folder("sealed")
        self.mount(path, path, None, BIND)
        self.mount(path, path, None, BIND | REMOUNT | READ_ONLY)
        self.out = os.path.join(path, "deep", "out")
        self.check_elsewhere(self.run_rounds(), "read-only file system")

    def test_no_permission(self):
        if os.getuid() != 0:
            self.skipTest("not root")
        os.chmod(self.scratch, 0o755)
        os.chmod(self.temporary, 0o777)
        self.out = os.path.join(self.folder("mine"), "out")
        readable = subprocess.run(["test", "-r", harness.LIBRARY], user=NOBODY, check=False).returncode == 0
        if not readable or subprocess.run(["python3", "-c", ""], user=NOBODY, check=False).returncode != 0:
            self.skipTest("another user cannot read the build")
        self.check_elsewhere(self.run_rounds(user=NOBODY, group=NOBODY), "permission denied", NOBODY)

    def test_a_full_disk(self):
        self.out = os.path.join(self.in_memory("64k"), "deep", "out")
        self.check_elsewhere(self.run_rounds(), "no space left")
        self.assertEqual(os.listdir(os.path.dirname(os.path.dirname(self.out))), [], "a half-made directory")

    def test_a_file_in_the_way(self):
        with open(os.path.join(self.scratch, "file"), "wb"):
            pass
        self.out = os.path.join(self.scratch, "file", "out")
        self.check_elsewhere(self.run_rounds(), "not a directory")

    def test_a_limit_on_files(self):
        outcome = self.run_rounds(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.check(outcome, 3, r"memtrace: not recording: .*\(limit on the size of files\)$")
        self.assertFalse(os.path.exists(self.out))
        self.assertEqual(os.listdir(self.temporary), [])


class WhileRecording(Case):
    def full_and_again(self, path):
        """The disk becomes full after a round, and has space again some rounds later."""
        self.out = os.path.join(path, "out")
        program = self.start(40, {"MEMTRACE_SPOOL": path})
        program.wait_for_round()
        ballast = os.path.join(path, "ballast")
        with open(ballast, "wb", buffering=0) as file:
            for size in (1 << 16, 4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
        program.rounds(19)
        os.unlink(ballast)
        time.sleep(1.5)  # memtrace tries again each second
        program.rounds(20)
        program.go_on()
        self.check(program.end(), 40, "memtrace: recording to", r"memtrace: cannot write .* \(no space left\): ")
        process = self.process()
        self.assertGreater(process["trace"]["lost_reasons"].get("disk", 0), 0)
        self.assertEqual(set(process["trace"]["lost_reasons"]), {"disk"})
        self.assertEqual(process["end"]["how"], "exit")
        births = self.births(process)
        self.assertGreater(births, 21 * ROUND, "before and after")
        lost = process["trace"]["lost_events"]
        self.assertGreaterEqual(2 * births + lost, 2 * 40 * ROUND, "what is not there is counted")
        self.assertEqual(self.ring_files(), [])

    def test_full_and_again_in_memory(self):
        self.full_and_again(self.in_memory("16m"))

    def test_full_and_again_on_ext4(self):
        self.full_and_again(self.ext4(24))

    def test_a_limit_on_files(self):
        program = self.start(10, {"MEMTRACE_SPOOL": self.temporary},
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB)))
        program.wait_for_round()
        program.rounds(9)
        program.go_on()
        self.check(program.end(), 10, "memtrace: recording to")
        trace = self.process()["trace"]
        self.assertGreater(trace["lost_events"] + trace["coarsened_events"], 0)
        self.assertLessEqual(trace["bytes"], MIB)

    def test_whose_signal_it_is(self):
        command = [harness.victim("file_limit")]
        bare = self.bare(command)
        done, report = self.trace(command, {**SETTINGS, "MEMTRACE_QUIET": "1"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (bare.returncode, bare.stdout, b""))
        self.assertIn(b"waiting: 0\nwaiting: 1\nsignal", bare.stdout)
        self.assertGreater(self.only_process(report)["trace"]["lost_events"], 0)

    def test_directory_removed(self):
        program = self.start(6)
        program.wait_for_round()
        shutil.rmtree(self.out)
        program.rounds(5)
        program.go_on()
        self.check(program.end(), 6, "memtrace: recording to", r"memtrace: cannot write .* \(no such directory\): ")
        self.assertFalse(os.path.exists(self.out))

    def test_directory_moved(self):
        program = self.start(6)
        program.wait_for_round()
        moved = os.path.join(self.scratch, "moved")
        os.rename(self.out, moved)
        program.rounds(5)
        program.go_on()
        self.check(program.end(), 6, "memtrace: recording to", r"memtrace: cannot write .* \(no such directory\): ")
        process = self.process(moved)
        self.assertGreaterEqual(self.births(process), ROUND - 2048)
        self.assertEqual(set(process["trace"]["lost_reasons"]), {"disk"})
        self.assertGreaterEqual(2 * self.births(process) + process["trace"]["lost_events"], 2 * 6 * ROUND)


class SlowDisk(Case):
    def slow(self, delay, rounds):
        self.out = os.path.join(self.fuse("--delay", str(delay)), "out")
        self.check(self.run_rounds(rounds), rounds, "memtrace: recording to")
        process = self.process()
        self.assertGreater(self.births(process), 0)
        self.assertGreaterEqual(2 * self.births(process) + process["trace"]["lost_events"], 2 * rounds * ROUND)
        self.assertLessEqual(set(process["trace"]["lost_reasons"]), {"disk", "busy"})
        self.assertEqual(process["end"]["how"], "exit")

    def test_a_fifth_of_a_second(self):
        self.slow(0.2, 10)

    def test_two_seconds(self):
        self.slow(2, 4)


class Rings(Case):
    def ring_place(self, settings=None):
        """Returns the place of the ring file while the program runs; then checks that nothing was lost."""
        program = self.start(2, {"MEMTRACE_QUIET": "1", **(settings or {})})
        program.wait_for_round()
        found = []
        with open(f"/proc/{program.process.pid}/maps", encoding="utf-8") as maps:
            found = sorted({line.split()[-1] for line in maps if line.rstrip().endswith(".rings")})
        self.assertEqual(len(found), 1, found)
        program.rounds(1)
        program.go_on()
        self.check(program.end(), 2)
        self.assert_nothing_lost(self.process())
        self.assertFalse(os.path.exists(found[0]))
        return os.path.dirname(found[0])

    def test_beside_the_trace_on_a_local_disk(self):
        self.assertEqual(self.ring_place(), self.out)

    def test_not_on_a_network_file_system(self):
        self.out = os.path.join(self.fuse(), "out")
        self.assertEqual(self.ring_place(), self.temporary)

    def test_not_in_memory_if_there_is_a_choice(self):
        memory = self.in_memory("8m")
        self.out = os.path.join(memory, "out")
        self.assertEqual(self.ring_place(), self.temporary)
        shutil.rmtree(self.out)
        self.assertEqual(self.ring_place({"MEMTRACE_SPOOL": memory}), memory, "unless that was asked for")

    def test_no_shared_mappings_where_they_were_wanted(self):
        spool = self.fuse("--no-mmap")
        self.assertEqual(self.ring_place({"MEMTRACE_SPOOL": os.path.join(spool, "deep")}), self.out)
        self.assertEqual(os.listdir(spool), [])
        shutil.rmtree(self.out)
        self.check(self.run_rounds(3, {"MEMTRACE_SPOOL": spool}), 3,
                   re.escape(f"memtrace: recording to {self.out} (no rings can be in {spool}: {self.out}/"))

    def test_a_killed_process_is_read_from_its_rings_elsewhere(self):
        spool = self.folder("spool")
        program = self.start(2, {"MEMTRACE_SPOOL": spool})
        program.wait_for_round()
        program.process.kill()
        program.end()
        self.assertEqual(len(os.listdir(spool)), 1)
        process = self.process()
        self.assert_nothing_lost(process)
        self.assertGreaterEqual(self.births(process), ROUND)


class Bounds(Case):
    def test_a_bound_that_is_too_small(self):
        outcome = self.run_rounds(3, {"MEMTRACE_MAX_TRACE": "100K"})
        self.check(outcome, 3, "memtrace: MEMTRACE_MAX_TRACE=100K is too little: 1M is used$", "memtrace: recording to")
        self.assertLessEqual(sum(os.path.getsize(path) for path in self.trace_files()), MIB)

    def files(self):
        return sum(os.path.getsize(path) for path in glob.glob(os.path.join(self.out, "*")))

    def notes(self):
        """Returns the bytes for detail of each process of the job, from its own claim."""
        path = os.path.join(self.out, f"node-{os.uname().nodename}")
        with open(path, encoding="utf-8") as file:
            return [int(line.split()[0]) for line in file]

    def test_the_bound_of_a_host(self):
        """Children of one job get: the requested bytes, counts only, no file. Other processes get bytes again
        after they end."""
        settings = {"MEMTRACE_MAX_NODE": "11M", "MEMTRACE_JOB": f"job;{self.out}", "MEMTRACE_QUIET": "1",
                    "MEMTRACE_SAMPLE": "64"}  # most small blocks are sampled: they must not count twice
        programs = []
        for _ in range(6):
            programs.append(self.start(2, settings))
            programs[-1].wait_for_round()
        self.assertEqual(self.notes(), [4 * MIB, 4 * MIB, MIB, MIB, MIB, 0])
        self.assertEqual(len(self.trace_files()), 5)
        for program in programs:
            program.rounds(1)
            program.go_on()
            self.check(program.end(), 2)
        self.assertLessEqual(self.files(), 11 * MIB)
        processes = {process["pid"]: process for process in self.report("--all")["processes"]}
        self.assertNotIn(programs[5].process.pid, processes)
        for program in programs[:5]:
            process = processes[program.process.pid]
            self.assert_nothing_lost(process)
            self.assertGreaterEqual(self.births(process), 2 * ROUND)
            flows = sum(row["allocated"] for row in process["phases"] if row["memory"] == "host")
            self.assertGreaterEqual(flows, 2 * ROUND * 10_000)
            self.assertLess(flows, 2 * ROUND * 10_000 + 64 * MIB)
        whole = processes[programs[0].process.pid]
        counted = processes[programs[2].process.pid]
        self.assertAlmostEqual(self.births(counted) / self.births(whole), 1, delta=0.05)
        again = self.start(2, settings)
        again.wait_for_round()
        again.rounds(1)
        again.go_on()
        self.check(again.end(), 2)
        self.assertEqual(self.notes()[-1], 4 * MIB)
        self.assertIn("MEMTRACE_MAX_NODE", self.report_text())

    def test_a_claim_grows_with_need(self):
        """A claim is first an eighth of a child's bound. If that is full it doubles, up to all of the bound."""
        settings = {"MEMTRACE_JOB": f"job;{self.out}", "MEMTRACE_QUIET": "1", "MEMTRACE_MAX_TRACE": "64M"}
        program = self.start(60, settings)
        program.wait_for_round()
        self.assertEqual(self.notes(), [4 * MIB])
        program.go_on()
        self.check(program.end(), 60)
        self.assertEqual(self.notes(), [8 * MIB], "an eighth of MEMTRACE_MAX_TRACE")
        self.assertLessEqual(self.files(), 8 * MIB + 4096)
        process = self.only_process(self.report())
        self.assert_nothing_lost(process)
        self.assertNotIn("MEMTRACE_MAX_NODE", self.report_text())

    def test_less_room_is_kept_to(self):
        settings = {"MEMTRACE_MAX_NODE": "6M", "MEMTRACE_JOB": f"job;{self.out}", "MEMTRACE_QUIET": "1"}
        self.check(self.run_rounds(60, settings), 60)
        self.assertEqual(len(self.notes()), 1)
        self.assertLess(self.notes()[0], 6 * MIB)
        self.assertLessEqual(self.files(), self.notes()[0] + 4096)  # plus the claims themselves
        self.assertGreater(self.files(), 2 * MIB, "too little to show anything")


if __name__ == "__main__":
    unittest.main()
