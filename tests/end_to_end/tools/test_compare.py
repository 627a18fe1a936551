"""Purpose: tests how scripts/compare judges what a tool shows, that docs/comparison.md has each table, and, in the long
tests, that the rows for a killed program and for small blocks are what the page says."""
import os
import re
import subprocess
import sys
import unittest

import harness

COMPARE = os.path.join(harness.ROOT, "scripts", "compare")
PAGE = os.path.join(harness.ROOT, "docs", "comparison.md")
sys.path[1:1] = [os.path.join(harness.ROOT, *part) for part in (("scripts", "comparison"), ("tests", "mysteries"))]
import questions  # noqa: E402
import screens  # noqa: E402
import tools_of_gpu  # noqa: E402

MIB = harness.MIB
TOOLS = ("memray", "heaptrack", "Fil", "torch.profiler", "PyTorch's snapshot", "Mosaic", "nsys")


class Screens(unittest.TestCase):
    main, take = ("/home/me/train.py", 9, "main"), ("/home/me/train.py", 4, "take")
    other, library = ("/home/me/train.py", 7, "other"), ("/lib/nn.py", 30, "make")

    def test_a_graph_shows_what_is_wide_enough(self):
        screen = screens.of_stacks([([self.main, self.take], 60), ([self.main, self.take, self.library], 36),
                                    ([self.main, self.other], 4)])
        self.assertEqual(screen.places, {("train.py", 9), ("train.py", 4), ("nn.py", 30)})
        self.assertEqual(sorted(screen.figures), [36, 96, 100])
        self.assertTrue(screen.first.startswith("train.py:4 take, "), screen.first)

    def test_an_empty_graph_is_no_screen(self):
        self.assertIsNone(screens.of_stacks([]))

    def test_a_text_shows_its_first_lines(self):
        screen = screens.of_text("1.5 MiB at /a/train.py:3\n" + "\n" * 23 + "at /a/train.py:5", "first")
        self.assertEqual((screen.places, screen.figures), ({("train.py", 3)}, [1.5 * MIB]))

    def test_units(self):
        self.assertEqual(screens.sizes_in("60.00M, 2 KiB, 3 MB, 7 B"), [60e6, 2048, 3e6, 7])
        self.assertEqual(screens.sizes_in("192.00 MB", binary=True), [192 * MIB])

    def test_a_figure_may_be_off_by_three_percent(self):
        question = questions.Question("any", "any", "any.py", "lines", shares=(1, 24))
        for size, right in ((97, True), (103, True), (96, False), (104, False), (2400, True), (200, False)):
            screen = screens.Screen(set(), [size], "")
            self.assertEqual(screens.names_figure(screen, question, 100), right, size)

    def test_each_program_marks_its_lines(self):
        for question in questions.all_questions():
            self.assertTrue(question.cause_lines(), question.file)


class Snapshot(unittest.TestCase):
    def test_the_blocks_at_the_highest_point(self):
        events = [{"action": "alloc", "addr": 1, "size": 10}, {"action": "alloc", "addr": 2, "size": 20},
                  {"action": "free_requested", "addr": 1}, {"action": "free_completed", "addr": 1},
                  {"action": "alloc", "addr": 1, "size": 5}]
        self.assertEqual(sorted(size for size, _ in tools_of_gpu.highest(events)), [10, 20])


class Page(unittest.TestCase):
    def setUp(self):
        with open(PAGE, encoding="utf-8") as file:
            self.text = file.read()

    def test_each_program_has_its_table(self):
        for question in questions.all_questions():
            found = re.search(rf"<!-- bench {question.name} -->\n(.*?)<!-- end -->", self.text, re.S)
            self.assertIsNotNone(found, question.name)
            self.assertIn(os.path.basename(question.file), found[1])
            self.assertIn("| memtrace | ", found[1])

    def test_each_tool_has_its_section(self):
        for tool in TOOLS:
            section = re.search(rf"^## {re.escape(tool)}\n(.*?)(?=^## |\Z)", self.text, re.S | re.M)
            self.assertIsNotNone(section, tool)
            self.assertIn("What it does better", section[1])
            self.assertRegex(section[1], "(?i)measured|by its documents")


class Compare(harness.Case):
    @harness.only_in_long
    def test_what_is_left_of_a_killed_program(self):
        harness.torch_python()
        done = subprocess.run([COMPARE, "--build", harness.BUILD, "--no-costs", "--question",
                               "killed_by_signal,small_blocks"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False, env=harness.bare_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        killed, small = done.stdout.split("#### ")[1:3]
        rows = {name: rest for name, rest in re.findall(r"^\| ([\w -]+) \| (.*) \|$", killed, re.M)}
        self.assertTrue(rows["memtrace"].startswith("yes | yes | "), rows)
        self.assertRegex(small, r"(?m)^\| memtrace \| yes \| ")
        # The page says that memray's file is complete, and that Fil leaves nothing.
        for tool, expected in (("memray", "yes | yes | "), ("Fil", "no | no | no | nothing | nothing")):
            with self.subTest(tool):
                if tool not in rows:
                    self.skipTest(re.search(rf"{tool}.* is missing: .*", done.stderr, re.I)[0])
                self.assertTrue(rows[tool].startswith(expected), rows[tool])

    def test_unknown_names(self):
        harness.torch_python()
        done = subprocess.run([COMPARE, "--build", harness.BUILD, "--tool", "memory"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False, env=harness.bare_environment())
        self.assertEqual(done.returncode, 2)
        self.assertIn("memory: there is no such", done.stderr)


if __name__ == "__main__":
    unittest.main()
