"""Purpose: compares the report's figures with the count of a program with many threads, also when it is killed.

The program is tests/victims/blocks/stress.cpp. A verdict holds if the reported figure is the truth, or if the truth
is in the interval that the report admits. If no event was lost and each block is recorded individually, the
figure is exact to the byte. `run.py capture/test_stress --long [KILLS]` is the long form: a thousand kills,
with the threads, kinds and bounds of LONG, and a table of the results. `--soak [MINUTES]` is a run of 30
minutes, with a level each minute.
"""
import collections
import os
import sys
import time
import unittest

import harness
import rawtrace
import stress

KILLS = 20
THREADS = (1, 8, 64, 512)
MOST_BESIDE = 4096  # for the names of the job and of the node
LONG = {"threads": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512), "kinds": ("main", "exec", "fork"),
        "bounds": ("", "", "1M", "4M", "32M"), "starved": ("", "", "", "cpu", "memory")}


class StressCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.stress = stress.Stress()
        self.addCleanup(self.stress.close)

    def assert_verdicts(self, process, verdicts, exact=False):
        for verdict in verdicts:
            self.assertTrue(verdict.holds, f"{verdict}; lost: {process['trace']['lost_reasons']}")
            if exact:
                self.assertEqual(verdict.error, 0, str(verdict))


class Ends(StressCase):
    """Programs that end by themselves, at the default bounds: no event is lost."""

    def check(self, threads, as_):
        for sizes in ("large", "mixed"):
            with self.subTest(sizes=sizes):
                process, verdicts = self.stress.verdicts_at_end(
                    stress.Way(threads, "hold", as_, sizes=sizes, seed=threads))
                self.assert_nothing_lost(process)
                self.assertEqual((process["end"]["how"], process["end"]["code"]), ("exit", 0))
                # Small blocks of a thread may wait for its next record, which carries them.
                self.assert_verdicts(process, verdicts, exact=sizes == "large")

    def test_levels_while_it_runs(self):
        """All threads pause at times. Meanwhile the trace outgrows its bound and windows are rolled up."""
        way = stress.Way(8, "churn", bound="8M", sizes="large", seed=11, meet=0.4, meetings=6)
        process, bytes_on_disk, verdicts = self.stress.verdicts_at_meetings(way)
        self.assertEqual(len(verdicts), way.meetings)
        self.assertLessEqual(bytes_on_disk, 8 * harness.MIB + MOST_BESIDE)
        self.assert_verdicts(process, verdicts, exact=process["trace"]["lost_events"] == 0)

    def test_number_of_allocations(self):
        for as_ in ("main", "exec"):
            with self.subTest(as_):
                way = stress.Way(8, "churn", as_, operations=2000, seed=3)
                truth, process = self.stress.run_to_end(way)
                self.assert_nothing_lost(process)
                # A thread that begins when another has ended reuses its stack: libc allocates less for it.
                counted = stress.allocations(process) - self.stress.base(8, as_)[1]
                self.assertIn(truth.births - counted, range(8))

    def births_of_trace(self, operations):
        """Returns the program's count and that of its trace: births by the logarithm of their size."""
        truth, _ = self.stress.run_to_end(stress.Way(8, "churn", operations=operations, sizes="large", seed=5))
        self.out = self.stress.out
        records, gaps = rawtrace.read(self.trace_files()[0])
        self.assertEqual(gaps, 0)
        found = collections.Counter()
        for record in records:
            if record.type in ("birth", "move"):
                given = record.words[1 if record.type == "birth" else 2]
                found[given.bit_length() - 1] += 1
        return truth.births_of, found

    def test_sizes_of_allocations(self):
        """Uses the tests' own reader of traces. libc's own blocks are those of a run that allocates nothing."""
        _, base = self.births_of_trace(0)
        counted, found = self.births_of_trace(1000)
        found.subtract(base)
        self.assertEqual({size: found[size] for size, count in enumerate(counted) if count},
                         {size: count for size, count in enumerate(counted) if count})


def add(threads, as_):
    setattr(Ends, f"test_{threads}_threads_{as_}", lambda self: self.check(threads, as_))


for threads in THREADS:
    for as_ in ("main", "exec", "fork"):
        add(threads, as_)


class Kills(StressCase):
    """Kills at random instants: the truth is in the admitted interval each time."""

    def rounds(self, count, *ways, **more):
        for way, delay in stress.random_ways(count, *ways, **more):
            with self.subTest(way=str(way), delay=delay, seed=way.seed):
                process, verdicts = self.stress.verdicts_at_kill(way, delay)
                if not way.bound:
                    self.assert_nothing_lost(process)
                self.assert_verdicts(process, verdicts)

    def test_at_the_default_bounds(self):
        self.rounds(KILLS // 2, THREADS, kinds=("main", "exec", "fork"), seed=1)

    def test_with_small_bounds(self):
        self.rounds(KILLS // 2, (1, 8, 64), bounds=("1M", "4M", "32M"), kinds=("main", "exec", "fork"), seed=2)

    def test_threads_that_had_small_blocks_alone(self):
        """The threads have not recorded an event when they are killed; their blocks count all the same."""
        for as_ in ("main", "exec"):
            with self.subTest(as_):
                process, verdicts = self.stress.verdicts_at_kill(stress.Way(8, "hold", as_, sizes="tiny", stay=True), 0)
                self.assert_nothing_lost(process)
                self.assert_verdicts(process, verdicts)

    def test_starved_of_cpu(self):
        self.rounds(4, (8, 64), starved=("cpu",), seed=3)


def row(name, verdicts):
    wrong = sum(not verdict.holds for verdict in verdicts)
    wide = sum(not verdict.narrow for verdict in verdicts)
    exact = sum(verdict.error == 0 for verdict in verdicts)
    return f"{name:44} {len(verdicts):6} {exact:6} {wrong:8} {wide:6}"


def long_form(kills, seed):
    """Returns the exit status: 0 if all verdicts hold and 99 of 100 intervals are narrow."""
    one = stress.Stress()
    groups, lost, errors, young, started = collections.defaultdict(list), 0, 0, 0, time.monotonic()
    try:
        for way, delay in stress.random_ways(kills, **{**LONG, "seed": seed}):
            try:
                process, verdicts = one.verdicts_at_kill(way, delay)
            except AssertionError as error:
                errors += 1
                print(f"no verdict: {way}, killed after {delay:.4f} s: {error}", flush=True)
                continue
            if process["trace"]["lost_events"] != 0:
                lost += 1
                print(f"losses: {way}, killed after {delay:.4f} s: {process['trace']['lost_reasons']}", flush=True)
            young += not verdicts
            for verdict in verdicts:
                for said in ("outside",) * (not verdict.holds) + ("wide",) * (not verdict.narrow):
                    print(f"{said}: {way}, killed after {delay:.4f} s, seed {way.seed}: {verdict}", flush=True)
                for name in (f"bound {way.bound or 'default'}", f"{way.threads} threads", f"as {way.as_}",
                             f"{verdict.measure} of all"):
                    groups[name].append(verdict)
    finally:
        one.close()
    print(f"{'':44} {'tried':>6} {'exact':>6} {'outside':>8} {'wide':>6}")
    for name in sorted(groups, key=lambda name: (name.split()[-1], len(name), name)):
        print(row(name, groups[name]))
    every = [verdict for name in groups if name.endswith(" of all") for verdict in groups[name]]
    wrong, wide = sum(not verdict.holds for verdict in every), sum(not verdict.narrow for verdict in every)
    print(f"kills: {kills}, without a verdict: {errors}, of forked children before they had a trace: {young}, with "
          f"losses: {lost}, figures outside of their interval: {wrong}, interval wider than three times the error plus "
          f"1 MiB: {wide} of {len(every)}; {time.monotonic() - started:.0f} s")
    return int(errors > 0 or wrong > 0 or wide * 100 > len(every))


def soak(minutes):
    """Runs 256 threads, with a level each minute. Returns the exit status: 0 if all verdicts hold and the files
    keep their bound."""
    one = stress.Stress()
    try:
        process, bytes_on_disk, verdicts = one.verdicts_at_meetings(
            stress.Way(256, "churn", sizes="large", seed=9, meet=60, meetings=minutes))
    finally:
        one.close()
    wrong = [str(verdict) for verdict in verdicts if not verdict.holds]
    print(f"soak of {minutes} minutes, 256 threads: {process['trace']['events']} events, lost "
          f"{process['trace']['lost_events']}, {bytes_on_disk / harness.MIB:.1f} MiB of files, own memory "
          f"{process['trace']['own_bytes']} bytes, levels exact {sum(v.error == 0 for v in verdicts)} of "
          f"{len(verdicts)}, outside of their interval {len(wrong)}")
    print(*wrong, sep="\n")
    return int(bool(wrong) or bytes_on_disk > 256 * harness.MIB + MOST_BESIDE)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--soak"]:
        sys.exit(soak(int(sys.argv[2]) if len(sys.argv) > 2 else 30))
    if sys.argv[1:2] == ["--long"]:
        sys.exit(long_form(int(sys.argv[2]) if len(sys.argv) > 2 else 1000,
                           int(os.environ.get("MEMTRACE_TEST_SEED", "1"))))
    unittest.main()
