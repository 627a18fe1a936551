"""Purpose: tests that scripts/bench runs, that its tables have their shape, and that it rejects runs that
recorded nothing or too little."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import harness

BENCH = os.path.join(harness.ROOT, "scripts", "bench")
sys.path.insert(0, os.path.join(harness.ROOT, "scripts", "benchmark"))
import goals  # noqa: E402
import programs  # noqa: E402
import table  # noqa: E402
import tools  # noqa: E402


class Bench(harness.Case):
    def bench(self, *options, build=harness.BUILD):
        return subprocess.run([BENCH, "--build", build, "--quick", "--rounds", "1", "--program", "pair-1", *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
                              env=harness.bare_environment())

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_pairs(self):
        figures = os.path.join(self.scratch, "figures.json")
        document = os.path.join(self.scratch, "overhead.md")
        with open(document, "w", encoding="ascii") as file:
            file.write("before\n<!-- bench pair-1 -->\nold\n<!-- end -->\n"
                       "<!-- bench machine -->\n<!-- end -->\n<!-- bench goals -->\n<!-- end -->\nafter\n")
        done = self.bench("--tool", "memtrace", "--json", figures, "--write", document)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(figures, encoding="utf-8") as file:
            rows = json.load(file)[0]["rows"]
        recorded = rows["memtrace"]["0"]["recorded"]
        self.assertGreaterEqual(recorded["allocations"], 400_000)
        self.assertLessEqual(recorded["allocations"], 400_000 + tools.UNCOUNTED)
        self.assertEqual(recorded["lost"], 0)
        for row in (rows["bare"]["0"], rows["memtrace"]["0"]):
            self.assertGreater(row["cpu"], 0)
            # The figure is neither the launcher's nor Python's.
            self.assertTrue(500_000 < row["rss"] < 16 * harness.MIB, row)
        lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
        self.assertEqual([line.split(" | ")[0] for line in lines[:4]], ["| under", "| ---", "| bare", "| **memtrace**"])
        self.assertEqual({line.count("|") for line in lines[:4]}, {10})
        self.assertIn(f"{recorded['allocations']:,} a", lines[3])
        with open(document, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text)
        self.assertIn(lines[3], text)
        self.assertNotIn("old", text)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_library_that_records_nothing_is_no_success(self):
        """Else such a library would have an excellent ratio."""
        build = os.path.join(self.scratch, "build")
        os.makedirs(os.path.join(build, "preload"))
        os.makedirs(os.path.join(build, "analyzer"))
        shutil.copy(harness.COMMAND, os.path.join(build, "analyzer"))
        empty = os.path.join(self.scratch, "empty.c")
        with open(empty, "w", encoding="ascii") as file:
            file.write("int nothing;\n")
        subprocess.run(["cc", "-shared", "-o", os.path.join(build, "preload", "libmemtrace.so"), empty], check=True)
        done = self.bench("--tool", "memtrace", build=build)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("failed", done.stdout)
        self.assertIn("bench: pair-1: memtrace: memtrace report:", done.stderr)

    def test_unknown_names(self):
        done = self.bench("--tool", "valgrund")
        self.assertEqual(done.returncode, 2)
        self.assertIn("valgrund: there is no such", done.stderr)


class Counts(unittest.TestCase):
    program = programs.Program("any", "any", None, least=100)

    def refuse(self, recorded, own=None):
        with self.assertRaises(tools.Nothing):
            tools.check(self.program, recorded, own)

    def test_the_program_knows_better(self):
        tools.check(self.program, tools.Recorded(allocations=1000), 1000)
        tools.check(self.program, tools.Recorded(allocations=1000 + tools.UNCOUNTED), 1000)
        tools.check(self.program, tools.Recorded(allocations=990, lost=10), 1000)
        tools.check(self.program, tools.Recorded(records=100))
        self.refuse(tools.Recorded(allocations=999), 1000)
        self.refuse(tools.Recorded(allocations=1001 + tools.UNCOUNTED), 1000)
        self.refuse(tools.Recorded(allocations=989, lost=10), 1000)
        self.refuse(tools.Recorded())
        self.refuse(tools.Recorded(allocations=99))


class Statistics(unittest.TestCase):
    def test_ranks(self):
        """The values are those of tables of the sign test."""
        self.assertIsNone(table.ranks(5))
        self.assertEqual([table.ranks(count) for count in (6, 9, 15)], [(0, 5), (1, 7), (3, 11)])

    def test_spread(self):
        self.assertEqual(table.spread([2.0]), "2.000")
        self.assertEqual(table.spread([3.0, 1.0, 2.0]), "2.000 (1.000..3.000)")
        self.assertEqual(table.spread(range(1, 7), 0), "4 (1..6; 95 %: 1..6)")

    def test_ratios_are_within_a_round_and_for_the_same_work(self):
        result = {"rows": {"bare": {0: {"cpu": 1.0, "work": 10}, 1: {"cpu": 2.0, "work": 10}},
                           "tool": {1: {"cpu": 6.0, "work": 5}, 2: {"cpu": 9.0, "work": 5}}}}
        self.assertEqual([round(ratio, 9) for ratio in table.ratios(result, "tool", "cpu")], [6.0])


class Goals(unittest.TestCase):
    def test_added_is_to_what_the_other_adds(self):
        result = {"rows": {name: {4: {"cpu": cpu, "work": 1}} for name, cpu in (("bare", 10), ("a", 13), ("b", 16))}}
        self.assertEqual([round(part, 9) for part in goals.figures(result, "a", "b", "added")], [0.5])
        self.assertEqual(goals.figures(result, "a", "missing", "added"), [])


if __name__ == "__main__":
    unittest.main()
