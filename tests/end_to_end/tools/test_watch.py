"""Purpose: tests `memtrace run --warn-at`, `--on-near-limit` and `--metrics-file` at real limits of the kernel.

The programs wait for the files that a command writes, so no timing decides. Truth: the figures of the kernel, of the
cgroup and of /proc, read by the test or by the program itself.
"""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import cgroup
import harness
import python_package

MIB = harness.MIB
CLIMBS = [sys.executable, "-S", harness.program("climbs.py")]
# One line for each run of the command: its variables, then a file that the program waits for.
TOLD = ('echo "$MEMTRACE_NEAR_KIND|$MEMTRACE_NEAR_NAME|$MEMTRACE_NEAR_USED|$MEMTRACE_NEAR_LIMIT|$MEMTRACE_NEAR_PID|'
        '$MEMTRACE_COMMAND_PID|$MEMTRACE_JOB_DIR|$MEMTRACE_NEAR_PHASE|$MEMTRACE_NEAR_STEP|$LD_PRELOAD" >> told; : > told.done')


class Watch(harness.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.scratch, "traced")
        os.makedirs(self.folder)

    def command(self, *words, options=("--on-near-limit", TOLD), program=None):
        return [harness.COMMAND, "run", "-o", self.out, *options, "--", *(program or CLIMBS), *words]

    def run_it(self, *words, options=("--on-near-limit", TOLD), program=None, **more):
        return self.run_in("traced", self.command(*words, options=options, program=program),
                           harness.bare_environment(), **{"timeout": 120, **more})

    def told(self):
        """Returns the lines of the command's runs, each as its variables in order."""
        path = os.path.join(self.folder, "told")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            names = ("kind", "name", "used", "limit", "pid", "command", "directory", "phase", "step", "preload")
            return [dict(zip(names, line.rstrip("\n").split("|"))) for line in file]

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def near_lines(self, done):
        return [line for line in done.stderr.decode().splitlines() if "near a limit" in line]


class Cgroup(Watch):
    def test_before_the_death_and_once(self):
        with cgroup.Group("watch", 200 * MIB) as group:
            done = self.run_it("to", "192", "wait", "told.done", "fill", preexec_fn=group.enter)
            self.assertEqual(group.kills(), 1)
            self.assertEqual(done.returncode, 128 + signal.SIGKILL)
            [told] = self.told()
            self.assertEqual((told["kind"], told["name"], told["limit"]), ("cgroup", group.path, str(200 * MIB)))
            self.assertGreaterEqual(int(told["used"]), 180 * MIB)
            self.assertLessEqual(int(told["used"]), group.highest())
            [line] = self.near_lines(done)
            self.assertRegex(line, rf"^memtrace: run: near a limit: 1[89]\d\.\d\d MiB of 200\.00 MiB of the cgroup "
                                   rf"{re.escape(group.path)} used \((9\d|100)\.\d %\), \d+\.\d\d MiB left; "
                                   r"python3?[.\d]* \(pid \d+\) grew by \d+\.\d\d MiB in ")
            self.assertIn(f"(pid {told['pid']})", line)
            self.assertEqual(told["pid"], told["command"])
            self.assertEqual(told["preload"], "", "the command is not traced")
            self.assertEqual(told["directory"], self.out)
            self.assertIn("Killed for memory", done.stderr.decode(), "the post-mortem still comes")
            self.assertEqual(len(self.trace_files()), 1)

    def test_below_the_share_it_never_runs(self):
        """When the metrics have the 150 MiB, the limits were read many times since."""
        with cgroup.Group("watch", 200 * MIB) as group:
            done = self.run_it("to", "150", "seen", "seen.prom", "150", options=[
                "--on-near-limit", TOLD, "--warn-at", "90%", "--metrics-file", "seen.prom"], preexec_fn=group.enter)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.told(), self.near_lines(done)), ([], []))

    def test_down_and_up_again_within_a_minute(self):
        with cgroup.Group("watch", 200 * MIB) as group:
            done = self.run_it("to", "190", "wait", "told.done", "to", "50", "to", "190", "to", "50", "to", "190",
                               preexec_fn=group.enter)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((len(self.told()), len(self.near_lines(done))), (1, 1))

    def test_a_group_above(self):
        """The group of the process has no limit, the one above it has. A child holds the memory."""
        with cgroup.Group("watch", 200 * MIB) as outer, cgroup.Group("inner", below=outer) as inner:
            done = self.run_it("fork", "to", "180", "say", "said", "wait", "told.done", preexec_fn=inner.enter)
            self.assertEqual(done.returncode, 0, done.stderr)
            [told] = self.told()
            self.assertEqual((told["kind"], told["name"]), ("cgroup", outer.path))
            self.assertEqual(told["pid"], self.read("said").split()[0], "the child")
            self.assertNotEqual(told["pid"], told["command"])

    def test_page_cache_is_not_near(self):
        """A file fills the group up to its limit. The kernel gives these pages back before it kills."""
        path = os.path.join(self.scratch, "file")
        with open(path, "wb") as file:
            for _ in range(300):
                file.write(os.urandom(MIB))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with cgroup.Group("watch", 200 * MIB) as group:
            done = self.run_it("read", path, "to", "40", "seen", "seen.prom", "40", options=[
                "--on-near-limit", TOLD, "--metrics-file", "seen.prom"], preexec_fn=group.enter)
            self.assertEqual(done.returncode, 0, done.stderr)
            if group.highest() < 190 * MIB:
                self.skipTest("the file did not enter the page cache of the group")
        self.assertEqual(self.told(), [])

    def test_a_size_that_is_left(self):
        with cgroup.Group("watch", 200 * MIB) as group:
            done = self.run_it("to", "165", "wait", "told.done", preexec_fn=group.enter,
                               options=["--on-near-limit", TOLD, "--warn-at", "50M"])
        self.assertEqual(done.returncode, 0, done.stderr)
        [told] = self.told()
        self.assertGreaterEqual(int(told["used"]), 150 * MIB)

    def test_phase_and_step(self):
        """The phase of the process that grew, by its own marks."""
        code = ("import memtrace, mmap, os, time\n"
                "memtrace.step(0); memtrace.step(7)\n"
                "with memtrace.phase('tokenize'):\n"
                "    time.sleep(2.5)  # what is marked reaches the trace within a second or so\n"
                "    held = [b'x' * (1 << 20) for _ in range(192)]\n"
                "    while not os.path.exists('told.done'): time.sleep(0.01)\n")
        with cgroup.Group("watch", 220 * MIB) as group:
            done = self.run_in("traced", self.command("-c", code, program=[sys.executable]), harness.bare_environment(
                PYTHONPATH=python_package.PACKAGE, MEMTRACE_MIN_PEAK="0"), preexec_fn=group.enter)
        self.assertEqual(done.returncode, 0, done.stderr)
        [told] = self.told()
        self.assertEqual((told["phase"], told["step"]), ("tokenize", "7"))
        self.assertIn(", in tokenize of step 7", self.near_lines(done)[0])


class AddressSpace(Watch):
    LIMIT_KIB = 2 << 20

    def test_ulimit_v(self):
        """One mapping crosses the share, so the figure is that of statm after it."""
        program = ["sh", "-c", f'ulimit -v {self.LIMIT_KIB}; exec "$@"', "sh", *CLIMBS]
        done = self.run_it("size", "1950", "say", "second", "wait", "told.done", program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        [told] = self.told()
        pid, size = self.read("second").split()[:2]
        self.assertEqual((told["kind"], told["pid"], told["limit"]), ("address_space", pid, str(self.LIMIT_KIB << 10)))
        self.assertAlmostEqual(int(told["used"]), int(size) * os.sysconf("SC_PAGESIZE"), delta=4 * MIB)
        self.assertIn(f"of the address space of pid {pid} (ulimit -v)", self.near_lines(done)[0])


class Device(Watch):
    """The driver is the fake of tests/fakes, whose card has 2 GiB."""

    PROGRAM = ("import ctypes, os, time\ncuda = ctypes.CDLL('libcuda.so.1')\nat = ctypes.c_uint64()\n"
               "held = bytearray(40 << 20)\nassert cuda.cuInit(0) == 0\ncontext = ctypes.c_void_p()\n"
               "assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0\n"
               "assert cuda.cuCtxSetCurrent(context) == 0\n"
               "take = lambda count: cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(count))\n"
               "for _ in range(28):\n    assert take(64 << 20) == 0\n    time.sleep(0.02)\n"
               "while not os.path.exists('told.done'):\n    time.sleep(0.02)\n    assert take(4096) == 0\n")

    def test_a_card(self):
        harness.existing(os.path.join(harness.FAKES, "libcuda.so.1"), "the fakes are not built")
        done = self.run_in("traced", self.command("-c", self.PROGRAM, program=[sys.executable]), harness.bare_environment(
            LD_LIBRARY_PATH=harness.FAKES, FAKE_CUDA_CARD_MIB="2048", FAKE_CUDA_CONTEXT_MIB="100", MEMTRACE_CUPTI="on"),
            timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        [told] = self.told()
        self.assertEqual((told["kind"], told["name"], told["limit"]), ("device", "cuda:0", str(2048 * MIB)))
        self.assertGreaterEqual(int(told["used"]), 0.9 * 2048 * MIB)
        self.assertLessEqual(int(told["used"]), (28 * 64 + 100 + 8) * MIB)
        self.assertEqual(told["pid"], told["command"])
        self.assertRegex(self.near_lines(done)[0], rf"of cuda:0 used \(9\d\.\d %\), .* left; python\S* \(pid {told['pid']}\)$")


class Command(Watch):
    def near(self, command, *options, limit=200):
        with cgroup.Group("watch", limit * MIB) as group:
            done = self.run_it("to", str(limit * 93 // 100), "wait", "done", options=["--on-near-limit", command, *options],
                               preexec_fn=group.enter)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_a_failure_is_one_line(self):
        done = self.near("touch done; exit 3")
        lines = [line for line in done.stderr.decode().splitlines() if "--on-near-limit" in line]
        self.assertEqual(lines, ["memtrace: run: --on-near-limit: exit status 3: touch done; exit 3"])

    def test_its_output_goes_to_stderr(self):
        done = self.near("echo from the command; touch done")
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"\nfrom the command\n", b"\n" + done.stderr)

    def test_run_waits_for_it(self):
        self.near("touch done; sleep 1; touch late")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "late")))

    def test_quiet(self):
        done = self.near("touch done", "--quiet")
        self.assertEqual(done.stderr, b"")

    def test_a_signal_for_the_program(self):
        """SIGUSR1 to a program that has a handler: the usual way to a checkpoint."""
        code = ("import os, signal, sys, time\nsaved = []\nsignal.signal(signal.SIGUSR1, lambda *_: saved.append(1))\n"
                "held = [b'x' * (1 << 20) for _ in range(185)]\n"
                "while not saved: time.sleep(0.01)\nprint('saved')\n")
        with cgroup.Group("watch", 200 * MIB) as group:
            done = self.run_in("traced", self.command("-c", code, program=[sys.executable], options=[
                "--on-near-limit", "kill -USR1 $MEMTRACE_NEAR_PID"]), harness.bare_environment(), preexec_fn=group.enter)
        self.assertEqual((done.returncode, done.stdout), (0, b"saved\n"), done.stderr)

    def test_a_report_of_the_running_job(self):
        self.near(f"{harness.COMMAND} report \"$MEMTRACE_JOB_DIR\" > report; touch done", limit=1000)
        self.assertIn("climbs.py", self.read("report"))


class Unchanged(Watch):
    SEES = ("import os\nstatus = open('/proc/self/status').read()\n"
            "print([line for line in status.splitlines() if line[:3] == 'Sig' or line[:4] == 'CapE'])\n"
            "print(sorted((name, os.readlink('/proc/self/fd/' + name).split('[')[0]) for name in os.listdir('/proc/self/fd') if int(name) < 3))\n"
            "print(len(os.listdir('/proc/self/fd')), os.getpgid(0) == os.getpgid(os.getppid()))\n"
            "print(sorted(name for name in os.environ))\n")

    def test_it_sees_the_same(self):
        out = [self.run_it("-c", self.SEES, program=[sys.executable], options=options).stdout
               for options in ([], ["--warn-at", "90%"], ["--on-near-limit", "true", "--metrics-file", "f.prom"])]
        self.assertEqual(out[0].count(b"\n"), 4)
        self.assertEqual(out, [out[0]] * 3)

    def counted(self, strace, options):
        done = self.run_in("traced", self.command("-S", "-c", "x = bytes(1 << 20)", options=options, program=[
            "setarch", "-R", strace, "-c", "-f", "-U", "name,calls", "-o", "counts", sys.executable]),
            harness.bare_environment(PYTHONHASHSEED="0"))
        if done.returncode != 0:
            self.skipTest(f"strace does not work here: {done.stderr.decode()}")
        return dict(re.findall(r"^ *(\w+) +(\d+)$", self.read("counts"), re.M))

    def test_the_same_system_calls(self):
        """Counted by strace, in a program that the recorder does not yet record: its background thread does not run.
        Two runs without the option differ by one call at times, so an equal one among several is enough."""
        strace = harness.existing("/usr/bin/strace", "it counts system calls")
        without = [self.counted(strace, []) for _ in range(3)]
        self.assertEqual(without[0]["execve"], "1")
        for _ in range(8):
            counts = self.counted(strace, ["--on-near-limit", "true", "--metrics-file", "f.prom"])
            if counts in without:
                return
        self.assertIn(counts, without)

    def test_bad_values(self):
        for options in (["--warn-at", "100%"], ["--warn-at", "4GB"], ["--on-near-limit", ""], ["--metrics-file", "x"]):
            done = self.run_it("to", "1", options=options)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (2, b"", 1), done.stderr)
            self.assertIn(options[0].encode(), done.stderr)

    def test_the_side_process_ends_with_the_command(self):
        """If memtrace run is killed, nothing of it stays."""
        with subprocess.Popen(self.command("say", "said", "wait", "never", options=["--warn-at", "90%"]),
                              env=harness.bare_environment(), cwd=self.folder, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            while not os.path.exists(os.path.join(self.folder, "said")):
                time.sleep(0.01)
            session = process.pid
            process.kill()
        os.kill(int(self.read("said").split()[0]), signal.SIGKILL)
        until = time.monotonic() + 60
        while processes_of(session):
            self.assertLess(time.monotonic(), until, processes_of(session))
            time.sleep(0.02)


def processes_of(session):
    """Returns the pids of a session that run."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(name))
    return found


class Metrics(Watch):
    SAMPLE = re.compile(r'^(memtrace_\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} (\S+)$')

    def families(self, text):
        """Returns the samples of each family: (labels, value). Each has its HELP and TYPE line before its samples."""
        out, types = {}, {}
        for line in text.splitlines():
            if line.startswith("# "):
                _, what, name, rest = line.split(" ", 3)
                if what == "TYPE":
                    types[name] = rest
                    out[name] = []
                continue
            found = self.SAMPLE.match(line)
            self.assertIsNotNone(found, line)
            self.assertIn(found[1], types, line)
            out[found[1]].append((dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2])), float(found[3])))
        self.assertEqual({name for name, kind in types.items() if kind == "counter"},
                         {name for name in types if name.endswith("_total")})
        return out

    def measured(self, *options, until=r"^memtrace_live_bytes\S* 1[2-9]\d{7}$"):
        """Runs a program that holds 120 MiB and waits. Returns the metrics, and figures of the kernel of that time."""
        with cgroup.Group("watch", 400 * MIB) as group, subprocess.Popen(
                group.inside(self.command("to", "120", "say", "said", "wait", "stop", options=[
                    "--metrics-file", os.path.join(self.scratch, "f.prom"), *options])),
                env=harness.bare_environment(), cwd=self.folder, stderr=subprocess.PIPE) as process:
            path = os.path.join(self.scratch, "f.prom")
            latest = time.monotonic() + 120
            text = ""
            while not re.search(until, text, re.M):
                self.assertLess(time.monotonic(), latest, text)
                time.sleep(0.05)
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
            pid, _, resident = self.read("said").split()[:3]
            used = int(group.read(group.version.USED))
            with open(os.path.join(self.folder, "stop"), "w", encoding="ascii"):
                pass
            process.stderr.read()
        self.assertEqual(process.returncode, 0)
        self.assertEqual([name for name in os.listdir(self.scratch) if name.startswith("f.prom")], [],
                         "the file is removed, and no partial one stays")
        return text, pid, int(resident) * os.sysconf("SC_PAGESIZE"), used

    def test_against_the_kernel(self):
        text, pid, resident, used = self.measured()
        families = self.families(text)
        [(labels, value)] = families["memtrace_process_resident_bytes"]
        self.assertEqual((labels["pid"], labels["host"], labels["rank"]), (pid, os.uname().nodename, ""))
        self.assertAlmostEqual(value, resident, delta=8 * MIB)
        [(labels, value)] = families["memtrace_live_bytes"]
        self.assertEqual(labels["memory"], "host")
        self.assertTrue(120 * MIB <= value <= 140 * MIB, value)
        limits = {labels["kind"]: (labels, value) for labels, value in families["memtrace_limit_bytes"]}
        self.assertEqual(limits["cgroup"][1], 400 * MIB)
        [charge] = [value for labels, value in families["memtrace_limit_used_bytes"] if labels["kind"] == "cgroup"]
        self.assertAlmostEqual(charge, used, delta=24 * MIB)
        self.assertIn("machine", limits)
        self.assertTrue(all(value == 0 for _, value in families["memtrace_lost_events_total"]))
        self.assertNotIn("memtrace_role_bytes", families, "it was not asked for")

    def test_roles_add_up(self):
        """climbs.py holds its MiB in blocks of malloc or in mappings: the roles of a report."""
        text, pid, *_ = self.measured("--metrics-roles", until=r'^memtrace_role_bytes\S*role="(mapping|heap)"} 1[2-9]\d{7}$')
        families = self.families(text)
        samples = [(labels, value) for labels, value in families["memtrace_role_bytes"] if labels["pid"] == pid]
        self.assertEqual({labels["memory"] for labels, _ in samples}, {"host"})
        [(_, live)] = families["memtrace_live_bytes"]
        self.assertAlmostEqual(sum(value for _, value in samples), live, delta=2 * MIB)
        self.assertEqual(len({labels["role"] for labels, _ in samples}), len(samples))

    def test_a_parser_of_prometheus_reads_it(self):
        """prometheus_client's own parser, if a folder of packages has it."""
        folder = harness.packages("prometheus")
        text = self.measured()[0]
        sys.path.insert(0, folder)
        self.addCleanup(sys.path.remove, folder)
        from prometheus_client.parser import text_string_to_metric_families  # pylint: disable=import-outside-toplevel
        found = {family.name: family for family in text_string_to_metric_families(text)}
        self.assertEqual(found["memtrace_lost_events"].type, "counter")
        self.assertEqual({family.type for name, family in found.items() if name != "memtrace_lost_events"}, {"gauge"})
        self.assertEqual(sum(len(family.samples) for family in found.values()),
                         sum(not line.startswith("#") for line in text.splitlines()))

    def test_a_file_that_cannot_be_written(self):
        done = self.run_it("to", "1", "wait", "go", options=["--metrics-file", "nowhere/f.prom"], preexec_fn=self.go_later)
        self.assertEqual(done.returncode, 0)
        lines = [line for line in done.stderr.decode().splitlines() if "--metrics-file" in line]
        self.assertEqual(lines, ["memtrace: run: --metrics-file: cannot write nowhere/f.prom: No such file or directory"])

    def go_later(self):
        with open(os.path.join(self.folder, "go"), "w", encoding="ascii"):
            pass


if __name__ == "__main__":
    unittest.main()
