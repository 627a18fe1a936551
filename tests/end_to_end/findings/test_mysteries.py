"""Purpose: tests that the first screen names the cause of public mysteries, and that their clean twins get no finding.
"""
import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "mysteries"))

import measure  # noqa: E402
import mystery  # noqa: E402
from corpus_case import CorpusCase  # noqa: E402
from known_wrong import KNOWN_WRONG, TWINS_WITH_A_FINDING, VARIES  # noqa: E402

# These run by default; the others in scripts/test --long, or if MEMTRACE_TEST_SETTINGS=all.
BY_DEFAULT = ("hook_keeps_outputs",)


class Corpus(CorpusCase):
    def check_cause(self, case):
        verdict, truth, text = self.judged(case)
        if case.name in KNOWN_WRONG:
            self.assertFalse(verdict.right, "it is right now: remove it from known_wrong.py")
        elif case.name in VARIES:
            self.assertTrue(verdict.cause and verdict.line, f"wrong: {verdict.wrong_parts()}\n{text}")
        else:
            self.assertTrue(verdict.right, f"wrong: {verdict.wrong_parts()}; truth {truth}\n{text}")

    def check_twin(self, case):
        found = self.found_in_twin(case)
        if case.name in TWINS_WITH_A_FINDING:
            self.assertNotEqual(found, [], "it is clean now: remove it from known_wrong.py")
        else:
            self.assertEqual(found, [])


class Page(unittest.TestCase):
    def test_rows_of_the_page(self):
        """The page is what measure.py writes from the rows that it reads there."""
        with open(measure.PAGE, encoding="utf-8") as file:
            text = file.read()
        rows = measure.rows_of_page(text)
        self.assertEqual(measure.page([(case, rows[case.name]) for case in mystery.all_mysteries()
                                       if case.name in rows]), text)

    def test_a_bar_in_a_cell(self):
        case = mystery.all_mysteries()[0]
        cells = [case.name, "owner/name#1", "leak-per-step", "1.00 MiB", "right", "clean", "a | b", "|"]
        self.assertEqual(measure.rows_of_page(measure.page([(case, cells)])), {case.name: cells})


for one in mystery.all_mysteries():
    if harness.ALL or one.name in BY_DEFAULT:
        setattr(Corpus, f"test_{one.name}", lambda self, one=one: self.check_cause(one))
        setattr(Corpus, f"test_{one.name}_mended", lambda self, one=one: self.check_twin(one))

if __name__ == "__main__":
    unittest.main()
