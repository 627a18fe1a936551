"""Purpose: docs/long-tests.md from the logs of tests/long/run.

usage: write_results.py LOGS FAILED     FAILED: the names of the parts that failed, empty if none did
"""
import datetime
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEAD = """# Long tests

`scripts/test --long` runs what is too long for each change. This page is written by it.

Test suites of other projects run twice bare and once traced, from the first block on: the same names must pass, fail and
be skipped. A name whose outcome differs between the bare runs is flaky. A thousand kills hold the reported levels against
the count of a program with up to 512 threads ([stress.cpp](../tests/victims/blocks/stress.cpp)): the truth must lie in the
interval that the report admits. At a bound of 1 to 32 MiB the recorder folds events into rows. `wide` counts intervals of
more than three times the error plus 1 MiB: at most 1 in 100 may be.

What `scripts/test` runs of the same kind, in CPU time: victims 30 s, the stress program with 24 kills 5 s, the places in
which users run 75 s, the fuzz targets 110 s and their build 3.5 minutes. On two cores that is five minutes.
"""


def read(logs, name):
    path = os.path.join(logs, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def section(title, text):
    text = text.rstrip().lstrip("\n")  # the first line keeps its margin
    return f"\n## {title}\n\n{text or 'not run'}\n"


def block(text):
    text = text.rstrip().lstrip("\n")
    return "    " + text.replace("\n", "\n    ") if text else ""


def main():
    logs, failed = sys.argv[1], sys.argv[2].split()
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(HEAD)
    print(f"Last run: {datetime.date.today()}, commit {done.stdout.strip()}, {os.cpu_count()} cores; "
          f"failed: {', '.join(failed) if failed else 'none'}.")
    kills = read(logs, "kills.log")
    table = kills[kills.find(" tried") - 46:] if " tried" in kills else ""
    print(section("Suites", read(logs, "suites.md")), end="")
    print(section("Kills", block(table.strip("\n"))), end="")
    machine = re.findall(r"^test_(\w+) .*?\.\.\. (\w+.*)$", read(logs, "machine.log"), re.M)
    print(section("Settings of the whole machine",
                  "\n".join(f"- {name.replace('_', ' ')}: {said}" for name, said in machine)), end="")
    growth = re.findall(r"^(?:[.F]*)(limit \d+ .*)$", read(logs, "growth.log"), re.M)
    print(section("Growth until the kernel kills", block("\n".join(growth))), end="")
    print(section("Soak", block("\n".join(read(logs, "soak.log").strip().splitlines()[-3:]))), end="")
    print(section("An hour of fuzzing", block(read(logs, "fuzz.log").partition("\n")[2])), end="")
    print(section("Bugs planted in readers", block(read(logs, "planted.log").partition("\n")[2])), end="")
    print(section("Time", block(read(logs, "times"))), end="")


main()
