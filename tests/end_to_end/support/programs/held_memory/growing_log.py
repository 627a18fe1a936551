"""Purpose: keeps 1 MiB in each of 30 steps, above 64 MiB that it holds from the start. argv: MiB of each step."""
import sys

import memtrace

STEP = int(float(sys.argv[1]) * (1 << 20))
held = bytearray(64 << 20)
log = []
for n in range(30):
    memtrace.step(n)
    with memtrace.phase("work"):
        batch = bytearray(8 << 20)
        if STEP:
            log.append(bytearray(STEP))
        del batch
