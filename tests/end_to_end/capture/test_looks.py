"""Purpose: tests that measuring a program's memory has a bounded cost for any mappings, and that samples come
close to a kill at any growth rate."""
import contextlib
import ctypes
import os
import resource
import signal
import struct
import subprocess
import threading
import time
import unittest

import cgroup
import harness
import rawtrace

MIB = harness.MIB
KERNEL_LOG_PAUSE = 0.6  # seconds: the kernel logs the cgroup of at most 10 kills in 5 s
ROUNDS = int(os.environ.get("KILLS", "5"))
MAPPINGS = "max_map_count"
HUGE = 14  # the index of a row of a ledger
LAST = 1  # a flag of a ledger: taken at the orderly end


class Others:
    """Measures the CPU seconds of all programs that this test did not start."""

    def __init__(self):
        self.began = self.seconds_so_far()

    @staticmethod
    def seconds_so_far():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
        own = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return ((user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
                - sum(one.ru_utime + one.ru_stime for one in own))

    def seconds(self):
        return self.seconds_so_far() - self.began


class Oversleep(threading.Thread):
    """Measures the longest delay of a thread that sleeps for a millisecond. The recorder's thread sleeps as well, so
    the kernel lets it wait as long."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0
        self.done = threading.Event()

    def run(self):
        while not self.done.is_set():
            before = time.monotonic()
            time.sleep(0.001)
            self.longest = max(self.longest, time.monotonic() - before - 0.001)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()


def fastest_growth(samples):
    """Returns the most bytes of RSS in a second between two samples."""
    return max((after.words[0] - before.words[0]) * 1e9 / (after.stamp - before.stamp)
               for before, after in zip(samples, samples[1:]) if after.stamp > before.stamp)


@contextlib.contextmanager
def at_least(name, count):
    """Raises a setting of the kernel, and restores it."""
    path = os.path.join("/proc/sys/vm", name)
    with open(path, encoding="ascii") as file:
        before = file.read()

    def write(text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    if int(before) >= count:
        yield
        return
    try:
        write(str(count))
    except OSError as error:
        raise unittest.SkipTest(f"vm.{name} cannot be raised to {count}: {error}") from error
    try:
        yield
    finally:
        write(before)


def refuse_scans():
    """For use as a preexec_fn: PAGEMAP_SCAN fails, as before Linux 6.7."""
    ioctl, request, errno_inappropriate = 16, 0xC0606610, 25
    program = b"".join(struct.pack("<HBBI", *one) for one in (
        (0x20, 0, 0, 0), (0x15, 0, 3, ioctl), (0x20, 0, 0, 24), (0x15, 0, 1, request),
        (0x06, 0, 0, 0x00050000 | errno_inappropriate), (0x06, 0, 0, 0x7FFF0000)))
    text = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, by_filter, filters, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


class Looks(harness.Case):
    def looks(self, seconds, *shape, bare=False, **options):
        """Returns the CPU time of memtrace's thread as a part of its budget, and the seconds until the process
        had ended."""
        environment = harness.bare_environment() if bare else self.environment(**harness.RECORD_ALL)
        others = Others()
        done = self.run_in("bare" if bare else "traced", [harness.victim("looks"), str(seconds), *map(str, shape)],
                           environment, **options)
        self.others = others.seconds()
        end = time.monotonic_ns()
        self.assertEqual(done.returncode, 0, done.stderr)
        cpu, elapsed, now = (int(word) / 1e9 for word in done.stdout.split()[1::2])
        # The budget is 1 % of the time, plus 2.35 % of the first ten seconds for ledgers and samples.
        return cpu / (elapsed * 0.01 + min(elapsed, 10) * 0.0235 + 0.1), end / 1e9 - now

    def records(self):
        [path] = self.trace_files()
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0)
        return records

    def assert_ends_as_soon(self, traced, *shape):
        """Checks the CPU time of the recorder for the last ledger. The clock's figures are only printed: beside
        a linter, the kernel needed 0.3 s longer to unmap a million mappings."""
        ledgers = [record for record in self.records() if record.type == "sample_ledger" and record.flags & LAST]
        for ledger in ledgers:
            self.assertLess(ledger.words[4] & 0xFFFFFFFF, 100_000, "us of CPU for the last ledger")
        _, bare = self.looks(0, *shape, bare=True)
        print(f"the end took {traced:.2f} s, bare {bare:.2f} s; others used {self.others:.1f} s of CPU")

    def is_alone(self, seconds):
        """True if other processes used less than a tenth of a core meanwhile."""
        return self.others < seconds / 10

    def assert_sampled(self, seconds, cpu, at_least):
        records = self.records()
        samples = [record for record in records if record.type == "sample_process"]
        self.assertGreaterEqual(len(samples), seconds)
        self.assertGreaterEqual(samples[-1].words[0], at_least * MIB)
        self.assertLess(samples[-1].words[0], (at_least + 16) * MIB)
        # If other processes share a core's caches, a walk over a million mappings took up to 1.4 times the CPU
        # time.
        self.assertLess(cpu, 1 if self.is_alone(seconds) else 2, f"of the CPU time that it may have; others used {self.others:.1f} s")
        return records

    def assert_ledger_has(self, mib):
        process = self.only_process(self.report())
        self.assert_nothing_lost(process)
        [ledger] = [one for one in process["ledger"] if (one["scope"], one["at"]) == ("process", "peak_rss")]
        rows = {row["name"]: row["bytes"] for row in ledger["rows"]}
        self.assertEqual(rows["anonymous mappings"], mib * MIB, rows)
        self.assertLess(abs(ledger["residual"]), MIB)

    def test_a_reservation(self):
        shape = ["reserve", 64, 112, 28]
        cpu, end = self.looks(6, *shape)
        records = self.assert_sampled(6, cpu, 112)
        ledgers = [record for record in records if record.type == "sample_ledger"]
        self.assertGreaterEqual(ledgers[-1].words[0], 112 * MIB)
        self.assert_ledger_has(112)
        self.assert_ends_as_soon(end, *shape)

    def test_a_reservation_before_linux_6_7(self):
        shape = ["reserve", 64, 112, 28]
        cpu, end = self.looks(6, *shape, preexec_fn=refuse_scans)
        self.assert_sampled(6, cpu, 112)
        self.assert_ledger_has(112)
        self.assert_ends_as_soon(end, *shape)

    def test_a_reservation_touched_page_by_page(self):
        """Each page has its own page tables, so no kernel finds the pages fast: samples go on."""
        shape = ["reserve", 64, 32, 8192]
        cpu, end = self.looks(6, *shape)
        self.assert_sampled(6, cpu, 32)
        self.assert_ends_as_soon(end, *shape)

    def test_many_mappings(self):
        shape = ["mappings", 60_000]
        with at_least(MAPPINGS, 65_530):
            cpu, end = self.looks(6, *shape)
            self.assert_sampled(6, cpu, 60_000 / 16 * 4096 / MIB)
            self.assert_ends_as_soon(end, *shape)

    def test_a_million_mappings(self):
        shape = ["mappings", 1_000_000]
        with at_least(MAPPINGS, 1_100_000):
            cpu, end = self.looks(6, *shape)
            self.assert_sampled(6, cpu, 1_000_000 / 16 * 4096 / MIB)
            self.assert_ends_as_soon(end, *shape)

    def test_huge_pages(self):
        """Huge pages are not in RSS and have their own row."""
        with at_least("nr_hugepages", 24):
            with open("/proc/meminfo", encoding="ascii") as file:
                free = next(int(line.split()[1]) for line in file if line.startswith("HugePages_Free:"))
            if free < 24:
                self.skipTest(f"the kernel has {free} huge pages to give, of 24")
            self.looks(1, "huge", 48)
        rows = [record for record in self.records() if record.type == "sample_resident" and record.flags >> 8 == HUGE]
        self.assertEqual(rows[-1].words[:2], (48 * MIB, 48 * MIB))
        process = self.only_process(self.report())
        [ledger] = [one for one in process["ledger"] if (one["scope"], one["at"]) == ("process", "end")]
        rows = {row["name"]: row["bytes"] for row in ledger["rows"]}
        self.assertEqual(rows["huge pages of the pool"], 48 * MIB)
        self.assertGreater(ledger["total"], 48 * MIB)
        self.assertEqual(sum(rows.values()) + ledger["residual"], ledger["total"])
        self.assertLess(abs(ledger["residual"]), MIB)
        self.assertTrue(any("are in no RSS" in remark for remark in ledger["remarks"]), ledger)

    def test_many_threads(self):
        """Starts as many threads at once as the machine admits."""
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            count = min(20_000, int(file.read()) // 2)
        shape = ["threads", count]
        with at_least(MAPPINGS, 65_530):
            _, end = self.looks(6, *shape)
        samples = [record for record in self.records() if record.type == "sample_process"]
        # A sample reads what the kernel sums over all threads, and the budget of its CPU time decides when the next one
        # comes. Beside two other tests it took more of that time, and there were 5 samples.
        self.assertGreaterEqual(len(samples), 6 if self.is_alone(6) else 3, f"others used {self.others:.1f} s of CPU")
        self.assert_ends_as_soon(end, *shape)


class Growth(harness.Case):
    def missing(self, limit, pace):
        """Returns the bytes that the last sample lacks against the kernel's log, and the most that it may lack: 1 %
        and the growth in the longest delay of a thread on this machine."""
        with cgroup.Group("looks", limit * MIB) as group:
            command = [harness.victim("looks"), "1", "grow", str(2 * limit), "256", str(pace), "1"]
            with Oversleep() as delay:
                done = self.run_in("traced", command, self.environment(MEMTRACE_QUIET="1"), preexec_fn=group.enter)
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
            time.sleep(KERNEL_LOG_PAUSE)
            line, _ = cgroup.last_kill(group.path)
        resident = int(line.split("anon-rss:")[1].split("kB")[0]) * 1024
        [path] = self.trace_files()
        records, _ = rawtrace.read(path)
        samples = [record for record in records if record.type == "sample_process"]
        subprocess.run(["rm", "-r", self.out], check=True)
        most = max(resident // 100, 16 * MIB) + fastest_growth(samples) * delay.longest
        return resident - samples[-1].words[0], int(most), delay.longest

    def close_to_kills(self, limit, pace, rounds):
        told = [self.missing(limit, pace) for _ in range(rounds)]
        print(f"limit {limit} MiB, {f'{pace} MiB a second' if pace else 'as fast as it goes'}: {rounds} kills, the last "
              "sample short by " + ", ".join(f"{missing // MIB} of {most // MIB} MiB (a thread waited {delay * 1e3:.1f} ms)"
                                             for missing, most, delay in told))
        self.assertEqual([(missing, most) for missing, most, _ in told if missing > most], [])

    def test_at_two_gib_a_second(self):
        self.close_to_kills(1200, 2048, ROUNDS)

    def test_as_fast_as_it_goes(self):
        self.close_to_kills(1200, 0, ROUNDS)

    def test_of_a_large_group(self):
        with open("/proc/meminfo", encoding="ascii") as file:
            available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) // 1024
        limit = 8192 if "KILLS" in os.environ and available > 14_000 else 4096
        if available < limit + 2048:
            self.skipTest(f"{available} MiB are available, and {limit} are to be filled")
        self.close_to_kills(limit, 2048, max(1, ROUNDS // 4))


if __name__ == "__main__":
    unittest.main()
