"""Purpose: tests a run far longer than its trace may be: nothing is lost, each step has figures, the ends have
detail.

The truth is the victim's own rule (tests/victims/steps/many_steps.c), computed here again. MEMTRACE_TEST_STEPS
sets the number of steps: with a million, the bound is the promised 16 MiB.
"""
import glob
import os
import unittest

from harness import MIB, RECORD_ALL, Case, victim

STEPS = int(os.environ.get("MEMTRACE_TEST_STEPS", "30000"))
BOUND = 16 if STEPS > 200000 else 2
HELPERS = 2 if BOUND == 16 else 0  # a small bound has no space for a ring per thread
EVERY, KEEP_EVERY = 16, 1000


def usable(size):
    return size + 8


def forward(n):
    return usable(8192 + 4096 * (n * 7919 % 13) + 16 * (n * 31 % 101))


def backward(n):
    return usable(4096 * (1 + n * 104729 % 7) + 16 * (n * 17 % 89))


def by_helpers(n):
    return HELPERS * usable(4096) if n % EVERY == 0 else 0


def kept(n):
    return usable(4096) if n % KEEP_EVERY == 0 else 0


# The values of a phase's row for step n.
TRUTH = {
    "keep": {"net": kept, "allocated": kept, "transient": lambda n: 0},
    "forward": {"net": forward, "allocated": lambda n: forward(n) + by_helpers(n), "transient": by_helpers},
    "backward": {"net": lambda n: -forward(n), "allocated": backward,
                 "freed": lambda n: forward(n) + backward(n), "transient": backward},
}


class Bounded(Case):
    def traced(self):
        done = self.run_in("traced", [victim("many_steps"), str(STEPS), str(HELPERS)],
                           self.environment(**RECORD_ALL, MEMTRACE_MAX_TRACE=f"{BOUND}M"), timeout=1500)
        self.assertEqual(done.stdout, b"%d steps\n" % STEPS)
        self.assertEqual(done.returncode, 0)

    def rows(self, first, last):
        process = self.only_process(self.report("--steps", f"{first}:{last}"))
        rows = {}
        for row in process["phases"]:
            if row["memory"] == "host" and row["phase"] in TRUTH:
                key = (row["phase"], row["step"])
                self.assertNotIn(key, rows)
                rows[key] = row
        return process, rows

    def check_exact(self, rows, n):
        for phase, figures in TRUTH.items():
            row = rows[phase, n]
            self.assertEqual(row["bucket"], [n, n])
            self.assertNotIn("min", row)
            for key, truth in figures.items():
                self.assertEqual(row[key], truth(n), f"{phase} of step {n}: {key}")

    def check_bucket(self, rows, n):
        for phase, figures in TRUTH.items():
            row = rows[phase, n]
            first, last = row["bucket"]
            self.assertLessEqual(first, n)
            self.assertLessEqual(n, last)
            self.assertGreater(last, first, "a bucket of one step answers nothing else")
            for key, truth in figures.items():
                every = [truth(step) for step in range(first, last + 1)]
                self.assertEqual((row["min"][key], row[key]), (min(every), max(every)),
                                 f"{phase} of steps {first} to {last}: {key}")
                self.assertLessEqual(row["min"][key], truth(n))
                self.assertLessEqual(truth(n), row[key])

    def test_steps_are_answered(self):
        self.traced()
        files = glob.glob(os.path.join(self.out, "*"))
        self.assertTrue(any(".window-" in path for path in files), files)
        self.assertLessEqual(sum(os.path.getsize(path) for path in files), BOUND * MIB)
        middle = STEPS // 2
        process, rows = self.rows(middle, middle)
        trace = process["trace"]
        self.assertEqual((trace["lost_events"], trace["damaged_bytes"], trace["unknown_deaths"]), (0, 0, 0), trace)
        self.assertGreater(trace["coarsened_events"], STEPS)
        self.assertLessEqual(trace["bytes"], BOUND * MIB)
        self.check_bucket(rows, middle)
        _, rows = self.rows(0, 9)
        for n in range(10):
            self.check_exact(rows, n)
        _, rows = self.rows(STEPS - 10, STEPS - 1)
        for n in range(STEPS - 10, STEPS):
            self.check_exact(rows, n)
        # Each step has its own number, and each step range occurs once.
        _, rows = self.rows(middle - 50, middle + 50)
        self.assertEqual({step for phase, step in rows if phase == "forward"}, set(range(middle - 50, middle + 51)))
        process = self.only_process(self.report("--all-steps", "--top", "0"))
        buckets = [tuple(row["bucket"]) for row in process["phases"]
                   if row["memory"] == "host" and row["phase"] == "forward" and "min" in row]
        self.assertEqual(len(buckets), len(set(buckets)))
        self.assertTrue(all(row["step"] == row["bucket"][0] for row in process["phases"] if "min" in row))
        self.assertRegex(" ".join(self.report_text().split()), r"steps [\d,]+ to [\d,]+ are kept as \d+ rows of [\d,]+ steps")


if __name__ == "__main__":
    unittest.main()
