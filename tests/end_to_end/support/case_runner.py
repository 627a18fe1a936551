"""Purpose: runs the cases of one test file, and prints each skipped case with its reason.

A file counts as skipped only if none of its cases ran. Otherwise ctest would show a file with one skipped case
like a file that tested nothing.
"""
import sys
import unittest

ALL_SKIPPED = 77  # the exit status for ctest


def cases_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases_of(test)
        else:
            yield test


class Result(unittest.TextTestResult):
    """Collects the cases that began, and the cases of which at least a part ran."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.began, self.ran = set(), set()

    def startTest(self, test):
        super().startTest(test)
        self.began.add(test.id())

    def addSuccess(self, test):
        super().addSuccess(test)
        self.ran.add(test.id())

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        self.ran.add(test.id())


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, test):
        cases = list(cases_of(test))  # a suite forgets its cases while it runs
        result = super().run(test)
        skipped = list(skipped_cases(cases, result))
        for name, reason in skipped:
            print(f"skipped: {name}: {' '.join(reason.split())}", flush=True)
        result.all_skipped = result.wasSuccessful() and not result.ran and bool(skipped)
        return result


def skipped_cases(cases, result):
    """Yields the name and the reason of each skipped case, and of each skipped part of a case. If the set-up of a
    class or of a module skips, unittest has one entry for all of its cases."""
    for test, reason in result.skipped:
        name = test.id()
        if not name.startswith(("setUpClass (", "setUpModule (")):
            yield short(name), reason
            continue
        place = name[name.index("(") + 1:-1] + "."
        for case in cases:
            if case.id().startswith(place) and case.id() not in result.began:
                yield short(case.id()), reason


def short(name):
    return name.removeprefix("__main__.")


def main():
    """As unittest.main(), for the module __main__. A file whose cases were all skipped ends with ALL_SKIPPED."""
    program = unittest.TestProgram(module="__main__", testRunner=Runner, exit=False)
    if program.result.all_skipped:
        sys.exit(ALL_SKIPPED)
    sys.exit(not program.result.wasSuccessful())
