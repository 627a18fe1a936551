#!/usr/bin/env python3
"""Purpose: prints one line for each skipped case in a log of ctest: the test, the case, the reason.

usage: skipped_cases.py LastTest.log

A test of end_to_end/ is a file of cases: its own line says which of them were skipped. A test of GoogleTest is
one case, with the reason in the line after "Skipped".
"""
import re
import sys


def skipped(lines):
    test, reason_follows = "", False
    for line in lines:
        line = line.rstrip("\n")
        if reason_follows:
            yield f"{test}: {line.strip()}"
        reason_follows = re.search(r"\.cpp:\d+: Skipped$", line) is not None
        if found := re.fullmatch(r"\d+/\d+ Test: (.*)", line):
            test = found[1]
        elif line.startswith("skipped: "):
            yield f"{test}: {line.removeprefix('skipped: ')}"


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        for line in skipped(file):
            print(line)


if __name__ == "__main__":
    main()
