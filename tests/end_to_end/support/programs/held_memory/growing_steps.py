# Purpose: steps that each retain GROWTH KiB and hold 8 MiB for a moment, in the phases `forward` and `update`, until
# the file STOP exists. Writes the retained bytes and the step into the file STATE after each step. Each step makes and
# frees PAIRS blocks more.
# usage: growing_steps.py STATE STOP GROWTH PAUSE [PAIRS]
import os
import sys
import time

import memtrace

state, stop, growth, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]) << 10, float(sys.argv[4])
pairs = int(sys.argv[5]) if len(sys.argv) > 5 else 0
model = bytearray(40 << 20)
kept, step = [], 0
while not os.path.exists(stop):
    memtrace.step(step)
    with memtrace.phase("forward"):
        scratch = bytearray(8 << 20)
        kept.append(bytearray(growth))
        del scratch
        for _ in range(pairs):
            bytearray(1 << 16)
    with memtrace.phase("update"):
        time.sleep(pause)
    with open(state + ".new", "w", encoding="ascii") as file:
        file.write(f"{len(kept) * growth} {step}")
    os.replace(state + ".new", state)
    step += 1
print("stopped")
