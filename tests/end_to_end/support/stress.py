"""Purpose: runs tests/victims/stress, and compares the figures of the report with the program's own count."""
import contextlib
import dataclasses
import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import cgroup
import harness

WORDS = ("pid", "ready", "done", "surely", "perhaps", "surely_peak", "perhaps_peak", "births_begun", "births",
         "deaths_begun", "deaths", "threads_begun", "threads", "held", "left")
CLASSES = 48
MEETINGS = 256
PAGE = 4096
LENGTH = len(WORDS) + CLASSES + 1 + MEETINGS
CPU = "/sys/fs/cgroup/cpu"
GROUPS = itertools.count()


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to run the program."""
    threads: int = 1
    way: str = "churn"
    as_: str = "main"          # or exec, fork: in a child
    bound: str = ""            # MEMTRACE_MAX_TRACE; empty: the default
    # or large: each block is recorded individually; narrow: and few bytes are in flight
    sizes: str = "mixed"
    operations: int = -1
    seed: int = 1
    starved: str = ""          # cpu: a fifth of one core; memory: the kernel kills it at a limit
    held: int = 256 * harness.MIB
    meet: float = 0            # seconds from one meeting of all threads to the next
    meetings: int = 0
    stay: bool = False         # of `hold`: wait for the kill when all threads hold all

    def __str__(self):
        return (f"{self.threads} threads, {self.as_}, bound {self.bound or 'default'}, {self.sizes}"
                + (f", starved of {self.starved}" if self.starved else ""))


@dataclasses.dataclass
class Verdict:
    """The program's count, the reported figure, and the error that the report admits."""
    measure: str
    low: int       # the truth is between `low` and `high`
    high: int
    reported: int
    down: int      # the report admits that the truth may be lower by this
    up: int        # and higher by this

    @property
    def error(self):
        """Returns the distance of the reported figure from the truth: positive if too high."""
        return max(self.reported - self.high, 0) - max(self.low - self.reported, 0)

    @property
    def holds(self):
        return self.reported - self.down <= self.high and self.reported + self.up >= self.low

    @property
    def narrow(self):
        """True if the interval is at most three times the real error plus 1 MiB."""
        return self.down + self.up <= 3 * abs(self.error) + harness.MIB

    def __str__(self):
        return (f"{self.measure}: counted {self.low} to {self.high}, reported {self.reported}, admitted -{self.down} "
                f"+{self.up}, off by {self.error:+}")


def admitted_interval(process, figure):
    """Returns (down, up): by how much `peak`, or `live` at the end, may be too high and too low, as the report
    of the process admits."""
    error = process["trace"]["error"][figure]
    return error["below"], error["above"]


def admitted_losses(process):
    return process["trace"]["lost_events"], process["trace"]["lost_reasons"]


class Absent(AssertionError):
    """The process is not in the report. `told` is true if stderr says that it ended while it opened its trace."""

    def __init__(self, text, told):
        super().__init__(text)
        self.told = told


class Truth:
    """The page in which the program counts. It survives a kill."""

    def __init__(self, path):
        with open(path, "rb") as file:
            words = struct.unpack(f"<{LENGTH}q", file.read(8 * LENGTH))
        self.__dict__.update(zip(WORDS, words))
        self.births_of = words[len(WORDS):len(WORDS) + CLASSES]
        self.at_meetings = words[LENGTH - MEETINGS:][:words[LENGTH - MEETINGS - 1]]


@contextlib.contextmanager
def cpu_quota(percent):
    """Returns a function that limits a process to `percent` of one core by a cgroup, or to one core if no
    cgroup can be made."""
    group = os.path.join(CPU, f"stress-{os.getpid()}-{next(GROUPS)}")
    try:
        os.mkdir(group)
        for name, value in (("cpu.cfs_period_us", 20000), ("cpu.cfs_quota_us", 200 * percent)):
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(str(value))
    except OSError:
        with contextlib.suppress(OSError):
            os.rmdir(group)
        yield lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        return

    def enter():
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    try:
        yield enter
    finally:
        for _ in range(200):
            with contextlib.suppress(OSError):
                os.rmdir(group)
                break
            time.sleep(0.02)


NO_PROCESS = {"trace": {"lost_events": 0, "lost_reasons": {}}}


class Stress:
    """Runs the program in its own directory, which is removed at the end."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="memtrace-stress-")
        self.page = os.path.join(self.scratch, "page")
        self.out = os.path.join(self.scratch, "out")
        self.bases = {}

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def start(self, way, enter=None):
        shutil.rmtree(self.out, ignore_errors=True)
        with open(self.page, "wb") as file:
            file.write(bytes(PAGE))
        settings = {**harness.RECORD_ALL, **({"MEMTRACE_MAX_TRACE": way.bound} if way.bound else {})}
        command = [harness.victim("stress"), self.page, "--threads", str(way.threads), "--way", way.way,
                   "--as", way.as_, "--sizes", way.sizes, "--operations", str(way.operations), "--seed", str(way.seed),
                   "--held", str(way.held), "--touch", str(int(way.starved == "memory")),
                   "--meet", str(way.meet), "--meetings", str(way.meetings), "--stay", str(int(way.stay))]
        environment = harness.bare_environment(LD_PRELOAD=harness.LIBRARY, MEMTRACE_OUT=self.out, **settings)
        return subprocess.Popen(command, env=environment, cwd=self.scratch, stdin=subprocess.DEVNULL, preexec_fn=enter)

    def report(self, pid):
        """Returns the process with this pid in the post-mortem's document, which includes all keys of the
        report."""
        done = subprocess.run([harness.COMMAND, "postmortem", self.out, "--format", "json"], stdin=subprocess.DEVNULL,
                              env=harness.bare_environment(), capture_output=True, check=False, timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"memtrace postmortem: {done.stderr.decode(errors='replace')}")
        found = [process for process in json.loads(done.stdout)["processes"] if process["pid"] == pid]
        if len(found) != 1:
            told = re.search(rf"-{pid}-[0-9a-f]*\.memtrace: .*: its process ended while it opened the trace",
                             done.stderr.decode(errors="replace"))
            raise Absent(f"{len(found)} processes have pid {pid} in the report", bool(told))
        return found[0]

    def base(self, threads, as_="main"):
        """Returns the memory of libc and the loader beside the program's count: (bytes, allocations)."""
        if (threads, as_) not in self.bases:
            truth, process = self.run_to_end(Way(threads, "hold", as_, operations=0))
            if process["trace"]["lost_events"]:
                raise AssertionError(f"{threads} threads, {as_}: events are lost where nothing is allocated")
            self.bases[threads, as_] = left(process), allocations(process) - truth.births
        return self.bases[threads, as_]

    def run_to_end(self, way):
        with self.start(way) as process:
            status = process.wait(timeout=300 + 2 * way.meet * way.meetings)
        if status != 0:
            raise AssertionError(f"{way}: status {status}")
        truth = Truth(self.page)
        return truth, self.report(truth.pid)

    def kill(self, way, delay):
        """Returns the program's count when it was killed, `delay` seconds after it began to work, and its
        process."""
        with contextlib.ExitStack() as stack:
            enter = None
            if way.starved == "cpu":
                enter = stack.enter_context(cpu_quota(20))
            elif way.starved == "memory":
                enter = stack.enter_context(cgroup.Group("stress", way.held // 4)).enter
            process = stack.enter_context(self.start(way, enter))
            until = time.monotonic() + 60
            while Truth(self.page).pid == 0 or (way.stay and Truth(self.page).held == 0):
                if process.poll() is not None or time.monotonic() > until:
                    raise AssertionError(f"{way}: it did not begin, its status is {process.poll()}")
                time.sleep(0.001)
            if way.starved == "memory":
                # The kernel's kill is the random instant. A process that survives it is killed here.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=5)
            else:
                time.sleep(delay)
            pid = Truth(self.page).pid
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            process.wait(timeout=60)
        truth = Truth(self.page)
        return truth, self.report(pid)

    def base_between(self, way, truth):
        """Returns the bytes beside the program's count when `truth.threads` of its threads ran: (low, high)."""
        one, every = self.base(1, way.as_)[0], self.base(way.threads, way.as_)[0]
        each = (every - one) // max(way.threads - 1, 1)
        return one + each * truth.threads, one + each * truth.threads_begun

    def verdicts_at_end(self, way):
        """Returns the verdicts of `hold`: when all threads held all blocks, and when half was freed."""
        truth, process = self.run_to_end(way)
        base = self.base(way.threads, way.as_)[0]
        error = process["trace"]["live_error"]
        return process, [
            Verdict("peak", truth.held + base, truth.held + base, harness.peak(process),
                    *admitted_interval(process, "peak")),
            Verdict("live", truth.left + base, truth.left + base, left(process), error, error)]

    def verdicts_at_meetings(self, way):
        """Returns the verdicts of `churn` with meetings: the level at each, and the bytes of all files at the
        end."""
        base = self.base(way.threads, way.as_)[0]
        truth, process = self.run_to_end(way)
        bytes_on_disk = sum(entry.stat().st_size for entry in os.scandir(self.out))
        error = process["trace"]["live_error"]
        return process, bytes_on_disk, [
            Verdict(f"live at meeting {number}", level + base, level + base,
                    harness.phase_row(process, f"meeting {number}", None)["exit_live"], error, error)
            for number, level in enumerate(truth.at_meetings)]

    def verdicts_at_kill(self, way, delay):
        try:
            truth, process = self.kill(way, delay)
        except Absent as absent:
            # A forked child opens its trace at its first MiB, or after a second. That takes some ms of CPU
            # time. If 512 threads share a fifth of a core, each gets 1 ms in 2.5 s.
            most = (64 if way.starved == "cpu" else 8) * harness.MIB
            if way.as_ != "fork" or (Truth(self.page).surely_peak > most and not absent.told):
                raise
            return NO_PROCESS, []
        low, high = self.base_between(way, truth)
        first = self.base(1, way.as_)[0]
        live = process["death"]["live"] if process.get("death") else None
        if live is None:
            raise AssertionError(f"{way}: killed, and the report has no death; end: {process['end']}")
        return process, [
            Verdict("live", truth.surely + low, truth.perhaps + high, live, *admitted_interval(process, "live")),
            # The threads may have begun before or after the peak.
            Verdict("peak", truth.surely_peak + first, max(truth.perhaps_peak, 0) + high, harness.peak(process),
                    *admitted_interval(process, "peak"))]


def left(process):
    return harness.phase_row(process, "left", None)["exit_live"]


def allocations(process):
    return sum(row["allocations"] for row in process["phases"] if row["memory"] == "host" and row["step"] != "steady")


def random_ways(count, threads, bounds=("",), kinds=("main",), seed=1, starved=("",)):
    """Returns `count` ways and delays, which depend only on the seed; MEMTRACE_TEST_SEED sets another."""
    chance = harness.chance(seed)
    seed = int(os.environ.get("MEMTRACE_TEST_SEED", seed))
    for i in range(count):
        way = Way(threads=chance.choice(threads), as_=chance.choice(kinds), bound=chance.choice(bounds),
                  sizes=chance.choice(("mixed", "large", "narrow")), seed=seed * 100000 + i, starved=chance.choice(starved))
        yield way, chance.choice((0.02, 0.1, 0.3)) * chance.random()
