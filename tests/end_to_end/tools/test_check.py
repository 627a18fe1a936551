"""Purpose: `memtrace check`: budgets and baselines of real runs, in text, for JUnit and for GitHub."""
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree as tree

import harness

PROGRAM = harness.program("growing_log.py")
LEAK_LINE = next(number for number, line in enumerate(open(PROGRAM, encoding="utf-8"), 1) if "log.append" in line)


class Check(harness.Case):
    def traced(self, mib, out="out"):
        self.out = os.path.join(self.scratch, out)
        path = os.path.join(harness.ROOT, "python")
        done = self.run_in("run", [sys.executable, PROGRAM, str(mib)], self.environment(PYTHONPATH=path))
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.out

    def check(self, *options, status=0, cwd=None):
        done = subprocess.run([harness.COMMAND, "check", *options], cwd=cwd or self.scratch, text=True,
                              env=harness.bare_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=120)
        self.assertEqual(done.returncode, status, (options, done.stdout, done.stderr))
        return done.stderr if status == 2 else done.stdout

    def test_budgets(self):
        run = self.traced(1)
        junit = os.path.join(self.scratch, "junit.xml")
        # The program holds 64 MiB, its log of 30 MiB and a batch of 8 MiB; Python itself has a few more.
        self.check(run, "--max", "peak(host) <= 120M", "--max", "phase(work) <= 120M", "--max", "leak() <= 1.1M")
        text = self.check(run, "--max", "peak(host) <= 100M", "--max", "leak() <= 0", "--max", "peak() <= 1G",
                          "--junit", junit, "--format", "github", status=1, cwd=os.path.dirname(PROGRAM))
        self.assertIn("2 of 3 budgets are broken.", text)
        # The block of a bytearray has a byte more, and malloc's header.
        self.assertRegex(text, r"BROKEN  leak\(host\) <= 0.00 MiB: 1.0[01] MiB each step")
        self.assertRegex(text, rf"growing_log.py:{LEAK_LINE} <module>, 30.0\d MiB\n") # at the peak
        self.assertIn(f"::error file=growing_log.py,line={LEAK_LINE},title=memory budget::leak(host)", text)
        suite = tree.parse(junit).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "2"))
        failed = [case for case in suite if case.find("failure") is not None]
        self.assertEqual([case.get("name").partition("(")[0] for case in failed], ["peak", "leak"])
        self.assertIn(f"growing_log.py:{LEAK_LINE}", failed[1].find("failure").text)

    def test_baseline(self):
        before, after = self.traced(0, "before"), self.traced(1, "after")
        old = os.path.join(self.scratch, "old.json")
        subprocess.run([harness.COMMAND, "report", before, "--format", "json", "-o", old], check=True,
                       env=harness.bare_environment(), timeout=120)
        self.assertIn("budgets are kept", self.check(before, "--baseline", old, "--tolerance", "0%"))
        text = self.check(after, "--baseline", old, status=1)
        for broken in ("peak(host, live)", "phase(work, host, live)", "leak(host)"):
            self.assertIn(f"BROKEN  {broken} <= ", text)

    def test_what_cannot_be_compared(self):
        run = self.traced(0)
        for options, said in (
                (["--max", "peak(cuda:0) <= 1G"], "not in this trace; it has host"),
                (["--max", "phase(wrok) <= 1G"], "not in this trace; it has work"),
                (["--max", "peak <= 1G"], "expected '(' after 'peak'"),
                ([], "expected --max"),
                (["--tolerance", "5%", "--max", "peak() <= 1G"], "--baseline"),
                (["--baseline", "none.json"], "none.json"),
                (["--baseline", PROGRAM], "is not JSON"),
                (["--baseline", "other.json"], "is not a report")):
            with open(os.path.join(self.scratch, "other.json"), "w", encoding="utf-8") as file:
                file.write('{"schema": "memtrace.diff/1"}')
            line = self.check(run, *options, status=2)
            self.assertIn(said, line)
            self.assertEqual(line.count("\n"), 1, line)

    def test_a_hostile_baseline_ends_in_order(self):
        run = self.traced(0)
        path = os.path.join(self.scratch, "hostile.json")
        deep = '{"schema": "memtrace.report/1", "processes": ' + "[" * 200_000 + "]" * 200_000 + "}"
        for text in (deep, '{"schema": "memtrace.report/1"}', '{"schema": "memtrace.report/1", "processes": [[], 1]}'):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn("has no figures", self.check(run, "--baseline", path, status=2))


if __name__ == "__main__":
    unittest.main()
