#!/usr/bin/env python3
"""Purpose: runs one test file, with the modules of support/ in its path and an unchanged environment.

usage: run.py FOLDER/test_NAME [-v] [CLASS[.METHOD] ...], or options of the file itself, as --soak 30

It prints a line `skipped: CASE: REASON` for each skipped case, and ends with 77 if no case ran. MEMTRACE_TEST_SEED
sets the seed of the tests that choose at random; each prints its seed.
"""
import os
import runpy
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    folder, name = os.path.split(sys.argv[1].removesuffix(".py"))
    place = os.path.join(HERE, folder)
    if not os.path.exists(os.path.join(place, name + ".py")):
        sys.exit(f"run.py: there is no {sys.argv[1]} in {HERE}; give FOLDER/test_NAME, as death/test_near")
    os.chdir(place)
    sys.path[0:1] = [place, os.path.join(HERE, "support")]
    sys.argv[0:2] = [name + ".py"]
    import case_runner  # from support/
    unittest.main = case_runner.main
    runpy.run_path(name + ".py", run_name="__main__")


if __name__ == "__main__":
    main()
