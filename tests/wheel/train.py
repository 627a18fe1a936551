# Purpose: a program without any package, whose memory is known: loads 80 MiB, and each step holds 20 MiB more.
# Run by try_roots.py in each root, under memtrace. With DIE=1, it kills itself.
import os
import signal

import memtrace

MIB = 1 << 20


def load():
    return bytearray(80 * MIB)


kept = []
with memtrace.phase("load"):
    weights = load()
for number in range(4):
    memtrace.step(number)
    with memtrace.phase("forward"):
        kept.append(bytearray(20 * MIB))
if os.environ.get("DIE") == "1":
    os.kill(os.getpid(), signal.SIGKILL)
