"""Purpose: tests a run of very many steps: its trace and its report are bounded, and a slow drift and rare spikes are found.

The truth is the victim's own formula (tests/victims/steps/weeks.c). The default is 200,000 steps under a small bound; --long
has 20 million steps under the default bound.
"""
import glob
import json
import os
import re
import resource
import subprocess
import unittest

import harness

MIB = harness.MIB
DRIFT, GIVEN = 64, 72  # bytes that malloc is asked for, and gives
SPIKE = 48 * MIB       # the k-th spike has k times that
SPIKE_AT = (113, 287, 502, 731, 946)
SOURCE = os.path.join(harness.ROOT, "tests", "victims", "steps", "weeks.c")


def line_of(function):
    """Returns the number of the line in which the function calls malloc."""
    with open(SOURCE, encoding="utf-8") as source:
        text = source.read()
    return text[:text.index("malloc(", text.index(f"void* {function}("))].count("\n") + 1


class Weeks(harness.Case):
    def record(self, steps, *arguments, **settings):
        """Records the victim. Returns the bytes of all files that it left."""
        command = [harness.victim("weeks"), str(steps), *arguments]
        done = self.run_in("traced", command, self.environment(**harness.RECORD_ALL, **settings), timeout=1500)
        self.assertEqual((done.returncode, done.stdout[:len(str(steps)) + 6]), (0, f"{steps} steps".encode()))
        return sum(os.stat(path).st_blocks * 512 for path in glob.glob(os.path.join(self.out, "*-*-*.*")))

    def bounded_report(self, seconds, mib):
        """Returns the report as JSON, made within so many seconds of CPU and MiB of memory."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        done = subprocess.run(["/usr/bin/time", "-f", "%M", harness.COMMAND, "report", "--format", "json", "--compact", self.out],
                              env=harness.bare_environment(), capture_output=True, check=False, timeout=900, preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(int(done.stderr.split()[-1]), mib * 1024)
        report = json.loads(done.stdout)
        for process in report["processes"]:
            harness.resolve_sites(process, process.get("sites", {}))
        return self.only_process(report)

    def assert_drift(self, process, steps):
        """One finding: what each step left, at its line, and by the sum of all steps."""
        (finding,) = process["findings"]
        self.assertEqual(finding["id"], "leak-per-step")
        self.assertAlmostEqual(finding["bytes"], GIVEN, delta=GIVEN * 0.25)  # an estimate from samples
        innermost = finding["site"]["frames"][0]
        self.assertEqual((os.path.basename(innermost["file"]), innermost["line"]), ("weeks.c", line_of("leave")))
        text = self.report_text()
        self.assertRegex(text, rf"Memory grows by \d+ bytes every step, at leave at [^\n]*weeks\.c:{line_of('leave')}")
        self.assertIn(f"each begins {GIVEN} bytes higher than the step before", " ".join(text.split()))
        self.assertAlmostEqual(harness.peak(process), GIVEN * steps * 0.946 + 5 * SPIKE, delta=0.01 * GIVEN * steps + MIB)
        return text

    def assert_spikes(self, process, steps, text):
        """Each of the five spikes by its own step, its size and its line, and no other step."""
        at = [steps // 1000 * one for one in SPIKE_AT]
        rare = process["rare_steps"]
        self.assertEqual([one["steps"] for one in rare], [[step, step] for step in at])
        for number, one in enumerate(rare, 1):
            self.assertAlmostEqual(one["rise"], number * SPIKE, delta=MIB)
            self.assertEqual((one["path"], one["memory"]), (["forward"], "host"))
            self.assertEqual(one["site"]["frames"][0]["line"], line_of("spike"))
        text = " ".join(text.split())
        for number, step in enumerate(at, 1):
            self.assertRegex(text, rf"forward {step} {number * 48}\.\d\d MiB, most by spike at ")

    def assert_clean(self, process):
        self.assertEqual((process["findings"], process["rare_steps"]), ([], []))
        text = self.report_text()
        self.assertNotRegex(text, "grows|Rare steps")

    def test_of_200_000_steps(self):
        steps, bound = 200_000, 6 * MIB
        bytes_left = self.record(steps, MEMTRACE_MAX_TRACE=str(bound), MEMTRACE_SAMPLE="32K")
        self.assertLess(bytes_left, bound)
        process = self.bounded_report(60, 300)
        self.assert_nothing_lost(process)
        self.assertGreater(process["trace"]["coarsened_events"], 1_000_000, "the bound was not reached: this tests nothing")
        text = self.assert_drift(process, steps)
        self.assert_spikes(process, steps, text)

    def test_without_drift_and_spikes(self):
        self.record(200_000, "0", "0", MEMTRACE_MAX_TRACE="6M", MEMTRACE_SAMPLE="32K")
        self.assert_clean(self.bounded_report(60, 300))

    @harness.only_in_long
    def test_of_20_million_steps(self):
        steps, bound = 20_000_000, 256 * MIB
        self.assertLess(self.record(steps), bound)
        process = self.bounded_report(300, 400)
        self.assert_nothing_lost(process)
        text = self.assert_drift(process, steps)
        self.assert_spikes(process, steps, text)
        rows = process["phases"]
        self.assertTrue(re.search("compared 1 step in", text), rows)


class Restarts(harness.Case):
    """A job that is started again and again in one directory. Each attempt fills its 8 MiB; the node has 32 MiB."""

    STEPS, NODE = 200_000, 32 * MIB

    def start(self, steps=STEPS):
        settings = {"MEMTRACE_MAX_TRACE": "8M", "MEMTRACE_MAX_NODE": str(self.NODE), **harness.RECORD_ALL}
        done = self.run_in("traced", [harness.victim("weeks"), str(steps), "0", "0"], self.environment(**settings))
        self.assertEqual(done.returncode, 0, done.stderr)

    def disk(self):
        return sum(os.stat(path).st_blocks * 512 for path in glob.glob(os.path.join(self.out, "*")))

    def test_the_newest_attempt_is_recorded_in_full(self):
        self.start()
        most, first = 0, self.only_process(self.report())["trace"]
        self.assertGreater(first["coarsened_events"], 0, "the bound of an attempt was not reached")
        for _ in range(7):
            self.start()
            most = max(most, self.disk())
        self.assertLess(most, self.NODE)
        report = self.report()
        self.assertEqual(report["job"]["attempt"], 8)
        process = self.only_process(report)
        self.assertGreater(process["trace"]["bytes"], 0.9 * first["bytes"], "the present attempt has its whole bound")
        text = self.report_text()
        self.assertNotIn("MEMTRACE_MAX_NODE", text)
        before = subprocess.run([harness.COMMAND, "postmortem", "--attempt", "7", self.out], capture_output=True, check=False)
        self.assertEqual(before.returncode, 0, "the attempt before remains")
        self.assertLess(len(self.trace_files()), 6)

    def test_another_job_there_keeps_all(self):
        """A directory of several jobs is not cleared: the attempts of one would be removed for the other."""
        self.start(self.STEPS + 1)
        for _ in range(6):
            self.start()
        self.assertEqual(len(self.trace_files()), 7)


if __name__ == "__main__":
    unittest.main()
