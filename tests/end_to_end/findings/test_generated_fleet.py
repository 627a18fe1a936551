"""Purpose: tests that a report of a generated fleet names what was planted in it, and nothing else.

Truth: tests/bench_trace/fleet.cpp says what it planted, and the peak of each rank by its own account.
"""
import json
import os
import re
import subprocess
import unittest

import harness

GENERATOR = os.path.join(harness.BUILD, "tests", "bench_trace", "memtrace_fleet_trace")


class GeneratedFleet(harness.Case):
    def fleet(self, ranks, *planted):
        """Writes a fleet. Returns what the generator knows about it."""
        self.new_scratch()
        done = subprocess.run([GENERATOR, self.out, str(ranks), *planted], check=True, capture_output=True)
        return json.loads(done.stdout)

    def assert_read_whole(self, report, truth):
        ranks = {process["rank"]: process for process in report["processes"]}
        self.assertEqual(sorted(ranks), list(range(truth["ranks"])))
        self.assertEqual([harness.peak(ranks[rank]) for rank in sorted(ranks)], truth["peaks"])
        self.assertEqual(sum(process["trace"]["events"] for process in ranks.values()), truth["records"])
        self.assertEqual({process["host"] for process in ranks.values()},
                         {f"node-{host:03}" for host in range(truth["hosts"])})
        for process in ranks.values():
            self.assert_nothing_lost(process)
            self.assertEqual(process["end"]["how"], "exit")
            self.assertAlmostEqual(process["duration"], truth["hours"] * 3600, delta=1)
            place = process["coordinates"]
            self.assertEqual((place["pp"] * truth["dp"] + place["dp"]) * truth["tp"] + place["tp"], process["rank"])

    def assert_names(self, report, truth):
        """The report has exactly the outliers, the leaks and the hosts of the truth."""
        outliers = {outlier["rank"]: outlier for outlier in report["outliers"]}
        self.assertEqual(set(outliers), {planted["rank"] for planted in truth["outliers"]})
        for planted in truth["outliers"]:
            found = outliers[planted["rank"]]
            self.assertEqual(found["coordinates"], {axis: planted[axis] for axis in ("pp", "dp", "tp")})
            self.assertAlmostEqual(found["bytes"] - found["others"]["median"], planted["more"], delta=planted["more"] * 0.05)
            innermost = found["rows"][0]["site"]["frames"][0]
            self.assertEqual(f"{innermost['file']}:{innermost['line']}", planted["line"])
        leaks = {process["rank"]: finding for process in report["processes"] for finding in process["findings"]}
        wanted = {rank: leak for leak in truth["leaks"] for rank in leak["ranks"]}
        self.assertEqual(set(leaks), set(wanted))
        for rank, leak in wanted.items():
            self.assertEqual((leaks[rank]["id"], leaks[rank]["bytes"]), ("leak-per-step", leak["bytes_per_step"]))
            self.assertIn(os.path.basename(leak["line"]), leaks[rank]["title"])
        self.assertEqual([(host["host"], host["what"], host["ranks"]) for host in report["host_outliers"]],
                         [(planted["host"], "memory", planted["ranks"]) for planted in truth["half_memory"]])

    def assert_screen(self, truth):
        lines = self.report_text().splitlines()
        screen = "\n".join(lines[:24])
        named = [int(rank) for rank in re.findall(r"(?m)^Rank (\d+) differs", screen)]
        self.assertEqual(sorted(named), sorted(planted["rank"] for planted in truth["outliers"]))
        self.assertEqual(re.findall(r"(?m)^Host (\S+) differs", screen), [planted["host"] for planted in truth["half_memory"]])
        for leak in truth["leaks"]:
            first, last, count = leak["ranks"][0], leak["ranks"][-1], len(leak["ranks"])
            together = last - first + 1 == count
            named = f"ranks {first} to {last}" if together else rf"ranks {first}, [\d, ]+ and {count - 4} more"
            self.assertRegex(screen, rf"(?m)^  {named}: Memory grows")
        if not truth["leaks"]:
            self.assertNotIn("grows", screen)

    def assert_found(self, ranks, *planted):
        truth = self.fleet(ranks, *planted)
        report = self.report("--all")
        self.assert_read_whole(report, truth)
        self.assert_names(report, truth)
        self.assert_screen(truth)

    def check(self, budget):
        return subprocess.run([harness.COMMAND, "check", self.out, "--max", budget], check=False, capture_output=True).returncode

    def test_of_a_clean_fleet_nothing_is_named(self):
        self.assert_found(10)
        self.assertEqual(self.check("peak(host) <= 2.6GiB"), 0)
        self.assertEqual(self.check("leak() <= 0"), 0)
        self.assert_found(100)

    def test_what_was_planted_is_named(self):
        self.assert_found(10, "outlier=3:40", "leak=pp:1:65536", "half=1")
        self.assertEqual(self.check("peak(host) <= 2.6GiB"), 1)
        self.assertEqual(self.check("leak() <= 0"), 1)
        self.assert_found(100, "outlier=37:40", "outlier=71:30", "half=7", "seed=2")
        self.assert_found(100, "leak=tp:1:131072", "tp=2", "pp=1")

    def test_a_slow_leak_over_a_week(self):
        """4 KiB a step are little, and 80 MiB in a week of 20,000 steps."""
        truth = self.fleet(2, "hours=168", "steps=20000", "leak=pp:1:4096")
        report = self.report()
        self.assert_read_whole(report, truth)
        self.assert_names(report, truth)
        self.assertEqual([process["rare_steps"] for process in report["processes"]], [[], []])
        self.assertIn("finished after 7 d 0 h", self.report_text())

    @harness.only_in_long
    def test_of_a_thousand_ranks(self):
        self.assert_found(1000)
        self.assert_found(1000, "outlier=37:40", "outlier=801:30", "leak=pp:1:65536", "half=7")

    def test_bad_arguments(self):
        for arguments in (["x"], ["10", "pp=3"], ["10", "outlier=3"], ["10", "leak=pp:1"], ["10", "what=1"], ["10", "tp"]):
            done = subprocess.run([GENERATOR, self.out, *arguments], check=False, capture_output=True)
            self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)


if __name__ == "__main__":
    unittest.main()
