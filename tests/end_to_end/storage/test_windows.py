"""Purpose: tests many steps under a small bound: the disk bound holds, nothing is lost, every step range has
the truth.

The truth is the victim's own formula (tests/victims/steps/many_steps.c). A longer run: MEMTRACE_TEST_STEPS=1000000.
"""
import glob
import os
import signal
import subprocess
import threading
import time
import unittest

import harness
import rawcoarse
import rawtrace

STEPS = int(os.environ.get("MEMTRACE_TEST_STEPS", "50000"))
HELPED = 16
HELPER_BYTES = 4096 + 8


def forward(n):
    return 8192 + 4096 * (n * 7919 % 13) + 16 * (n * 31 % 101) + 8


def backward(n):
    return 4096 * (1 + n * 104729 % 7) + 16 * (n * 17 % 89) + 8


def figures(n, phase, helpers):
    """Returns the figures of a phase of step n, by the formula."""
    helped = helpers * HELPER_BYTES if n % HELPED == 0 else 0
    count = helpers if n % HELPED == 0 else 0
    if phase == "keep":
        kept = 4096 + 8 if n % 1000 == 0 else 0
        return {"live_net": kept, "live_transient": 0, "allocated": kept, "freed": 0, "allocations": int(kept != 0),
                "count": 1}
    if phase == "forward":
        return {"live_net": forward(n), "live_transient": helped, "allocated": forward(n) + helped, "freed": helped,
                "allocations": 1 + count, "count": 1}
    return {"live_net": -forward(n), "live_transient": backward(n), "allocated": backward(n),
            "freed": backward(n) + forward(n), "allocations": 1, "count": 1}


class Watch:
    """Polls the files of a process and keeps their highest sum."""

    def __init__(self, folder):
        self.folder, self.most, self.looks, self.over = folder, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def look(self):
        size = blocks = 0
        for path in glob.glob(os.path.join(self.folder, "*-*-*.*")):
            try:
                stat = os.stat(path)
            except FileNotFoundError:
                continue  # a window was reused
            size += stat.st_size
            blocks += stat.st_blocks * 512
        self.most = max(self.most, size, blocks)
        self.looks += 1

    def run(self):
        while not self.over.is_set():
            self.look()
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.look()


class Windows(harness.Case):
    def run_steps(self, bound, steps, helpers):
        command = [harness.victim("many_steps"), str(steps), str(helpers)]
        settings = self.environment(**harness.RECORD_ALL, MEMTRACE_MAX_TRACE=bound)
        with Watch(self.out) as watch:
            done = self.run_in("traced", command, settings)
        self.assertEqual((done.returncode, done.stdout), (0, f"{steps} steps\n".encode()))
        return watch

    def names_in(self, path):
        """Returns the texts that a rollup's rows refer to, by id."""
        names = {}
        for record in rawtrace.segments(path):
            if record.type == "text" and record.words[0] >= 0xC0000000:
                text = b"".join(word.to_bytes(8, "little") for word in record.words[1:])[:record.flags & 0xFF]
                names[record.words[0]] = text.decode()
        return names

    def assert_row(self, row, phase, steps, helpers):
        """The row must have exactly the extremes of its steps."""
        self.assertEqual(row.steps, len(steps), phase)
        truth = [figures(n, phase, helpers) for n in steps]
        for figure in truth[0]:
            values = [one[figure] for one in truth]
            self.assertEqual((row.min[figure], row.max[figure]), (min(values), max(values)), (phase, steps[0], figure))

    def assert_buckets(self, path, steps, helpers):
        """Every row must have exactly the extremes of its steps."""
        coarse = rawcoarse.read(path)
        self.assertEqual(coarse.last_step, steps - 1)
        names = self.names_in(path.replace(".coarse", ".memtrace"))
        seen = {phase: [] for phase in ("keep", "forward", "backward")}
        base = None
        for row in sorted(row for row in coarse.phases if row.memory == 0 and row.path):
            phase = names[row.path]
            first = max(row.bucket * coarse.phase_width, coarse.first_step)
            inside = range(first, min((row.bucket + 1) * coarse.phase_width, steps))
            seen[phase].extend(inside)
            self.assert_row(row, phase, inside, helpers)
            if phase == "keep":
                # before the blocks of this step
                kept = [4104 * ((n + 999) // 1000) for n in (inside[0], inside[-1])]
                base = row.min["live_entry"] - kept[0] if base is None else base
                self.assertEqual((row.min["live_entry"], row.max["live_entry"]), (base + kept[0], base + kept[1]))
        for phase, found in seen.items():
            self.assertEqual(sorted(found), list(range(coarse.first_step, steps)), phase)
        births = sum(row.count for row in coarse.sites if row.path)
        self.assertEqual(births, sum(figures(n, phase, helpers)["allocations"]
                                     for n in range(coarse.first_step, steps) for phase in seen))
        return coarse

    def assert_full_detail(self, path, steps, coarse):
        """The first steps must be in the trace file, the last ones in the last window, all in full."""
        records, gaps = rawtrace.read(path)
        self.assertEqual(gaps, 0)
        began = [record.words[0] for record in records if record.type == "step"]
        self.assertEqual(began, list(range(began[-1] + 1)))
        self.assertGreaterEqual(began[-1] + 1, coarse.first_step)
        windows = rawtrace.windows(path)
        self.assertGreater(len(windows), 1, "the bound was not reached: this tests nothing")
        last = windows[-1][2]
        # The last window may have begun after the last step.
        began = [record.words[0] for record in windows[-2][2] + last if record.type == "step"]
        self.assertEqual(began, list(range(began[0], steps)))
        self.assertIn("end", {record.type for record in last})
        self.assertIn("end", {record.type for record in records}, "it is in the trace file too")
        texts = rawtrace.texts(records)
        notes = [texts[record.words[0] & 0xFFFFFFFF].partition("=")[0] for record in records if record.type == "note"]
        # `ancestors` is there if the test itself has a parent that /proc shows.
        self.assertEqual([note for note in notes if note not in ("ancestors", "pauses")], ["boot", "pids", "own"], "nothing was lost")
        for number, snapshot, after in windows:
            self.assert_snapshot(number, snapshot)
            by_thread = {}
            for record in after:
                self.assertEqual(record.sequence, by_thread.get(record.thread, record.sequence), "no gap")
                by_thread[record.thread] = record.sequence + 1

    def assert_snapshot(self, number, snapshot):
        first, level = snapshot[0], next(record for record in snapshot if record.type == "level")
        self.assertEqual((first.type, first.words[0] & 0xFFFFFFFF), ("window", number))
        held = [record for record in snapshot if record.type == "held"]
        counted = sum(record.words[1] for record in held
                      if not record.flags & (rawtrace.NO_ACCESS | 16)
                      and rawtrace.KINDS[record.kind] not in ("none", "mmap_file", "registered"))
        if first.words[3] == 0:  # all blocks are listed
            self.assertEqual(level.words[0], counted + level.words[3])
        else:
            self.assertGreater(level.words[0], counted + level.words[3])

    def assert_answered(self, steps, helpers):
        """For any step, the report must have the figures of its step range."""
        first_bucket = None
        for n in (steps // 3, steps // 2, steps * 2 // 3):
            process = self.only_process(self.report("--steps", f"{n}:{n}"))
            self.assert_nothing_lost(process)
            self.assertGreater(process["trace"]["coarsened_events"], 0)
            for phase in ("forward", "backward"):
                row = harness.phase_row(process, phase, n)
                low, high = row["bucket"]
                self.assertTrue(low <= n <= high, row["bucket"])
                first_bucket = first_bucket or (high > low)
                truth = figures(n, phase, helpers)
                for name, figure in (("net", "live_net"), ("transient", "live_transient"), ("allocated", "allocated"),
                                     ("freed", "freed"), ("allocations", "allocations")):
                    least = row["min"][name] if high > low else row[name]
                    self.assertTrue(least <= truth[figure] <= row[name], (n, phase, name, least, truth, row[name]))
        self.assertTrue(first_bucket, "none of them was folded: this tests nothing")

    def check(self, bound, steps, helpers):
        watch = self.run_steps(bound, steps, helpers)
        size = int(bound[:-1]) * harness.MIB
        self.assertLessEqual(watch.most, size)
        self.assertGreater(watch.looks, 10)
        self.assertEqual(self.ring_files(), [])
        [path] = self.trace_files()
        coarse = self.assert_buckets(path.replace(".memtrace", ".coarse"), steps, helpers)
        self.assertGreater(coarse.own_bytes, 0)
        self.assertLess(coarse.own_bytes, 16 * harness.MIB)
        self.assert_full_detail(path, steps, coarse)
        self.assert_answered(steps, helpers)

    def test_one_thread_under_a_mebibyte(self):
        self.check("1M", STEPS, 0)

    def test_three_threads(self):
        # Several windows must be dropped: more steps for a larger bound.
        self.check("16M" if STEPS >= 1000000 else "4M", STEPS * 2, 2)

    def test_started_by_another_program(self):
        """In `env program`, the program is the founder with the whole bound: env only executed it."""
        command = ["env", harness.victim("many_steps"), "150000", "0"]
        with Watch(self.out) as watch:
            done = self.run_in("traced", command, self.environment(**harness.RECORD_ALL, MEMTRACE_MAX_TRACE="16M"))
        self.assertEqual((done.returncode, done.stdout), (0, b"150000 steps\n"))
        self.assertGreater(watch.most, 3 << 20)  # an eighth would be 2 MiB

    def test_killed(self):
        """Windows and rows written before the kill stay, and the rings have the remaining events."""
        command = [harness.victim("many_steps"), "100000000", "0"]
        settings = self.environment(**harness.RECORD_ALL, MEMTRACE_MAX_TRACE="1M")
        os.makedirs(self.out, exist_ok=True)
        with subprocess.Popen(command, env=settings, stdout=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 60
            while len(glob.glob(os.path.join(self.out, "*.window-*"))) < 4 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.5)
            process.send_signal(signal.SIGKILL)
        # Without --all-steps, the last step is shown only if it has the peak. 24,000 rows are 500 MB of JSON:
        # at the bound or above.
        process = self.only_process(self.report("--all-steps", "--unbounded"))
        self.assert_nothing_lost(process)
        steps = [row["step"] for row in process["phases"] if isinstance(row["step"], int)]
        [path] = glob.glob(os.path.join(self.out, "*.coarse"))
        last = max(steps)
        self.assertGreaterEqual(last, rawcoarse.read(path).last_step)
        for row in process["phases"]:  # the kill may have come before the step's forward
            if row["step"] == last:
                self.assertEqual(row["bucket"], [last, last])


if __name__ == "__main__":
    unittest.main()
