#!/usr/bin/env python3
"""Purpose: runs one test file, with the modules of support/ in its path and an unchanged environment.

usage: run.py FOLDER/test_NAME [-v] [CLASS[.METHOD] ...], or options of the file itself, as --soak 30

It prints a line `skipped: CASE: REASON` for each skipped case, and ends with 77 if no case ran. MEMTRACE_TEST_SEED
sets the seed of the tests that choose at random; each prints its seed. The last line says how much CPU time the file
and its programs took, so that the log of a whole run shows what makes it long.
"""
import atexit
import os
import resource
import runpy
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def print_cpu_time():
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"CPU time: {sum(one.ru_utime + one.ru_stime for one in used):.1f} s", flush=True)


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
    atexit.register(print_cpu_time)
    import case_runner  # from support/
    unittest.main = case_runner.main
    runpy.run_path(name + ".py", run_name="__main__")


if __name__ == "__main__":
    main()
