# Purpose: reading the marks that the probe saw, and running checks one after the other.
import os
import subprocess
import sys

import probe


def phases(keep=()):
    """The marks since the last call: "forward(" and ")forward"; parameters and notes only where asked for."""
    out = []
    for line in probe.log():
        word, _, rest = line.partition(" ")
        if word == "begin":
            out.append(rest + "(")
        elif word == "end":
            out.append(")" + rest)
        elif word in keep or word in ("unbalanced", "note") and not rest.startswith("optimizer="):
            out.append(line)
    return out


def expect(*wanted, keep=()):
    got = phases(keep)
    assert got == list(wanted), "\n got %s\nwant %s" % (got, list(wanted))


FORWARD = ["forward(", ")forward"]
BACKWARD = ["backward(", ")backward"]
LOSS = ["loss(", ")loss"]
STEP = ["step(", ")step"]
ZERO_GRAD = ["zero_grad(", ")zero_grad"]


def of_program(text):
    """The marks of a program in a process of its own."""
    program = "import memtrace, probe, torch\nfrom torch import nn\n%s\nfor line in probe.log(): print(line)" % text
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=here)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(("begin", "end", "step", "unbalanced"))]


_checks = []


def check(function):
    """Decorates a function that run() calls. A commit once lost the list of their names, and none ran."""
    _checks.append(function)
    return function


def run():
    """Runs the checks of the script."""
    assert probe.log() == [], "importing marks something"
    mine = [one for one in _checks if one.__module__ == "__main__"]
    assert mine, "no check"
    for one in mine:
        probe.clear()
        one()
        assert probe.depth() == 0, (one.__name__, probe.depth())
        print("ok", one.__name__)
