"""Purpose: tests that under valgrind, gdb, strace and rr a traced program has the output and errors that it has
without memtrace."""
import os
import re
import shutil
import subprocess
import unittest

import harness

QUIET = {"MEMTRACE_QUIET": "1", "MEMTRACE_MIN_PEAK": "0", "MEMTRACE_SKIP": ""}
MAPPED = 32 * harness.MIB


class Debuggers(harness.Case):
    def setUp(self):
        super().setUp()
        if shutil.which("gcc") is None:
            self.skipTest("no gcc on PATH: scripts/setup installs it")
        self.program = os.path.join(self.scratch, "faulty")
        subprocess.run(["gcc", "-g", "-O0", "-w", "-pthread", harness.program("faulty.c"), "-o", self.program], check=True)

    def under(self, command, *options):
        """Returns both completed processes, with equal output and status."""
        if shutil.which(command) is None:
            self.skipTest(f"no {command} on PATH: scripts/setup installs it")
        whole = [command, *options, self.program]
        bare = self.bare(whole)
        traced = self.run_in("traced", whole, self.environment(**QUIET))
        self.assertEqual((traced.stdout, traced.returncode), (bare.stdout, bare.returncode),
                         traced.stderr.decode(errors="replace")[-3000:])
        return bare, traced

    def program_trace(self):
        """Returns the report of the program's own process, which ended normally, and its text."""
        whole = []
        for path in self.trace_files():
            process = self.report(path=path)["processes"][0]
            if process["exe"] == self.program and process["end"]["how"] == "exit":
                whole.append((process, self.report_text(path=path).replace("\n", " ")))
        self.assertEqual(len(whole), 1, self.trace_files())
        process, text = whole[0]
        self.assert_nothing_lost(process)
        self.assertEqual(process["end"]["code"], 5)
        self.assertGreaterEqual(harness.peak(process), MAPPED)
        return process, text

    def valgrind(self, tool, least):
        """Checks that its error summaries are equal, with at least `least` errors."""
        bare, traced = self.under("valgrind", f"--tool={tool}")
        summaries = [re.findall(rb"ERROR SUMMARY: (\d+) errors from (\d+) contexts", done.stderr)
                     for done in (bare, traced)]
        self.assertEqual(summaries[1], summaries[0], traced.stderr.decode(errors="replace")[-3000:])
        self.assertGreaterEqual(int(summaries[0][-1][0]), least)
        self.assertNotIn(b"libmemtrace", traced.stderr)
        lost = [re.findall(rb"(\w+) lost: ([\d,]+ bytes in [\d,]+ blocks)", done.stderr) for done in (bare, traced)]
        self.assertEqual(lost[1], lost[0])
        _, text = self.program_trace()
        self.assertIn("valgrind's tool has put its own in its place", text)
        self.assertIn("there are no samples", text)

    def test_memcheck(self):
        self.valgrind("memcheck", 2)

    def test_helgrind(self):
        self.valgrind("helgrind", 1)

    def test_drd(self):
        self.valgrind("drd", 1)

    def test_callgrind_leaves_malloc_to_us(self):
        self.under("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
        process, text = self.program_trace()
        self.assertNotIn("blocks of malloc are not recorded", text)
        self.assertGreaterEqual(sum(row["allocations"] for row in process["phases"]), 4 * 50 * 4)

    def test_gdb(self):
        options = ["-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "set startup-with-shell off",
                   "-ex", "break puts", "-ex", "run", "-ex", "bt 1", "-ex", "continue"]
        if shutil.which("gdb") is None:
            self.skipTest("no gdb on PATH: scripts/setup installs it")
        whole = ["gdb", *options, self.program]
        # Only the program is traced: the debugger is a Python process itself.
        variables = [word for name, value in {**QUIET, "LD_PRELOAD": harness.LIBRARY, "MEMTRACE_OUT": self.out}.items()
                     for word in ("-iex", f"set environment {name} {value}")]
        bare = self.bare(whole)
        traced = self.run_in("traced", ["gdb", *variables, *options, self.program], harness.bare_environment())
        self.assertEqual(traced.returncode, bare.returncode, traced.stderr)
        for done in (bare, traced):
            self.assertIn(b"done\n", done.stdout)
            self.assertIn(b"exited with code 05", done.stdout)
            self.assertRegex(done.stdout, rb"#0 .*puts")
        process, _ = self.program_trace()
        self.assertGreaterEqual(sum(row["allocations"] for row in process["phases"]), 4 * 50 * 4)

    def test_strace(self):
        self.under("strace", "-f", "-o", "/dev/null")
        process, _ = self.program_trace()
        self.assertGreaterEqual(sum(row["allocations"] for row in process["phases"]), 4 * 50 * 4)

    def test_rr(self):
        if shutil.which("rr") is None:
            self.skipTest("no rr on PATH: apt-get install rr")
        probe = subprocess.run(["rr", "record", "-o", os.path.join(self.scratch, "probe"), "true"], capture_output=True,
                               text=True, check=False, env=harness.bare_environment())
        if probe.returncode != 0:
            self.skipTest(f"rr does not run on this machine: {probe.stderr.strip()[:200]}")
        self.under("rr", "record", "-n", "-o", os.path.join(self.scratch, "recorded"))
        process, _ = self.program_trace()
        self.assertGreaterEqual(sum(row["allocations"] for row in process["phases"]), 4 * 50 * 4)


if __name__ == "__main__":
    unittest.main()
